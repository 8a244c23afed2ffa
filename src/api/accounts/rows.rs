//! Endpoints of accounts: wallets, logins and keys.

use hyper::Method;
use kedge_http::auth::rights::{CrudAccess, EndpointRight};
use kedge_http::signing::registration::RegisterBody;
use kedge_http::signing::wallet::WalletBody;
use kedge_http::signing::{PathMember, SigningScheme, TargetSource};
use kedge_protocol::Code;
use kedge_protocol::action::Kind;
use kedge_protocol::resource::Area;

use crate::api::EndpointRow;
use crate::api::accounts::bodies::SignerBody;
use crate::api::accounts::handlers;
use crate::api::accounts::views::{OwnWallet, WalletView};
use crate::api::committed_answer::ResourceChange;
use crate::api::document::{AnswerLink, ApiHeading, EndpointDoc, PathParameter};
use crate::api::endpoint::EndpointAuth::Public;
use crate::api::endpoint::schema;
use crate::api::row::{IF_MATCH, TO_ACTION, TO_PROOF, answer, get, handler, post, prepare, signed};

const CHANGES_WALLET: EndpointRight = EndpointRight::new(Area::Wallets, CrudAccess::Update);

pub(in crate::api) fn rows() -> impl Iterator<Item = EndpointRow> {
    logins().into_iter().chain(changes())
}

fn logins() -> Vec<EndpointRow> {
    vec![
        EndpointRow {
            auth: Public,
            request: Some(schema::<RegisterBody>),
            status: 201,
            response: schema::<ResourceChange<handlers::LoginView>>,
            shows_secret: true,
            prepare: Some(prepare!(handlers::check_registration)),
            ..signed(
                Method::POST,
                "/wallets/register",
                &REGISTER,
                SigningScheme::Registration,
                |call, committed| Box::pin(handlers::registered(call, committed)),
            )
        },
        EndpointRow {
            auth: Public,
            request: Some(schema::<handlers::LoginBody>),
            response: schema::<handlers::LoginView>,
            shows_secret: true,
            ..post("/wallets/login", &LOGIN, handler!(handlers::login))
        },
        EndpointRow {
            auth: Public,
            request: Some(schema::<handlers::RefreshBody>),
            response: schema::<handlers::LoginView>,
            shows_secret: true,
            ..post(
                "/wallets/token/refresh",
                &REFRESH,
                handler!(handlers::refresh),
            )
        },
        EndpointRow {
            response: schema::<OwnWallet>,
            etag: true,
            ..get("/wallets/me", &ME, handler!(handlers::me))
        },
        EndpointRow {
            auth: Public,
            request: Some(schema::<handlers::RefreshBody>),
            response: schema::<handlers::LogoutView>,
            ..post("/wallets/logout", &LOGOUT, handler!(handlers::logout))
        },
    ]
}

fn changes() -> Vec<EndpointRow> {
    vec![
        EndpointRow {
            request: Some(schema::<WalletBody>),
            response: schema::<ResourceChange<WalletView>>,
            prepare: Some(prepare!(handlers::check_password)),
            ..signed(
                Method::PATCH,
                "/wallets/me",
                &UPDATE_ME,
                SigningScheme::WalletUpdate,
                answer!(handlers::changed),
            )
        },
        EndpointRow {
            right: Some(CHANGES_WALLET),
            request: Some(schema::<SignerBody>),
            status: 201,
            response: schema::<ResourceChange<WalletView>>,
            ..signed(
                Method::POST,
                "/wallets/me/keys",
                &ADD_KEY,
                SigningScheme::Body(Kind::WalletKeyAdd, TargetSource::Wallet),
                answer!(handlers::changed),
            )
        },
        EndpointRow {
            right: Some(CHANGES_WALLET),
            response: schema::<ResourceChange<WalletView>>,
            ..signed(
                Method::DELETE,
                "/wallets/me/keys/{id}",
                &REMOVE_KEY,
                SigningScheme::PathMember(
                    Kind::WalletKeyRemove,
                    TargetSource::Wallet,
                    PathMember::Address,
                ),
                answer!(handlers::changed),
            )
        },
    ]
}

pub(in crate::api) static HEADING: ApiHeading = ApiHeading {
    name: "Accounts",
    description: "Wallets, their keys, and the tokens to act for them.",
    area: Some(Area::Wallets),
    ids: &[("/wallets/me/keys/", PathParameter::Address)],
};

const TO_REFRESH: AnswerLink = AnswerLink::with_body(
    "refreshToken",
    r#"{"refresh_token": "$response.body#/refresh_token"}"#,
);

const TO_LOGOUT: AnswerLink = AnswerLink::with_body(
    "logout",
    r#"{"refresh_token": "$response.body#/refresh_token"}"#,
);

const REGISTER: EndpointDoc = EndpointDoc {
    id: "registerWallet",
    heading: &HEADING,
    summary: "Register a wallet, and its organization",
    description: "Makes a wallet and the organization that it owns, and logs it in. The key of \
        `address` signs the request; that address is the wallet's for ever. The body holds a password, so \
        its digest is signed (`sha-256=:…:`), and it needs `blind`, random bytes that protect the \
        digest against guessing; neither is kept. With the code of an `invitation` the wallet joins the \
        organization that invited it instead of making one.",
    errors: &[Code::QuotaExceeded],
    links: &[
        TO_REFRESH,
        AnswerLink::with_body(
            "login",
            r#"{"email": "$request.body#/email", "password": "$request.body#/password"}"#,
        ),
        AnswerLink::with_parameters("listObjects", &[("owner_id", "$response.body#/wallet/id")]),
        TO_ACTION,
        TO_PROOF,
    ],
    ..EndpointDoc::MISSING
};

const LOGIN: EndpointDoc = EndpointDoc {
    id: "login",
    heading: &HEADING,
    summary: "Log in",
    description: "Exchanges e-mail address and password for an access token and a refresh token. An \
        unknown address takes as long as a wrong password and gets the same answer.",
    errors: &[Code::CredentialsInvalid],
    links: &[TO_REFRESH, TO_LOGOUT],
    ..EndpointDoc::MISSING
};

const REFRESH: EndpointDoc = EndpointDoc {
    id: "refreshToken",
    heading: &HEADING,
    summary: "Exchange a refresh token for new tokens",
    description: "Exchanges a refresh token for a new pair. Each is valid for one exchange: using \
        one a second time revokes all tokens of that login.",
    errors: &[
        Code::CredentialsInvalid,
        Code::TokenExpired,
        Code::Unauthenticated,
    ],
    links: &[TO_REFRESH, TO_LOGOUT],
    ..EndpointDoc::MISSING
};

const ME: EndpointDoc = EndpointDoc {
    id: "getOwnWallet",
    heading: &HEADING,
    summary: "Read the caller's wallet",
    description: "The wallet that the access token belongs to, with the highest nonce that each of \
        its keys has spent: continue from there.",
    links: &[AnswerLink::with_parameters(
        "listObjects",
        &[("owner_id", "$response.body#/id")],
    )],
    ..EndpointDoc::MISSING
};

const LOGOUT: EndpointDoc = EndpointDoc {
    id: "logout",
    heading: &HEADING,
    summary: "End a login",
    description: "Ends the login that a refresh token comes from, with every token exchanged from \
        it. Access tokens expire by themselves. An unknown token ends nothing and gets the same \
        answer.",
    ..EndpointDoc::MISSING
};

const UPDATE_ME: EndpointDoc = EndpointDoc {
    id: "updateOwnWallet",
    heading: &HEADING,
    summary: "Change e-mail address, nickname or password",
    description: "Changes the caller's wallet. A nickname of `null` removes it. A new password needs the \
        current one and `blind`; then the body's digest is signed instead of the body, as when a wallet \
        is registered. A wrong current password counts as a failed login. Only with an access token: an \
        API key belongs to no wallet.",
    errors: &[Code::CredentialsInvalid, Code::PreconditionFailed],
    request_headers: IF_MATCH,
    links: &[TO_ACTION, TO_PROOF],
    ..EndpointDoc::MISSING
};

const ADD_KEY: EndpointDoc = EndpointDoc {
    id: "addWalletKey",
    heading: &HEADING,
    summary: "Add a key that signs for the wallet",
    description: "Adds a key that may sign for the caller's wallet, by its address. The request is signed by a key that \
        the wallet already has, and `possession` is the new key's own signature: it consents to belong to this wallet for \
        ever. The address must never have belonged to another wallet. A request without `possession`, or with a wrong \
        one, is refused as STATE_VIOLATION with a pointer.",
    links: &[
        AnswerLink::with_parameters("removeWalletKey", &[("id", "$request.body#/address")]),
        TO_ACTION,
        TO_PROOF,
    ],
    ..EndpointDoc::MISSING
};

const REMOVE_KEY: EndpointDoc = EndpointDoc {
    id: "removeWalletKey",
    heading: &HEADING,
    summary: "Remove a signing key from the wallet",
    description: "Removes a key's right to sign for the caller's wallet. What it signed stays \
        valid. The last key cannot be removed.",
    links: &[TO_ACTION, TO_PROOF],
    ..EndpointDoc::MISSING
};
