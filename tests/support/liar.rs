//! A lying node: an HTTP proxy in front of a real one, which forges answers about the anchor contract.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kedge_chain::contract::{anchor_calldata, anchored_topic};
use kedge_protocol::checkpoint::{Checkpoint, SignedCheckpoint};
use kedge_protocol::hash::{keccak, to_hex};
use kedge_protocol::signature::Signature;
use kedge_protocol::{Address, Hash};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The transaction that a lie names.
const TX: Hash = Hash([0xf0; 32]);

/// The node's false statement.
#[derive(Clone)]
pub(crate) enum Lie {
    /// Passes on the real node's answers.
    None,
    /// The contract's newest checkpoint is another one, in this many answers.
    Latest {
        batches: u64,
        history: Hash,
        answers: u32,
    },
    /// The contract accepted this checkpoint, in a transaction with this signature, if any.
    Anchored {
        checkpoint: Checkpoint,
        signature: Option<Signature>,
    },
    /// Does not answer at all.
    Silent,
}

type Shared = Arc<Mutex<Lie>>;

/// A running proxy.
pub(crate) struct Liar {
    url: String,
    lie: Shared,
}

impl Liar {
    pub(crate) async fn before(upstream: String, contract: Address) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let lie: Shared = Arc::new(Mutex::new(Lie::None));
        let shared = Arc::clone(&lie);
        let client: Client<HttpConnector, Full<Bytes>> =
            Client::builder(TokioExecutor::new()).build_http();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let node = Node {
                    client: client.clone(),
                    upstream: upstream.clone(),
                    contract,
                    lie: Arc::clone(&shared),
                };
                let service = service_fn(move |request| {
                    let node = node.clone();
                    async move { node.answer(request).await }
                });
                let http = hyper::server::conn::http1::Builder::new();
                let connection = http.serve_connection(TokioIo::new(stream), service);
                tokio::spawn(async move {
                    let _ended = connection.await;
                });
            }
        });
        Self { url, lie }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn tell(&self, lie: Lie) {
        *self.lie.lock().unwrap() = lie;
    }
}

#[derive(Clone)]
struct Node {
    client: Client<HttpConnector, Full<Bytes>>,
    upstream: String,
    contract: Address,
    lie: Shared,
}

/// Closes the connection without an answer.
#[derive(Debug, thiserror::Error)]
#[error("silence")]
struct Silence;

impl Node {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Silence> {
        let body = request.into_body().collect().await.map_err(|_| Silence)?;
        let body = body.to_bytes();
        let asked: Value = serde_json::from_slice(&body).map_err(|_| Silence)?;
        if matches!(*self.lie.lock().unwrap(), Lie::Silent) {
            return Err(Silence);
        }
        if let Some(result) = self.forged(&asked) {
            let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
            return Ok(Response::new(Full::new(Bytes::from(answer.to_string()))));
        }
        let passed = Request::post(&self.upstream)
            .header("content-type", "application/json")
            .body(Full::new(body))
            .unwrap();
        let answer = self.client.request(passed).await.map_err(|_| Silence)?;
        let bytes = answer.into_body().collect().await.map_err(|_| Silence)?;
        Ok(Response::new(Full::new(bytes.to_bytes())))
    }

    fn forged(&self, asked: &Value) -> Option<Value> {
        let mut lie = self.lie.lock().unwrap();
        let call = called(asked);
        let calls = |name: &str| call.as_deref() == Some(&selector(name));
        match &mut *lie {
            Lie::Latest {
                batches,
                history,
                answers,
            } if calls("latest()") && *answers > 0 => {
                *answers -= 1;
                Some(words(&[number(*batches), number(*batches), *history]))
            }
            Lie::Anchored {
                checkpoint,
                signature,
            } => match asked["method"].as_str()? {
                "eth_call" if calls("latest()") => {
                    let sequence = number(checkpoint.sequence);
                    Some(words(&[
                        number(checkpoint.batches),
                        sequence,
                        checkpoint.history,
                    ]))
                }
                "eth_call" if calls("checkpoint(uint64)") => Some(words(&[
                    number(checkpoint.sequence),
                    number(checkpoint.issued_at_ms),
                    number(1),
                    number(1),
                    checkpoint.history,
                ])),
                "eth_getLogs" => Some(json!([self.log(checkpoint)])),
                "eth_getTransactionByHash" => Some(signature.map_or(Value::Null, |signature| {
                    self.transaction(&SignedCheckpoint {
                        checkpoint: *checkpoint,
                        signature,
                    })
                })),
                _ => None,
            },
            _ => None,
        }
    }

    fn log(&self, checkpoint: &Checkpoint) -> Value {
        json!({
            "address": self.contract.to_string().to_lowercase(),
            "topics": [anchored_topic(), number(checkpoint.batches)],
            "data": words(&[
                number(checkpoint.sequence),
                checkpoint.head,
                checkpoint.history,
                checkpoint.state,
                number(checkpoint.issued_at_ms),
            ]),
            "blockNumber": "0x1",
            "blockHash": Hash([1; 32]),
            "transactionHash": TX,
            "transactionIndex": "0x0",
            "logIndex": "0x0",
            "removed": false,
        })
    }

    fn transaction(&self, signed: &SignedCheckpoint) -> Value {
        json!({
            "hash": TX,
            "nonce": "0x0",
            "blockHash": Hash([1; 32]),
            "blockNumber": "0x1",
            "transactionIndex": "0x0",
            "from": Address::ZERO.to_string(),
            "to": self.contract.to_string().to_lowercase(),
            "value": "0x0",
            "gasPrice": "0x1",
            "gas": "0x5208",
            "input": to_hex(&anchor_calldata(signed, &[])),
            "v": "0x1b",
            "r": "0x1",
            "s": "0x1",
        })
    }
}

/// The selector of an `eth_call`.
fn called(asked: &Value) -> Option<String> {
    let call = &asked["params"][0];
    let data = call["data"].as_str().or_else(|| call["input"].as_str())?;
    Some(data.get(..10)?.to_owned())
}

fn selector(signature: &str) -> String {
    to_hex(&keccak(signature.as_bytes()).0[..4])
}

fn number(value: u64) -> Hash {
    let mut word = [0; 32];
    word[24..].copy_from_slice(&value.to_be_bytes());
    Hash(word)
}

fn words(words: &[Hash]) -> Value {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.0).collect();
    json!(to_hex(&bytes))
}
