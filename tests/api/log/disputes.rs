//! Disputes: evidence of a fault is recorded in the log, other evidence is not.

use std::time::Duration;

use kedge_protocol::Hash;
use kedge_protocol::eip712::Domain;
use kedge_protocol::evidence::{ContractView, Evidence, EvidenceFile, HeaderEvidence};
use kedge_protocol::log_tree;
use kedge_protocol::proof::ProofFile;
use serde_json::{Value, json};

use crate::forgery::{another, batch, equivocation, json};
use crate::harness::{Answer, Caller, Server};

async fn bring(server: &Server, caller: &Caller, body: &str) -> Answer {
    let headers = [caller.bearer()];
    server.call("POST", "/disputes", &headers, body).await
}

async fn bring_file(server: &Server, caller: &Caller, file: &EvidenceFile) -> Answer {
    bring(server, caller, &json(file).to_string()).await
}

// Holds invariant 71.
#[tokio::test]
async fn a_proven_fault_is_recorded_once_with_its_evidence() {
    let mut server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let file = equivocation(&server).await;

    let made = bring_file(&server, &ann, &file).await.expect(201);
    let (id, sequence) = (made.body["id"].clone(), made.body["sequence"].clone());
    let path = format!("/disputes/{}", id.as_str().unwrap());
    assert_eq!(made.header("location"), path);
    assert_eq!(made.body["kind"], "fault");
    assert_eq!(made.body["fault"], "conflicting_batches");
    assert_eq!(made.body["batch"], 0);
    assert_eq!(made.body["organization_id"], ann.organization_id);
    assert_eq!(
        made.body["subject_id"],
        batch(&server, 0).await.id().to_string()
    );
    assert_eq!(made.body["evidence"], json(&file));

    // Submitted again with another spelling: nothing new.
    let spelled = serde_json::to_string_pretty(&json(&file)).unwrap();
    let again = bring(&server, &ann, &spelled).await.expect(200);
    assert_eq!(again.body, made.body);
    assert_eq!(server.sequence().await, sequence);

    let read = server.get(&path, Some(&ann.token)).await.expect(200);
    assert_eq!(read.body, made.body);
    let list = server.get("/disputes", Some(&ann.token)).await.expect(200);
    let mut listed = made.body.clone();
    listed.as_object_mut().unwrap().remove("evidence");
    assert_eq!(list.body["items"], json!([listed]));

    // Another organization sees nothing of it, and can submit the same.
    let foreign = server.get(&path, Some(&bob.token)).await;
    foreign.refused(404, "RESOURCE_NOT_FOUND");
    let none = server.get("/disputes", Some(&bob.token)).await.expect(200);
    assert_eq!(none.body["items"], json!([]));
    let own = bring_file(&server, &bob, &file).await.expect(201);
    assert_ne!(own.body["id"], id);

    check_action(&server, &ann, &made.body, &file).await;
    assert_eq!(server.terminate(), Some(0));
    // Replaying the log reproduces the disputes to the byte.
    assert!(server.verify_data().status.success());
}

/// The verdict is an action on the subject of the dispute, signed by the operator.
async fn check_action(server: &Server, ann: &Caller, dispute: &Value, file: &EvidenceFile) {
    let sequence = &dispute["sequence"];
    let path = format!("/ebus/actions/{sequence}");
    let action = server.get(&path, Some(&ann.token)).await.expect(200).body;
    assert_eq!(action["action_type"], "system.verdict");
    assert_eq!(action["payload"]["evidence"], json(file));
    let path = format!("/ebus/actions/{sequence}/proof?form=authorship");
    let proof = server.get(&path, Some(&ann.token)).await.expect(200).body;
    let proof: ProofFile = serde_json::from_value(proof).unwrap();
    assert!(
        proof
            .verify(&server.domain, &server.sequencer)
            .unwrap()
            .authorship
    );
    assert_eq!(proof.action.target, dispute["subject_id"]);

    // Any reader of the log reaches the same verdict.
    let evidence = EvidenceFile::parse(&dispute["evidence"].to_string()).unwrap();
    let verdict = evidence.check(&ContractView::new(server.domain, server.sequencer));
    assert_eq!(verdict.unwrap().fault.text(), dispute["fault"]);
}

#[tokio::test]
async fn anchored_checkpoints_are_the_servers_own() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    ann.new_template(&server, "ticket").await;
    let honest = batch(&server, 0).await;
    let other = batch(&server, 1).await;
    let omitted = |anchored_batches, held: Hash| {
        let evidence = Evidence::OmittedBatch {
            left: HeaderEvidence::signed(&another(&server, &honest), 0),
            anchored_batches,
            held,
            path: vec![log_tree::leaf(&other.header.hash())],
        };
        EvidenceFile::new(server.domain, evidence)
    };
    let held = honest.header.hash();
    let early = bring_file(&server, &ann, &omitted(2, held)).await;
    early.refused(422, "STATE_VIOLATION");
    server.admin("anchor-now");
    let held_by_chain = async {
        loop {
            let anchors = server.get("/anchors", None).await.expect(200).body;
            let status = anchors["items"][0]["status"].as_str().unwrap_or("");
            if ["confirmed", "finalized"].contains(&status) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waiting = tokio::time::timeout(Duration::from_mins(1), held_by_chain);
    waiting.await.unwrap();
    let made = bring_file(&server, &ann, &omitted(2, held))
        .await
        .expect(201);
    assert_eq!(made.body["fault"], "omitted_batch");
    // A checkpoint over more batches is no substitute.
    let unknown = bring_file(&server, &ann, &omitted(1, held)).await;
    unknown.refused(422, "STATE_VIOLATION");
    let why = unknown.body["body"]["message"].as_str().unwrap();
    assert!(why.contains("no checkpoint of 1 batches"), "{why}");
}

// Holds invariant 71.
#[tokio::test]
async fn what_shows_no_fault_leaves_no_trace() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let before = server.sequence().await;
    let honest = batch(&server, 0).await;
    let twice = Evidence::ConflictingBatches {
        first: HeaderEvidence::signed(&honest, 0),
        second: HeaderEvidence::signed(&honest, 0),
    };
    let file = EvidenceFile::new(server.domain, twice);
    let refused = bring_file(&server, &ann, &file).await;
    refused.refused(422, "STATE_VIOLATION");
    let foreign = Domain {
        chain_id: 1,
        ..server.domain
    };
    let good = equivocation(&server).await;
    let foreign = EvidenceFile::new(foreign, good.evidence.clone());
    let refused = bring_file(&server, &ann, &foreign).await;
    refused.refused(422, "STATE_VIOLATION");

    let edited = |edit: fn(&mut Value)| {
        let mut body = json(&good);
        edit(&mut body);
        body.to_string()
    };
    let malformed = [
        edited(|body| body["format"] = json!("kedge.other")),
        edited(|body| body["version"] = json!(2)),
        edited(|body| body["evidence"]["fault"] = json!("unheard_of")),
        edited(|body| body["evidence"]["first"]["header"]["count"] = json!(-1)),
        edited(|body| body["evidence"]["first"]["standing"]["signed"]["signature"] = json!("0x00")),
        edited(|body| body["evidence"]["surplus"] = json!(0)),
        edited(|body| *body = json!([])),
    ];
    for body in malformed {
        bring(&server, &ann, &body)
            .await
            .refused(400, "VALIDATION_ERROR");
    }
    bring(&server, &ann, "{")
        .await
        .refused(400, "MALFORMED_JSON");
    let long = format!("{}{}", json(&good), " ".repeat(128 * 1024));
    let refused = bring(&server, &ann, &long).await;
    refused.refused(413, "PAYLOAD_TOO_LARGE");
    let body = json(&good).to_string();
    let refused = server.call("POST", "/disputes", &[], &body).await;
    refused.refused(401, "UNAUTHENTICATED");
    assert_eq!(server.sequence().await, before);
}

// Holds invariant 71.
#[tokio::test]
async fn many_at_one_time_make_one_dispute() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let body = json(&equivocation(&server).await).to_string();
    let bring = || bring(&server, &ann, &body);
    let (one, two, three, four) = tokio::join!(bring(), bring(), bring(), bring());
    let answers = [one, two, three, four];
    let made = answers.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(made, 1);
    let same = |answer: &Answer| answer.status < 300 && answer.body == answers[0].body;
    assert!(answers.iter().all(same));
}
