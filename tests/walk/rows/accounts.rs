//! Registration, login, and the caller's own wallet.

use std::sync::Arc;

use serde_json::json;

use crate::ask::Ask;
use crate::harness::{Caller, PASSWORD};
use crate::row::{Auth, Gives, Row, Signs, Takes, ask, case, row};
use crate::world::{BLIND, World};

const TOKENS: [&str; 5] = [
    "wallet",
    "access_token",
    "refresh_token",
    "token_type",
    "expires_in",
];
const WALLET: [&str; 8] = [
    "id",
    "organization_id",
    "role",
    "nickname",
    "email",
    "address",
    "created_at",
    "updated_at",
];

/// A registration of a new key, altered by `bend`.
fn registration(world: &World, bend: impl FnOnce(&mut serde_json::Value)) -> Ask {
    let caller = Caller::nobody();
    let mut body = caller.registration(&format!("new-{}@example.com", world.fresh()));
    bend(&mut body);
    Ask {
        signer: Some(Arc::new(caller)),
        ..Ask::json("/wallets/register", &body).signing("wallet.register", "")
    }
}

fn login(email: &str, password: &str) -> Ask {
    let body = json!({ "email": email, "password": password });
    Ask::json("/wallets/login", &body)
}

/// The refresh token of a new login.
async fn refresh_token(world: &World) -> String {
    let row = crate::table::find("POST", "/wallets/login");
    let got = world
        .by_ann(&row, &login("ann@example.com", PASSWORD))
        .await;
    crate::world::text(&got.json(), "refresh_token")
}

fn with_refresh_token(path: &str, token: &str) -> Ask {
    Ask::json(path, &json!({ "refresh_token": token }))
}

fn patch(world: &World, body: &serde_json::Value) -> Ask {
    Ask::json("/wallets/me", body).signing("wallet.update", &world.ann.wallet_id)
}

/// Adds a key to the wallet; returns it.
async fn added_key(world: &World) -> Caller {
    let key = Caller::nobody();
    let body = key.joining(&world.server, &world.ann.wallet_id).to_string();
    let kind = ("wallet.key_add", world.ann.wallet_id.as_str());
    let request = ("POST", "/wallets/me/keys");
    let made = world.ann.change(&world.server, request, kind, &body).await;
    made.expect(201);
    key
}

fn without_key(world: &World, address: &str) -> Ask {
    let payload = json!({ "address": address }).to_string();
    Ask::get(format!("/wallets/me/keys/{address}")).signing_payload(
        "wallet.key_remove",
        &world.ann.wallet_id,
        &payload,
    )
}

/// Removes a key again: a wallet has room for only a few.
pub(crate) async fn forget_key(world: &World, address: &str) {
    let payload = json!({ "address": address }).to_string();
    let path = format!("/wallets/me/keys/{address}");
    let signed = (
        "wallet.key_remove",
        world.ann.wallet_id.as_str(),
        payload.as_str(),
    );
    let credentials = [world.ann.bearer()];
    let request = ("DELETE", path.as_str());
    let removed = world
        .ann
        .change_as(&world.server, request, signed, "", &credentials);
    removed.await.expect(200);
}

fn registering() -> Vec<Row> {
    vec![Row {
        status: 201,
        auth: Auth::Public,
        signs: Signs::Digest,
        takes: Takes::Json,
        gives: Gives::Json,
        keys: &[
            "wallet",
            "access_token",
            "refresh_token",
            "token_type",
            "expires_in",
            "action_id",
            "receipt",
        ],
        cases: vec![
            case!("VALIDATION_ERROR" at "/password", world => {
                registration(world, |body| body["password"] = json!("short"))
            }),
            case!("VALIDATION_ERROR" at "/blind", world => {
                registration(world, |body| {
                    body.as_object_mut().unwrap().remove("blind");
                })
            }),
            case!("VALIDATION_ERROR" at "/email", world => {
                registration(world, |body| body["email"] = json!("nobody"))
            }),
            case!("VALIDATION_ERROR" at "/address", world => {
                registration(world, |body| body["address"] = json!("0x12"))
            }),
            case!("EMAIL_TAKEN", world => {
                registration(world, |body| body["email"] = json!("ann@example.com"))
            }),
            case!("FORBIDDEN", world => {
                let id = world.ann.organization_id.clone();
                registration(world, |body| body["organization_id"] = json!(id))
            }),
            case!("FORBIDDEN", world => {
                registration(world, |body| body["invitation"] = json!("made up"))
            }),
            case!("VALIDATION_ERROR" at "/address", world => {
                let other = Caller::nobody().key.address();
                registration(world, |body| body["address"] = json!(other))
            }),
        ],
        ..row(
            "POST",
            "/wallets/register",
            ask!(world => registration(world, |_| ())),
        )
    }]
}

fn logins() -> Vec<Row> {
    vec![
        Row {
            auth: Auth::Public,
            takes: Takes::Json,
            gives: Gives::Json,
            keys: &TOKENS,
            cases: vec![
                case!("CREDENTIALS_INVALID", _world => login("ann@example.com", "not the password at all")),
                case!("CREDENTIALS_INVALID", _world => login("nobody@example.com", PASSWORD)),
                case!("VALIDATION_ERROR" at "/password", _world => {
                    Ask::json("/wallets/login", &json!({ "email": "ann@example.com" }))
                }),
                case!("VALIDATION_ERROR" at "/email", _world => {
                    Ask::json("/wallets/login", &json!({ "email": 5, "password": PASSWORD }))
                }),
            ],
            ..row(
                "POST",
                "/wallets/login",
                ask!(_world => login("ann@example.com", PASSWORD)),
            )
        },
        Row {
            auth: Auth::Public,
            takes: Takes::Json,
            gives: Gives::Json,
            keys: &TOKENS,
            cases: vec![
                case!("CREDENTIALS_INVALID", _world => {
                    with_refresh_token("/wallets/token/refresh", "made-up")
                }),
                case!("CREDENTIALS_INVALID", world => {
                    let used = with_refresh_token("/wallets/token/refresh", &refresh_token(world).await);
                    let row = crate::table::find("POST", "/wallets/token/refresh");
                    assert_eq!(world.by_ann(&row, &used).await.status, 200);
                    used
                }),
                case!("VALIDATION_ERROR" at "/refresh_token", _world => {
                    Ask::json("/wallets/token/refresh", &json!({}))
                }),
            ],
            ..row(
                "POST",
                "/wallets/token/refresh",
                ask!(world => {
                    with_refresh_token("/wallets/token/refresh", &refresh_token(world).await)
                }),
            )
        },
        Row {
            auth: Auth::Public,
            takes: Takes::Json,
            gives: Gives::Json,
            keys: &["ended"],
            cases: vec![case!("VALIDATION_ERROR" at "/refresh_token", _world => {
                Ask::json("/wallets/logout", &json!({ "refresh_token": null }))
            })],
            ..row(
                "POST",
                "/wallets/logout",
                ask!(world => {
                    with_refresh_token("/wallets/logout", &refresh_token(world).await)
                }),
            )
        },
    ]
}

fn own_wallet() -> Vec<Row> {
    vec![
        Row {
            auth: Auth::Wallet,
            right: ("wallets", "read"),
            keys: &WALLET,
            ..row(
                "GET",
                "/wallets/me",
                ask!(_world => Ask::get("/wallets/me")),
            )
        },
        Row {
            auth: Auth::Wallet,
            right: ("wallets", "update"),
            signs: Signs::Body,
            takes: Takes::Json,
            gives: Gives::Json,
            keys: &[
                "id",
                "nickname",
                "email",
                "updated_at",
                "action_id",
                "receipt",
            ],
            cases: vec![
                case!("EMAIL_TAKEN", world => patch(world, &json!({ "email": "bob@example.com" }))),
                case!("VALIDATION_ERROR" at "/email", world => patch(world, &json!({ "email": "@" }))),
                case!("VALIDATION_ERROR" at "/current_password", world => {
                    let new = "seven slow green turtles";
                    patch(world, &json!({ "password": new, "blind": BLIND }))
                }),
                case!("PRECONDITION_FAILED", world => {
                    let stale = "\"1.0000000000000000\"";
                    patch(world, &json!({ "nickname": "Late" })).with("if-match", stale)
                }),
            ],
            ..row(
                "PATCH",
                "/wallets/me",
                ask!(world => {
                    patch(world, &json!({ "nickname": format!("Ann {}", world.fresh()) }))
                }),
            )
        },
    ]
}

fn own_keys() -> Vec<Row> {
    vec![
        Row {
            status: 201,
            auth: Auth::Wallet,
            right: ("wallets", "update"),
            signs: Signs::Body,
            takes: Takes::Json,
            gives: Gives::Json,
            keys: &["id", "address", "keys", "action_id", "receipt"],
            cases: vec![
                case!("CONFLICT", world => {
                    let taken = world.bob.joining(&world.server, &world.ann.wallet_id);
                    Ask::json("/wallets/me/keys", &taken)
                        .signing("wallet.key_add", &world.ann.wallet_id)
                }),
                case!("STATE_VIOLATION" at "/possession", world => {
                    let stranger = json!({ "address": Caller::nobody().key.address() });
                    Ask::json("/wallets/me/keys", &stranger)
                        .signing("wallet.key_add", &world.ann.wallet_id)
                }),
                case!("VALIDATION_ERROR" at "/address", world => {
                    Ask::json("/wallets/me/keys", &json!({ "address": "0x1" }))
                        .signing("wallet.key_add", &world.ann.wallet_id)
                }),
            ],
            ..row(
                "POST",
                "/wallets/me/keys",
                ask!(world => {
                    let body = Caller::nobody().joining(&world.server, &world.ann.wallet_id);
                    Ask::json("/wallets/me/keys", &body)
                        .signing("wallet.key_add", &world.ann.wallet_id)
                }),
            )
        },
        Row {
            auth: Auth::Wallet,
            right: ("wallets", "update"),
            signs: Signs::Actions,
            gives: Gives::Json,
            keys: &["id", "address", "keys", "action_id", "receipt"],
            cases: vec![
                case!("RESOURCE_NOT_FOUND", world => {
                    without_key(world, &Caller::nobody().key.address().to_string())
                }),
                case!("STATE_VIOLATION", world => {
                    without_key(world, &world.ann.key.address().to_string())
                }),
            ],
            ..row(
                "DELETE",
                "/wallets/me/keys/{id}",
                ask!(world => {
                    without_key(world, &added_key(world).await.key.address().to_string())
                }),
            )
        },
    ]
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = registering();
    rows.extend(logins());
    rows.extend(own_wallet());
    rows.extend(own_keys());
    rows
}
