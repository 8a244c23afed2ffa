//! Accounts: registration, login, token refresh, the caller's own wallet.

use kedge_actors::api::{
    NewSecret, Submission, SubmissionError, SubmissionOutcome, SubmittedAction,
};
use kedge_http::auth::password;
use kedge_http::auth::session::TokensView;
use kedge_http::body;
use kedge_http::clock::now_s;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::reply::HttpReply;
use kedge_http::scalars::{AddressText, DecimalText};
use kedge_http::signing::names::one_form;
use kedge_http::signing::registration::RegisterBody;
use kedge_http::signing::wallet::WalletBody;
use kedge_protocol::Code;
use kedge_protocol::limits::EMAIL_BYTES_MAX;
use kedge_protocol::resource::{Invitation, Tier, Wallet};
use kedge_protocol::{Address, Id};
use kedge_rules::registration::normal_email;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::accounts::views::{NonceView, OwnWallet, WalletView};
use crate::api::call::HandlerCall;
use crate::api::row::PRIVATE;

/// A wallet and the tokens to act for it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LoggedIn")]
pub struct LoginView {
    /// The wallet.
    pub wallet: WalletView,
    /// The tokens.
    #[serde(flatten)]
    pub tokens: TokensView,
}

/// The body of a login.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginBody {
    email: String,
    password: String,
}

/// The body of a refresh.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RefreshBody {
    refresh_token: String,
}

/// Before `POST /wallets/register`: the invitation, and the hash of the password.
pub async fn check_registration(
    call: &mut HandlerCall,
    submission: &mut Submission,
) -> ApiResult<()> {
    call.naming = (call.services.limits.rates).begin_naming(call.client_address, now_s())?;
    let registration: RegisterBody = body::parse(&call.body.text)?;
    check_invitation(call, &registration)?;
    if registration.invitation.is_none() {
        call.services.limits.rates.check_disk(&Tier::Free)?;
    }
    // Checking and hashing a password is expensive: only for callers that have signed.
    registration.check_password()?;
    let hashed = (call.services.access.passwords).hash(call.client_address, registration.password);
    submission.secret = Some(NewSecret::Password(hashed.await?));
    Ok(())
}

/// The answer to `POST /wallets/register`. Each has new tokens, because none are stored.
pub async fn registered(call: &HandlerCall, committed: &SubmissionOutcome) -> ApiResult<HttpReply> {
    let wallet: Wallet = call.made(committed)?;
    let phc = call.published().snapshot.password_hash(wallet.id)?;
    let phc = phc.ok_or_else(|| ApiError::internal(&"a registered wallet without a password"))?;
    if call.earlier.is_some() {
        // A replay logs in again, which needs the current password.
        let registration: RegisterBody = body::parse(&call.body.text)?;
        let (passwords, address) = (&call.services.access.passwords, call.client_address);
        let verified = passwords.verify(address, registration.password, Some(phc.clone()));
        if !verified.await? {
            let message = "the wallet's password was changed since it registered; log in";
            return Err(ApiError::new(Code::Forbidden, message));
        }
    }
    let tokens = begin(call, &wallet, &phc).await?;
    let wallet = wallet.into();
    call.changed(committed, LoginView { wallet, tokens })
}

/// Checks what the rules cannot: that the invitation has not expired, and that it is for the named organization.
fn check_invitation(call: &HandlerCall, registration: &RegisterBody) -> ApiResult<()> {
    let code = registration.invitation.as_deref();
    let Some(id) = code.and_then(|code| call.services.access.invitations.open(code)) else {
        return Ok(());
    };
    let forbidden = |message: &'static str| Err(ApiError::new(Code::Forbidden, message));
    let Some(invitation) = call.published().snapshot.resource::<Invitation>(id)? else {
        return forbidden("the invitation does not exist; ask for a new one");
    };
    if invitation.expires_at_ms() <= call.services.engine.now_ms() {
        return forbidden("the invitation has expired; ask for a new one");
    }
    let named = registration.organization_id;
    if named.is_some_and(|named| named != invitation.organization_id) {
        return forbidden("the invitation is for an organization other than organization_id");
    }
    Ok(())
}

async fn begin(call: &HandlerCall, wallet: &Wallet, phc: &str) -> ApiResult<TokensView> {
    let services = &call.services;
    services
        .limits
        .rates
        .note_owner(call.client_address, &wallet.email);
    let holder = (wallet.id, wallet.organization_id);
    services
        .access
        .sessions
        .begin(&services.engine, &services.access.tokens, holder, phc)
        .await
}

fn wrong_login() -> ApiError {
    let message = "the e-mail address or the password is wrong";
    ApiError::new(Code::CredentialsInvalid, message)
}

/// `POST /wallets/login`
pub async fn login(call: HandlerCall) -> ApiResult<HttpReply> {
    let login: LoginBody = body::parse(&call.body.text)?;
    if login.email.len() > EMAIL_BYTES_MAX {
        // No account can have this address, so an immediate refusal reveals nothing.
        return Err(wrong_login());
    }
    // Older accounts may have an address in a form that no new one has.
    let email = normal_email(&login.email);
    let form = one_form(&login.email);
    let published = call.published();
    let wallet = match (published.snapshot.wallet_by_email(&email)?, &form) {
        (None, Some(form)) => published.snapshot.wallet_by_email(form)?,
        (wallet, _) => wallet,
    };
    // Guesses count for the account's own form of the address, however it was given.
    let account = wallet.as_ref().map(|wallet| &wallet.email);
    let account = account.or(form.as_ref()).unwrap_or(&email);
    let attempt =
        (call.services.limits.rates).begin_login(call.client_address, account, false, now_s())?;
    let phc = match &wallet {
        Some(wallet) => published.snapshot.password_hash(wallet.id)?,
        None => None,
    };
    let passwords = &call.services.access.passwords;
    let verified = passwords.verify(call.client_address, login.password, phc.clone());
    let right = verified.await?;
    let (Some(wallet), Some(phc), true) = (wallet, phc, right) else {
        if let Some(attempt) = attempt {
            attempt.failed(now_s());
        }
        return Err(wrong_login());
    };
    if let Some(attempt) = attempt {
        attempt.succeeded();
    }
    let tokens = begin(&call, &wallet, &phc).await?;
    let answer = LoginView {
        wallet: wallet.into(),
        tokens,
    };
    HttpReply::ok(published.head.sequence, &answer)
}

/// `POST /wallets/token/refresh`
pub async fn refresh(call: HandlerCall) -> ApiResult<HttpReply> {
    let RefreshBody { refresh_token } = body::parse(&call.body.text)?;
    let services = &call.services;
    let refreshed =
        services
            .access
            .sessions
            .refresh(&services.engine, &services.access.tokens, &refresh_token);
    let (wallet_id, tokens) = refreshed.await?;
    let published = call.published();
    let wallet = own_wallet(&call, wallet_id)?;
    services
        .limits
        .rates
        .note_owner(call.client_address, &wallet.email);
    let answer = LoginView {
        wallet: wallet.into(),
        tokens,
    };
    HttpReply::ok(published.head.sequence, &answer)
}

/// The login has ended.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LoggedOut")]
pub struct LogoutView {
    /// Always true: its refresh tokens no longer give new tokens.
    pub ended: bool,
}

fn own_wallet(call: &HandlerCall, id: Id) -> ApiResult<Wallet> {
    call.published()
        .snapshot
        .wallet(id)?
        .ok_or_else(|| ApiError::new(Code::Unauthenticated, "the token's wallet does not exist"))
}

/// `GET /wallets/me`
pub async fn me(call: HandlerCall) -> ApiResult<HttpReply> {
    let published = call.published();
    let wallet = own_wallet(&call, call.session()?.wallet()?)?;
    let mut nonces = Vec::with_capacity(wallet.keys.len());
    for key in &wallet.keys {
        nonces.push(NonceView {
            address: AddressText(*key),
            highest: DecimalText(published.snapshot.nonces(*key)?.highest()),
        });
    }
    let trace = wallet.trace;
    let answer = OwnWallet {
        wallet: wallet.into(),
        nonces,
    };
    Ok(
        HttpReply::ok(published.head.sequence, &answer)?.state_tagged(
            &call.headers,
            &trace,
            PRIVATE,
        ),
    )
}

/// Whether a change sets an e-mail address.
fn names_email(submission: &Submission) -> bool {
    #[derive(Deserialize)]
    struct EmailMember {
        email: Option<serde::de::IgnoredAny>,
    }
    submission.actions.iter().any(|action| {
        let text = action.disclosed.as_ref().unwrap_or(&action.payload);
        let named = serde_json::from_str::<EmailMember>(&submission.text[text.clone()]);
        named.is_ok_and(|named| named.email.is_some())
    })
}

/// Before `PATCH /wallets/me`: the hash of a new password, if there is one.
pub async fn check_password(call: &mut HandlerCall, submission: &mut Submission) -> ApiResult<()> {
    if names_email(submission) {
        call.naming = (call.services.limits.rates).begin_naming(call.client_address, now_s())?;
    }
    let discloses = |action: &SubmittedAction| action.disclosed.is_some();
    if submission.actions.iter().any(discloses) {
        let signer = submission.head.signer;
        submission.secret = Some(new_password(call, signer).await?);
    }
    Ok(())
}

/// The hash of a new password. The body must also contain the current one. A guess is answered only for a signer of the
/// wallet, and is counted like one at login.
async fn new_password(call: &HandlerCall, signer: Address) -> ApiResult<NewSecret> {
    let patch: WalletBody = body::parse(&call.body.text)?;
    let wallet = own_wallet(call, call.session()?.wallet()?)?;
    if !wallet.keys.contains(&signer) {
        return Err(SubmissionError::SignerNotOfWallet.into());
    }
    let (limits, address) = (&call.services.limits.rates, call.client_address);
    // Token and signature identify the owner; guesses from elsewhere do not lock it out.
    let attempt = limits.begin_login(address, &wallet.email, true, now_s())?;
    let passwords = &call.services.access.passwords;
    let current = patch.current_password.unwrap_or_default();
    let phc = call.published().snapshot.password_hash(wallet.id)?;
    let right = passwords.verify(address, current, phc).await?;
    match (attempt, right) {
        (Some(attempt), true) => attempt.succeeded(),
        (Some(attempt), false) => attempt.failed(now_s()),
        (None, _) => {}
    }
    if !right {
        let message = "current_password is wrong";
        return Err(ApiError::new(Code::CredentialsInvalid, message));
    }
    let password = patch.password.unwrap_or_default();
    let names = [
        Some(wallet.email.as_str()),
        wallet.nickname.as_deref(),
        patch.email.as_deref(),
        patch.nickname.as_deref(),
    ];
    password::check_guessed(&password, names.into_iter().flatten())?;
    let phc = passwords.hash(address, password).await?;
    Ok(NewSecret::Password(phc))
}

/// The answer to `PATCH /wallets/me`, `POST /wallets/me/keys` and `DELETE /wallets/me/keys/{id}`
pub fn changed(call: &HandlerCall, committed: &SubmissionOutcome) -> ApiResult<HttpReply> {
    call.changed(committed, WalletView::from(call.made::<Wallet>(committed)?))
}

/// `POST /wallets/logout`
pub async fn logout(call: HandlerCall) -> ApiResult<HttpReply> {
    let RefreshBody { refresh_token } = body::parse(&call.body.text)?;
    let services = &call.services;
    services
        .access
        .sessions
        .end(&services.engine, &refresh_token)
        .await?;
    HttpReply::ok(call.published().head.sequence, &LogoutView { ended: true })
}
