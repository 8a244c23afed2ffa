//! A fake log, just large enough to issue valid receipts: each request is one batch. Faults are injected in front of
//! it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use kedge_protocol::action::{ActionWords, Kind, salt};
use kedge_protocol::batch::{BatchHeader, SignedBatch};
use kedge_protocol::chain::{self, LogLeaf};
use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::sha256;
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::payload::digest_text;
use kedge_protocol::receipt::{BatchReceipt, Receipt, ReceiptAction, ReceiptLeaf};
use kedge_protocol::signature::{Signature, SigningKey};
use kedge_protocol::{Address, Hash, Id, Prefix};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::net::TcpListener;

pub(crate) const DOMAIN: Domain = Domain {
    chain_id: 31_337,
    verifying_contract: Address([0x5f; 20]),
};

pub(crate) fn sequencer() -> SigningKey {
    SigningKey::from_bytes(&[0x5e; 32]).unwrap()
}

/// Fault of the next request that has a token or a signature.
pub(crate) enum Fault {
    /// An error with this status, code and headers.
    Refuse(u16, &'static str, Vec<(&'static str, String)>),
    /// The same, with these members in the body.
    Say(u16, &'static str, Value),
    /// The request is done, but the answer is lost.
    Lose,
    /// The receipt is changed before it leaves.
    Receipt(fn(&mut Value)),
}

/// A request as received.
#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) authorization: String,
    pub(crate) signature: String,
    pub(crate) nonce: u64,
    pub(crate) at: std::time::Instant,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) faults: VecDeque<Fault>,
    pub(crate) seen: Vec<Seen>,
    /// Older tokens have expired.
    pub(crate) token: u64,
    /// The highest spent nonce, as `/wallets/me` reports it.
    pub(crate) highest: u64,
    batches: u64,
    sequence: u64,
    head: Hash,
}

#[derive(Clone)]
pub(crate) struct Log(pub(crate) Arc<Mutex<State>>);

impl Log {
    /// Starts on a free port and returns the base URL.
    pub(crate) async fn start() -> (Self, String) {
        let state = State {
            head: DOMAIN.separator(),
            ..State::default()
        };
        let log = Self(Arc::new(Mutex::new(state)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let serving = log.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let log = serving.clone();
                let service = service_fn(move |request| {
                    let log = log.clone();
                    async move { Ok::<_, Infallible>(log.answer(request).await) }
                });
                tokio::spawn(
                    hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service),
                );
            }
        });
        (log, url)
    }

    pub(crate) fn fail(&self, faults: impl IntoIterator<Item = Fault>) {
        self.0.lock().unwrap().faults.extend(faults);
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.0.lock().unwrap().seen)
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let path = parts.uri.path().to_owned();
        let mut state = self.0.lock().unwrap();
        match path.as_str() {
            "/.well-known/eip712-domain.json" => return ok(&domain_document()),
            "/sequencer-keys" => return refuse(404, "RESOURCE_NOT_FOUND", &[]),
            "/wallets/login" => return ok(&with_tokens(wallet(&state, Address::ZERO), &state)),
            "/wallets/token/refresh" => {
                state.token += 1;
                state.seen.push(seen(&path, &parts.headers));
                return ok(&tokens(&state));
            }
            _ => {}
        }
        let seen = seen(&path, &parts.headers);
        state.seen.push(seen.clone());
        let mut spoil = None;
        let mut lost = false;
        match state.faults.pop_front() {
            Some(Fault::Refuse(status, code, headers)) => return refuse(status, code, &headers),
            Some(Fault::Say(status, code, members)) => {
                return refuse_saying(status, code, &members);
            }
            Some(Fault::Lose) => lost = true,
            Some(Fault::Receipt(change)) => spoil = Some(change),
            None => {}
        }
        if path != "/wallets/register" && seen.authorization != bearer(&state) {
            return refuse(401, "TOKEN_EXPIRED", &[]);
        }
        let mut answer = match path.as_str() {
            "/wallets/me" => wallet(&state, Address([0; 20])),
            _ => change(&mut state, &path, &parts.headers, &body),
        };
        if lost {
            return broken_off();
        }
        if let (Some(change), Some(receipt)) = (spoil, answer.get_mut("receipt")) {
            change(receipt);
        }
        ok(&answer)
    }
}

fn bearer(state: &State) -> String {
    format!("Bearer access-{}", state.token)
}

fn tokens(state: &State) -> Value {
    let number = state.token;
    json!({"access_token": format!("access-{number}"), "refresh_token": format!("refresh-{number}"),
           "token_type": "Bearer", "expires_in": 900})
}

fn with_tokens(wallet: Value, state: &State) -> Value {
    let mut answer = tokens(state);
    answer["wallet"] = wallet;
    answer
}

fn wallet(state: &State, address: Address) -> Value {
    // All test keys belong to it.
    let nonces: Vec<Value> = (1..=9)
        .map(|n| {
            let key = SigningKey::from_bytes(&[n; 32]).unwrap();
            json!({"address": key.address(), "highest": state.highest.to_string()})
        })
        .collect();
    json!({"id": id(Prefix::Wallet), "organization_id": id(Prefix::Organization), "role": "owner",
           "nickname": null, "email": "ann@example.com", "address": address, "keys": [], "nonces": nonces,
           "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z",
           "something_new": {"ignored": true}})
}

pub(crate) fn id(prefix: Prefix) -> Id {
    Id {
        prefix,
        bytes: [9; 16],
    }
}

fn seen(path: &str, headers: &HeaderMap) -> Seen {
    let text = |name: &str| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    Seen {
        path: path.to_owned(),
        authorization: text("authorization"),
        signature: text("x-signature"),
        nonce: text("x-signature-nonce").parse().unwrap_or(0),
        at: std::time::Instant::now(),
    }
}

fn ok(body: &Value) -> Response<Full<Bytes>> {
    Response::new(Full::new(Bytes::from(body.to_string())))
}

fn refuse(status: u16, code: &str, headers: &[(&'static str, String)]) -> Response<Full<Bytes>> {
    let body = json!({"code": code, "status": status, "body": {"message": "as the test wants"}});
    let mut response = ok(&body);
    *response.status_mut() = status.try_into().unwrap();
    for (name, value) in headers {
        response.headers_mut().insert(*name, value.parse().unwrap());
    }
    response
}

fn refuse_saying(status: u16, code: &str, members: &Value) -> Response<Full<Bytes>> {
    let mut body =
        json!({"code": code, "status": status, "body": {"message": "as the test wants"}});
    for (name, value) in members.as_object().unwrap() {
        body["body"][name] = value.clone();
    }
    let mut response = ok(&body);
    *response.status_mut() = status.try_into().unwrap();
    let now = "0".parse().unwrap();
    response.headers_mut().insert("retry-after", now);
    response
}

/// A proxy's 502 instead of the answer.
fn broken_off() -> Response<Full<Bytes>> {
    let mut response = ok(&json!({}));
    *response.status_mut() = 502.try_into().unwrap();
    *response.body_mut() = Full::new(Bytes::from_static(b"a proxy's page"));
    response
}

fn domain_document() -> Value {
    json!({"fields": "0x0f", "name": "Digital Object Service", "version": "3", "chainId": 31_337,
           "verifyingContract": DOMAIN.verifying_contract, "sequencer": sequencer().address()})
}

#[derive(Deserialize)]
struct BusAction<'a> {
    action_type: String,
    object_id: Option<String>,
    template_id: Option<String>,
    #[serde(borrow)]
    payload: &'a RawValue,
}

#[derive(Deserialize)]
struct BusBatch<'a> {
    #[serde(borrow)]
    actions: Vec<BusAction<'a>>,
}

fn words(action: &BusAction<'_>) -> (Kind, ActionWords) {
    let kind = Kind::of_text(&action.action_type).unwrap();
    let target = action
        .object_id
        .as_ref()
        .or(action.template_id.as_ref())
        .unwrap();
    let words = ActionWords::of(&kind, target, action.payload.get().as_bytes());
    (kind, words)
}

/// Does a signed request. Refuses locks, so that some actions fail.
fn change(state: &mut State, path: &str, headers: &HeaderMap, body: &Bytes) -> Value {
    let actions: Vec<(Kind, ActionWords)> = match path {
        "/wallets/register" => {
            let payload = digest_text(&sha256(body));
            let kind = Kind::WalletRegister;
            let words = ActionWords::of(&kind, "", payload.as_bytes());
            vec![(kind, words)]
        }
        "/ebus/actions" => vec![words(&serde_json::from_slice(body).unwrap())],
        _ => {
            let batch: BusBatch<'_> = serde_json::from_slice(body).unwrap();
            batch.actions.iter().map(words).collect()
        }
    };
    let header = |name: &str| headers[name].to_str().unwrap();
    let signature: Signature = header("x-signature").parse().unwrap();
    let seed: Hash = header("x-signature-salt").parse().unwrap();
    let signer: Address = header("x-signature-address").parse().unwrap();
    let contents: Vec<Hash> = actions
        .iter()
        .enumerate()
        .map(|(index, (_, words))| {
            let authority = chain::authority(&signature, &salt(&seed, index as u16));
            chain::content(words, &signer, &authority)
        })
        .collect();
    let done: Vec<usize> = (0..actions.len())
        .filter(|&i| actions[i].0 != Kind::Lock)
        .collect();
    let leaves: Vec<ReceiptLeaf> = (0..)
        .zip(&done)
        .map(|(n, &i)| leaf(state, n, contents[i]))
        .collect();
    if path == "/ebus/actions/batch" {
        return batch_answer(state, &done, &leaves, actions.len());
    }
    let (signed, tree) = seal(state, &leaves);
    let receipt = Receipt {
        version: 1,
        domain: DOMAIN,
        leaf: leaves[0],
        leaf_index: 0,
        path: tree.proof(&[0]),
        batch: signed,
    };
    let action_id = Id::of_hash(Prefix::Action, &contents[0]);
    if path == "/wallets/register" {
        let mut answer = with_tokens(wallet(state, signer), state);
        answer["wallet"]["id"] = json!(Id::made_by(Prefix::Wallet, &contents[0], 0));
        answer["action_id"] = json!(action_id);
        answer["receipt"] = json!(receipt);
        return answer;
    }
    json!({"id": action_id, "sequence": leaves[0].sequence, "action_type": actions[0].0.text(),
           "object_id": id(Prefix::Object), "target": "", "resource_id": id(Prefix::Object), "payload": {},
           "signer": signer, "nonce": header("x-signature-nonce"), "status": "committed",
           "timestamp": "2026-01-01T00:00:00.000Z", "leaf": leaves[0].hash().unwrap(), "head": state.head,
           "batch_id": signed.id(), "batch_number": signed.header.number, "leaf_index": 0,
           "object_version": 1, "content": contents[0], "previous_integrity": Hash::ZERO, "receipt": receipt})
}

fn leaf(state: &State, leaf_index: u64, content: Hash) -> ReceiptLeaf {
    ReceiptLeaf {
        sequence: state.sequence + 1 + leaf_index,
        timestamp_ms: 1_790_000_000_000,
        content,
        previous_integrity: Hash::ZERO,
        integrity: chain::next_integrity(&Hash::ZERO, &content),
    }
}

fn seal(state: &mut State, leaves: &[ReceiptLeaf]) -> (SignedBatch, BatchTree) {
    let hashes: Vec<Hash> = leaves
        .iter()
        .map(|leaf| {
            let ReceiptLeaf {
                sequence,
                timestamp_ms,
                content,
                integrity,
                ..
            } = *leaf;
            LogLeaf {
                sequence,
                timestamp_ms,
                content,
                integrity,
            }
            .hash()
        })
        .collect();
    let tree = BatchTree::new(&hashes);
    let head = hashes
        .iter()
        .fold(state.head, |head, leaf| chain::next_head(&head, leaf));
    let header = BatchHeader {
        number: state.batches,
        first_sequence: state.sequence + 1,
        count: hashes.len() as u32,
        previous_head: state.head,
        head,
        root: tree.root(),
        history: Hash::ZERO,
        state: Hash::ZERO,
        sealed_at_ms: 1_790_000_000_000,
    };
    state.batches += 1;
    state.sequence += hashes.len() as u64;
    state.head = head;
    (header.sign(&DOMAIN.separator(), &sequencer()), tree)
}

fn batch_answer(state: &mut State, done: &[usize], leaves: &[ReceiptLeaf], count: usize) -> Value {
    let refused =
        json!({"error": {"code": "STATE_VIOLATION", "status": 422, "body": {"message": "no"}}});
    let mut results = vec![refused; count];
    for (leaf_index, (&index, leaf)) in done.iter().zip(leaves).enumerate() {
        results[index] =
            json!({"sequence": leaf.sequence, "leaf_index": leaf_index, "object_version": 1});
    }
    if done.is_empty() {
        return json!({"results": results, "receipt": null});
    }
    let (batch, tree) = seal(state, leaves);
    let actions = done
        .iter()
        .zip(leaves)
        .enumerate()
        .map(|(leaf_index, (&index, leaf))| ReceiptAction {
            index: index as u32,
            sequence: leaf.sequence,
            timestamp_ms: leaf.timestamp_ms,
            leaf_index: leaf_index as u32,
            previous_integrity: leaf.previous_integrity,
        })
        .collect();
    let indices: Vec<usize> = (0..leaves.len()).collect();
    let receipt = BatchReceipt {
        version: 1,
        domain: DOMAIN,
        batch,
        actions,
        proof: tree.proof(&indices),
    };
    json!({"results": results, "receipt": receipt})
}
