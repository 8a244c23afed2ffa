//! Previews of actions: expected outcomes, and the typed data to sign (`POST /ebus/actions/preview`). Nothing is stored
//! and no nonce is used.

use std::borrow::Cow;
use std::sync::Arc;

use kedge_actors::SubmissionError;
use kedge_config::secrets;
use kedge_http::auth::rights::{CrudAccess, EndpointRight};
use kedge_http::clock::now_s;
use kedge_http::envelope::ErrorEnvelope;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::limits::ShareHolder;
use kedge_http::reply::HttpReply;
use kedge_http::scalars::{AddressText, DecimalText, HashText};
use kedge_http::signing::SignedTexts;
use kedge_http::signing::bus::{self, PreviewBody};
use kedge_protocol::Code;
use kedge_protocol::action::RequestHead;
use kedge_protocol::resource::{Area, Object, Wallet};
use kedge_protocol::{Address, Hash};
use kedge_rules::{ActionInput, Caller, StepAllowance};
use kedge_storage::StoreSnapshot;

use crate::api::bus::handlers::PAYLOAD;
use crate::api::bus::preview_views::{
    PreviewActionView, PreviewAnswer, PreviewObject, PreviewOutcome, SignedHeaders, TypedData,
};
use crate::api::bus::views::RefusedAction;
use crate::api::call::HandlerCall;
use crate::api::listing::PAGE_BYTES_MAX;
use crate::api::services::ApiServices;

/// Seconds until the deadline that a preview proposes: time to read and sign.
const DEADLINE_AHEAD_S: u64 = 5 * 60;
/// Bytes of the objects shown by one preview.
const BYTES_MAX: usize = PAGE_BYTES_MAX;

/// The acting wallet: the caller's. For an API key alone, the signer's wallet, if it is of the key's organization.
fn wallet_of(
    call: &HandlerCall,
    snapshot: &StoreSnapshot,
    signer: Option<Address>,
) -> ApiResult<Wallet> {
    let session = call.session()?;
    if let Some(id) = session.wallet_id {
        let gone = || ApiError::new(Code::Unauthenticated, "the token's wallet does not exist");
        return snapshot.wallet(id)?.ok_or_else(gone);
    }
    let signer = signer.ok_or_else(|| {
        ApiError::field(
            "/signer",
            "required",
            "is required with an API key alone: the address that will sign",
        )
    })?;
    let wallet = snapshot.wallet_by_address(signer)?;
    wallet
        .filter(|wallet| wallet.organization_id == session.organization_id)
        .ok_or_else(|| SubmissionError::SignerNotOfOrganization.into())
}

async fn read(call: &mut HandlerCall) -> ApiResult<PreviewBody> {
    let text = std::mem::take(&mut call.body.text);
    let bytes = text.len();
    let read = || bus::preview(text);
    call.services.limits.work_in_place(bytes, read).await?
}

/// `POST /ebus/actions/preview`
pub async fn preview(mut call: HandlerCall) -> ApiResult<HttpReply> {
    let PreviewBody {
        bus: body,
        many,
        signer,
        salt_seed,
    } = read(&mut call).await?;
    // A preview shows objects, also to an API key.
    call.session()?
        .check(Some(EndpointRight::new(Area::Objects, CrudAccess::Read)))?;
    let published = call.published();
    let wallet = wallet_of(&call, &published.snapshot, signer)?;
    let signer = signer.unwrap_or_else(|| usual_signer(&wallet));
    if !wallet.keys.contains(&signer) {
        return Err(SubmissionError::SignerNotOfWallet.into());
    }
    let salt_seed = match salt_seed {
        Some(seed) => seed,
        None => Hash(secrets::random().map_err(|error| ApiError::internal(&error))?),
    };
    let head = RequestHead {
        signer,
        nonce: published
            .snapshot
            .nonces(signer)?
            .highest()
            .saturating_add(1),
        deadline_s: now_s() + DEADLINE_AHEAD_S,
        atomic: body.atomic,
    };
    let body = Arc::new(body);
    let decided = decide(
        (&call.services, call.holder),
        &wallet,
        Arc::clone(&body),
        many,
    )
    .await?;
    let done = decided.results.iter().filter(|result| result.is_ok());
    let done = done.count();
    let would_commit = if body.atomic {
        done == body.actions.len()
    } else {
        done > 0
    };
    let results = decided.results.into_iter();
    let results = results.map(|result| outcome(result, &call.request_id));
    let answer = PreviewAnswer {
        results: results.collect::<ApiResult<_>>()?,
        would_commit,
        typed_data: TypedData::of(
            call.services.access.verifier.domain(),
            &head,
            &salt_seed,
            body.words(),
        ),
        headers: SignedHeaders {
            address: AddressText(signer),
            nonce: DecimalText(head.nonce),
            deadline: DecimalText(head.deadline_s),
            salt: HashText(salt_seed),
        },
    };
    HttpReply::ok(decided.sequence, &answer)
}

/// The key that a wallet signs with unless it says otherwise: the one that registered it, while it has it.
fn usual_signer(wallet: &Wallet) -> Address {
    if wallet.keys.contains(&wallet.address) {
        return wallet.address;
    }
    wallet.keys.first().copied().unwrap_or(wallet.address)
}

/// One action's part of the answer.
fn outcome(result: ApiResult<Object>, request_id: &str) -> ApiResult<PreviewOutcome<'static>> {
    Ok(match result {
        Ok(object) => {
            let object = PreviewObject::from(object);
            PreviewOutcome::Done(Box::new(PreviewActionView { object }))
        }
        Err(error) => {
            let error = &error;
            let error = Cow::Owned(ErrorEnvelope { error, request_id }.to_raw()?);
            PreviewOutcome::Refused(RefusedAction { error })
        }
    })
}

/// The expected outcome of each action, and the sequence of the state it is based on.
struct PreviewDecision {
    results: Vec<ApiResult<Object>>,
    sequence: u64,
}

/// Decides the actions in order, each on the state left by the earlier ones.
async fn decide(
    (services, holder): (&ApiServices, ShareHolder),
    wallet: &Wallet,
    body: Arc<SignedTexts>,
    many: bool,
) -> ApiResult<PreviewDecision> {
    let caller = Caller {
        wallet_id: wallet.id,
        organization_id: wallet.organization_id,
        role: wallet.role,
        address: wallet.address,
    };
    let mut preview = services.engine.preview();
    let decide = move || {
        let mut results = Vec::with_capacity(body.actions.len());
        let (allowance, mut bytes) = (StepAllowance::default(), 0);
        for (index, action) in body.actions.iter().enumerate() {
            let payload = &body.text[action.payload.clone()];
            let input = ActionInput {
                link: None,
                allowance: Some(&allowance),
                kind: &action.kind,
                target: &body.text[action.target.clone()],
                payload,
                signed: payload,
                content: &Hash::ZERO,
            };
            let decided = preview.decide(&caller, &input).map_err(|refusal| {
                let error = ApiError::from(&refusal);
                if many {
                    error.under(&format!("/actions/{index}{PAYLOAD}"))
                } else {
                    error.under(PAYLOAD)
                }
            });
            bytes += decided.as_ref().map_or(0, |object| object.properties.len());
            if bytes > BYTES_MAX {
                let message = format!(
                    "the objects that the first {} actions would leave have more than {BYTES_MAX} bytes; preview \
                     fewer actions at one time",
                    index + 1
                );
                return Err(ApiError::new(Code::BatchTooLarge, message));
            }
            results.push(decided);
        }
        Ok(PreviewDecision {
            results,
            sequence: preview.published().head.sequence,
        })
    };
    // However short the request is, the objects may be large.
    services.reads.read_long(holder, decide).await
}
