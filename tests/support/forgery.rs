//! Forgeries by a thief of the sequencer's key: evidence of faults of a log without faults.

use std::sync::atomic::{AtomicU64, Ordering};

use kedge_config::secrets;
use kedge_protocol::Hash;
use kedge_protocol::batch::{BatchHeader, SignedBatch};
use kedge_protocol::evidence::{Evidence, EvidenceFile, HeaderEvidence};
use kedge_protocol::signature::SigningKey;
use serde_json::Value;

use crate::harness::Server;

/// The sequencer's own key.
pub(crate) fn stolen_key(server: &Server) -> SigningKey {
    let path = server.dir.path().join("data/keys/sequencer.key");
    secrets::development_key(&path).unwrap()
}

/// A batch that the server signed.
pub(crate) async fn batch(server: &Server, number: u64) -> SignedBatch {
    let path = format!("/batches/{number}");
    let view = server.get(&path, None).await.expect(200).body;
    let hash = |name: &str| -> Hash { view[name].as_str().unwrap().parse().unwrap() };
    let header = BatchHeader {
        number,
        first_sequence: view["first_sequence"].as_u64().unwrap(),
        count: u32::try_from(view["action_count"].as_u64().unwrap()).unwrap(),
        previous_head: hash("previous_head"),
        head: hash("head"),
        root: hash("merkle_root"),
        history: hash("history"),
        state: hash("state"),
        sealed_at_ms: view["sealed_at_ms"].as_u64().unwrap(),
    };
    SignedBatch {
        header,
        signature: view["signature"].as_str().unwrap().parse().unwrap(),
    }
}

/// The batch with the sequencer's signature, sealed at a different time in each call.
pub(crate) fn another(server: &Server, batch: &SignedBatch) -> SignedBatch {
    static LATER_MS: AtomicU64 = AtomicU64::new(1);
    let mut header = batch.header;
    header.sealed_at_ms += LATER_MS.fetch_add(1, Ordering::Relaxed);
    header.sign(&server.domain.separator(), &stolen_key(server))
}

/// Two headers of the first batch, different in each call.
pub(crate) async fn equivocation(server: &Server) -> EvidenceFile {
    let honest = batch(server, 0).await;
    let evidence = Evidence::ConflictingBatches {
        first: HeaderEvidence::signed(&honest, 0),
        second: HeaderEvidence::signed(&another(server, &honest), 0),
    };
    EvidenceFile::new(server.domain, evidence)
}

/// Evidence as the body of a request.
pub(crate) fn json(file: &EvidenceFile) -> Value {
    serde_json::to_value(file).unwrap()
}
