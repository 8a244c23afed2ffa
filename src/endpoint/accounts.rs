//! The rows of accounts: the caller's wallet and its keys, the organization's members and
//! invitations, API keys.

use hyper::Method;
use kedge_protocol::action::Kind;
use kedge_protocol::resource::Area;

use super::Auth::Public;
use super::table::{handler, row};
use super::{Endpoint, Signs, Target, schema};
use crate::auth::rights::{Access, Right};
use crate::listing::LIST;
use crate::routes::{keys, members, wallets};
use crate::signing::wallet::WalletBody;
use crate::views::Page;
use crate::views::accounts::{ApiKeyView, InvitationView, ShownInvitation, ShownKey};
use crate::views::resources::{Changed, WalletView};
use crate::views::scalars::AddressText;

/// A signing key to be added.
#[derive(schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "the body is read by the rules; this describes it")]
struct SignerBody {
    /// Its address, which must be no other wallet's, now or ever.
    address: AddressText,
}

const CHANGES_WALLET: Option<Right> = Some(Right {
    area: Area::Wallets,
    access: Access::Update,
});
const CHANGES_KEY: Option<Right> = Some(Right {
    area: Area::ApiKeys,
    access: Access::Update,
});

pub(super) fn rows() -> Vec<Endpoint> {
    vec![
        Endpoint {
            auth: Public,
            request: Some(schema::<wallets::RefreshBody>),
            response: schema::<wallets::LoggedOut>,
            handler: handler!(wallets::logout),
            ..row(
                Method::POST,
                "/wallets/logout",
                "Accounts",
                "End a login: its refresh tokens count no more",
            )
        },
        Endpoint {
            signs: Signs::WalletUpdate,
            request: Some(schema::<WalletBody>),
            response: schema::<Changed<WalletView>>,
            handler: handler!(wallets::update),
            ..row(
                Method::PATCH,
                "/wallets/me",
                "Accounts",
                "Change e-mail address, nickname or password",
            )
        },
        Endpoint {
            right: CHANGES_WALLET,
            signs: Signs::Body(Kind::WalletKeyAdd, Target::Wallet),
            request: Some(schema::<SignerBody>),
            status: 201,
            response: schema::<Changed<WalletView>>,
            handler: handler!(wallets::change_keys),
            ..row(
                Method::POST,
                "/wallets/me/keys",
                "Accounts",
                "Add a key that signs for the wallet",
            )
        },
        Endpoint {
            right: CHANGES_WALLET,
            signs: Signs::PathAddress(Kind::WalletKeyRemove),
            response: schema::<Changed<WalletView>>,
            handler: handler!(wallets::change_keys),
            ..row(
                Method::DELETE,
                "/wallets/me/keys/{id}",
                "Accounts",
                "Take a key's right to sign for the wallet away, by its address",
            )
        },
        Endpoint {
            query: &[LIST],
            response: schema::<Page<WalletView>>,
            handler: handler!(members::members),
            ..row(
                Method::GET,
                "/organizations/me/members",
                "Accounts",
                "List the organization's wallets",
            )
        },
        Endpoint {
            signs: Signs::Body(Kind::OrgRole, Target::Organization),
            request: Some(schema::<members::RoleBody>),
            response: schema::<Changed<WalletView>>,
            handler: handler!(members::set_role),
            ..row(
                Method::PATCH,
                "/organizations/me/members/{id}",
                "Accounts",
                "Set a member's role",
            )
        },
        Endpoint {
            signs: Signs::Body(Kind::OrgInvite, Target::Organization),
            request: Some(schema::<members::InviteBody>),
            status: 201,
            response: schema::<Changed<ShownInvitation>>,
            handler: handler!(members::invite),
            ..row(
                Method::POST,
                "/organizations/me/invitations",
                "Accounts",
                "Invite somebody; the code is shown once",
            )
        },
        Endpoint {
            query: &[LIST],
            response: schema::<Page<InvitationView>>,
            handler: handler!(members::invitations),
            ..row(
                Method::GET,
                "/organizations/me/invitations",
                "Accounts",
                "List the organization's invitations",
            )
        },
        Endpoint {
            signs: Signs::Body(Kind::KeyCreate, Target::Empty),
            request: Some(schema::<keys::KeyBody>),
            status: 201,
            response: schema::<Changed<ShownKey>>,
            handler: handler!(keys::create),
            ..row(
                Method::POST,
                "/api-keys",
                "API keys",
                "Make an API key; its secret is shown once",
            )
        },
        Endpoint {
            query: &[LIST],
            response: schema::<Page<ApiKeyView>>,
            handler: handler!(keys::list),
            ..row(
                Method::GET,
                "/api-keys",
                "API keys",
                "List the organization's API keys",
            )
        },
        Endpoint {
            response: schema::<ApiKeyView>,
            handler: handler!(keys::get),
            ..row(Method::GET, "/api-keys/{id}", "API keys", "Read an API key")
        },
        Endpoint {
            signs: Signs::NoBody(Kind::KeyDelete, Target::Path),
            response: schema::<Changed<ApiKeyView>>,
            handler: handler!(keys::delete),
            ..row(
                Method::DELETE,
                "/api-keys/{id}",
                "API keys",
                "End an API key",
            )
        },
        Endpoint {
            right: CHANGES_KEY,
            signs: Signs::Body(Kind::KeyRotate, Target::Path),
            request: Some(schema::<keys::RotateBody>),
            response: schema::<Changed<ShownKey>>,
            handler: handler!(keys::rotate),
            ..row(
                Method::POST,
                "/api-keys/{id}/rotate",
                "API keys",
                "Replace an API key's secret; the new one is shown once",
            )
        },
    ]
}
