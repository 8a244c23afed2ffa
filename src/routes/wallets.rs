//! Accounts: registering, logging in, new tokens, the caller's own wallet.

use std::sync::Arc;

use hyper::StatusCode;
use kedge_actors::api::{ActionOutcome, NewSecret, Outcome, Submission};
use kedge_machine::image::Image;
use kedge_machine::registration::normal_email;
use kedge_protocol::Id;
use kedge_protocol::resource::Wallet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PRIVATE, single};
use crate::auth::session::Tokens;
use crate::body;
use crate::call::{Call, Reply};
use crate::clock::now_s;
use crate::error::{ApiError, Code};
use crate::signing::registration::RegisterBody;
use crate::views::resources::{Changed, NonceView, OwnWallet, WalletView};
use crate::views::scalars::{AddressText, Decimal};

/// A wallet and the tokens to act for it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LoggedIn {
    /// The wallet.
    pub wallet: WalletView,
    /// The tokens.
    #[serde(flatten)]
    pub tokens: Tokens,
}

/// What a login takes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginBody {
    email: String,
    password: String,
}

/// What a refresh takes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RefreshBody {
    refresh_token: String,
}

/// `POST /wallets/register`
pub async fn register(mut call: Call) -> Result<Reply, ApiError> {
    let registration: RegisterBody = body::parse(&call.body.text)?;
    let mut submission = call.take_submission()?;
    // Hashing a password is dear: only for those who have signed.
    let phc = call.app.passwords.hash(registration.password).await?;
    submission.secret = Some(NewSecret::Password(phc));
    let submission = Arc::new(submission);
    let outcome = call.app.submit(Arc::clone(&submission)).await?;
    let single = single(&call, &submission, &outcome)?;
    let wallet = single.images()?.into_iter().find_map(|image| match image {
        Image::Wallet(wallet) => Some(wallet),
        _ => None,
    });
    let wallet = wallet.ok_or_else(|| ApiError::internal(&"a registration made no wallet"))?;
    let tokens = begin(&call, &wallet).await?;
    let answer = Changed {
        resource: LoggedIn {
            wallet: wallet.into(),
            tokens,
        },
        action_id: single.action_id,
        receipt: single.receipt.clone(),
    };
    single.reply(StatusCode::CREATED, &answer)
}

/// The answer to a registration that was carried out before: with new tokens, because the first
/// ones are kept nowhere.
pub async fn registered_again(
    call: &Call,
    submission: &Submission,
    outcome: &Outcome,
    residue: &[u8],
) -> Result<Reply, ApiError> {
    let single = single(call, submission, outcome)?;
    let wallet_id = match outcome.actions.first() {
        Some(ActionOutcome::Done(done)) => done.resource,
        _ => return Err(ApiError::internal(&"a registration that made no wallet")),
    };
    let tokens = begin(call, &own_wallet(call, wallet_id)?).await?;
    single.reply_again(StatusCode::CREATED, residue, &tokens)
}

async fn begin(call: &Call, wallet: &Wallet) -> Result<Tokens, ApiError> {
    let app = &call.app;
    app.sessions
        .begin(&app.engine, &app.access, wallet.id, wallet.organization_id)
        .await
}

/// `POST /wallets/login`
pub async fn login(call: Call) -> Result<Reply, ApiError> {
    let login: LoginBody = body::parse(&call.body.text)?;
    let email = normal_email(&login.email);
    let attempt = call
        .app
        .limits
        .begin_login(call.client_address, &email, now_s())?;
    let published = call.published();
    let wallet = published.snapshot.wallet_by_email(&email)?;
    let phc = match &wallet {
        Some(wallet) => published.snapshot.password_hash(wallet.id)?,
        None => None,
    };
    let right = call.app.passwords.verify(login.password, phc).await?;
    let Some(wallet) = wallet.filter(|_| right) else {
        if let Some(attempt) = attempt {
            attempt.failed(now_s());
        }
        return Err(ApiError::new(
            Code::CredentialsInvalid,
            "e-mail address or password are not right",
        ));
    };
    if let Some(attempt) = attempt {
        attempt.succeeded();
    }
    let tokens = begin(&call, &wallet).await?;
    let answer = LoggedIn {
        wallet: wallet.into(),
        tokens,
    };
    Reply::ok(published.head.sequence, &answer)
}

/// `POST /wallets/token/refresh`
pub async fn refresh(call: Call) -> Result<Reply, ApiError> {
    let RefreshBody { refresh_token } = body::parse(&call.body.text)?;
    let app = &call.app;
    let refreshed = app
        .sessions
        .refresh(&app.engine, &app.access, &refresh_token);
    let (wallet_id, tokens) = refreshed.await?;
    let published = call.published();
    let answer = LoggedIn {
        wallet: own_wallet(&call, wallet_id)?.into(),
        tokens,
    };
    Reply::ok(published.head.sequence, &answer)
}

fn own_wallet(call: &Call, id: Id) -> Result<Wallet, ApiError> {
    call.published()
        .snapshot
        .wallet(id)?
        .ok_or_else(|| ApiError::new(Code::Unauthenticated, "the token's wallet does not exist"))
}

/// `GET /wallets/me`
pub async fn me(call: Call) -> Result<Reply, ApiError> {
    let published = call.published();
    let wallet = own_wallet(&call, call.session()?.wallet_id)?;
    let mut nonces = Vec::with_capacity(wallet.keys.len());
    for key in &wallet.keys {
        nonces.push(NonceView {
            address: AddressText(*key),
            highest: Decimal(published.snapshot.nonces(*key)?.highest()),
        });
    }
    let answer = OwnWallet {
        wallet: wallet.into(),
        nonces,
    };
    Ok(Reply::ok(published.head.sequence, &answer)?.etagged(&call, PRIVATE))
}
