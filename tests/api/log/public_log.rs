//! Public data of the log, for strangers: batches, leaves, consistency, the signed head.

use kedge_protocol::Hash;
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::chain::next_head;
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::merkle::{BatchTree, verify_consistency};
use kedge_protocol::signature::Signature;
use serde_json::Value;

use crate::harness::{Caller, Server, Signed};

fn hash(value: &Value) -> Hash {
    value.as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_stranger_checks_the_log() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template_id = ann.new_template(&server, "ticket").await;
    for count in [1, 3, 500, 2] {
        let mints: Vec<Signed<'_>> = vec![("mint", &template_id, "{}"); count];
        ann.bus(&server, &mints, true).await.expect(200);
    }
    let batches = server.get("/batches", None).await.expect(200).body;
    let batches = batches["items"].as_array().unwrap();
    assert_eq!(batches.len(), 6);
    let mut head = server.domain.separator();
    for batch in batches {
        let path = format!("/batches/{}/leaves", batch["id"].as_str().unwrap());
        let leaves = server.get(&path, None).await.expect(200).body;
        let leaves: Vec<Hash> = leaves["leaves"]
            .as_array()
            .unwrap()
            .iter()
            .map(hash)
            .collect();
        assert_eq!(hash(&batch["previous_head"]), head);
        head = leaves
            .iter()
            .fold(head, |head, leaf| next_head(&head, leaf));
        assert_eq!(hash(&batch["head"]), head);
        assert_eq!(hash(&batch["merkle_root"]), BatchTree::new(&leaves).root());
    }

    let path = "/consistency?from=2&to=6";
    let proof = server.get(path, None).await.expect(200).body;
    let hashes: Vec<Hash> = proof["proof"]
        .as_array()
        .unwrap()
        .iter()
        .map(hash)
        .collect();
    let (first, second) = (hash(&proof["first_root"]), hash(&proof["second_root"]));
    verify_consistency(2, 6, &first, &second, &hashes).unwrap();
    assert_eq!(hash(&batches[2]["history"]), first);

    let signed = server.newest_checkpoint().await;
    let checkpoint: Checkpoint = serde_json::from_value(signed["checkpoint"].clone()).unwrap();
    let signature: Signature = serde_json::from_value(signed["signature"].clone()).unwrap();
    assert_eq!((checkpoint.head, checkpoint.history), (head, second));
    let digest = checkpoint.digest(&server.domain.separator());
    assert_eq!(signature.recover(&digest).unwrap(), server.sequencer);
    for bad in [
        "from=0&to=1",
        "from=3&to=2",
        "from=1&to=7",
        "to=3",
        "from=a&to=3",
    ] {
        server
            .get(&format!("/consistency?{bad}"), None)
            .await
            .refused(400, "VALIDATION_ERROR");
    }
}

#[tokio::test]
async fn other_organizations_actions_show_as_leaves() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let eve = Caller::register(&server, "eve@example.com").await;
    let path = "/batches/0/actions";
    server.get(path, None).await.refused(401, "UNAUTHENTICATED");
    let own = server.get(path, Some(&ann.token)).await.expect(200).body;
    let foreign = server.get(path, Some(&eve.token)).await.expect(200).body;
    assert_eq!(own["items"][0]["action_type"], "wallet.register");
    assert!(
        own["items"][0]["payload"]
            .as_str()
            .unwrap()
            .starts_with("sha-256=:")
    );
    let members: Vec<&String> = foreign["items"][0].as_object().unwrap().keys().collect();
    assert_eq!(members, ["leaf", "leaf_index", "sequence"]);
    assert_eq!(foreign["items"][0]["leaf"], own["items"][0]["leaf"]);
    for missing in [
        "/batches/99",
        "/batches/bat_x",
        "/anchors/99",
        "/ebus/actions/act_x",
    ] {
        let answer = server.get(missing, Some(&eve.token)).await;
        answer.refused(404, "RESOURCE_NOT_FOUND");
    }
}

#[tokio::test]
async fn headers_describe_the_answer() {
    let server = Server::start().await;
    let id = [("x-request-id", "my-id.1".to_owned())];
    let echoed = server.call("GET", "/version", &id, "").await.expect(200);
    assert_eq!(echoed.header("x-request-id"), "my-id.1");
    assert_eq!(echoed.header("x-content-type-options"), "nosniff");
    assert_eq!(echoed.header("x-sequence"), "0");
    let id = [("x-request-id", "not sane".to_owned())];
    let made = server.call("GET", "/nowhere", &id, "").await;
    made.refused(404, "RESOURCE_NOT_FOUND");
    assert_ne!(made.header("x-request-id"), "not sane");
    let deleted = server.call("DELETE", "/templates", &[], "").await;
    deleted.refused(405, "METHOD_NOT_ALLOWED");
    assert_eq!(deleted.header("allow"), "GET, POST, HEAD");
    let accept = [("accept", "application/problem+json".to_owned())];
    let problem = server.call("GET", "/objects", &accept, "").await;
    assert_eq!(problem.header("content-type"), "application/problem+json");
    assert_eq!(problem.body["code"], "UNAUTHENTICATED");
    let document = server.get("/openapi.json", None).await.expect(200).body;
    assert_eq!(document["openapi"], "3.1.0");
    let head = server.call("HEAD", "/version", &[], "").await.expect(200);
    assert_eq!(head.body, Value::Null);
    server.get("/readyz", None).await.expect(200);
    let keys = server
        .get("/.well-known/jwks.json", None)
        .await
        .expect(200)
        .body;
    assert_eq!(keys["keys"][0]["crv"], "Ed25519");
    assert!(
        keys["keys"][0].get("d").is_none(),
        "no private part is served"
    );
}

/// The header of a batch has the protocol's form.
#[tokio::test]
async fn a_batch_is_signed_by_the_sequencer() {
    let server = Server::start().await;
    let _ann = Caller::register(&server, "ann@example.com").await;
    let batch = server.get("/batches/0", None).await.expect(200).body;
    let number = |name: &str| batch[name].as_u64().unwrap();
    let signed = SignedBatch {
        header: kedge_protocol::batch::BatchHeader {
            number: number("number"),
            first_sequence: number("first_sequence"),
            count: number("action_count") as u32,
            previous_head: hash(&batch["previous_head"]),
            head: hash(&batch["head"]),
            root: hash(&batch["merkle_root"]),
            history: hash(&batch["history"]),
            state: hash(&batch["state"]),
            sealed_at_ms: number("sealed_at_ms"),
        },
        signature: batch["signature"].as_str().unwrap().parse().unwrap(),
    };
    let digest = signed.header.digest(&server.domain.separator());
    assert_eq!(signed.signature.recover(&digest).unwrap(), server.sequencer);
    assert_eq!(signed.id().to_string(), batch["id"].as_str().unwrap());
}
