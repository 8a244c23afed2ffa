//! The recorded server's life: a little of everything.

use std::path::Path;
use std::time::Duration;

use kedge_client::{
    Account, BatchMode, Client, ListQuery, NewAction, NewApiKey, NewInvitation, NewObject,
    NewTemplate, NewVariation, NewWebhook, Properties, Registration, TemplateChange, WalletChange,
    WebhookChange,
};
use kedge_config::secrets;
use kedge_protocol::Id;
use kedge_protocol::action::Kind;
use kedge_protocol::resource::Role;
use kedge_protocol::signature::SigningKey;
use serde_json::{Value, json};

use crate::support::equivocation::equivocation;
use crate::support::server::{Server, Setup};
use crate::support::{PASSWORD, eventually};

/// The wallets, by number: each determines a key and an e-mail address.
pub(crate) const OWNER: u8 = 1;
const ADMIN: u8 = 2;
const MEMBER: u8 = 3;
const STRANGER: u8 = 4;

pub(crate) fn key(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32]).unwrap()
}

fn email(number: u8) -> String {
    format!("wallet-{number}@example.com")
}

/// A development server that anchors only on request.
pub(crate) fn setup(data: &Path) -> Setup {
    Setup::development(data)
        .set("anchor_interval_s", 86_400)
        .set("webhook_allowed_networks", r#"["127.0.0.0/8"]"#)
}

/// A logged-in wallet.
pub(crate) async fn account(client: &Client, number: u8) -> Account {
    let account = client.account(key(number));
    account.login(&email(number), PASSWORD).await.unwrap();
    account.me().await.unwrap();
    account
}

fn registration(number: u8) -> Registration {
    Registration {
        email: email(number),
        password: PASSWORD.to_owned(),
        nickname: Some(format!("wallet {number}")),
        organization_name: None,
    }
}

fn object(value: Value) -> Properties {
    match value {
        Value::Object(properties) => properties,
        other => panic!("{other}"),
    }
}

/// Uses a little of everything, anchors it, and leaves a sealed segment and an open one.
pub(crate) async fn live(setup: &Setup, server: &Server) {
    let client = crate::support::connect(&setup.url()).await;
    let owner = client.account(key(OWNER));
    let wallet = owner.register(&registration(OWNER)).await.unwrap();
    let organization = wallet.organization_id;
    let stranger = client.account(key(STRANGER));
    stranger.register(&registration(STRANGER)).await.unwrap();
    members(&client, &owner, organization).await;
    anchor(setup, server).await;
    let template = templates(&owner).await;
    objects(&owner, &stranger, template).await;
    records(&owner).await;
    for tier in ["developer", "enterprise"] {
        admin(setup, &["tier", &organization.to_string(), tier]);
    }
    anchor(setup, server).await;
    let plain = NewTemplate {
        name: "plain".to_owned(),
        ..NewTemplate::default()
    };
    let plain = owner.create_template(&plain).await.unwrap().resource.id;
    fill(setup, &owner, plain).await;
    let sequencer = secrets::development_key(&setup.data().join("keys/sequencer.key")).unwrap();
    let evidence = equivocation(client.domain(), &sequencer, 0, 0);
    owner.bring_evidence(&evidence).await.unwrap();
    for _ in 0..3 {
        owner.mint(plain, &NewObject::default()).await.unwrap();
    }
    anchor(setup, server).await;
}

async fn members(client: &Client, owner: &Account, organization: Id) {
    for (number, role) in [(ADMIN, Role::Admin), (MEMBER, Role::Member)] {
        let invitation = NewInvitation {
            role: Some(role),
            ..NewInvitation::default()
        };
        let invited = owner.invite(organization, &invitation).await.unwrap();
        let account = client.account(key(number));
        let code = invited.resource.code;
        account.join(&registration(number), &code).await.unwrap();
    }
    let unused = NewInvitation::default();
    owner.invite(organization, &unused).await.unwrap();
    let revoked = owner.invite(organization, &unused).await.unwrap();
    let id = revoked.resource.invitation.id;
    owner.revoke_invitation(organization, id).await.unwrap();
    let members = owner.members(&ListQuery::default());
    let members = members.collect(10).await.unwrap();
    let member = members.iter().find(|one| one.email == email(MEMBER));
    let member = member.unwrap().id;
    for role in [Role::Admin, Role::Member] {
        owner.set_role(organization, member, role).await.unwrap();
    }
    let change = WalletChange {
        nickname: Some("the owner".to_owned()),
        ..WalletChange::default()
    };
    owner.update_wallet(&change).await.unwrap();
    // One key stays, and one is deleted.
    for number in [11, 12] {
        owner.add_signer(&key(number)).await.unwrap();
    }
    owner.remove_signer(key(12).address()).await.unwrap();
}

async fn templates(owner: &Account) -> Id {
    let schema = json!({
        "type": "object",
        "properties": { "seat": { "type": "integer", "x-index": true }, "name": { "type": "string" } },
    });
    let rules = json!([{ "kind": "x.check_in", "who": "anyone" }]);
    let template = NewTemplate {
        name: "ticket".to_owned(),
        description: Some("for one evening".to_owned()),
        properties: object(json!({ "hall": "A", "price": 12.5 })),
        schema: Some(object(schema)),
        max_supply: Some(100),
        actions: serde_json::from_value(rules).unwrap(),
        public_access: true,
    };
    let made = owner.create_template(&template).await.unwrap();
    let id = made.resource.id;
    let change = TemplateChange {
        description: Some("for two evenings".to_owned()),
        ..TemplateChange::default()
    };
    owner.update_template(id, &change).await.unwrap();
    let variation = |name: &str| NewVariation {
        name: name.to_owned(),
        properties: object(json!({ "name": name })),
    };
    let variations = [variation("row"), variation("box")];
    owner.create_variations(id, &variations).await.unwrap();
    id
}

async fn objects(owner: &Account, stranger: &Account, template: Id) {
    let variations = owner.variations(template, &ListQuery::default());
    let variations = variations.collect(10).await.unwrap();
    let mut made = Vec::new();
    for seat in 0..6 {
        let new = NewObject {
            variation_id: Some(variations[seat % 2].id),
            properties: object(json!({ "seat": seat, "note": "ünïcode — “text”" })),
            to: None,
        };
        made.push(owner.mint(template, &new).await.unwrap().resource.id);
    }
    let action = |kind: &str, id: Id, payload: Value| {
        NewAction::new(Kind::of_text(kind).unwrap(), id, &payload).unwrap()
    };
    let seat = object(json!({ "seat": 40, "note": null }));
    owner.update(made[0], &seat).await.unwrap();
    let stranger_id = stranger.me().await.unwrap().id.to_string();
    owner.transfer(made[1], &stranger_id).await.unwrap();
    let atomic = [
        action("lock", made[2], json!({})),
        action("unlock", made[2], json!({})),
        action(
            "set_attributes",
            made[2],
            json!({ "attributes": { "row": 2, "gone": true } }),
        ),
        action(
            "delete_attributes",
            made[2],
            json!({ "attributes": ["gone"] }),
        ),
        action("emit", made[2], json!({ "n": 1 })),
        action("x.check_in", made[2], json!({ "gate": 4 })),
        action("lock", made[3], json!({})),
        action("burn", made[4], json!({})),
    ];
    let outcome = owner.batch(&atomic, BatchMode::Atomic).await.unwrap();
    assert_eq!(outcome.done().count(), atomic.len());
    // One of these is refused.
    let each = [
        action("unlock", made[5], json!({})),
        action("emit", made[5], json!({ "n": 2 })),
    ];
    let outcome = owner.batch(&each, BatchMode::Independent).await.unwrap();
    assert_eq!(outcome.done().count(), 1);
    let burn = action("burn", made[1], json!({}));
    stranger.act(&burn).await.unwrap();
}

async fn records(owner: &Account) {
    let permissions = json!([{ "resource": "objects", "crud": { "read": true } }]);
    let new = |name: &str| NewApiKey {
        name: name.to_owned(),
        permissions: serde_json::from_value(permissions.clone()).unwrap(),
        expires_at: None,
    };
    let kept = owner.create_api_key(&new("kept")).await.unwrap();
    let kept = kept.resource.api_key.id;
    owner.rotate_api_key(kept, None).await.unwrap();
    let gone = owner.create_api_key(&new("gone")).await.unwrap();
    owner
        .delete_api_key(gone.resource.api_key.id)
        .await
        .unwrap();
    owner.upload("plan.txt", b"a plan").await.unwrap();
    owner.upload("empty.bin", b"").await.unwrap();
    let hook = |description: &str| NewWebhook {
        url: "http://127.0.0.1:9/".to_owned(),
        events: vec!["object.burned".to_owned()],
        active: true,
        description: description.to_owned(),
    };
    let kept = owner.create_webhook(&hook("kept")).await.unwrap();
    let change = WebhookChange {
        description: Some("changed".to_owned()),
        ..WebhookChange::default()
    };
    let kept = kept.resource.id;
    owner.update_webhook(kept, &change).await.unwrap();
    let gone = owner.create_webhook(&hook("gone")).await.unwrap();
    owner.delete_webhook(gone.resource.id).await.unwrap();
}

/// Mints until a segment is sealed.
async fn fill(setup: &Setup, owner: &Account, template: Id) {
    let text = "the quick brown fox jumps over the lazy dog ".repeat(8);
    let new = NewObject {
        properties: object(json!({ "text": text })),
        ..NewObject::default()
    };
    let mint = NewAction::mint(template, &new).unwrap();
    let log = setup.data().join("log");
    let has_sealed = || {
        let entries = std::fs::read_dir(&log).unwrap();
        let mut paths = entries.map(|entry| entry.unwrap().path());
        paths.any(|path| path.extension().is_some_and(|end| end == "seg"))
    };
    for _ in 0..200 {
        if has_sealed() {
            return;
        }
        let mints = vec![mint.clone(); 100];
        owner.batch(&mints, BatchMode::Atomic).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("no segment is sealed");
}

fn admin(setup: &Setup, arguments: &[&str]) {
    let socket = setup.data().join("admin.sock");
    let arguments = [&["admin"], arguments, &["--socket"]].concat();
    super::done(&arguments, &[&socket]);
}

/// Anchors everything, and waits for finality.
async fn anchor(setup: &Setup, server: &Server) {
    admin(setup, &["anchor-now"]);
    eventually("all is anchored", Duration::from_mins(1), || async {
        let (_, ready) = server.readiness().await;
        (ready["anchoring"]["lag_batches"] == json!(0)).then_some(())
    })
    .await;
}
