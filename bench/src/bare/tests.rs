//! Tests of the bare pipeline, with valid and with altered requests.

use std::sync::Arc;

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use kedge_client::sign::{RequestTerms, SignableAction, SignedRequest, sign};
use kedge_log::LogReader;
use kedge_log::env::RealEnv;
use kedge_protocol::action::{ActionWords, Kind, action_hashes, salts};
use kedge_protocol::chain::{LogLeaf, next_head};
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash};
use serde_json::Value;

use super::log::{BareFormat, BareLog};
use super::pipeline::{BarePipeline, BareShape};

const SEPARATOR: Hash = Hash([5; 32]);
const OBJECT: &str = "obj_7h8rh8fgrh07gkqn56z16p8nc6";
const PAYLOAD: &str = r#"{"properties":{"note":"a"}}"#;

fn signed(count: usize, nonce: u64) -> SignedRequest {
    let action = SignableAction {
        kind: &Kind::Update,
        target: OBJECT,
        payload: PAYLOAD.as_bytes(),
    };
    let terms = RequestTerms {
        key: &SigningKey::from_bytes(&[0x42; 32]).unwrap(),
        domain_separator: &SEPARATOR,
        nonce,
        deadline_s: 2_000_000_000,
        atomic: false,
        seed: Hash([9; 32]),
    };
    sign(&terms, &vec![action; count]).unwrap()
}

fn headers(signed: &SignedRequest) -> HeaderMap {
    let named = signed.headers().into_iter().map(|(name, value)| {
        let value = HeaderValue::try_from(value).unwrap();
        (HeaderName::from_static(name), value)
    });
    named.collect()
}

fn body(count: usize) -> Bytes {
    let action =
        format!(r#"{{"action_type":"update","object_id":"{OBJECT}","payload":{PAYLOAD}}}"#);
    let actions = vec![action; count].join(",");
    format!(r#"{{"actions":[{actions}]}}"#).into()
}

/// Sends a request of three actions and one of two. Returns the directory and the head of the last answer.
async fn two_requests(files: BareFormat) -> (tempfile::TempDir, String) {
    let data = tempfile::tempdir().unwrap();
    let (log, thread) = BareLog::open(files, data.path(), SEPARATOR).unwrap();
    let pipeline = BarePipeline::new(SEPARATOR, log);
    let mut firsts = Vec::new();
    let mut last_head = String::new();
    for (nonce, count) in [(1, 3), (2, 2)] {
        let headers = headers(&signed(count, nonce));
        let answer = pipeline.take(BareShape::Batch, &headers, body(count)).await;
        let answer: Value = serde_json::from_str(&answer.unwrap()).unwrap();
        assert_eq!(answer["count"], count);
        firsts.push(answer["first_sequence"].as_u64().unwrap());
        answer["head"].as_str().unwrap().clone_into(&mut last_head);
    }
    assert_eq!(firsts, [1, 4]);
    pipeline.end().await;
    thread.join().unwrap();
    (data, last_head)
}

#[tokio::test]
async fn requests_follow_one_another_in_one_chain_on_the_disk() {
    let (data, last_head) = two_requests(BareFormat::Rows).await;
    // The rows alone reproduce the last answer's head.
    let db = rocksdb::DB::open_for_read_only(&rocksdb::Options::default(), data.path(), false);
    let db = db.unwrap();
    let mut head = SEPARATOR;
    let text = format!(r#"{OBJECT}","payload":{PAYLOAD}"#);
    let (first, second) = (signed(3, 1), signed(2, 2));
    let contents = |signed: &SignedRequest, count| {
        let words = ActionWords::of(&Kind::Update, OBJECT, PAYLOAD.as_bytes());
        action_hashes(&vec![words; count], &salts(&signed.seed, 0..count as u16))
    };
    let contents: Vec<Hash> = contents(&first, 3)
        .into_iter()
        .chain(contents(&second, 2))
        .collect();
    for (sequence, content) in (1u64..).zip(contents) {
        let row = db.get(sequence.to_be_bytes()).unwrap().unwrap();
        let timestamp_ms = u64::from_be_bytes(row[32..40].try_into().unwrap());
        let leaf = LogLeaf {
            sequence,
            timestamp_ms,
            content,
            integrity: Hash::ZERO,
        };
        head = next_head(&head, &leaf.hash());
        assert_eq!(row[..32], head.0, "row {sequence}");
        assert!(row.ends_with(text.as_bytes()), "row {sequence}");
    }
    assert_eq!(db.get(6u64.to_be_bytes()).unwrap(), None);
    assert_eq!(last_head, head.to_string());
}

#[tokio::test]
async fn the_logs_own_files_hold_the_same_chain() {
    let (data, last_head) = two_requests(BareFormat::Frames).await;
    let env = Arc::new(RealEnv);
    let (reader, recovery) = LogReader::open(env, data.path(), Some(SEPARATOR), 1 << 20).unwrap();
    assert_eq!(recovery.torn, None);
    for (sequence, count) in [(1, 3), (4, 2)] {
        let request = reader.request_at(sequence).unwrap().unwrap();
        let packed = request.packed().unwrap();
        assert_eq!(
            (packed.head().first_sequence, packed.count()),
            (sequence, count)
        );
        let last = packed.action(count - 1).unwrap();
        assert_eq!((&*last.target, &*last.payload), (OBJECT, PAYLOAD));
    }
    assert_eq!(reader.batch(2).unwrap(), None);
    let batch = reader.batch(1).unwrap().unwrap();
    assert_eq!(batch.header.head.to_string(), last_head);
}

#[tokio::test]
async fn what_was_not_signed_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let (log, thread) = BareLog::open(BareFormat::Rows, data.path(), SEPARATOR).unwrap();
    let pipeline = BarePipeline::new(SEPARATOR, log);
    let good = headers(&signed(2, 1));
    let change = |name: &'static str, value: String| {
        let mut changed = good.clone();
        changed.insert(name, HeaderValue::try_from(value).unwrap());
        changed
    };
    let other = Address([1; 20]).to_string();
    let cases = [
        (change("x-signature-nonce", "2".into()), body(2)),
        (change("x-signature-address", other), body(2)),
        (change("x-signature-salt", Hash::ZERO.to_string()), body(2)),
        (good.clone(), body(1)),
        (good.clone(), body(0)),
        (good.clone(), Bytes::from_static(b"{")),
        (HeaderMap::new(), body(2)),
    ];
    for (number, (headers, body)) in cases.into_iter().enumerate() {
        let taken = pipeline.take(BareShape::Batch, &headers, body).await;
        assert!(taken.is_err(), "case {number}: {taken:?}");
    }
    let taken = pipeline
        .take(BareShape::Batch, &good, body(2))
        .await
        .unwrap();
    assert!(taken.starts_with(r#"{"first_sequence":1,"#), "{taken}");
    pipeline.end().await;
    thread.join().unwrap();
}
