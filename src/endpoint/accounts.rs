//! The rows of accounts: wallets, their logins and their keys.

use hyper::Method;
use kedge_api::bodies::SignerBody;
use kedge_api::resources::{Changed, OwnWallet, WalletView};
use kedge_http::auth::rights::{Access, Right};
use kedge_http::signing::registration::RegisterBody;
use kedge_http::signing::wallet::WalletBody;
use kedge_protocol::action::Kind;
use kedge_protocol::resource::Area;

use super::Auth::Public;
use super::table::{documented, handler};
use super::{Endpoint, PathMember, Signs, Target, docs, schema};
use crate::routes::wallets;

const CHANGES_WALLET: Option<Right> = Some(Right {
    area: Area::Wallets,
    access: Access::Update,
});

/// The rows.
pub(super) fn rows() -> Vec<Endpoint> {
    vec![
        Endpoint {
            auth: Public,
            signs: Signs::Registration,
            request: Some(schema::<RegisterBody>),
            status: 201,
            response: schema::<Changed<wallets::LoggedIn>>,
            handler: handler!(wallets::register),
            ..documented(Method::POST, "/wallets/register", &docs::accounts::REGISTER)
        },
        Endpoint {
            auth: Public,
            request: Some(schema::<wallets::LoginBody>),
            response: schema::<wallets::LoggedIn>,
            handler: handler!(wallets::login),
            ..documented(Method::POST, "/wallets/login", &docs::accounts::LOGIN)
        },
        Endpoint {
            auth: Public,
            request: Some(schema::<wallets::RefreshBody>),
            response: schema::<wallets::LoggedIn>,
            handler: handler!(wallets::refresh),
            ..documented(
                Method::POST,
                "/wallets/token/refresh",
                &docs::accounts::REFRESH,
            )
        },
        Endpoint {
            response: schema::<OwnWallet>,
            etag: true,
            handler: handler!(wallets::me),
            ..documented(Method::GET, "/wallets/me", &docs::accounts::ME)
        },
        Endpoint {
            auth: Public,
            request: Some(schema::<wallets::RefreshBody>),
            response: schema::<wallets::LoggedOut>,
            handler: handler!(wallets::logout),
            ..documented(Method::POST, "/wallets/logout", &docs::accounts::LOGOUT)
        },
        Endpoint {
            signs: Signs::WalletUpdate,
            request: Some(schema::<WalletBody>),
            response: schema::<Changed<WalletView>>,
            handler: handler!(wallets::update),
            ..documented(Method::PATCH, "/wallets/me", &docs::accounts::UPDATE_ME)
        },
        Endpoint {
            right: CHANGES_WALLET,
            signs: Signs::Body(Kind::WalletKeyAdd, Target::Wallet),
            request: Some(schema::<SignerBody>),
            status: 201,
            response: schema::<Changed<WalletView>>,
            handler: handler!(wallets::change_keys),
            ..documented(Method::POST, "/wallets/me/keys", &docs::accounts::ADD_KEY)
        },
        Endpoint {
            right: CHANGES_WALLET,
            signs: Signs::PathMember(Kind::WalletKeyRemove, Target::Wallet, PathMember::Address),
            response: schema::<Changed<WalletView>>,
            handler: handler!(wallets::change_keys),
            ..documented(
                Method::DELETE,
                "/wallets/me/keys/{id}",
                &docs::accounts::REMOVE_KEY,
            )
        },
    ]
}
