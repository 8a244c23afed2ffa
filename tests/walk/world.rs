//! Two organizations on one server, with something of every kind in the first.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kedge_protocol::resource::Area;
use serde_json::{Value, json};

use crate::ask::{Ask, Got, send};
use crate::forgery;
use crate::harness::{Caller, Server};
use crate::row::Row;

pub(crate) const ACCESSES: [&str; 4] = ["create", "read", "update", "delete"];
pub(crate) const OPTIONS: [&str; 3] = [
    // Test messages reach no receiver, because nothing listens on port 1.
    "webhook_allowed_networks=[\"127.0.0.0/8\"]",
    "anchor_interval_s=1",
    "password_hashes_max=4",
];
/// The URL of all webhooks.
pub(crate) const RECEIVER: &str = "http://127.0.0.1:1/";
/// Base64 of 16 bytes.
pub(crate) const BLIND: &str = "MDEyMzQ1Njc4OWFiY2RlZg==";

pub(crate) struct World {
    pub(crate) server: Server,
    /// Owner of the first organization.
    pub(crate) ann: Caller,
    /// A member of it without special rights.
    pub(crate) max: Caller,
    /// Owner of the other organization.
    pub(crate) bob: Caller,
    pub(crate) template: String,
    pub(crate) object: String,
    pub(crate) locked: String,
    pub(crate) action: String,
    pub(crate) key_id: String,
    /// A key with all rights.
    pub(crate) key: String,
    pub(crate) bobs_key: String,
    pub(crate) file: String,
    pub(crate) dispute: String,
    pub(crate) webhook: String,
    pub(crate) delivery: String,
    pub(crate) batch: String,
    pub(crate) anchor: String,
    number: AtomicU64,
}

/// The body of a key with the rights that `allows` selects.
pub(crate) fn key_body(allows: impl Fn(&str, &str) -> bool) -> Value {
    let grant = |area: &Area| {
        let allowed = |what| Value::Bool(allows(area.text(), what));
        let crud = ACCESSES.map(|what| (what.to_owned(), allowed(what)));
        json!({ "resource": area, "crud": serde_json::Map::from_iter(crud) })
    };
    json!({ "name": "robot", "permissions": Area::ALL.iter().map(grant).collect::<Vec<_>>() })
}

pub(crate) fn text(value: &Value, name: &str) -> String {
    let text = value[name].as_str();
    text.unwrap_or_else(|| panic!("{name} in {value}"))
        .to_owned()
}

/// A new API key's text.
pub(crate) async fn new_key(server: &Server, caller: &Caller, body: &Value) -> String {
    text(&caller.new_key(server, body).await.expect(201).body, "key")
}

/// A wallet that joins the caller's organization as a member.
pub(crate) async fn join(server: &Server, host: &Caller, email: &str) -> Caller {
    let request = ("POST", "/organizations/me/invitations");
    let kind = ("org.invite", host.organization_id.as_str());
    let invited = host.change(server, request, kind, "{}").await.expect(201);
    let mut guest = Caller::nobody();
    let mut body = guest.registration(email);
    body["invitation"] = invited.body["code"].clone();
    let answer = guest.send_registration(server, &body.to_string()).await;
    let answer = answer.expect(201).body;
    guest.token = text(&answer, "access_token");
    guest.wallet_id = text(&answer["wallet"], "id");
    guest.organization_id = text(&answer["wallet"], "organization_id");
    assert_eq!(guest.organization_id, host.organization_id);
    guest
}

/// A form with one file.
pub(crate) fn form(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut body = format!(
        "--edge\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\n{name}\r\n--edge\r\n\
         Content-Disposition: form-data; name=\"file\"\r\n\r\n"
    )
    .into_bytes();
    body.extend_from_slice(bytes);
    body.extend_from_slice(b"\r\n--edge--\r\n");
    body
}

/// An upload of a file with these bytes.
pub(crate) fn upload(name: &str, bytes: &[u8]) -> Ask {
    let digest = kedge_protocol::hash::sha256(bytes);
    let payload = kedge_protocol::payload::digest_text(&digest);
    Ask::get("/files")
        .with_body(form(name, bytes))
        .signing_payload("file.create", name, &payload)
        .with("content-type", "multipart/form-data; boundary=edge")
}

/// Reads until the list has an item, and returns the first one.
async fn first_of(server: &Server, caller: &Caller, path: &str) -> Value {
    for _ in 0..600 {
        let page = server.get(path, Some(&caller.token)).await.expect(200);
        if let Some(item) = page.body["items"].get(0) {
            return item.clone();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("nothing came to be in {path}");
}

impl World {
    pub(crate) async fn new(options: &[&str]) -> Arc<Self> {
        let server = Server::start_with(&[&OPTIONS[..], options].concat()).await;
        let ann = Caller::register(&server, "ann@example.com").await;
        let bob = Caller::register(&server, "bob@example.com").await;
        let max = join(&server, &ann, "max@example.com").await;
        let everything = key_body(|_, _| true);
        let key = ann.new_key(&server, &everything).await.expect(201).body;
        let bobs_key = new_key(&server, &bob, &everything).await;
        let body = json!({ "url": RECEIVER, "events": ["*"] }).to_string();
        let made = ("POST", "/webhooks");
        let webhook = ann
            .change(&server, made, ("webhook.create", ""), &body)
            .await;
        let webhook = text(&webhook.expect(201).body, "id");
        let template = ann.new_template(&server, "ticket").await;
        let path = format!("/templates/{template}/variations");
        let kind = ("template.variations", template.as_str());
        ann.change(&server, ("POST", &path), kind, r#"{"name":"gold"}"#)
            .await
            .expect(201);
        let object = ann.new_object(&server, &template).await;
        let locked = ann.new_object(&server, &template).await;
        let action = ann.action(&server, ("lock", &locked, "{}")).await;
        let action = text(&action.expect(201).body, "id");
        let file = upload("notes.txt", b"some text");
        let row = crate::table::find("POST", "/files");
        let mut headers = file.sign(&row, &ann, &ann.terms(&server));
        headers.push(ann.bearer());
        let file = send(&server, "POST", &file, &headers).await;
        let file = text(&file.json(), "id");
        let evidence = forgery::json(&forgery::equivocation(&server).await).to_string();
        let (path, credentials) = ("/disputes", [ann.bearer()]);
        let dispute = server.call("POST", path, &credentials, &evidence).await;
        let dispute = text(&dispute.expect(201).body, "id");
        let path = format!("/webhooks/{webhook}/deliveries");
        let delivery = text(&first_of(&server, &ann, &path).await, "id");
        let batch = text(&first_of(&server, &ann, "/batches").await, "id");
        let anchor = text(&first_of(&server, &ann, "/anchors").await, "id");
        let (key_id, key) = (text(&key, "id"), text(&key, "key"));
        // No later checkpoint changes what reads show.
        server.newest_checkpoint().await;
        Arc::new(Self {
            server,
            ann,
            max,
            bob,
            template,
            object,
            locked,
            action,
            key_id,
            key,
            bobs_key,
            file,
            dispute,
            webhook,
            delivery,
            batch,
            anchor,
            number: AtomicU64::new(1),
        })
    }

    /// A number that no other call returns.
    pub(crate) fn fresh(&self) -> u64 {
        self.number.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a request as `caller` with these credentials, correctly signed.
    pub(crate) async fn call(
        &self,
        row: &Row,
        ask: &Ask,
        caller: &Caller,
        credentials: &[(&'static str, String)],
    ) -> Got {
        let mut headers = ask.sign(row, caller, &ask.terms(&self.server, caller));
        headers.extend_from_slice(credentials);
        let got = send(&self.server, row.method, ask, &headers).await;
        crate::check::every_answer(&got);
        got
    }

    /// The same by the first organization's owner, with a token.
    pub(crate) async fn by_ann(&self, row: &Row, ask: &Ask) -> Got {
        let credentials = match row.auth {
            crate::row::Auth::Public => vec![],
            _ => vec![self.ann.bearer()],
        };
        self.call(row, ask, &self.ann, &credentials).await
    }

    /// Sends exactly this.
    pub(crate) async fn raw(
        &self,
        method: &str,
        ask: &Ask,
        headers: &[(&'static str, String)],
    ) -> Got {
        let got = send(&self.server, method, ask, headers).await;
        crate::check::every_answer(&got);
        got
    }

    pub(crate) async fn new_template(&self) -> String {
        let name = format!("template {}", self.fresh());
        self.ann.new_template(&self.server, &name).await
    }

    pub(crate) async fn new_object(&self) -> String {
        self.ann.new_object(&self.server, &self.template).await
    }

    pub(crate) async fn new_webhook(&self) -> String {
        let body = json!({ "url": RECEIVER, "events": ["wallet.registered"], "active": false });
        let kind = ("webhook.create", "");
        let made = self
            .ann
            .change(&self.server, ("POST", "/webhooks"), kind, &body.to_string())
            .await;
        text(&made.expect(201).body, "id")
    }

    /// A new member's wallet.
    pub(crate) async fn new_member(&self) -> String {
        let email = format!("member{}@example.com", self.fresh());
        join(&self.server, &self.ann, &email).await.wallet_id
    }

    /// The id of a new invitation.
    pub(crate) async fn new_invitation(&self) -> String {
        let request = ("POST", "/organizations/me/invitations");
        let kind = ("org.invite", self.ann.organization_id.as_str());
        let made = self.ann.change(&self.server, request, kind, "{}").await;
        text(&made.expect(201).body, "id")
    }

    /// The id of an invitation that was used to join.
    pub(crate) async fn used_invitation(&self) -> String {
        let path = "/organizations/me/invitations";
        text(&first_of(&self.server, &self.ann, path).await, "id")
    }

    /// A new API key, with its id.
    pub(crate) async fn new_key(&self) -> (String, String) {
        let body = key_body(|_, _| true);
        let made = self.ann.new_key(&self.server, &body).await.expect(201).body;
        (text(&made, "id"), text(&made, "key"))
    }
}
