//! Every kind of action through a real server, and the resulting log: no two of its leaves, headers or checkpoints
//! convict it, before the server's own judge or any other.

use std::collections::BTreeSet;
use std::time::Duration;

use kedge_protocol::Hash;
use kedge_protocol::action::Kind;
use kedge_protocol::evidence::{Evidence, EvidenceFile, HeaderEvidence, LeafEvidence};
use kedge_protocol::possession;
use kedge_protocol::proof::ProofFile;
use kedge_protocol::signature::SigningKey;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::forgery::equivocation;
use crate::harness::{Answer, Caller, Server};
use crate::resources::files::upload;

const LOOPBACK: &str = "webhook_allowed_networks=[\"127.0.0.0/8\"]";
const QUICK: &str = "webhook_retry_schedule_s=[0,1,1,1]";
/// Longest time for anything that the server does by itself.
const PATIENCE: Duration = Duration::from_mins(1);

struct Life {
    server: Server,
    ann: Caller,
    bob: Caller,
}

impl Life {
    /// A signed request of Ann's whose payload is its body.
    async fn ann(&self, request: (&str, &str), kind: (&str, &str), body: &Value) -> Answer {
        let body = body.to_string();
        self.ann.change(&self.server, request, kind, &body).await
    }

    /// The pair that an older rule took for a fork: the first actions of a registered wallet and of its organization.
    async fn wallets_and_organizations(&self) {
        let (wallet, organization) = (&*self.ann.wallet_id, &*self.ann.organization_id);
        let nickname = json!({ "nickname": "ann" });
        let request = ("PATCH", "/wallets/me");
        self.ann(request, ("wallet.update", wallet), &nickname)
            .await
            .expect(200);
        let request = ("POST", "/organizations/me/invitations");
        let invite = ("org.invite", organization);
        let invited = self.ann(request, invite, &json!({})).await.expect(201);
        self.ann(request, invite, &json!({})).await.expect(201);

        // Joining creates a wallet, but no organization.
        let mut carol = Caller::nobody();
        let mut body = carol.registration("carol@example.com");
        body["invitation"] = invited.body["code"].clone();
        let body = body.to_string();
        let joined = carol.send_registration(&self.server, &body).await;
        let joined = joined.expect(201);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        carol.token = text(&joined.body["access_token"]);
        carol.wallet_id = text(&joined.body["wallet"]["id"]);

        // Changing her role extends the organization; her own actions extend her wallet.
        for role in ["admin", "member"] {
            let path = format!("/organizations/me/members/{}", carol.wallet_id);
            let body = json!({ "wallet_id": carol.wallet_id, "role": role });
            self.ann(("PATCH", &path), ("org.role", organization), &body)
                .await
                .expect(200);
            let kind = ("wallet.update", carol.wallet_id.as_str());
            let body = format!(r#"{{"nickname":"carol, {role}"}}"#);
            let request = ("PATCH", "/wallets/me");
            carol
                .change(&self.server, request, kind, &body)
                .await
                .expect(200);
        }
        self.keys_of_a_wallet(wallet).await;
        self.ends_of_rights(organization, &carol.wallet_id).await;
    }

    /// Revokes an invitation, and removes a member.
    async fn ends_of_rights(&self, organization: &str, member: &str) {
        let invite = ("org.invite", organization);
        let request = ("POST", "/organizations/me/invitations");
        let body = json!({ "role": "member" });
        let invited = self.ann(request, invite, &body).await.expect(201);
        let invitation = invited.body["id"].as_str().unwrap().to_owned();
        for (kind, path, member, id) in [
            (
                "org.invitation_revoke",
                "invitations",
                "invitation_id",
                invitation.as_str(),
            ),
            ("org.member_remove", "members", "wallet_id", member),
        ] {
            let path = format!("/organizations/me/{path}/{id}");
            let payload = json!({ member: id }).to_string();
            let signed = (kind, organization, payload.as_str());
            let credentials = [self.ann.bearer()];
            let request = ("DELETE", path.as_str());
            let ended = self
                .ann
                .change_as(&self.server, request, signed, "", &credentials)
                .await;
            assert!(ended.status < 300, "{}", ended.body);
        }
    }

    async fn keys_of_a_wallet(&self, wallet: &str) {
        let added = SigningKey::from_bytes(&[0x77; 32]).unwrap();
        let consent = possession::consent(&added, &self.server.domain.separator(), wallet);
        let added = added.address();
        let request = ("POST", "/wallets/me/keys");
        let body = json!({ "address": added, "possession": consent });
        let add = self.ann(request, ("wallet.key_add", wallet), &body).await;
        assert!(add.status < 300, "{}", add.body);
        let payload = json!({ "address": added }).to_string();
        let path = format!("/wallets/me/keys/{added}");
        let signed = ("wallet.key_remove", wallet, payload.as_str());
        let credentials = [self.ann.bearer()];
        let request = ("DELETE", path.as_str());
        let removed = self
            .ann
            .change_as(&self.server, request, signed, "", &credentials);
        let removed = removed.await;
        assert!(removed.status < 300, "{}", removed.body);
    }

    async fn records(&self) {
        let permissions = json!([{ "resource": "objects", "crud": { "read": true } }]);
        let body = json!({ "name": "reader", "permissions": permissions });
        let key = self.ann.new_key(&self.server, &body).await.expect(201);
        let id = key.body["id"].as_str().unwrap();
        let path = format!("/api-keys/{id}/rotate");
        let rotated = self
            .ann(("POST", &path), ("key.rotate", id), &json!({}))
            .await;
        assert!(rotated.status < 300, "{}", rotated.body);
        self.delete(&format!("/api-keys/{id}"), ("key.delete", id))
            .await;

        upload(&self.server, &self.ann, "plan.txt", b"a plan")
            .await
            .expect(201);

        let url = gone().await;
        let body = json!({ "url": url, "events": ["object.updated"] });
        let request = ("POST", "/webhooks");
        let create = ("webhook.create", "");
        let hook = self.ann(request, create, &body).await.expect(201);
        let id = hook.body["id"].as_str().unwrap();
        let path = format!("/webhooks/{id}");
        let body = json!({ "description": "of everything", "events": ["*"] });
        let update = self
            .ann(("PATCH", &path), ("webhook.update", id), &body)
            .await;
        assert!(update.status < 300, "{}", update.body);
        let rotate = format!("{path}/rotate");
        let rotated = self
            .ann(("POST", &rotate), ("webhook.rotate", id), &json!({}))
            .await;
        assert!(rotated.status < 300, "{}", rotated.body);
        // Its receiver is gone for good, so the server switches the webhook off.
        self.until("the webhook is off", || async {
            let read = self.server.get(&path, Some(&self.ann.token)).await;
            read.body["active"] == json!(false)
        })
        .await;
        self.delete(&path, ("webhook.delete", id)).await;
    }

    async fn delete(&self, path: &str, (kind, target): (&str, &str)) {
        let credentials = [self.ann.bearer()];
        let (request, signed) = (("DELETE", path), (kind, target, ""));
        let deleted = self
            .ann
            .change_as(&self.server, request, signed, "", &credentials);
        let deleted = deleted.await;
        assert!(deleted.status < 300, "{}", deleted.body);
    }

    async fn objects(&self) {
        let template = json!({ "name": "ticket", "public_access": true,
            "actions": [{ "kind": "x.check_in", "who": "anyone" }] });
        let made = self.ann.template(&self.server, &template).await.expect(201);
        let template = made.body["id"].as_str().unwrap();
        let path = format!("/templates/{template}");
        let body = json!({ "description": "for one evening" });
        let update = ("template.update", template);
        self.ann(("PATCH", &path), update, &body).await.expect(200);
        let path = format!("{path}/variations");
        let some = |count: usize, of: &str| {
            let names = (0..count).map(|i| json!({ "name": format!("{of} {i}") }));
            json!({ "variations": names.collect::<Vec<_>>() })
        };
        let variations = ("template.variations", template);
        for body in [some(500, "row"), some(1, "box")] {
            let added = self.ann(("POST", &path), variations, &body).await;
            assert!(added.status < 300, "{}", added.body);
        }
        let object = self.ann.new_object(&self.server, template).await;
        let object = object.as_str();
        let other = self.ann.new_object(&self.server, template).await;
        let to_bob = json!({ "to": self.bob.wallet_id }).to_string();
        // Several actions on one object in one request, including mints; one fails.
        let actions = [
            ("update", object, r#"{"properties":{"seat":1}}"#),
            ("set_attributes", object, r#"{"attributes":{"row":2}}"#),
            ("mint", template, "{}"),
            ("delete_attributes", object, r#"{"attributes":["row"]}"#),
            ("unlock", object, "{}"),
            ("emit", object, r#"{"n":1}"#),
            ("emit", object, r#"{"n":1}"#),
            ("x.check_in", object, r#"{"gate":4}"#),
            ("lock", other.as_str(), "{}"),
            ("mint", template, "{}"),
        ];
        self.ann
            .bus(&self.server, &actions, false)
            .await
            .expect(200);
        let atomic = [
            ("lock", object, "{}"),
            ("unlock", object, "{}"),
            ("transfer", object, to_bob.as_str()),
        ];
        self.ann.bus(&self.server, &atomic, true).await.expect(200);
        // It belongs to a wallet of another organization now.
        let burn = [("emit", object, "{}"), ("burn", object, "{}")];
        self.bob.bus(&self.server, &burn, false).await.expect(200);
    }

    /// Actions of the operator, and the consequences of a stolen key.
    async fn system(&self) {
        let socket = self.server.dir.path().join("data/admin.sock");
        for tier in ["developer", "enterprise"] {
            let status = crate::program::kedge()
                .args(["admin", "tier", &self.ann.organization_id, tier, "--socket"])
                .arg(&socket)
                .status();
            assert!(status.unwrap().success());
        }
        let file = equivocation(&self.server).await;
        self.dispute(&file).await.expect(201);
    }

    async fn dispute(&self, file: &EvidenceFile) -> Answer {
        let (headers, body) = ([self.ann.bearer()], file.normal_form().unwrap());
        self.server.call("POST", "/disputes", &headers, &body).await
    }

    /// All actions of ann's organization, opened.
    async fn opened(&self) -> Vec<ProofFile> {
        let list = self
            .server
            .get("/ebus/actions?limit=1000", Some(&self.ann.token));
        let list = list.await.expect(200).body;
        let mut opened = Vec::new();
        for action in list["items"].as_array().unwrap() {
            let path = format!("/ebus/actions/{}/proof", action["id"].as_str().unwrap());
            let proof = self
                .server
                .get(&path, Some(&self.ann.token))
                .await
                .expect(200);
            opened.push(serde_json::from_value(proof.body).unwrap());
        }
        opened
    }

    /// Accuses the server, over HTTP, with every pair of actions that a reader could take for a fork.
    async fn accuse(&self) {
        let opened = self.opened().await;
        let first_of = |kind: &str| {
            let mut of_kind = opened.iter().filter(|proof| proof.action.kind == kind);
            of_kind.next_back().expect("the list has the newest first")
        };
        let wallet = first_of("wallet.update");
        let organization = first_of("org.invite");
        let mut pairs = vec![(wallet, organization)];
        for (place, one) in opened.iter().enumerate() {
            let same = opened[place + 1..].iter().filter(|other| {
                let previous = other.leaf.previous_integrity;
                previous == one.leaf.previous_integrity && previous != Hash::ZERO
            });
            pairs.extend(same.map(|other| (one, other)));
        }
        for (one, other) in pairs {
            for previous in [one.leaf.previous_integrity, other.leaf.previous_integrity] {
                let evidence = Evidence::ForkedIntegrity {
                    first: leaf(one),
                    second: leaf(other),
                    previous,
                };
                let file = EvidenceFile::new(self.server.domain, evidence);
                self.dispute(&file).await.refused(422, "STATE_VIOLATION");
            }
        }
    }

    async fn until<F: Future<Output = bool>>(&self, what: &str, mut holds: impl FnMut() -> F) {
        let holding = async {
            while !holds().await {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let held = tokio::time::timeout(PATIENCE, holding).await;
        assert!(held.is_ok(), "not within {PATIENCE:?}: {what}");
    }
}

fn leaf(proof: &ProofFile) -> LeafEvidence {
    LeafEvidence {
        leaf: kedge_protocol::chain::LogLeaf {
            sequence: proof.leaf.sequence,
            timestamp_ms: proof.leaf.timestamp_ms,
            content: proof.leaf.content,
            integrity: proof.leaf.integrity,
        },
        index: proof.inclusion.leaf_index,
        path: proof.inclusion.path.clone(),
        batch: HeaderEvidence::signed(&proof.batch, 0),
    }
}

/// A webhook receiver that is gone for good.
async fn gone() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 65_536];
            let _read = stream.read(&mut request).await;
            let answer = b"HTTP/1.1 410 Gone\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            let _written = stream.write_all(answer).await;
        }
    });
    url
}

// Holds invariants 108, 149.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_of_action_and_no_pair_of_them_convicts() {
    let server = Server::start_with(&[LOOPBACK, QUICK]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let mut life = Life { server, ann, bob };
    life.wallets_and_organizations().await;
    life.server.admin("anchor-now");
    life.objects().await;
    life.records().await;
    life.system().await;
    life.accuse().await;
    life.server.admin("anchor-now");
    life.until("the log is anchored", || async {
        let ready = life.server.get("/readyz", None).await.body;
        ready["anchoring"]["lag_batches"] == json!(0)
    })
    .await;
    assert_eq!(life.server.terminate(), Some(0));

    let kinds = life.server.is_never_convicted();
    let known: BTreeSet<String> = kinds.keys().cloned().collect();
    let built_in = Kind::BUILT_IN.iter().map(|kind| kind.text().to_owned());
    let mut expected: BTreeSet<String> = built_in.collect();
    // A next key needs a contract that knows it; the rotation's own test names some.
    expected.remove("system.sequencer_key");
    expected.insert("x.check_in".to_owned());
    assert_eq!(known, expected, "each kind of action is in the log");
    assert!(life.server.verify_data().status.success());
    let store = life.server.dir.path().join("data/store");
    let (stored, log) = crate::cuts::open(&store, life.server.domain, life.server.sequencer);
    log.check(&stored, &[log.every_cut()]);
}
