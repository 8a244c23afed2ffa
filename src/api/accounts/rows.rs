//! Endpoints of accounts: wallets, logins and keys.

use hyper::Method;
use kedge_http::auth::rights::{Access, Right};
use kedge_http::signing::registration::RegisterBody;
use kedge_http::signing::wallet::WalletBody;
use kedge_http::signing::{PathMember, Signs, Target};
use kedge_protocol::Code;
use kedge_protocol::action::Kind;
use kedge_protocol::resource::Area;

use crate::api::Endpoint;
use crate::api::accounts::bodies::SignerBody;
use crate::api::accounts::handlers;
use crate::api::accounts::views::{OwnWallet, WalletView};
use crate::api::committed_answer::Changed;
use crate::api::document::{Doc, Link};
use crate::api::endpoint::Auth::Public;
use crate::api::endpoint::schema;
use crate::api::row::{
    IF_MATCH, TO_ACTION, TO_PROOF, answer, get, handler, prepare, signed, unsigned,
};

const CHANGES_WALLET: Option<Right> = Some(Right {
    area: Area::Wallets,
    access: Access::Update,
});

pub(in crate::api) fn rows() -> impl Iterator<Item = Endpoint> {
    logins().into_iter().chain(changes())
}

fn logins() -> Vec<Endpoint> {
    vec![
        Endpoint {
            auth: Public,
            request: Some(schema::<RegisterBody>),
            status: 201,
            response: schema::<Changed<handlers::LoggedIn>>,
            shows_secret: true,
            prepare: Some(prepare!(handlers::check_registration)),
            ..signed(
                Method::POST,
                "/wallets/register",
                &REGISTER,
                Signs::Registration,
                |call, committed| Box::pin(handlers::registered(call, committed)),
            )
        },
        Endpoint {
            auth: Public,
            request: Some(schema::<handlers::LoginBody>),
            response: schema::<handlers::LoggedIn>,
            shows_secret: true,
            ..unsigned(
                Method::POST,
                "/wallets/login",
                &LOGIN,
                handler!(handlers::login),
            )
        },
        Endpoint {
            auth: Public,
            request: Some(schema::<handlers::RefreshBody>),
            response: schema::<handlers::LoggedIn>,
            shows_secret: true,
            ..unsigned(
                Method::POST,
                "/wallets/token/refresh",
                &REFRESH,
                handler!(handlers::refresh),
            )
        },
        Endpoint {
            response: schema::<OwnWallet>,
            etag: true,
            ..get("/wallets/me", &ME, handler!(handlers::me))
        },
        Endpoint {
            auth: Public,
            request: Some(schema::<handlers::RefreshBody>),
            response: schema::<handlers::LoggedOut>,
            ..unsigned(
                Method::POST,
                "/wallets/logout",
                &LOGOUT,
                handler!(handlers::logout),
            )
        },
    ]
}

fn changes() -> Vec<Endpoint> {
    vec![
        Endpoint {
            request: Some(schema::<WalletBody>),
            response: schema::<Changed<WalletView>>,
            prepare: Some(prepare!(handlers::check_password)),
            ..signed(
                Method::PATCH,
                "/wallets/me",
                &UPDATE_ME,
                Signs::WalletUpdate,
                answer!(handlers::changed),
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
                &ADD_KEY,
                Signs::Body(Kind::WalletKeyAdd, Target::Wallet),
                answer!(handlers::changed),
            )
        },
        Endpoint {
            right: CHANGES_WALLET,
            response: schema::<Changed<WalletView>>,
            ..signed(
                Method::DELETE,
                "/wallets/me/keys/{id}",
                &REMOVE_KEY,
                Signs::PathMember(Kind::WalletKeyRemove, Target::Wallet, PathMember::Address),
                answer!(handlers::changed),
            )
        },
    ]
}

const TAG: &str = "Accounts";

const TO_REFRESH: Link = Link::with_body(
    "refreshToken",
    r#"{"refresh_token": "$response.body#/refresh_token"}"#,
);

const TO_LOGOUT: Link = Link::with_body(
    "logout",
    r#"{"refresh_token": "$response.body#/refresh_token"}"#,
);

const REGISTER: Doc = Doc {
    id: "registerWallet",
    tag: TAG,
    summary: "Register a wallet, and its organization",
    description: "Makes a wallet and the organization that it owns, and logs it in. The key of \
        `address` signs the request; that address is the wallet's for ever. The body holds a password, so \
        its digest is signed (`sha-256=:…:`), and it needs `blind`, random bytes that protect the \
        digest against guessing; neither is kept. With the code of an `invitation` the wallet joins the \
        organization that invited it instead of making one.",
    errors: &[Code::QuotaExceeded],
    links: &[
        TO_REFRESH,
        Link::with_body(
            "login",
            r#"{"email": "$request.body#/email", "password": "$request.body#/password"}"#,
        ),
        Link {
            to: "listObjects",
            parameters: &[("owner_id", "$response.body#/wallet/id")],
            body: "",
        },
        TO_ACTION,
        TO_PROOF,
    ],
    ..Doc::MISSING
};

const LOGIN: Doc = Doc {
    id: "login",
    tag: TAG,
    summary: "Log in",
    description: "Exchanges e-mail address and password for an access token and a refresh token. An \
        unknown address takes as long as a wrong password and gets the same answer.",
    errors: &[Code::CredentialsInvalid],
    links: &[TO_REFRESH, TO_LOGOUT],
    ..Doc::MISSING
};

const REFRESH: Doc = Doc {
    id: "refreshToken",
    tag: TAG,
    summary: "Exchange a refresh token for new tokens",
    description: "Exchanges a refresh token for a new pair. Each is valid for one exchange: using \
        one a second time revokes all tokens of that login.",
    errors: &[
        Code::CredentialsInvalid,
        Code::TokenExpired,
        Code::Unauthenticated,
    ],
    links: &[TO_REFRESH, TO_LOGOUT],
    ..Doc::MISSING
};

const ME: Doc = Doc {
    id: "getOwnWallet",
    tag: TAG,
    summary: "Read the caller's wallet",
    description: "The wallet that the access token belongs to, with the highest nonce that each of \
        its keys has spent: continue from there.",
    links: &[Link::with_parameters(
        "listObjects",
        &[("owner_id", "$response.body#/id")],
    )],
    ..Doc::MISSING
};

const LOGOUT: Doc = Doc {
    id: "logout",
    tag: TAG,
    summary: "End a login",
    description: "Ends the login that a refresh token comes from, with every token exchanged from \
        it. Access tokens expire by themselves. An unknown token ends nothing and gets the same \
        answer.",
    ..Doc::MISSING
};

const UPDATE_ME: Doc = Doc {
    id: "updateOwnWallet",
    tag: TAG,
    summary: "Change e-mail address, nickname or password",
    description: "Changes the caller's wallet. A nickname of `null` removes it. A new password needs the \
        current one and `blind`; then the body's digest is signed instead of the body, as when a wallet \
        is registered. A wrong current password counts as a failed login. Only with an access token: an \
        API key belongs to no wallet.",
    errors: &[Code::CredentialsInvalid, Code::PreconditionFailed],
    request_headers: IF_MATCH,
    links: &[TO_ACTION, TO_PROOF],
    ..Doc::MISSING
};

const ADD_KEY: Doc = Doc {
    id: "addWalletKey",
    tag: TAG,
    summary: "Add a key that signs for the wallet",
    description: "Adds a key that may sign for the caller's wallet, by its address. The request is signed by a key that \
        the wallet already has, and `possession` is the new key's own signature: it consents to belong to this wallet for \
        ever. The address must never have belonged to another wallet. A request without `possession`, or with a wrong \
        one, is refused as STATE_VIOLATION with a pointer.",
    links: &[
        Link::with_parameters("removeWalletKey", &[("id", "$request.body#/address")]),
        TO_ACTION,
        TO_PROOF,
    ],
    ..Doc::MISSING
};

const REMOVE_KEY: Doc = Doc {
    id: "removeWalletKey",
    tag: TAG,
    summary: "Remove a signing key from the wallet",
    description: "Removes a key's right to sign for the caller's wallet. What it signed stays \
        valid. The last key cannot be removed.",
    links: &[TO_ACTION, TO_PROOF],
    ..Doc::MISSING
};
