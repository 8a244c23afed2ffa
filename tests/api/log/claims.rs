//! Claims: a valid claim is recorded in the log, once, for its claimant; anything else is refused and leaves no trace.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kedge_client::claims::{
    ClaimBinding, ClaimDisclosure, ClaimFile, DisclosureMask, ProvingKey, dev_insecure,
};
use kedge_client::{
    Account, Client, ClientError, DisputeCategory, ListQuery, NewObject, NewTemplate, ProofForm,
    Registration, RetryPolicy, random,
};
use kedge_protocol::proof::ProofFile;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash, Id};
use serde_json::{Value, json};

use crate::forgery::another;
use crate::harness::{Answer, Caller, PASSWORD, Server};

/// The development proving key, made once for all tests.
fn key() -> Arc<ProvingKey> {
    static KEY: OnceLock<Arc<ProvingKey>> = OnceLock::new();
    let made = || Arc::new(kedge_client::claims::dev_insecure_proving().unwrap());
    Arc::clone(KEY.get_or_init(made))
}

/// A server, with an account that has made an action.
struct Log {
    server: Server,
    client: Client,
    ann: Account,
    action: Id,
}

async fn register(client: &Client, email: &str) -> Account {
    let account = client.account(SigningKey::from_bytes(&random::bytes().unwrap()).unwrap());
    let registration = Registration {
        email: email.to_owned(),
        password: PASSWORD.to_owned(),
        nickname: None,
        organization_name: None,
    };
    account.register(&registration).await.unwrap();
    account
}

impl Log {
    async fn start(options: &[&str]) -> Self {
        let server = Server::start_with(options).await;
        let builder = Client::builder(server.url.as_str()).retry(RetryPolicy::never());
        let client = builder.connect().await.unwrap();
        let ann = register(&client, "ann@example.com").await;
        let ticket = NewTemplate {
            name: "ticket".to_owned(),
            ..NewTemplate::default()
        };
        let template = ann.create_template(&ticket).await.unwrap().resource;
        let object = NewObject {
            properties: serde_json::Map::from_iter([("seat".to_owned(), json!("14C"))]),
            ..NewObject::default()
        };
        let action = ann.mint(template.id, &object).await.unwrap().action_id;
        Self {
            server,
            client,
            ann,
            action,
        }
    }

    async fn proof(&self) -> ProofFile {
        let proof = self.ann.proof(self.action, ProofForm::Inclusion);
        proof.await.unwrap()
    }

    /// A claim on the mint for this claimant: it discloses the action, but not its signer.
    async fn claim(&self, claimant: Address, purpose: u8) -> ClaimFile {
        let choice = ClaimDisclosure {
            mask: DisclosureMask::new(0b0101).unwrap(),
            hashes_only: false,
        };
        let binding = ClaimBinding {
            resolver: Address([7; 20]),
            claimant,
            purpose: Hash([purpose; 32]),
        };
        let proof = self.proof().await;
        let proving = self.client.prove_claim(key(), proof, choice, binding);
        proving.await.unwrap()
    }

    async fn own_claim(&self, purpose: u8) -> ClaimFile {
        self.claim(self.ann.address(), purpose).await
    }

    async fn bring(&self, body: &str) -> Answer {
        let token = self.ann.access_token().unwrap();
        let headers = [("authorization", format!("Bearer {token}"))];
        self.server.call("POST", "/disputes", &headers, body).await
    }
}

fn code_of<T: std::fmt::Debug>(result: Result<T, ClientError>) -> String {
    result.unwrap_err().code().unwrap_or_default().to_owned()
}

// Holds invariant 78.
#[tokio::test]
async fn a_claim_that_holds_is_recorded_once() {
    let mut log = Log::start(&["organization_share_percent=100"]).await;
    let file = log.own_claim(1).await;
    let shown = log.client.verify_claim(&file, dev_insecure()).unwrap();
    assert_eq!(shown.mask.bits(), 0b0101);

    let made = log.ann.bring_claim(&file).await.unwrap();
    assert!(made.is_new);
    let dispute = &made.dispute;
    assert_eq!(dispute.kind, DisputeCategory::Claim);
    assert_eq!(dispute.subject_id, log.action);
    assert_eq!(dispute.batch, file.batch.header.number);
    assert_eq!(dispute.fault, None);
    let normal = file.normal_form().unwrap();
    assert_eq!(dispute.claim_digest, Some(ClaimFile::digest_of(&normal)));
    check_verdict(&log, dispute.sequence, &file).await;

    // Submitted again with another spelling: nothing new.
    let again = log
        .bring(&serde_json::to_string_pretty(&file).unwrap())
        .await
        .expect(200);
    assert_eq!(again.body["id"], dispute.id.to_string());
    let again = log.ann.bring_claim(&file).await.unwrap();
    assert!(!again.is_new);
    assert_eq!(&again.dispute, dispute);
    // Another proof for the same context is another claim.
    let other = log.own_claim(1).await;
    assert_ne!(other.proof, file.proof);
    assert_eq!(code_of(log.ann.bring_claim(&other).await), "CONFLICT");
    assert_eq!(log.server.sequence().await, dispute.sequence);

    assert_eq!(log.ann.dispute(dispute.id).await.unwrap(), *dispute);
    let listed = log.ann.disputes(&ListQuery::default());
    let listed = listed.collect(10).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].id, &listed[0].claim), (dispute.id, &None));
    let bob = register(&log.client, "bob@example.com").await;
    assert_eq!(code_of(bob.dispute(dispute.id).await), "RESOURCE_NOT_FOUND");

    // Another purpose, submitted many times in parallel.
    let file = log.own_claim(2).await;
    let bring = || log.ann.bring_claim(&file);
    let (one, two, three, four) = tokio::join!(bring(), bring(), bring(), bring());
    let brought = [one, two, three, four].map(Result::unwrap);
    assert_eq!(brought.iter().filter(|brought| brought.is_new).count(), 1);
    assert!(
        brought
            .iter()
            .all(|each| each.dispute == brought[0].dispute)
    );

    assert_eq!(log.server.terminate(), Some(0));
    // Replaying the log reproduces the disputes to the byte.
    assert!(log.server.verify_data().status.success());
}

/// The verdict is an action on the claimed action, signed by the operator, and holds the claim.
async fn check_verdict(log: &Log, sequence: u64, file: &ClaimFile) {
    let token = log.ann.access_token().unwrap();
    let path = format!("/ebus/actions/{sequence}");
    let action = log.server.get(&path, Some(&token)).await.expect(200).body;
    assert_eq!(action["action_type"], "system.verdict");
    let payload = &action["payload"];
    assert_eq!(payload["kind"], "claim");
    assert_eq!(payload["shown"], "inclusion");
    assert_eq!(payload["claim"], serde_json::to_value(file).unwrap());

    let list = log.server.get("/disputes", Some(&token)).await.expect(200);
    let item = &list.body["items"][0];
    let shown = &item["action"];
    assert_eq!(shown["disclosed"]["kind"]["text"], "mint");
    assert!(
        shown["disclosed"]["payload"]["text"]
            .as_str()
            .unwrap()
            .contains("14C")
    );
    let names: Vec<&String> = shown["disclosed"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["kind", "payload"]);
    assert_eq!(shown["anchored"], false);
    assert_eq!(shown["sequence"], file.leaf.sequence);
    assert_eq!(shown["claimant"], log.ann.address().to_string());
    assert_eq!(shown["context"], file.statement().context.to_string());
    for absent in ["fault", "evidence", "evidence_digest", "claim"] {
        assert!(item.get(absent).is_none(), "{absent}");
    }
}

// Holds invariant 78.
#[tokio::test]
async fn a_claim_is_its_claimants_to_bring() {
    let log = Log::start(&[]).await;
    let bob = Caller::register(&log.server, "bob@example.com").await;
    let file = log.own_claim(1).await;
    let body = file.normal_form().unwrap();
    let before = log.server.sequence().await;

    let thief = [bob.bearer()];
    let refused = log.server.call("POST", "/disputes", &thief, &body).await;
    refused.refused(403, "FORBIDDEN");
    // The proof holds for no other address, such as the thief's.
    let mut stolen = file.clone();
    stolen.binding.claimant = bob.key.address();
    let body = stolen.normal_form().unwrap();
    let refused = log.server.call("POST", "/disputes", &thief, &body).await;
    refused.refused(400, "VALIDATION_ERROR");
    assert_eq!(log.server.sequence().await, before);

    // An API key is no wallet, whatever its rights.
    let grant = json!({ "resource": "batches", "crud": { "create": true, "read": true } });
    let robot = json!({ "name": "robot", "permissions": [grant] });
    let robot = bob.new_key(&log.server, &robot).await.expect(201).body;
    let before = log.server.sequence().await;
    let alone = [("x-api-key", robot["key"].as_str().unwrap().to_owned())];
    let own = log.claim(bob.key.address(), 1).await.normal_form().unwrap();
    let refused = log.server.call("POST", "/disputes", &alone, &own).await;
    refused.refused(403, "FORBIDDEN");
    assert_eq!(log.server.sequence().await, before);
    // Anyone who holds the proof file may claim what it states, for their own key.
    let made = log.server.call("POST", "/disputes", &thief, &own).await;
    made.expect(201);
    assert!(log.ann.bring_claim(&file).await.unwrap().is_new);
}

/// A change of a claim's JSON, with the pointer of the resulting error.
type Spoilt = (&'static str, fn(&mut Value));

const SPOILT: &[Spoilt] = &[
    ("/proof/a", |c| c["proof"]["a"][0] = json!(Hash([1; 32]))),
    ("/proof/b", |c| {
        c["proof"]["b"].as_array_mut().unwrap().swap(0, 1);
    }),
    ("/proof/c", |c| c["proof"]["c"][0] = json!(Hash([0xff; 32]))),
    ("/proof", |c| c["proof"]["c"] = c["proof"]["a"].clone()),
    ("/proof/a/0", |c| c["proof"]["a"] = json!([Hash::ZERO])),
    ("/key_hash", |c| {
        c["key_hash"] = c["leaf"]["content"].clone();
    }),
    ("/public_inputs/0", |c| {
        c["leaf"]["content"] = c["key_hash"].clone();
    }),
    ("/public_inputs/12", |c| {
        c["public_inputs"][12] = json!(Hash::ZERO);
    }),
    ("/public_inputs/2", |c| {
        c["disclosed"].as_object_mut().unwrap().remove("kind");
    }),
    ("/disclosed/payload/text", |c| {
        c["disclosed"]["payload"]["text"] = json!("{}");
    }),
    ("/domain", |c| c["domain"]["chain_id"] = json!(1)),
    ("/sequencer", |c| {
        c["sequencer"] = c["binding"]["claimant"].clone();
    }),
    ("/leaf/sequence", |c| c["leaf"]["sequence"] = json!(1)),
    ("/inclusion/path", |c| c["leaf"]["timestamp_ms"] = json!(1)),
    ("/batch/signature", |c| {
        c["batch"]["header"]["sealed_at_ms"] = json!(u64::from(u32::MAX) * 1_000);
    }),
    ("/format", |c| c["format"] = json!("kedge.proof")),
    ("/version", |c| c["version"] = json!(2)),
    ("/more", |c| c["more"] = json!(1)),
    ("/leaf", |c| c["leaf"] = json!([1, 2])),
    ("/binding", |c| {
        c.as_object_mut().unwrap().remove("binding");
    }),
];

// Holds invariant 78.
#[tokio::test]
async fn what_does_not_hold_is_refused_where_it_is_wrong_and_leaves_no_trace() {
    let log = Log::start(&[]).await;
    let file = log.own_claim(1).await;
    let before = log.server.sequence().await;
    let good = serde_json::to_value(&file).unwrap();
    for (pointer, spoil) in SPOILT {
        let mut spoilt = good.clone();
        spoil(&mut spoilt);
        let refused = log.bring(&spoilt.to_string()).await;
        refused.refused(400, "VALIDATION_ERROR");
        let reported = &refused.body["body"]["errors"][0]["pointer"];
        assert_eq!(reported, pointer, "{}", refused.body);
    }
    // A header that the sequencer's key signed, but that this log does not hold.
    let mut forged = file.clone();
    forged.batch = another(&log.server, &file.batch);
    let refused = log.bring(&forged.normal_form().unwrap()).await;
    refused.refused(422, "STATE_VIOLATION");

    let long = format!("{good}{}", " ".repeat(128 * 1024));
    log.bring(&long).await.refused(413, "PAYLOAD_TOO_LARGE");
    let body = good.to_string();
    let refused = log.server.call("POST", "/disputes", &[], &body).await;
    refused.refused(401, "UNAUTHENTICATED");
    assert_eq!(log.server.sequence().await, before);
    assert!(log.ann.bring_claim(&file).await.unwrap().is_new);

    // A chain with real value has no key until the operator names one.
    let worth = Log::start(&["chain_id=1"]).await;
    let refused = worth.bring(&body).await;
    refused.refused(503, "UNAVAILABLE");
    assert!(!refused.header("retry-after").is_empty());
    let reported = refused.body["body"]["message"].as_str().unwrap();
    assert!(reported.contains("claims_key_file"), "{reported}");
}

// Holds invariant 78.
#[tokio::test]
async fn an_anchor_is_the_logs_own() {
    let log = Log::start(&[]).await;
    log.server.admin("anchor-now");
    let anchored = async {
        while log.proof().await.anchor.is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waiting = tokio::time::timeout(Duration::from_mins(1), anchored);
    waiting.await.unwrap();
    let file = log.own_claim(1).await;
    let before = log.server.sequence().await;
    let spoils: [fn(&mut ClaimFile); 3] = [
        |c| c.anchor.as_mut().unwrap().transaction_hash = Some(Hash::ZERO),
        |c| c.anchor.as_mut().unwrap().contract = Address::ZERO,
        |c| c.anchor.as_mut().unwrap().block_number = None,
    ];
    for spoil in spoils {
        let mut spoilt = file.clone();
        spoil(&mut spoilt);
        let refused = log.bring(&spoilt.normal_form().unwrap()).await;
        refused.refused(422, "STATE_VIOLATION");
    }
    assert_eq!(log.server.sequence().await, before);
    let made = log.bring(&file.normal_form().unwrap()).await.expect(201);
    assert_eq!(made.body["action"]["anchored"], true);
}
