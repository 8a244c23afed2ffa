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
use super::row::{answer, get, handler, prepare, signed, unsigned};
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
            request: Some(schema::<RegisterBody>),
            status: 201,
            response: schema::<Changed<wallets::LoggedIn>>,
            prepare: Some(prepare!(wallets::check_registration)),
            ..signed(
                Method::POST,
                "/wallets/register",
                &docs::accounts::REGISTER,
                Signs::Registration,
                |call, committed| Box::pin(wallets::registered(call, committed)),
            )
        },
        Endpoint {
            auth: Public,
            request: Some(schema::<wallets::LoginBody>),
            response: schema::<wallets::LoggedIn>,
            ..unsigned(
                Method::POST,
                "/wallets/login",
                &docs::accounts::LOGIN,
                handler!(wallets::login),
            )
        },
        Endpoint {
            auth: Public,
            request: Some(schema::<wallets::RefreshBody>),
            response: schema::<wallets::LoggedIn>,
            ..unsigned(
                Method::POST,
                "/wallets/token/refresh",
                &docs::accounts::REFRESH,
                handler!(wallets::refresh),
            )
        },
        Endpoint {
            response: schema::<OwnWallet>,
            etag: true,
            ..get("/wallets/me", &docs::accounts::ME, handler!(wallets::me))
        },
        Endpoint {
            auth: Public,
            request: Some(schema::<wallets::RefreshBody>),
            response: schema::<wallets::LoggedOut>,
            ..unsigned(
                Method::POST,
                "/wallets/logout",
                &docs::accounts::LOGOUT,
                handler!(wallets::logout),
            )
        },
        Endpoint {
            request: Some(schema::<WalletBody>),
            response: schema::<Changed<WalletView>>,
            prepare: Some(prepare!(wallets::check_password)),
            ..signed(
                Method::PATCH,
                "/wallets/me",
                &docs::accounts::UPDATE_ME,
                Signs::WalletUpdate,
                answer!(wallets::changed),
            )
        },
        Endpoint {
            right: CHANGES_WALLET,
            request: Some(schema::<SignerBody>),
            status: 201,
            response: schema::<Changed<WalletView>>,
            ..signed(
                Method::POST,
                "/wallets/me/keys",
                &docs::accounts::ADD_KEY,
                Signs::Body(Kind::WalletKeyAdd, Target::Wallet),
                answer!(wallets::changed),
            )
        },
        Endpoint {
            right: CHANGES_WALLET,
            response: schema::<Changed<WalletView>>,
            ..signed(
                Method::DELETE,
                "/wallets/me/keys/{id}",
                &docs::accounts::REMOVE_KEY,
                Signs::PathMember(Kind::WalletKeyRemove, Target::Wallet, PathMember::Address),
                answer!(wallets::changed),
            )
        },
    ]
}
