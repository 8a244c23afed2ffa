//! Work outside the log: anchors.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kedge_actors::{AnchorOptions, Engine, EngineOptions, RootOptions};
use kedge_chain::rpc::{InProcessNode, RpcClient, RpcError, RpcOptions};
use kedge_chain::sender::SenderOptions;
use kedge_protocol::hash::{keccak, to_hex};
use kedge_protocol::merkle::empty_root;
use kedge_runtime::env::{Env as _, RealEnv};
use kedge_storage::{AnchorProgress, RowPage};
use serde_json::{Value, json};

use crate::support::{DOMAIN, open, options, register, sequencer_key};

/// A node whose contract holds nothing and that refuses everything.
#[derive(Clone, Default)]
struct Refusing {
    refused: Arc<AtomicU64>,
}

fn is(data: &str, function: &str) -> bool {
    data.starts_with(&to_hex(&keccak(function.as_bytes()).0[..4]))
}

impl Refusing {
    fn result(&self, method: &str, params: &Value) -> Option<Value> {
        let data = params[0]["data"].as_str().unwrap_or_default();
        match method {
            "eth_chainId" => Some(json!("0x7a69")),
            "eth_getTransactionCount" => Some(json!("0x0")),
            "eth_getBlockByNumber" => Some(json!({
                "number": "0x1",
                "hash": to_hex(&[1; 32]),
                "parentHash": to_hex(&[0; 32]),
                "timestamp": "0x1",
            })),
            "eth_call" if is(data, "domainSeparator()") => {
                Some(json!(to_hex(&DOMAIN.separator().0)))
            }
            "eth_call" if is(data, "latest()") => {
                let words = [[0; 32], [0; 32], empty_root().0];
                Some(json!(to_hex(&words.concat())))
            }
            "eth_estimateGas" => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                None
            }
            _ => None,
        }
    }
}

impl InProcessNode for Refusing {
    fn answer(
        &self,
        request: Value,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, RpcError>> + Send>> {
        let method = request["method"].as_str().unwrap_or_default();
        let body = match self.result(method, &request["params"]) {
            Some(result) => json!({"jsonrpc": "2.0", "id": 1, "result": result}),
            None => json!({
                "jsonrpc": "2.0",
                "id": 1,
                "error": {"code": 3, "message": "execution reverted", "data": "0x"},
            }),
        };
        Box::pin(async move { Ok(body.to_string().into_bytes()) })
    }
}

async fn begin_anchoring(engine: &Engine, node: Refusing) {
    let contract = DOMAIN.verifying_contract;
    let endpoint = "http://node.invalid".parse().unwrap();
    let options = AnchorOptions {
        sender: SenderOptions::new(DOMAIN.chain_id, contract, DOMAIN.separator()),
        key: kedge_protocol::signature::SigningKey::clone(&sequencer_key()),
        rpc: RpcClient::to_node(Arc::new(node), endpoint, RpcOptions::default()),
        second_rpc: None,
        interval_ms: 1,
        poll_ms: 5,
        responder: None,
        observer: None,
    };
    Box::pin(engine.start_anchoring(options)).await.unwrap();
}

// Holds invariant 14.
#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_has_one_anchor_however_often_it_fails() {
    let dir = tempfile::tempdir().unwrap();
    let roots = RootOptions {
        interval: Duration::from_millis(1),
        kept: Duration::from_hours(1),
        kept_bytes: u64::MAX,
    };
    let options = EngineOptions {
        roots: Some(roots),
        ..options(Arc::new(|| RealEnv.unix_ms()), dir.path())
    };
    let engine = Engine::start(options, open(dir.path())).await.unwrap();
    register(&engine, 1).await;
    let node = Refusing::default();
    begin_anchoring(&engine, node.clone()).await;
    let is_refused = async {
        while node.refused.load(Ordering::Relaxed) < 4 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let refused = tokio::time::timeout(Duration::from_secs(30), is_refused).await;
    refused.expect("no anchor is sent");
    assert!(engine.shutdown(Duration::from_secs(10)).await);
    let all = RowPage {
        after: None,
        descending: false,
        limit: usize::MAX,
    };
    let snapshot = &engine.published().snapshot;
    let rows = snapshot.anchors(all).unwrap();
    let [row] = &rows[..] else {
        panic!("{rows:?}");
    };
    assert!(matches!(
        row.status,
        AnchorProgress::Pending | AnchorProgress::Failed
    ));
    assert_eq!(snapshot.anchor_number(row.id).unwrap(), Some(row.number));
}
