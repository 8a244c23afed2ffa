//! Accounts.

use kedge_api::Code;
use kedge_openapi::{Doc, Link};

use super::{IF_MATCH, TO_ACTION, TO_PROOF};

const TAG: &str = "Accounts";

const TO_REFRESH: Link = Link::with_body(
    "refreshToken",
    r#"{"refresh_token": "$response.body#/refresh_token"}"#,
);

const TO_LOGOUT: Link = Link::with_body(
    "logout",
    r#"{"refresh_token": "$response.body#/refresh_token"}"#,
);

pub(in crate::endpoint) const REGISTER: Doc = Doc {
    id: "registerWallet",
    tag: TAG,
    summary: "Register a wallet, and its organization",
    description: "Makes a wallet and the organization that it owns, and logs it in. The key of \
        `address` signs the request; that address is the wallet's for ever. The body holds a password, so \
        its digest is signed (`sha-256=:…:`), and it needs `blind`, random bytes that protect the \
        digest against guessing; neither is kept. With the code of an `invitation` the wallet joins the \
        organization that invited it instead of making one.",
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

pub(in crate::endpoint) const LOGIN: Doc = Doc {
    id: "login",
    tag: TAG,
    summary: "Log in",
    description: "Exchanges e-mail address and password for an access token and a refresh token. An \
        unknown address takes as long as a wrong password and gets the same answer.",
    errors: &[Code::CredentialsInvalid],
    links: &[TO_REFRESH, TO_LOGOUT],
    ..Doc::MISSING
};

pub(in crate::endpoint) const REFRESH: Doc = Doc {
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

pub(in crate::endpoint) const ME: Doc = Doc {
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

pub(in crate::endpoint) const LOGOUT: Doc = Doc {
    id: "logout",
    tag: TAG,
    summary: "End a login",
    description: "Ends the login that a refresh token comes from, with every token exchanged from \
        it. Access tokens expire by themselves. An unknown token ends nothing and gets the same \
        answer.",
    ..Doc::MISSING
};

pub(in crate::endpoint) const UPDATE_ME: Doc = Doc {
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

pub(in crate::endpoint) const ADD_KEY: Doc = Doc {
    id: "addWalletKey",
    tag: TAG,
    summary: "Add a key that signs for the wallet",
    description: "Adds a key that may sign for the caller's wallet, by its address. The address \
        must never have belonged to another wallet. The request is signed by a key that the wallet \
        already has.",
    links: &[
        Link::with_parameters("removeWalletKey", &[("id", "$request.body#/address")]),
        TO_ACTION,
        TO_PROOF,
    ],
    ..Doc::MISSING
};

pub(in crate::endpoint) const REMOVE_KEY: Doc = Doc {
    id: "removeWalletKey",
    tag: TAG,
    summary: "Remove a signing key from the wallet",
    description: "Removes a key's right to sign for the caller's wallet. What it signed stays \
        valid. The last key cannot be removed.",
    links: &[TO_ACTION, TO_PROOF],
    ..Doc::MISSING
};
