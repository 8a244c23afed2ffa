//! The caller's organization, its members and invitations.

use serde_json::json;

use crate::ask::Ask;
use crate::row::{Gives, NOBODY, Row, Signs, Takes, ask, case, row};
use crate::world::World;

fn role(world: &World, path_id: &str, body: &serde_json::Value) -> Ask {
    Ask::json(format!("/organizations/me/members/{path_id}"), body)
        .signing("org.role", &world.ann.organization_id)
}

fn invite(world: &World, body: &serde_json::Value) -> Ask {
    Ask::json("/organizations/me/invitations", body)
        .signing("org.invite", &world.ann.organization_id)
}

fn revoke(world: &World, id: &str) -> Ask {
    Ask::get(format!("/organizations/me/invitations/{id}")).signing_payload(
        "org.invitation_revoke",
        &world.ann.organization_id,
        &json!({ "invitation_id": id }).to_string(),
    )
}

fn remove(world: &World, id: &str) -> Ask {
    Ask::get(format!("/organizations/me/members/{id}")).signing_payload(
        "org.member_remove",
        &world.ann.organization_id,
        &json!({ "wallet_id": id }).to_string(),
    )
}

fn endings() -> Vec<Row> {
    vec![
        Row {
            right: ("wallets", "delete"),
            admin: true,
            signs: Signs::Actions,
            gives: Gives::Json,
            keys: &["id", "keys", "action_id", "receipt"],
            cases: vec![
                case!("RESOURCE_NOT_FOUND", world => remove(world, &format!("wal_{NOBODY}"))),
                case!("FORBIDDEN", world => remove(world, &world.ann.wallet_id)),
            ],
            ..row(
                "DELETE",
                "/organizations/me/members/{id}",
                ask!(world => remove(world, &world.new_member().await)),
            )
        },
        Row {
            right: ("wallets", "delete"),
            admin: true,
            signs: Signs::Actions,
            gives: Gives::Json,
            keys: &["id", "revoked", "action_id", "receipt"],
            cases: vec![
                case!("RESOURCE_NOT_FOUND", world => revoke(world, &format!("act_{NOBODY}"))),
                case!("STATE_VIOLATION", world => revoke(world, &world.used_invitation().await)),
            ],
            ..row(
                "DELETE",
                "/organizations/me/invitations/{id}",
                ask!(world => revoke(world, &world.new_invitation().await)),
            )
        },
    ]
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = endings();
    rows.extend(members());
    rows.extend(invitations());
    rows
}

fn members() -> Vec<Row> {
    vec![
        Row {
            right: ("wallets", "read"),
            keys: &["id", "name", "tier", "price", "limits", "usage", "forecast"],
            ..row(
                "GET",
                "/organizations/me",
                ask!(_world => Ask::get("/organizations/me")),
            )
        },
        Row {
            right: ("wallets", "read"),
            gives: Gives::List,
            keys: &[
                "id",
                "organization_id",
                "role",
                "nickname",
                "email",
                "address",
            ],
            ..row(
                "GET",
                "/organizations/me/members",
                ask!(_world => {
                    Ask::get("/organizations/me/members")
                }),
            )
        },
        Row {
            right: ("wallets", "update"),
            admin: true,
            signs: Signs::Body,
            takes: Takes::Json,
            gives: Gives::Json,
            keys: &["id", "role", "action_id", "receipt"],
            cases: vec![
                case!("FORBIDDEN", world => {
                    let own = &world.ann.wallet_id;
                    role(world, own, &json!({ "wallet_id": own, "role": "member" }))
                }),
                case!("RESOURCE_NOT_FOUND", world => {
                    let nobody = format!("wal_{NOBODY}");
                    role(world, &nobody, &json!({ "wallet_id": nobody, "role": "member" }))
                }),
                case!("VALIDATION_ERROR" at "/wallet_id", world => {
                    let body = json!({ "wallet_id": world.ann.wallet_id, "role": "member" });
                    role(world, &world.max.wallet_id, &body)
                }),
                case!("VALIDATION_ERROR" at "/role", world => {
                    let id = &world.max.wallet_id;
                    role(world, id, &json!({ "wallet_id": id, "role": "king" }))
                }),
            ],
            ..row(
                "PATCH",
                "/organizations/me/members/{id}",
                ask!(world => {
                    let id = &world.max.wallet_id;
                    role(world, id, &json!({ "wallet_id": id, "role": "member" }))
                }),
            )
        },
    ]
}

fn invitations() -> Vec<Row> {
    vec![
        Row {
            status: 201,
            right: ("wallets", "create"),
            admin: true,
            signs: Signs::Body,
            takes: Takes::Json,
            gives: Gives::Json,
            keys: &[
                "id",
                "organization_id",
                "role",
                "code",
                "expires_at",
                "action_id",
                "receipt",
            ],
            cases: vec![
                case!("VALIDATION_ERROR" at "/expires_in_s", world => {
                    invite(world, &json!({ "expires_in_s": 0 }))
                }),
                case!("VALIDATION_ERROR" at "/email", world => invite(world, &json!({ "email": "x" }))),
                case!("VALIDATION_ERROR" at "/role", world => invite(world, &json!({ "role": "guest" }))),
            ],
            ..row(
                "POST",
                "/organizations/me/invitations",
                ask!(world => invite(world, &json!({}))),
            )
        },
        Row {
            right: ("wallets", "read"),
            gives: Gives::List,
            keys: &["id", "organization_id", "role", "expires_at"],
            ..row(
                "GET",
                "/organizations/me/invitations",
                ask!(_world => {
                    Ask::get("/organizations/me/invitations")
                }),
            )
        },
    ]
}
