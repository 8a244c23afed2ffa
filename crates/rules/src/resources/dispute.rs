//! Disputes: verdicts on evidence and on claims in the log. A verdict contains the evidence or claim, so that every
//! reader can repeat the judgement. A dispute over a fault is found by the evidence's digest, one over a claim by the
//! claim's context. The rules claim the context like a name, so the log holds each once.

use kedge_protocol::action::Kind;
use kedge_protocol::claim::ClaimFile;
use kedge_protocol::evidence::{EvidenceFile, Fault};
use kedge_protocol::resource::{Dispute, DisputeMatter, ResourceTrace};
use kedge_protocol::{Id, Prefix};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::refusal::Refusal;
use crate::rule::{RuleContext, RuleDecision};
use crate::sequencer::VersionKey;
use crate::text;
use crate::world::{ActionInput, Caller, World};

/// Subject of a dispute.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// A fault of the sequencer.
    Fault,
    /// The content of an action.
    Claim,
}

/// The payload of a verdict that evidence shows a fault.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultVerdict {
    /// [`VerdictKind::Fault`].
    pub kind: VerdictKind,
    pub fault: Fault,
    /// Number of the batch with the fault.
    pub batch: u64,
    /// The evidence file, in its normal form.
    pub evidence: Box<RawValue>,
}

/// Fact that a claim proves about an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimFinding {
    /// The log holds the action. An authorship proof shows that its signer signed it.
    Inclusion,
}

/// The payload of a verdict that a claim is valid.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimVerdict {
    /// [`VerdictKind::Claim`].
    pub kind: VerdictKind,
    /// The proven fact.
    pub shown: ClaimFinding,
    /// The claim file, in its normal form.
    pub claim: Box<RawValue>,
}

#[derive(Deserialize)]
struct VerdictHead {
    kind: VerdictKind,
}

/// The subject of a verdict.
pub fn kind_of(verdict: &str) -> Result<VerdictKind, Refusal> {
    text::read::<VerdictHead>(verdict).map(|judged| judged.kind)
}

/// Decides a verdict.
pub(super) fn decide<W: World>(context: &RuleContext<'_, W>) -> Result<RuleDecision, Refusal> {
    let (world, caller, input) = context.parts();
    match input.kind {
        Kind::SystemVerdict => {
            let made = decided(world, caller, input)?;
            let claim = match &made.matter {
                DisputeMatter::Claim { context } => Some(VersionKey::claim_context(context)),
                DisputeMatter::Fault { .. } => None,
            };
            Ok(RuleDecision::one(made).claiming(claim))
        }
        other => Err(Refusal::wrong_way(other)),
    }
}

fn decided<W: World>(
    world: &W,
    caller: &Caller,
    input: &ActionInput<'_>,
) -> Result<Dispute, Refusal> {
    let (subject_id, matter) = match kind_of(input.payload)? {
        VerdictKind::Fault => fault(input.payload)?,
        VerdictKind::Claim => claim(world, caller, input.payload)?,
    };
    if subject_id.to_string() != input.target {
        return Err(Refusal::not_found("subject", input.target));
    }
    Ok(Dispute {
        id: Id::made_by(Prefix::Dispute, input.content, 0),
        organization_id: caller.organization_id,
        subject_id,
        matter,
        verdict: input.payload.to_owned(),
        trace: ResourceTrace::NEW.next(input.content),
    })
}

/// The operator vouches that the evidence shows its fault, because that depends on the contracts' answers. This only
/// checks that the verdict is about this evidence.
fn fault(payload: &str) -> Result<(Id, DisputeMatter), Refusal> {
    let verdict: FaultVerdict = text::read(payload)?;
    let evidence = verdict.evidence.get();
    let refused = |error: &dyn ToString| Refusal::field("/evidence", "format", error.to_string());
    let file = EvidenceFile::parse(evidence).map_err(|error| refused(&error))?;
    if file.normal_form().map_err(|error| refused(&error))? != evidence {
        return Err(refused(&"must be in the normal form of evidence files"));
    }
    if file.evidence.fault() != verdict.fault {
        let message = "must be the fault that the evidence names";
        return Err(Refusal::field("/fault", "range", message));
    }
    let evidence_digest = EvidenceFile::digest_of(evidence);
    let matter = DisputeMatter::Fault { evidence_digest };
    Ok((file.evidence.subject(), matter))
}

/// The operator vouches for the log, sequencer and verifying key, and for the proof. This checks everything that the
/// file states about itself, that its claimant belongs to the submitting organization, and that the log accepts a
/// context once.
fn claim<W: World>(
    world: &W,
    caller: &Caller,
    payload: &str,
) -> Result<(Id, DisputeMatter), Refusal> {
    let verdict: ClaimVerdict = text::read(payload)?;
    let claim = verdict.claim.get();
    let refused = |error: &dyn ToString| Refusal::field("/claim", "format", error.to_string());
    let file = ClaimFile::parse(claim).map_err(|error| refused(&error))?;
    if file.normal_form().map_err(|error| refused(&error))? != claim {
        return Err(refused(&"must be in the normal form of claim files"));
    }
    let shown = file.check_stated().map_err(|error| refused(&error))?;
    // An address belongs to one wallet for ever, and a wallet to one organization.
    let claimant = world.wallet_by_address(file.binding.claimant)?;
    let claimant = match claimant {
        Some(recipient) => world.member(recipient.wallet_id)?,
        None => None,
    };
    if claimant.is_none_or(|wallet| wallet.organization_id != caller.organization_id) {
        return Err(Refusal::Forbidden(
            "the claimant is not a wallet of the organization that brings the claim".into(),
        ));
    }
    if world.claim_context_used(&shown.context)? {
        return Err(Refusal::Conflict(
            "the log holds a verdict on a claim with this context; prove it for another purpose"
                .into(),
        ));
    }
    let context = shown.context;
    Ok((file.subject(), DisputeMatter::Claim { context }))
}
