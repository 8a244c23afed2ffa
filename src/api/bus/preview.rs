//! Previews of actions: expected outcomes, and the typed data to sign (`POST /ebus/actions/preview`). Nothing is stored
//! and no nonce is used.

use std::borrow::Cow;
use std::sync::Arc;

use kedge_actors::SubmitError;
use kedge_config::secrets;
use kedge_http::auth::rights::{Access, Right};
use kedge_http::clock::now_s;
use kedge_http::envelope::Envelope;
use kedge_http::error::ApiError;
use kedge_http::limits::Holder;
use kedge_http::reply::Reply;
use kedge_http::scalars::{AddressText, Decimal, HashText};
use kedge_http::signing::SignedTexts;
use kedge_http::signing::bus::{self, PreviewBody};
use kedge_protocol::Code;
use kedge_protocol::action::RequestHead;
use kedge_protocol::resource::{Area, Object, Wallet};
use kedge_protocol::{Address, Hash};
use kedge_rules::{Allowance, Caller, Input};
use kedge_storage::Snapshot;

use crate::api::bus::handlers::PAYLOAD;
use crate::api::bus::preview_views::{
    PreviewAnswer, PreviewObject, PreviewResult, SignedHeaders, TypedData, WouldBeDone,
};
use crate::api::bus::views::RefusedAction;
use crate::api::call::Call;
use crate::api::listing::PAGE_BYTES_MAX;
use crate::app::App;

/// Seconds until the deadline that a preview proposes: time to read and sign.
const DEADLINE_AHEAD_S: u64 = 5 * 60;
/// Bytes of the objects shown by one preview.
const BYTES_MAX: usize = PAGE_BYTES_MAX;

/// The acting wallet: the caller's. For an API key alone, the signer's wallet, if it is of the key's organization.
fn wallet_of(
    call: &Call,
    snapshot: &Snapshot,
    signer: Option<Address>,
) -> Result<Wallet, ApiError> {
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
        .ok_or_else(|| SubmitError::SignerNotOfOrganization.into())
}

async fn read(call: &mut Call) -> Result<PreviewBody, ApiError> {
    let text = std::mem::take(&mut call.body.text);
    let bytes = text.len();
    let read = || bus::preview(text);
    call.app.work_in_place(bytes, read).await?
}

/// `POST /ebus/actions/preview`
pub async fn preview(mut call: Call) -> Result<Reply, ApiError> {
    let PreviewBody {
        bus: body,
        many,
        signer,
        salt_seed,
    } = read(&mut call).await?;
    // A preview shows objects, also to an API key.
    call.session()?.check(Some(Right {
        area: Area::Objects,
        access: Access::Read,
    }))?;
    let published = call.published();
    let wallet = wallet_of(&call, &published.snapshot, signer)?;
    let signer = match signer {
        Some(signer) => signer,
        None if wallet.keys.contains(&wallet.address) => wallet.address,
        None => wallet.keys.first().copied().unwrap_or(wallet.address),
    };
    if !wallet.keys.contains(&signer) {
        return Err(SubmitError::SignerNotOfWallet.into());
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
    let decided = decide((&call.app, call.holder), &wallet, Arc::clone(&body), many).await?;
    let done = decided.results.iter().filter(|result| result.is_ok());
    let done = done.count();
    let would_commit = if body.atomic {
        done == body.actions.len()
    } else {
        done > 0
    };
    let (objects, errors) = split(decided.results);
    let results = objects.into_iter().zip(&errors).map(|(object, error)| {
        if let Some(error) = error {
            let request_id = &call.request_id;
            let error = Envelope { error, request_id };
            let error = Cow::Owned(error.to_raw()?);
            return Ok(PreviewResult::Refused(RefusedAction { error }));
        }
        let object = object.ok_or_else(|| ApiError::internal(&"a preview without a result"))?;
        let object = PreviewObject::from(object);
        Ok(PreviewResult::Done(Box::new(WouldBeDone { object })))
    });
    let answer = PreviewAnswer {
        results: results.collect::<Result<_, ApiError>>()?,
        would_commit,
        typed_data: TypedData::of(call.app.verifier.domain(), &head, &salt_seed, body.words()),
        headers: SignedHeaders {
            address: AddressText(signer),
            nonce: Decimal(head.nonce),
            deadline: Decimal(head.deadline_s),
            salt: HashText(salt_seed),
        },
    };
    Reply::ok(decided.sequence, &answer)
}

/// The expected outcome of each action, and the sequence of the state it is based on.
struct Decided {
    results: Vec<Result<Object, ApiError>>,
    sequence: u64,
}

/// Decides the actions in order, each on the state left by the earlier ones.
async fn decide(
    (app, holder): (&App, Holder),
    wallet: &Wallet,
    body: Arc<SignedTexts>,
    many: bool,
) -> Result<Decided, ApiError> {
    let caller = Caller {
        wallet_id: wallet.id,
        organization_id: wallet.organization_id,
        role: wallet.role,
        address: wallet.address,
    };
    let mut preview = app.engine.preview();
    let decide = move || {
        let mut results = Vec::with_capacity(body.actions.len());
        let (allowance, mut bytes) = (Allowance::default(), 0);
        for (index, action) in body.actions.iter().enumerate() {
            let payload = &body.text[action.payload.clone()];
            let input = Input {
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
        Ok(Decided {
            results,
            sequence: preview.published().head.sequence,
        })
    };
    // However short the request is, the objects may be large.
    app.read_long(holder, decide).await
}

fn split(results: Vec<Result<Object, ApiError>>) -> (Vec<Option<Object>>, Vec<Option<ApiError>>) {
    let split = results.into_iter().map(|result| match result {
        Ok(object) => (Some(object), None),
        Err(error) => (None, Some(error)),
    });
    split.unzip()
}
