//! What ends with a right: invitations of a wallet that lost the right to invite, revoked invitations, and removed
//! members; and what no right reveals.

use kedge_protocol::resource::Area;
use serde_json::{Value, json};

use crate::access::members::{
    change_password, change_wallet, invite, join, login, organization_of, refresh, set_role,
};
use crate::harness::{Answer, Caller, PASSWORD, Server};

fn all_rights() -> Value {
    rights(|_| true)
}

/// The body of an API key with the right to read these areas.
fn rights(reads: impl Fn(&str) -> bool) -> Value {
    let areas = Area::ALL.iter().filter(|area| reads(area.text()));
    let permissions: Vec<Value> = areas
        .map(|area| json!({ "resource": area, "crud": { "read": true } }))
        .collect();
    json!({ "name": "a key", "permissions": permissions })
}

/// An organization's owner, and an admin that joined it.
pub(crate) async fn two(server: &Server) -> (Caller, Caller, String) {
    let ann = Caller::register(server, "ann@example.com").await;
    let organization = organization_of(server, &ann).await;
    let body = json!({ "role": "admin" });
    let invited = invite(server, &ann, &organization, &body).await.expect(201);
    let (mut bob, answer) =
        join(server, "bob@example.com", &invited.body["code"], &json!({})).await;
    answer.expect(201);
    bob.organization_id.clone_from(&organization);
    (ann, bob, organization)
}

async fn role(server: &Server, by: &Caller, of: &Caller, role: &str) {
    let body = json!({ "wallet_id": of.wallet_id, "role": role });
    set_role(server, by, &of.wallet_id, &body).await.expect(200);
}

/// Sends a signed DELETE; the signed payload names what the path names.
async fn delete(server: &Server, by: &Caller, path: &str, kind: &str, member: &str) -> Answer {
    let id = path.rsplit('/').next().unwrap();
    let organization = organization_of(server, by).await;
    let payload = json!({ member: id }).to_string();
    let signed = (kind, organization.as_str(), payload.as_str());
    by.change_as(server, ("DELETE", path), signed, "", &[by.bearer()])
        .await
}

async fn revoke(server: &Server, by: &Caller, invitation: &Value) -> Answer {
    let path = format!(
        "/organizations/me/invitations/{}",
        invitation.as_str().unwrap()
    );
    delete(server, by, &path, "org.invitation_revoke", "invitation_id").await
}

pub(crate) async fn remove(server: &Server, by: &Caller, member: &str) -> Answer {
    let path = format!("/organizations/me/members/{member}");
    delete(server, by, &path, "org.member_remove", "wallet_id").await
}

/// Checks that a replay of the log yields the server's store.
fn verified(mut server: Server) {
    assert_eq!(server.terminate(), Some(0));
    let verified = server.verify_data();
    assert!(verified.status.success(), "{verified:?}");
}

// Holds invariant 132.
#[tokio::test]
async fn an_invitation_is_good_while_its_maker_may_invite() {
    let server = Server::start().await;
    let (ann, bob, organization) = two(&server).await;
    let none = json!({});
    let admin = json!({ "role": "admin" });
    let of_bob = invite(&server, &bob, &organization, &admin)
        .await
        .expect(201);
    assert_eq!(of_bob.body["invited_by"], bob.wallet_id.as_str());
    role(&server, &ann, &bob, "member").await;
    let (_, answer) = join(&server, "eve@example.com", &of_bob.body["code"], &none).await;
    answer.refused(403, "FORBIDDEN");

    // An owner's invitation for an owner is valid only while the inviter is an owner.
    role(&server, &ann, &bob, "owner").await;
    let owner = json!({ "role": "owner" });
    let of_bob = invite(&server, &bob, &organization, &owner)
        .await
        .expect(201);
    role(&server, &ann, &bob, "admin").await;
    let (_, answer) = join(&server, "eve@example.com", &of_bob.body["code"], &none).await;
    answer.refused(403, "FORBIDDEN");

    let of_bob = invite(&server, &bob, &organization, &admin)
        .await
        .expect(201);
    remove(&server, &ann, &bob.wallet_id).await.expect(200);
    let (_, answer) = join(&server, "eve@example.com", &of_bob.body["code"], &none).await;
    answer.refused(403, "FORBIDDEN");

    let of_ann = invite(&server, &ann, &organization, &none)
        .await
        .expect(201);
    let (_, answer) = join(&server, "eve@example.com", &of_ann.body["code"], &none).await;
    assert_eq!(answer.expect(201).body["wallet"]["role"], "member");
    verified(server);
}

// Holds invariant 132.
#[tokio::test]
async fn a_revoked_invitation_registers_nobody() {
    let server = Server::start().await;
    let (ann, bob, organization) = two(&server).await;
    let none = json!({});
    let made = invite(&server, &ann, &organization, &none)
        .await
        .expect(201);
    let (id, code) = (&made.body["id"], &made.body["code"]);
    let stranger = Caller::register(&server, "eve@example.com").await;
    revoke(&server, &stranger, id)
        .await
        .refused(404, "RESOURCE_NOT_FOUND");
    role(&server, &ann, &bob, "member").await;
    revoke(&server, &bob, id).await.refused(403, "FORBIDDEN");
    role(&server, &ann, &bob, "admin").await;

    let revoked = revoke(&server, &bob, id).await.expect(200);
    assert_eq!(
        (&revoked.body["id"], &revoked.body["revoked"]),
        (id, &json!(true))
    );
    assert!(revoked.body["receipt"].is_object());
    let (_, answer) = join(&server, "carol@example.com", code, &none).await;
    answer.refused(403, "FORBIDDEN");
    revoke(&server, &ann, id)
        .await
        .refused(422, "STATE_VIOLATION");
    let list = server
        .get("/organizations/me/invitations?order=desc", Some(&ann.token))
        .await
        .expect(200);
    assert_eq!(list.body["items"][0]["revoked"], true);
    assert_eq!(list.body["items"][0]["created_at"], made.body["created_at"]);

    let used = invite(&server, &ann, &organization, &none)
        .await
        .expect(201);
    let (_, answer) = join(&server, "carol@example.com", &used.body["code"], &none).await;
    answer.expect(201);
    revoke(&server, &ann, &used.body["id"])
        .await
        .refused(422, "STATE_VIOLATION");
    for nothing in ["nothing", &format!("act_{}", "1".repeat(26))] {
        revoke(&server, &ann, &json!(nothing))
            .await
            .refused(404, "RESOURCE_NOT_FOUND");
    }
    verified(server);
}

// Holds invariant 132.
#[tokio::test]
async fn an_invitation_is_used_or_revoked_and_never_both() {
    let server = Server::start().await;
    let (ann, _, organization) = two(&server).await;
    let none = json!({});
    for round in 0..12 {
        let made = invite(&server, &ann, &organization, &none)
            .await
            .expect(201);
        let email = format!("member{round}@example.com");
        let ((_, joined), revoked) = tokio::join!(
            join(&server, &email, &made.body["code"], &none),
            revoke(&server, &ann, &made.body["id"]),
        );
        let outcome = (joined.status, revoked.status);
        assert!(
            [(201, 422), (403, 200)].contains(&outcome),
            "{outcome:?} {} {}",
            joined.body,
            revoked.body
        );
    }
    verified(server);
}

// Holds invariant 132.
#[tokio::test]
async fn nobody_joins_by_an_invitation_of_somebody_who_is_demoted_meanwhile() {
    let server = Server::start().await;
    let (ann, bob, organization) = two(&server).await;
    for round in 0..8 {
        let made = invite(&server, &bob, &organization, &json!({}))
            .await
            .expect(201);
        let email = format!("member{round}@example.com");
        let none = json!({});
        let ((_, joined), ()) = tokio::join!(
            join(&server, &email, &made.body["code"], &none),
            role(&server, &ann, &bob, "member"),
        );
        assert!([201, 403].contains(&joined.status), "{}", joined.body);
        role(&server, &ann, &bob, "admin").await;
    }
    verified(server);
}

/// Checks that none of the wallet's credentials works: token, API key, refresh token, password.
async fn shut_out(
    server: &Server,
    caller: &Caller,
    key: &[(&'static str, String)],
    refresh_token: &Value,
) {
    for path in ["/wallets/me", "/objects", "/organizations/me"] {
        let answer = server.get(path, Some(&caller.token)).await;
        answer.refused(401, "UNAUTHENTICATED");
    }
    let answer = server.call("GET", "/objects", key, "").await;
    answer.refused(401, "UNAUTHENTICATED");
    refresh(server, refresh_token)
        .await
        .refused(401, "CREDENTIALS_INVALID");
    login(server, "bob@example.com", PASSWORD)
        .await
        .refused(401, "CREDENTIALS_INVALID");
}

/// Checks that a removed member's signature fails with a key of the organization too, and that no list shows the
/// member.
async fn unlisted(server: &Server, ann: &Caller, removed: &Caller) {
    let makes_keys = json!([{ "resource": "api_keys", "crud": { "create": true } }]);
    let body = json!({ "name": "maker", "permissions": makes_keys });
    let of_ann = ann.new_key(server, &body).await.expect(201);
    let of_ann = [("x-api-key", of_ann.body["key"].as_str().unwrap().to_owned())];
    let body = json!({ "name": "x", "permissions": makes_keys }).to_string();
    let signed = ("key.create", "", body.as_str());
    removed
        .change_as(server, ("POST", "/api-keys"), signed, &body, &of_ann)
        .await
        .refused(403, "FORBIDDEN");
    let members = server
        .get("/organizations/me/members", Some(&ann.token))
        .await
        .expect(200);
    let members = members.body["items"].as_array().unwrap().iter();
    let ids: Vec<&Value> = members.map(|member| &member["id"]).collect();
    assert_eq!(ids, [&json!(ann.wallet_id)]);
}

// Holds invariant 133.
#[tokio::test]
async fn a_removed_member_is_out_at_once() {
    let mut server = Server::start().await;
    let (ann, bob, _) = two(&server).await;
    let again = login(&server, "bob@example.com", PASSWORD)
        .await
        .expect(200);
    let key = bob.new_key(&server, &all_rights()).await.expect(201);
    let key = [("x-api-key", key.body["key"].as_str().unwrap().to_owned())];
    let template = ann.new_template(&server, "ticket").await;
    let to_bob = json!({ "template_id": template, "to": bob.wallet_id });
    let object = ann.mint(&server, &to_bob).await.expect(201);
    let object = object.body["id"].as_str().unwrap();
    server.get("/objects", Some(&bob.token)).await.expect(200);
    server.call("GET", "/objects", &key, "").await.expect(200);

    remove(&server, &bob, &ann.wallet_id)
        .await
        .refused(403, "FORBIDDEN");
    remove(&server, &bob, &bob.wallet_id)
        .await
        .refused(403, "FORBIDDEN");
    let stranger = Caller::register(&server, "eve@example.com").await;
    remove(&server, &stranger, &bob.wallet_id)
        .await
        .refused(404, "RESOURCE_NOT_FOUND");
    let removed = remove(&server, &ann, &bob.wallet_id).await.expect(200);
    assert_eq!(removed.body["id"], bob.wallet_id.as_str());
    assert_eq!(removed.body["keys"], json!([]));
    assert!(removed.body["receipt"].is_object());

    shut_out(&server, &bob, &key, &again.body["refresh_token"]).await;
    let signed = bob.action(&server, ("emit", object, "{}")).await;
    signed.refused(401, "UNAUTHENTICATED");
    remove(&server, &ann, &bob.wallet_id)
        .await
        .refused(404, "RESOURCE_NOT_FOUND");
    let body = json!({ "wallet_id": bob.wallet_id, "role": "owner" });
    set_role(&server, &ann, &bob.wallet_id, &body)
        .await
        .refused(404, "RESOURCE_NOT_FOUND");

    unlisted(&server, &ann, &bob).await;

    // The e-mail address is free again, the signing address is not.
    let new = Caller::register(&server, "bob@example.com").await;
    assert_ne!(new.wallet_id, bob.wallet_id);
    let body = bob.registration("rob@example.com").to_string();
    bob.send_registration(&server, &body)
        .await
        .refused(409, "CONFLICT");

    assert_eq!(server.terminate(), Some(0));
    let server = server.restart().await;
    server
        .get("/objects", Some(&bob.token))
        .await
        .refused(401, "UNAUTHENTICATED");
    server.get("/objects", Some(&new.token)).await.expect(200);
    verified(server);
}

// Holds invariant 134.
#[tokio::test]
async fn batches_show_what_actions_say_to_who_may_read_actions() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "zebra").await;
    let object = ann.new_object(&server, &template).await;
    ann.action(&server, ("emit", &object, r#"{"text":"zebra"}"#))
        .await
        .expect(201);
    let batches = server.get("/batches?limit=1000", None).await.expect(200);
    let numbers: Vec<&Value> = batches.body["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|batch| &batch["number"])
        .collect();
    let seen = async |body: Value| {
        let key = ann.new_key(&server, &body).await.expect(201);
        let key = [("x-api-key", key.body["key"].as_str().unwrap().to_owned())];
        let mut seen = String::new();
        for number in &numbers {
            let path = format!("/batches/{number}/actions");
            let page = server.call("GET", &path, &key, "").await.expect(200).body;
            for item in page["items"].as_array().unwrap() {
                assert!(
                    item["leaf"].is_string() && item["sequence"].is_u64(),
                    "{item}"
                );
            }
            seen += &page.to_string();
        }
        server.newest_checkpoint().await;
        let export = server.text("GET", "/export", &key, "").await;
        (seen, export)
    };
    let (seen_without, export) = seen(rights(|area| area == "batches")).await;
    assert!(!seen_without.contains("zebra") && !seen_without.contains("payload"));
    assert!(export.contains("\"FORBIDDEN\""), "{export}");
    let (seen_with, export) = seen(rights(|area| area == "batches" || area == "actions")).await;
    assert!(seen_with.contains("zebra") && export.contains("zebra"));
}

// Holds invariant 134.
#[tokio::test]
async fn a_new_password_is_no_way_to_guess_the_old_one() {
    let server = Server::start_with(&["rate_limits=on"]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let with = |current: &str| {
        json!({
            "current_password": current,
            "password": "seven slow green turtles",
            "blind": "MDEyMzQ1Njc4OWFiY2RlZg==",
        })
    };
    // A token alone is not enough: with another key the answer is the same, whether the password is
    // right or wrong.
    let mut thief = Caller::nobody();
    thief.token.clone_from(&ann.token);
    thief.wallet_id.clone_from(&ann.wallet_id);
    for current in [PASSWORD, "wrong horse battery"] {
        let answer = change_password(&server, &thief, &with(current)).await;
        answer.refused(403, "FORBIDDEN");
    }
    for _ in 0..5 {
        change_password(&server, &ann, &with("wrong horse battery"))
            .await
            .refused(401, "CREDENTIALS_INVALID");
    }
    let limited = change_password(&server, &ann, &with(PASSWORD)).await;
    limited.refused(429, "RATE_LIMITED");
    assert_eq!(limited.body["body"]["policy"], "login-account");
    login(&server, "ann@example.com", PASSWORD)
        .await
        .refused(429, "RATE_LIMITED");
    // Changes without a password are not affected.
    change_wallet(&server, &ann, r#"{"nickname":"ann"}"#)
        .await
        .expect(200);
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        let to = to.join(entry.file_name());
        if kind.is_dir() {
            copy(&entry.path(), &to);
        } else if kind.is_file() {
            std::fs::copy(entry.path(), &to).unwrap();
        }
    }
}

/// Checks that the token of this login reads its caller's wallet.
async fn reads(server: &Server, caller: &Caller, answer: &Answer) {
    let token = answer.body["access_token"].as_str().unwrap();
    let me = server.get("/wallets/me", Some(token)).await.expect(200);
    assert_eq!(me.body["id"], caller.wallet_id.as_str());
}

/// A refresh token and its successor can each be exchanged once; using either again ends the login.
async fn exchanged_once(server: &Server, caller: &Caller, first: &Answer) {
    let second = refresh(server, &first.body["refresh_token"])
        .await
        .expect(200);
    reads(server, caller, &second).await;
    let third = refresh(server, &second.body["refresh_token"])
        .await
        .expect(200);
    reads(server, caller, &third).await;
    for used in [first, &second, &third] {
        refresh(server, &used.body["refresh_token"])
            .await
            .refused(401, "CREDENTIALS_INVALID");
    }
}

// Holds invariant 135.
/// A store that is older than the headers its server released accepts no writes. Logins still work, under their usual
/// rules, because reading needs a token.
#[tokio::test]
async fn a_read_only_store_is_read_by_who_logs_in() {
    let mut server = Server::start().await;
    // Tokens name their issuer, the URL of the first server.
    let issuer = format!("public_url=\"{}\"", server.url);
    let ann = Caller::register(&server, "ann@example.com").await;
    let before = login(&server, "ann@example.com", PASSWORD)
        .await
        .expect(200);
    assert_eq!(server.terminate(), Some(0));
    let (data, old) = (
        server.dir.path().join("data"),
        server.dir.path().join("old"),
    );
    copy(&data, &old);
    let mut server = server.restart().await;
    ann.new_template(&server, "newer").await;
    assert_eq!(server.terminate(), Some(0));
    let (data, old) = (
        server.dir.path().join("data"),
        server.dir.path().join("old"),
    );
    // The chain keeps its newest state, with the anchors; the rest is the old copy.
    std::fs::rename(&data, server.dir.path().join("newest")).unwrap();
    std::fs::rename(&old, &data).unwrap();
    let server = server.restart_with(&[&issuer]).await;
    let ready = server.get("/readyz", None).await;
    assert_eq!(
        (ready.status, &ready.body["mode"]),
        (503, &json!("read_only"))
    );
    let refused = ann.template(&server, &json!({ "name": "late" })).await;
    refused.refused(503, "UNAVAILABLE");

    login(&server, "ann@example.com", "wrong horse battery")
        .await
        .refused(401, "CREDENTIALS_INVALID");
    let now = login(&server, "ann@example.com", PASSWORD)
        .await
        .expect(200);
    reads(&server, &ann, &now).await;
    // A token from before the restore, and one from after it.
    for first in [&before, &now] {
        exchanged_once(&server, &ann, first).await;
    }
    let last = login(&server, "ann@example.com", PASSWORD)
        .await
        .expect(200);
    let body = json!({ "refresh_token": last.body["refresh_token"] }).to_string();
    server
        .call("POST", "/wallets/logout", &[], &body)
        .await
        .expect(200);
    refresh(&server, &last.body["refresh_token"])
        .await
        .refused(401, "CREDENTIALS_INVALID");
}
