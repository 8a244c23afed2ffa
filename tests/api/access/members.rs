//! Changes of a wallet (keys, password, logins) and of an organization's members.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kedge_client::sign::unix_now_s;
use kedge_protocol::hash::sha256;
use kedge_protocol::payload::digest_text;
use kedge_protocol::time::parse_rfc3339;
use serde_json::{Value, json};

use crate::harness::{Answer, Caller, PASSWORD, Server, signature};

const NEW_PASSWORD: &str = "seven slow green turtles";

pub(crate) async fn login(server: &Server, email: &str, password: &str) -> Answer {
    let body = json!({ "email": email, "password": password }).to_string();
    server.call("POST", "/wallets/login", &[], &body).await
}

pub(crate) async fn refresh(server: &Server, token: &Value) -> Answer {
    let body = json!({ "refresh_token": token }).to_string();
    server
        .call("POST", "/wallets/token/refresh", &[], &body)
        .await
}

pub(crate) async fn change_wallet(server: &Server, caller: &Caller, body: &str) -> Answer {
    let kind = ("wallet.update", caller.wallet_id.as_str());
    caller
        .change(server, ("PATCH", "/wallets/me"), kind, body)
        .await
}

/// Sends a body with a password, signed by digest.
pub(crate) async fn change_password(server: &Server, caller: &Caller, body: &Value) -> Answer {
    let body = body.to_string();
    let payload = digest_text(&sha256(body.as_bytes()));
    let signed = ("wallet.update", caller.wallet_id.as_str(), payload.as_str());
    let request = ("PATCH", "/wallets/me");
    caller
        .change_as(server, request, signed, &body, &[caller.bearer()])
        .await
}

/// Removes the key of the path; the signed payload names `signed`.
async fn remove_key(server: &Server, caller: &Caller, path: &str, signed: &str) -> Answer {
    let path = format!("/wallets/me/keys/{path}");
    let payload = json!({ "address": signed }).to_string();
    let signed = (
        "wallet.key_remove",
        caller.wallet_id.as_str(),
        payload.as_str(),
    );
    let credentials = [caller.bearer()];
    caller
        .change_as(server, ("DELETE", &path), signed, "", &credentials)
        .await
}

pub(crate) async fn organization_of(server: &Server, caller: &Caller) -> String {
    let me = server.get("/wallets/me", Some(&caller.token)).await;
    me.body["organization_id"].as_str().unwrap().to_owned()
}

pub(crate) async fn invite(
    server: &Server,
    caller: &Caller,
    organization: &str,
    body: &Value,
) -> Answer {
    let request = ("POST", "/organizations/me/invitations");
    let kind = ("org.invite", organization);
    caller
        .change(server, request, kind, &body.to_string())
        .await
}

pub(crate) async fn set_role(
    server: &Server,
    caller: &Caller,
    path_id: &str,
    body: &Value,
) -> Answer {
    let organization = organization_of(server, caller).await;
    let path = format!("/organizations/me/members/{path_id}");
    let kind = ("org.role", organization.as_str());
    caller
        .change(server, ("PATCH", &path), kind, &body.to_string())
        .await
}

pub(crate) async fn join(
    server: &Server,
    email: &str,
    invitation: &Value,
    more: &Value,
) -> (Caller, Answer) {
    let mut caller = Caller::nobody();
    let mut body = caller.registration(email);
    body["invitation"] = invitation.clone();
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    let answer = caller.send_registration(server, &body.to_string()).await;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    caller.token = text(&answer.body["access_token"]);
    caller.wallet_id = text(&answer.body["wallet"]["id"]);
    (caller, answer)
}

fn new_password(current: &str, password: &str) -> Value {
    json!({
        "current_password": current,
        "password": password,
        "blind": "MDEyMzQ1Njc4OWFiY2RlZg==",
    })
}

/// Checks that wrong changes are refused and change nothing.
async fn wrong_changes(server: &Server, ann: &Caller) {
    let before = server.sequence().await;
    let cases = [
        (r#"{"email":"bob@example.com"}"#, 409, "EMAIL_TAKEN"),
        (r#"{"email":"nobody"}"#, 400, "VALIDATION_ERROR"),
        (r#"{"role":"owner"}"#, 400, "VALIDATION_ERROR"),
        (
            r#"{"password":"seven slow green turtles"}"#,
            400,
            "VALIDATION_ERROR",
        ),
    ];
    for (body, status, code) in cases {
        change_wallet(server, ann, body).await.refused(status, code);
    }
    change_password(
        server,
        ann,
        &new_password("wrong horse battery", NEW_PASSWORD),
    )
    .await
    .refused(401, "CREDENTIALS_INVALID");
    change_password(server, ann, &new_password(PASSWORD, "ann.lee ann.lee!"))
        .await
        .refused(400, "VALIDATION_ERROR");
    assert_eq!(server.sequence().await, before, "nothing was changed");
}

#[tokio::test]
async fn a_wallet_changes_its_details_and_its_password() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let _bob = Caller::register(&server, "bob@example.com").await;

    let body = r#"{ "email": "Ann.Lee@example.com", "nickname": "ann" }"#;
    let changed = change_wallet(&server, &ann, body).await.expect(200);
    assert_eq!(changed.body["email"], "ann.lee@example.com");
    assert_eq!(
        (&changed.body["nickname"], &changed.body["version"]),
        (&json!("ann"), &json!(2))
    );
    assert!(changed.body["receipt"].is_object());
    let me = server
        .get("/wallets/me", Some(&ann.token))
        .await
        .expect(200);
    for member in ["nickname", "email", "sequence", "created_at", "updated_at"] {
        assert_eq!(me.body[member], changed.body[member], "{member}");
    }
    login(&server, "ann@example.com", PASSWORD)
        .await
        .refused(401, "CREDENTIALS_INVALID");
    login(&server, "ann.lee@example.com", PASSWORD)
        .await
        .expect(200);
    let cleared = change_wallet(&server, &ann, r#"{"nickname":null}"#).await;
    assert_eq!(cleared.expect(200).body["nickname"], Value::Null);

    wrong_changes(&server, &ann).await;
    let mut body = new_password(PASSWORD, NEW_PASSWORD);
    body["nickname"] = json!("lee");
    let changed = change_password(&server, &ann, &body).await.expect(200);
    assert_eq!(changed.body["nickname"], "lee");
    login(&server, "ann.lee@example.com", PASSWORD)
        .await
        .refused(401, "CREDENTIALS_INVALID");
    login(&server, "ann.lee@example.com", NEW_PASSWORD)
        .await
        .expect(200);
    let action = changed.body["action_id"].as_str().unwrap();
    let path = format!("/ebus/actions/{action}");
    let action = server.get(&path, Some(&ann.token)).await.expect(200);
    assert!(!action.body.to_string().contains(NEW_PASSWORD));
}

#[tokio::test]
async fn signing_keys_come_and_go() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let mut second = Caller::nobody();
    second.token.clone_from(&ann.token);
    second.wallet_id.clone_from(&ann.wallet_id);
    let add = |key: &Caller| key.joining(&server, &ann.wallet_id).to_string();
    let post = ("POST", "/wallets/me/keys");
    let kind = ("wallet.key_add", ann.wallet_id.as_str());
    let early = change_wallet(&server, &second, r#"{"nickname":"x"}"#).await;
    early.refused(403, "FORBIDDEN");
    ann.change(&server, post, kind, &add(&bob))
        .await
        .refused(409, "CONFLICT");
    let added = ann
        .change(&server, post, kind, &add(&second))
        .await
        .expect(201);
    assert_eq!(
        added.body["keys"],
        json!([ann.key.address(), second.key.address()])
    );
    change_wallet(&server, &second, r#"{"nickname":"x"}"#)
        .await
        .expect(200);

    let first = ann.key.address().to_string();
    let last = second.key.address().to_string();
    remove_key(&server, &second, &first, &last)
        .await
        .refused(401, "SIGNATURE_INVALID");
    let lower = first.to_lowercase();
    let removed = remove_key(&server, &second, &lower, &lower)
        .await
        .expect(200);
    assert_eq!(removed.body["keys"], json!([second.key.address()]));
    change_wallet(&server, &ann, r#"{"nickname":"y"}"#)
        .await
        .refused(403, "FORBIDDEN");
    remove_key(&server, &second, &first, &first)
        .await
        .refused(404, "RESOURCE_NOT_FOUND");
    remove_key(&server, &second, "nobody", "nobody")
        .await
        .refused(404, "RESOURCE_NOT_FOUND");
    remove_key(&server, &second, &last, &last)
        .await
        .refused(422, "STATE_VIOLATION");
}

// Holds invariant 27.
#[tokio::test]
async fn an_invitation_is_good_once_for_whom_it_names() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let organization = organization_of(&server, &ann).await;
    let none = json!({});
    let short = json!({ "expires_in_s": 1 });
    let ending = invite(&server, &ann, &organization, &short)
        .await
        .expect(201);

    let named = json!({ "email": "bob@example.com", "role": "admin" });
    let made = invite(&server, &ann, &organization, &named)
        .await
        .expect(201);
    assert_eq!(
        (&made.body["role"], &made.body["email"]),
        (&json!("admin"), &json!("bob@example.com"))
    );
    let code = &made.body["code"];
    assert!(code.as_str().unwrap().starts_with("kdi_"));

    let (_, answer) = join(&server, "eve@example.com", code, &none).await;
    answer.refused(403, "FORBIDDEN");
    let other = json!({ "organization_id": format!("org_{}", "1".repeat(26)) });
    let (_, answer) = join(&server, "bob@example.com", code, &other).await;
    answer.refused(403, "FORBIDDEN");
    let mut forged = code.as_str().unwrap().to_owned();
    let digit = if forged.pop() == Some('0') { '1' } else { '0' };
    forged.push(digit);
    let (_, answer) = join(&server, "bob@example.com", &json!(forged), &none).await;
    answer.refused(403, "FORBIDDEN");
    let right = json!({ "organization_id": organization });
    let (bob, answer) = join(&server, "Bob@example.com", code, &right).await;
    let wallet = &answer.expect(201).body["wallet"];
    assert_eq!(
        (&wallet["role"], &wallet["organization_id"]),
        (&json!("admin"), &json!(organization))
    );
    let (_, answer) = join(&server, "bob@example.com", code, &none).await;
    answer.refused(403, "FORBIDDEN");

    let open = invite(&server, &bob, &organization, &none)
        .await
        .expect(201);
    let (carol, answer) = join(&server, "carol@example.com", &open.body["code"], &none).await;
    assert_eq!(answer.expect(201).body["wallet"]["role"], "member");
    let (_, answer) = join(&server, "dave@example.com", &open.body["code"], &none).await;
    answer.refused(403, "FORBIDDEN");
    invite(&server, &carol, &organization, &none)
        .await
        .refused(403, "FORBIDDEN");

    let path = "/organizations/me/invitations";
    let list = server.get(path, Some(&carol.token)).await.expect(200).body;
    let items = list["items"].as_array().unwrap();
    let used: Vec<&Value> = items.iter().map(|item| &item["used_by"]).collect();
    assert_eq!(
        used,
        [&Value::Null, &json!(bob.wallet_id), &json!(carol.wallet_id)]
    );
    assert!(!list.to_string().contains("kdi_"), "codes are shown once");

    let ends = ending.body["expires_at"].as_str().unwrap();
    let ends_ms = parse_rfc3339(ends).unwrap();
    while unix_now_s() * 1_000 <= ends_ms {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let (_, answer) = join(&server, "fay@example.com", &ending.body["code"], &none).await;
    answer.refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn roles_are_given_and_taken_at_once() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let organization = organization_of(&server, &ann).await;
    let none = json!({});
    let invited = invite(&server, &ann, &organization, &none)
        .await
        .expect(201);
    let (bob, answer) = join(&server, "bob@example.com", &invited.body["code"], &none).await;
    answer.expect(201);

    let role = |wallet: &Caller, role: &str| json!({ "wallet_id": wallet.wallet_id, "role": role });
    set_role(&server, &bob, &ann.wallet_id, &role(&ann, "member"))
        .await
        .refused(403, "FORBIDDEN");
    let mismatch = set_role(&server, &ann, &bob.wallet_id, &role(&ann, "admin")).await;
    mismatch.refused(400, "VALIDATION_ERROR");
    assert_eq!(mismatch.body["body"]["errors"][0]["pointer"], "/wallet_id");
    let promoted = set_role(&server, &ann, &bob.wallet_id, &role(&bob, "admin"))
        .await
        .expect(200);
    assert_eq!(promoted.body["role"], "admin");
    invite(&server, &bob, &organization, &none)
        .await
        .expect(201);
    set_role(&server, &ann, &bob.wallet_id, &role(&bob, "member"))
        .await
        .expect(200);
    invite(&server, &bob, &organization, &none)
        .await
        .refused(403, "FORBIDDEN");

    let path = "/organizations/me/members?limit=1";
    let page = server.get(path, Some(&bob.token)).await.expect(200).body;
    assert_eq!(page["items"][0]["id"], ann.wallet_id.as_str());
    let path = format!("{path}&cursor={}", page["cursor"].as_str().unwrap());
    let page = server.get(&path, Some(&bob.token)).await.expect(200).body;
    assert_eq!(page["items"][0]["id"], bob.wallet_id.as_str());
    assert_eq!(
        (&page["items"][0]["role"], &page["has_more"]),
        (&json!("member"), &json!(false))
    );
    let stranger = Caller::register(&server, "eve@example.com").await;
    let page = server
        .get("/organizations/me/members", Some(&stranger.token))
        .await;
    assert_eq!(page.expect(200).body["items"].as_array().unwrap().len(), 1);
    let foreign = set_role(&server, &stranger, &bob.wallet_id, &role(&bob, "owner")).await;
    foreign.refused(404, "RESOURCE_NOT_FOUND");
}

#[tokio::test]
async fn a_logout_ends_its_login_alone() {
    let server = Server::start().await;
    let _ann = Caller::register(&server, "ann@example.com").await;
    let one = login(&server, "ann@example.com", PASSWORD)
        .await
        .expect(200);
    let two = login(&server, "ann@example.com", PASSWORD)
        .await
        .expect(200);
    let body = json!({ "refresh_token": one.body["refresh_token"] }).to_string();
    for _ in 0..2 {
        server
            .call("POST", "/wallets/logout", &[], &body)
            .await
            .expect(200);
    }
    refresh(&server, &one.body["refresh_token"])
        .await
        .refused(401, "CREDENTIALS_INVALID");
    refresh(&server, &two.body["refresh_token"])
        .await
        .expect(200);
}

/// The key that signed a token.
fn kid(token: &str) -> Value {
    let header = token.split('.').next().unwrap();
    let bytes = URL_SAFE_NO_PAD.decode(header).unwrap();
    let header: Value = serde_json::from_slice(&bytes).unwrap();
    header["kid"].clone()
}

/// The key that signs now, and the keys that are published, in their order.
async fn token_keys(server: &Server) -> (Value, Vec<Value>) {
    let new = login(server, "ann@example.com", PASSWORD).await.expect(200);
    let signing = kid(new.body["access_token"].as_str().unwrap());
    let served = server.get("/.well-known/jwks.json", None).await.expect(200);
    let keys = served.body["keys"].as_array().unwrap();
    (signing, keys.iter().map(|key| key["kid"].clone()).collect())
}

// Holds invariant 229.
/// Verifiers cache the published keys for `max-age`, so until then the old key signs and both are published.
#[tokio::test]
async fn a_new_token_key_is_published_before_it_signs() {
    let mut server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let before = kid(&ann.token);
    server.admin("rotate-token-key");
    let (signing, published) = token_keys(&server).await;
    assert_eq!(signing, before);
    assert_eq!((published.len(), &published[0]), (2, &before));
    let next = published[1].clone();

    // The file states when the key becomes valid; a restart reads that again.
    let keys = server.dir.path().join("data/keys");
    let files = std::fs::read_dir(&keys).unwrap();
    let mut names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let name = names.find(|name| name.contains("-from-")).unwrap();
    let from = name
        .split(['-', '.'])
        .nth(3)
        .unwrap()
        .parse::<u64>()
        .unwrap();
    assert!((300..=330).contains(&(from - unix_now_s())), "{from}");
    server.terminate();
    let mut server = server.restart().await;
    assert_eq!(
        token_keys(&server).await,
        (before.clone(), published.clone())
    );

    // Once valid it signs, and the old one still counts.
    let begun = name.replace(&from.to_string(), &(unix_now_s() - 1).to_string());
    let keys = server.dir.path().join("data/keys");
    std::fs::rename(keys.join(&name), keys.join(begun)).unwrap();
    server.terminate();
    let server = server.restart().await;
    assert_eq!(token_keys(&server).await, (next.clone(), published));

    // With `--now` the new key signs immediately.
    server.admin("rotate-token-key --now");
    let (signing, published) = token_keys(&server).await;
    assert_eq!(published[..2], [before, next]);
    assert_eq!(signing, published[2]);
}

#[tokio::test]
async fn a_new_token_key_signs_and_the_one_before_still_counts() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    server.admin("rotate-token-key --now");
    let me = server.get("/wallets/me", Some(&ann.token)).await;
    me.expect(200);
    let (signing, published) = token_keys(&server).await;
    assert_eq!(published, [kid(&ann.token), signing]);
}

#[tokio::test]
async fn an_access_token_that_has_ended_is_told_from_one_that_is_none() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let now_s = unix_now_s();
    let good = ann.token_until(&server, now_s + 60).await;
    server.get("/wallets/me", Some(&good)).await.expect(200);
    let ended = ann.token_until(&server, now_s - 1).await;
    let answer = server.get("/wallets/me", Some(&ended)).await;
    answer.refused(401, "TOKEN_EXPIRED");
    let made_up = server.get("/wallets/me", Some("made.up.token")).await;
    made_up.refused(401, "UNAUTHENTICATED");
}

// Holds invariant 52.
#[tokio::test]
async fn a_registration_sent_again_is_no_login_with_an_old_password() {
    let server = Server::start().await;
    let mut ann = Caller::nobody();
    let body = ann.registration("ann@example.com").to_string();
    let payload = digest_text(&sha256(body.as_bytes()));
    let signed = [("wallet.register", "", payload.as_str())];
    let mut headers = signature(&ann.key, &ann.terms(&server), &signed);
    headers.push(("idempotency-key", "register".to_owned()));
    let register = || server.call("POST", "/wallets/register", &headers, &body);
    let made = register().await.expect(201).body;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    ann.token = text(&made["access_token"]);
    ann.wallet_id = text(&made["wallet"]["id"]);
    let again = register().await.expect(201);
    assert_eq!(again.header("idempotent-replayed"), "true");
    change_password(&server, &ann, &new_password(PASSWORD, NEW_PASSWORD))
        .await
        .expect(200);
    let late = register().await;
    late.refused(403, "FORBIDDEN");
    assert!(!late.body.to_string().contains("token\":"), "{}", late.body);
}
