//! State proofs, and items that come with theirs.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use kedge_http::error::{ApiError, ApiResult, ErrorDetail};
use kedge_http::reply::HttpReply;
use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::hash::keccak_parts;
use kedge_protocol::proof::AnchorProof;
use kedge_protocol::resource::{
    ApiKey, Dispute, FileRecord, Object, Organization, ResourceTrace, Template, Variation, Wallet,
    Webhook,
};
use kedge_protocol::state::{EntryFields, StateEntry, StateProof};
use kedge_protocol::time::rfc3339;
use kedge_protocol::{Code, Id, Prefix};
use kedge_rules::rights::sees_template;
use kedge_storage::{AnchorProgress, PastResources, StoreSnapshot, StoredResource};

use crate::api::call::HandlerCall;
use crate::api::endpoint::{CHECKPOINT, MIN_SEQUENCE};
use crate::api::listing::{ListPage, ListRequest, PAGE_BYTES_MAX};
use crate::api::objects::handlers::sees;
use crate::api::objects::history::ObjectRebuild;
use crate::api::row::PRIVATE;
use crate::api::state::past_templates;
use crate::api::state::views::{AnsweredEntry, ProvenCheckpoint, StateProofView, StateTextsView};

/// Items of a list that is proven, at most.
pub const PROVEN_ITEMS_MAX: u32 = 100;
/// Actions that a page of proven items replays, at most: those of its objects and templates that changed since the
/// checkpoint.
const REPLAYED_ACTIONS_MAX: u64 = 4_000;
/// Time limit for a committed action to be published.
const PUBLISHED_WITHIN: Duration = Duration::from_secs(1);
/// Seconds to wait for a checkpoint, if the caller does not say.
const WAIT_S: u64 = 5;

/// The state at one checkpoint, for one answer.
#[derive(Clone)]
pub struct StateReading {
    /// Holds the checkpoint's versions, and rows at or after it.
    pub snapshot: StoreSnapshot,
    pub checkpoint: ProvenCheckpoint,
    /// Objects and templates at the checkpoint, unless it is older than the newest ones or the process is newer. Without
    /// them what changed since is replayed, as far as that goes.
    resources: Option<PastResources>,
}

/// `GET /objects/{id}/state-proof`
pub async fn object(call: HandlerCall) -> ApiResult<HttpReply> {
    answer(call, &[Prefix::Object]).await
}

/// `GET /templates/{id}/state-proof`
pub async fn template(call: HandlerCall) -> ApiResult<HttpReply> {
    answer(call, &[Prefix::Template]).await
}

/// `GET /state/{id}`
pub async fn any(call: HandlerCall) -> ApiResult<HttpReply> {
    answer(
        call,
        &[
            Prefix::Object,
            Prefix::Wallet,
            Prefix::Organization,
            Prefix::Template,
            Prefix::Variation,
            Prefix::Key,
            Prefix::Webhook,
            Prefix::File,
            Prefix::Dispute,
            Prefix::Action,
        ],
    )
    .await
}

async fn answer(call: HandlerCall, prefixes: &[Prefix]) -> ApiResult<HttpReply> {
    let key = key_of(&call, prefixes)?;
    let reading = StateReading::choose(&call).await?;
    let may_see = sees_key(&call, &reading.snapshot, key)?;
    let proven = reading.prove(&call, &[key]).await?;
    let present = proven.first().is_some_and(|proven| proven.entry.is_some());
    let is_named_key = key.prefix == Prefix::Action;
    let is_hidden = !may_see || (is_named_key && !present);
    let Some(proven) = proven.into_iter().next().filter(|_| !is_hidden) else {
        return Err(call.missing(key.prefix));
    };
    let tag = reading.tag(key, proven.texts.are_known());
    let sequence = reading.sequence();
    let view = StateProofView::of(proven, reading.checkpoint);
    Ok(HttpReply::ok(sequence, &view)?.tagged(&call.headers, &tag, PRIVATE))
}

/// The key of the path.
fn key_of(call: &HandlerCall, prefixes: &[Prefix]) -> ApiResult<Id> {
    let known = call.id.parse::<Id>().ok();
    known
        .filter(|id| prefixes.contains(&id.prefix))
        .ok_or_else(|| {
            let names: Vec<String> = prefixes
                .iter()
                .map(|prefix| format!("{}_", prefix.text()))
                .collect();
            let names = names.join(" or ");
            ApiError::new(
                Code::StateViolation,
                format!("the state has no such key: the id must begin with {names}"),
            )
        })
}

/// Whether the caller may see what the key names, or the log has made nothing of that name.
fn sees_key(call: &HandlerCall, snapshot: &StoreSnapshot, key: Id) -> ApiResult<bool> {
    let viewer = call.viewer()?;
    let own = |organization: Option<Id>| {
        organization.is_none_or(|organization| organization == viewer.organization_id)
    };
    Ok(match key.prefix {
        Prefix::Object => match snapshot.object(key)? {
            Some(object) => sees(call, snapshot, &object, &mut None)?,
            None => true,
        },
        Prefix::Template => snapshot
            .template(key)?
            .is_none_or(|template| sees_template(&template, &viewer)),
        Prefix::Variation => match snapshot.variation(key)? {
            Some(variation) => snapshot
                .template(variation.template_id)?
                .is_some_and(|template| sees_template(&template, &viewer)),
            None => true,
        },
        Prefix::Wallet => own(snapshot.wallet(key)?.map(|of: Wallet| of.organization_id)),
        Prefix::Organization => own(of::<Organization>(snapshot, key, |of| of.id)?),
        Prefix::Key => own(of::<ApiKey>(snapshot, key, |of| of.organization_id)?),
        Prefix::Webhook => own(of::<Webhook>(snapshot, key, |of| of.organization_id)?),
        Prefix::File => own(of::<FileRecord>(snapshot, key, |of| of.organization_id)?),
        Prefix::Dispute => own(of::<Dispute>(snapshot, key, |of| of.organization_id)?),
        // The keys of the sequencer are public.
        Prefix::Action => true,
        Prefix::Batch | Prefix::Anchor | Prefix::Event | Prefix::Delivery => false,
    })
}

fn of<T: StoredResource>(
    snapshot: &StoreSnapshot,
    key: Id,
    organization: impl FnOnce(T) -> Id,
) -> ApiResult<Option<Id>> {
    Ok(snapshot.resource::<T>(key)?.map(organization))
}

/// How much still fits on a page of proven items. An item is what it was at the checkpoint, which may be much larger than
/// what it is, and its texts stand in the answer twice: in the item and in the proof.
#[derive(Default)]
pub struct ProvenRoom {
    bytes: usize,
    actions: u64,
    /// The place of the last item that was taken or left out.
    passed: Option<u128>,
}

impl ProvenRoom {
    /// Whether an item with so many bytes of texts still fits. The first one always does.
    pub fn takes(&mut self, text_bytes: usize) -> bool {
        let bytes = self.bytes.saturating_add(text_bytes.saturating_mul(2));
        if self.bytes > 0 && bytes > PAGE_BYTES_MAX {
            return false;
        }
        self.bytes = bytes;
        true
    }

    /// Whether what an item was at the checkpoint can still be made, from its trace now. Its past is replayed if it has
    /// changed since, and no more actions than its version counts are. The first one can always be made.
    pub fn replays(&mut self, trace: &ResourceTrace, reading: &StateReading) -> bool {
        let at = reading.sequence();
        let is_known = trace.sequence <= at || trace.created_sequence > at;
        if is_known || reading.resources.is_some() {
            return true;
        }
        let actions = self.actions.saturating_add(trace.version);
        if self.actions > 0 && actions > REPLAYED_ACTIONS_MAX {
            return false;
        }
        self.actions = actions;
        true
    }

    /// Notes that the item at this place needs no other page.
    pub fn pass(&mut self, place: u64) {
        self.passed = Some(place.into());
    }

    /// Lets the page end after the last place that was passed.
    pub fn end<T>(&self, call: &HandlerCall, listing: &ListRequest, page: &mut ListPage<T>) {
        page.has_more = true;
        page.cursor = self.passed.map(|place| listing.cursor(call, place));
    }
}

/// Whether items are to come with their proofs.
pub fn is_proven(call: &HandlerCall) -> ApiResult<bool> {
    match call.query.get("prove") {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(ApiError::parameter("prove", "must be true or false")),
    }
}

impl StateReading {
    /// The checkpoint that the query asks for: a kept one, or the newest, which covers `min_sequence` if that is given and
    /// is waited for.
    pub async fn choose(call: &HandlerCall) -> ApiResult<Self> {
        if let Some(found) = Self::found(call)? {
            return Ok(found);
        }
        let wanted = call.query.number(MIN_SEQUENCE.name)?.unwrap_or(0);
        let engine = &call.services.engine;
        Self::wait_until(call, wanted, async |patience| {
            engine.wait_for_proofs(wanted, patience).await
        })
        .await?;
        Self::choose_now(call)
    }

    /// [`Self::choose`] without a wait: for a page, whose reader holds one of a few places. [`Self::before_page`] has
    /// waited.
    pub fn choose_now(call: &HandlerCall) -> ApiResult<Self> {
        if let Some(found) = Self::found(call)? {
            return Ok(found);
        }
        let wanted = call.query.number(MIN_SEQUENCE.name)?.unwrap_or(0);
        Err(not_reached(
            call,
            &format!("no checkpoint covers sequence {wanted} yet"),
        )?)
    }

    /// The number of items that a page with proofs asks for, once the checkpoint that they need is there; `None` for a page
    /// without.
    pub async fn before_page(call: &HandlerCall) -> ApiResult<Option<u32>> {
        if !is_proven(call)? {
            return Ok(None);
        }
        let wanted = call.query.number("limit")?;
        let wanted = wanted.unwrap_or(PROVEN_ITEMS_MAX.into());
        let Some(wanted) = u32::try_from(wanted)
            .ok()
            .filter(|wanted| *wanted <= PROVEN_ITEMS_MAX)
        else {
            let message = format!("must be 1 to {PROVEN_ITEMS_MAX} with prove=true");
            return Err(ApiError::field("/limit", "range", message));
        };
        Self::choose(call).await?;
        Ok(Some(wanted))
    }

    fn found(call: &HandlerCall) -> ApiResult<Option<Self>> {
        let engine = &call.services.engine;
        let snapshot = engine.state_snapshot();
        let wanted = call.query.number(MIN_SEQUENCE.name)?.unwrap_or(0);
        if let Some(batches) = call.query.number(CHECKPOINT.name)? {
            // An empty log has no key whose batch is the last.
            let signed = snapshot.checkpoint(batches)?.filter(|_| batches > 0);
            let Some(signed) = signed else {
                return Err(gone(call, batches)?);
            };
            let ends = signed.checkpoint.sequence;
            if ends < wanted {
                let what = format!("the checkpoint over {batches} batches ends at sequence {ends}");
                return Err(not_reached(call, &what)?);
            }
            return Self::at(call, snapshot, signed).map(Some);
        }
        let found = engine.provable_checkpoint(&snapshot)?;
        match found.filter(|signed| signed.checkpoint.sequence >= wanted) {
            Some(signed) => Self::at(call, snapshot, signed).map(Some),
            None => Ok(None),
        }
    }

    /// Waits for a checkpoint that covers this sequence, if it can be expected in the time that the query allows.
    pub async fn wait_for(call: &HandlerCall, wanted: u64) -> ApiResult<()> {
        if is_signed(call, wanted)? {
            return Ok(());
        }
        let engine = &call.services.engine;
        Self::wait_until(call, wanted, async |patience| {
            engine.wait_for_root(wanted, patience).await
        })
        .await
    }

    async fn wait_until(
        call: &HandlerCall,
        wanted: u64,
        covered: impl AsyncFnOnce(Duration) -> bool,
    ) -> ApiResult<()> {
        let engine = &call.services.engine;
        let wait_s = call.query.number("wait")?.unwrap_or(WAIT_S);
        // A checkpoint that is signed lacks no more than this node's own root.
        let is_due = is_signed(call, wanted)?
            || engine.next_root_ms()?.saturating_sub(engine.now_ms()) <= wait_s * 1_000;
        if is_due && engine.makes_roots() {
            let _permit = call.services.limits.wait(call.holder)?;
            let waited = covered(Duration::from_secs(wait_s));
            if call.services.unless_stopping(waited).await? {
                return Ok(());
            }
        }
        Err(not_reached(
            call,
            &format!("no checkpoint covers sequence {wanted} yet"),
        )?)
    }

    fn at(
        call: &HandlerCall,
        snapshot: StoreSnapshot,
        signed: SignedCheckpoint,
    ) -> ApiResult<Self> {
        let anchor = anchor_of(&snapshot, &signed)?;
        if snapshot.root_at(signed.checkpoint.batches)?.is_none() {
            return Err(gone(call, signed.checkpoint.batches)?);
        }
        let resources = call
            .services
            .engine
            .resources_at_root(signed.checkpoint.batches);
        Ok(Self {
            snapshot,
            checkpoint: ProvenCheckpoint { signed, anchor },
            resources,
        })
    }

    pub fn batches(&self) -> u64 {
        self.checkpoint.signed.checkpoint.batches
    }

    pub fn sequence(&self) -> u64 {
        self.checkpoint.signed.checkpoint.sequence
    }

    /// The entity tag of an answer about a key, with texts or, where too much has changed since, without.
    pub fn tag(&self, key: Id, has_texts: bool) -> String {
        let checkpoint = &self.checkpoint.signed.checkpoint;
        let hash = keccak_parts(&[
            &key.text_bytes(),
            &checkpoint.batches.to_be_bytes(),
            &checkpoint.state.0,
            &[
                u8::from(self.checkpoint.anchor.is_some()),
                u8::from(has_texts),
            ],
        ]);
        let text = hash.to_string();
        format!("\"{}\"", &text[2..34])
    }

    /// The proofs of these keys, with their texts.
    pub async fn prove(&self, call: &HandlerCall, keys: &[Id]) -> ApiResult<Vec<AnsweredEntry>> {
        let mut proven = self.prove_bare(call, keys).await?;
        for state in &mut proven {
            state.texts = self.texts(call, state).await?;
        }
        Ok(proven)
    }

    /// The proofs of these keys, without texts.
    pub async fn prove_bare(
        &self,
        call: &HandlerCall,
        keys: &[Id],
    ) -> ApiResult<Vec<AnsweredEntry>> {
        // With the upper places in memory one proof takes a few reads, fewer than the way to another thread costs.
        let root = &self.checkpoint.signed.checkpoint.state;
        if keys.len() == 1 && self.snapshot.remembers_state(root) {
            return self.prove_here(call, keys);
        }
        let (reading, own) = (self.clone(), keys.to_vec());
        let read = move || Ok(reading.snapshot.state_proofs(reading.batches(), &own)?);
        let proofs = call.services.reads.read_page(call.holder, read).await?;
        let proofs = self.kept(call, proofs)?;
        proofs.into_iter().map(|proof| self.state(proof)).collect()
    }

    /// [`Self::prove_bare`] on this thread: one that holds a permit already, or for what takes a few reads.
    pub fn prove_here(&self, call: &HandlerCall, keys: &[Id]) -> ApiResult<Vec<AnsweredEntry>> {
        let proofs = self.snapshot.state_proofs(self.batches(), keys)?;
        let proofs = self.kept(call, proofs)?;
        proofs.into_iter().map(|proof| self.state(proof)).collect()
    }

    fn kept(
        &self,
        call: &HandlerCall,
        proofs: Option<Vec<StateProof>>,
    ) -> ApiResult<Vec<StateProof>> {
        match proofs {
            Some(proofs) => Ok(proofs),
            None => Err(gone(call, self.batches())?),
        }
    }

    fn state(&self, proof: StateProof) -> ApiResult<AnsweredEntry> {
        let entry = if proof.entry.is_empty() {
            None
        } else {
            let entry = StateEntry::decode(&proof.key, &proof.entry, self.sequence());
            Some(entry.map_err(|error| ApiError::internal(&error))?)
        };
        Ok(AnsweredEntry {
            proof,
            entry,
            texts: StateTextsView::default(),
        })
    }

    async fn texts(&self, call: &HandlerCall, state: &AnsweredEntry) -> ApiResult<StateTextsView> {
        let (key, snapshot) = (state.key(), &self.snapshot);
        let texts = match state.entry.as_ref().map(|entry| &entry.fields) {
            Some(EntryFields::Object(_)) => {
                let object = within_history(self.object(call, key).await)?;
                object.as_ref().map(StateTextsView::of_object)
            }
            Some(EntryFields::Template(_)) => {
                let template = self.template(call, key).await?;
                template.as_ref().map(StateTextsView::of_template)
            }
            Some(EntryFields::Variation(_)) => {
                let variation: Option<Variation> = snapshot.resource(key)?;
                variation.as_ref().map(StateTextsView::of_variation)
            }
            _ => None,
        };
        Ok(texts.unwrap_or_default())
    }

    /// An object as it was at the checkpoint.
    async fn object(&self, call: &HandlerCall, id: Id) -> ApiResult<Option<Object>> {
        match self.snapshot.object(id)? {
            Some(object) => self.object_then(call, object).await,
            None => Ok(None),
        }
    }

    /// An object, of which a later state is given, as it was at the checkpoint; `None` if it was not there.
    pub async fn object_then(
        &self,
        call: &HandlerCall,
        object: Object,
    ) -> ApiResult<Option<Object>> {
        let sequence = self.sequence();
        if object.trace.created_sequence > sequence {
            return Ok(None);
        }
        if object.trace.sequence <= sequence {
            return Ok(Some(object));
        }
        if let Some(resources) = &self.resources {
            return Ok(resources.object(object.id)?);
        }
        let engine = &call.services.engine;
        // The state's snapshot may be newer than what is published.
        engine
            .wait_for(object.trace.sequence, PUBLISHED_WITHIN)
            .await;
        let published = engine.published();
        let mut rebuild =
            ObjectRebuild::begin(Arc::clone(&published), engine.world(), object, sequence)?;
        loop {
            match rebuild {
                ControlFlow::Break(object) => return Ok(Some(object)),
                ControlFlow::Continue(more) => {
                    let turn = move || more.turn();
                    rebuild = call.services.reads.read_long(call.holder, turn).await?;
                }
            }
        }
    }

    /// A template as it was at the checkpoint; `None` if it was not there.
    async fn template(&self, call: &HandlerCall, id: Id) -> ApiResult<Option<Template>> {
        match self.snapshot.template(id)? {
            Some(template) => self.template_then(call, template).await,
            None => Ok(None),
        }
    }

    /// A template, of which a later state is given, as it was at the checkpoint; `None` if it was not there, or has changed
    /// too often since.
    pub async fn template_then(
        &self,
        call: &HandlerCall,
        template: Template,
    ) -> ApiResult<Option<Template>> {
        let sequence = self.sequence();
        if template.trace.created_sequence > sequence {
            return Ok(None);
        }
        if template.trace.sequence <= sequence {
            return Ok(Some(template));
        }
        if let Some(resources) = &self.resources {
            return Ok(resources.template(template.id)?);
        }
        let snapshot = self.snapshot.clone();
        let read = move || past_templates::template_at(&snapshot, &template, sequence);
        call.services.reads.read_long(call.holder, read).await
    }
}

/// Whether a signed checkpoint covers this sequence.
fn is_signed(call: &HandlerCall, sequence: u64) -> ApiResult<bool> {
    let engine = &call.services.engine;
    let newest = engine.published().snapshot.newest_checkpoint()?;
    Ok(newest.is_some_and(|signed| signed.checkpoint.sequence >= sequence))
}

/// The object, or none if it has changed more often since than its history lists.
///
/// # Errors
/// Any other.
pub fn within_history(object: ApiResult<Option<Object>>) -> ApiResult<Option<Object>> {
    match object {
        Err(error) if error.code == Code::Gone => Ok(None),
        other => other,
    }
}

/// The finalized anchor of this very checkpoint, if there is one.
fn anchor_of(
    snapshot: &StoreSnapshot,
    signed: &SignedCheckpoint,
) -> ApiResult<Option<AnchorProof>> {
    let checkpoint = &signed.checkpoint;
    let Some(last) = checkpoint.batches.checked_sub(1) else {
        return Ok(None);
    };
    let anchor = snapshot.anchor_covering(last)?;
    let anchor = anchor.filter(|anchor| {
        let anchored = &anchor.checkpoint.checkpoint;
        anchor.status == AnchorProgress::Finalized
            && anchored.batches == checkpoint.batches
            && anchored.state == checkpoint.state
    });
    Ok(anchor.map(|anchor| AnchorProof {
        checkpoint: anchor.checkpoint,
        path: Vec::new(),
        contract: anchor.contract,
        transaction_hash: anchor.tx_hashes.last().copied(),
        block_number: anchor.block_number,
    }))
}

/// The refusal of a checkpoint that cannot be proven, with the nearest one that can be now.
fn gone(call: &HandlerCall, batches: u64) -> ApiResult<ApiError> {
    let snapshot = call.services.engine.state_snapshot();
    let nearest = snapshot.nearest_provable(batches)?;
    let others = nearest.map_or_else(
        || "no other can be either".to_owned(),
        |nearest| format!("the nearest one is over {nearest}"),
    );
    Ok(ApiError {
        detail: nearest.map_or(ErrorDetail::None, ErrorDetail::NearestCheckpoint),
        ..ApiError::new(
            Code::Gone,
            format!("no checkpoint over {batches} batches can be proven here; {others}"),
        )
    })
}

/// The refusal of what no checkpoint covers yet, with when to come again.
pub fn not_reached(call: &HandlerCall, what: &str) -> ApiResult<ApiError> {
    let engine = &call.services.engine;
    let due_ms = engine.next_root_ms()?;
    let left_s = due_ms
        .saturating_sub(engine.now_ms())
        .div_ceil(1_000)
        .max(1);
    let message = format!("{what}; the next checkpoint is due at {}", rfc3339(due_ms));
    Ok(ApiError::not_reached(message, left_s))
}
