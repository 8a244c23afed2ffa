//! Parsing and signature checks, on the connection's task.

use std::ops::Range;
use std::str::FromStr;

use bytes::Bytes;
use hyper::HeaderMap;
use kedge_protocol::action::{ActionWords, Kind, RequestHead, action_hashes, salts};
use kedge_protocol::lanes::keccak_each;
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::signature::Signature;
use kedge_protocol::{Address, Hash};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::log::{BareLog, BareRequest, BareTextRanges};
use crate::error::BenchResult;

/// Form of a body.
#[derive(Clone, Copy)]
pub(super) enum BareShape {
    Single,
    Batch,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BareBatch<'a> {
    #[serde(borrow)]
    actions: Vec<BareAction<'a>>,
    #[serde(default)]
    atomic: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BareAction<'a> {
    action_type: &'a str,
    object_id: &'a str,
    #[serde(borrow)]
    payload: &'a RawValue,
}

/// State shared by all requests.
pub(super) struct BarePipeline {
    domain_separator: Hash,
    log: BareLog,
}

impl BarePipeline {
    pub(super) fn new(domain_separator: Hash, log: BareLog) -> Self {
        Self {
            domain_separator,
            log,
        }
    }

    pub(super) async fn end(&self) {
        self.log.end().await;
    }

    /// Checks a request and writes it to the log. Returns the text of the answer.
    pub(super) async fn take(
        &self,
        shape: BareShape,
        headers: &HeaderMap,
        body: Bytes,
    ) -> BenchResult<String> {
        let entry = self.check(shape, headers, body)?;
        let count = entry.action_hashes.len();
        let placed = self.log.append(entry).await?;
        Ok(format!(
            r#"{{"first_sequence":{},"count":{count},"head":"{}"}}"#,
            placed.first_sequence, placed.head
        ))
    }

    fn check(
        &self,
        shape: BareShape,
        headers: &HeaderMap,
        body: Bytes,
    ) -> BenchResult<BareRequest> {
        let BareBatch { actions, atomic } = match shape {
            BareShape::Batch => serde_json::from_slice(&body)?,
            BareShape::Single => BareBatch {
                actions: vec![serde_json::from_slice(&body)?],
                atomic: false,
            },
        };
        if actions.is_empty() || actions.len() > BATCH_ACTIONS_MAX {
            return Err("a request has 1 to 500 actions".into());
        }
        let head = RequestHead {
            signer: header(headers, "x-signature-address")?,
            nonce: header(headers, "x-signature-nonce")?,
            deadline_s: header(headers, "x-signature-deadline")?,
            atomic,
        };
        let salt_seed: Hash = header(headers, "x-signature-salt")?;
        let signature: Signature = header(headers, "x-signature")?;
        let kinds: Option<Vec<Kind>> = actions
            .iter()
            .map(|action| Kind::of_text(action.action_type))
            .collect();
        let kinds = kinds.ok_or("an unknown kind")?;
        let action_hashes = hash(&actions, &kinds, &salt_seed);
        let digest = head.digest(&self.domain_separator, &action_hashes);
        let signer: Address = signature.recover(&digest)?;
        if signer != head.signer {
            return Err("another key signed".into());
        }
        let texts = actions
            .iter()
            .zip(kinds)
            .map(|(action, kind)| BareTextRanges {
                kind,
                target: place(&body, action.object_id),
                payload: place(&body, action.payload.get()),
            })
            .collect();
        Ok(BareRequest {
            body,
            texts,
            action_hashes,
            head,
            salt_seed,
            signature,
        })
    }
}

/// hashStruct(Action) of each, computed in parallel.
fn hash(actions: &[BareAction<'_>], kinds: &[Kind], seed: &Hash) -> Vec<Hash> {
    let mut hashes = Vec::with_capacity(2 * actions.len());
    let mut texts: Vec<&str> = actions.iter().map(|action| action.object_id).collect();
    keccak_each(&texts, &mut hashes);
    texts.clear();
    texts.extend(actions.iter().map(|action| action.payload.get()));
    keccak_each(&texts, &mut hashes);
    let (targets, payloads) = hashes.split_at(actions.len());
    let words: Vec<ActionWords> = kinds
        .iter()
        .zip(targets.iter().zip(payloads))
        .map(|(kind, (&target, &payload))| ActionWords {
            kind: kind.hash(),
            target,
            payload,
        })
        .collect();
    action_hashes(&words, &salts(seed, 0..words.len() as u16))
}

/// The range of a slice within the body.
fn place(body: &[u8], slice: &str) -> Range<usize> {
    let start = slice.as_ptr() as usize - body.as_ptr() as usize;
    start..start + slice.len()
}

fn header<T: FromStr>(headers: &HeaderMap, name: &str) -> BenchResult<T> {
    let text = headers.get(name).and_then(|value| value.to_str().ok());
    let value = text.and_then(|text| text.parse().ok());
    value.ok_or_else(|| format!("header {name} is missing or wrong").into())
}
