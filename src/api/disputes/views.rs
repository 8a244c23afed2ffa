//! Disputes.

use kedge_http::scalars::{AddressText, HashText, RawJsonObject, ResourceIdText, TimeText};
use kedge_protocol::claim::{ClaimFile, DisclosedText};
use kedge_protocol::evidence::Fault;
use kedge_protocol::resource::{Dispute, DisputeMatter};
use kedge_rules::dispute::{ClaimFinding, ClaimVerdict, FaultVerdict, VerdictKind};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

/// The kind of dispute.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DisputeKindText {
    /// A fault of the sequencer.
    Fault,
    /// A claim about an action.
    Claim,
}

impl From<VerdictKind> for DisputeKindText {
    fn from(kind: VerdictKind) -> Self {
        match kind {
            VerdictKind::Fault => Self::Fault,
            VerdictKind::Claim => Self::Claim,
        }
    }
}

/// What was shown of an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionShownText {
    /// The log holds it; not that its signer signed it.
    Inclusion,
}

/// A disclosed text.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DisclosedTextView {
    /// keccak256 of the text, as shown by the proof.
    pub hash: HashText,
    /// The text, if the claimant discloses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl From<DisclosedText> for DisclosedTextView {
    fn from(disclosed: DisclosedText) -> Self {
        Self {
            hash: HashText(disclosed.hash),
            text: disclosed.text,
        }
    }
}

/// What a claim discloses of an action; the rest stays hidden.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DisclosedView {
    /// The kind of action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<DisclosedTextView>,
    /// Its target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<DisclosedTextView>,
    /// Its payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<DisclosedTextView>,
    /// Its signer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signer: Option<AddressText>,
}

/// What a valid claim shows.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClaimShownView {
    /// What it shows of the action.
    pub shown: ActionShownText,
    /// Whether it leads to a checkpoint that the chain had finalized when it was submitted.
    pub anchored: bool,
    /// What it discloses.
    pub disclosed: DisclosedView,
    /// The claimant.
    pub claimant: AddressText,
    /// The contract that it is for.
    pub resolver: AddressText,
    /// What the claim is for.
    pub purpose: HashText,
    /// The hash of these three and the log's domain; the log accepts each only once.
    pub context: HashText,
    /// The sequence of the action.
    pub sequence: u64,
    /// When the action was placed.
    pub timestamp: TimeText,
}

impl ClaimShownView {
    fn of(shown: ClaimFinding, file: ClaimFile) -> Self {
        let ClaimFinding::Inclusion = shown;
        let statement = file.statement();
        let disclosed = file.disclosed;
        Self {
            shown: ActionShownText::Inclusion,
            anchored: file.anchor.is_some(),
            disclosed: DisclosedView {
                kind: disclosed.kind.map(Into::into),
                target: disclosed.target.map(Into::into),
                payload: disclosed.payload.map(Into::into),
                signer: disclosed.signer.map(AddressText),
            },
            claimant: AddressText(file.binding.claimant),
            resolver: AddressText(file.binding.resolver),
            purpose: HashText(file.binding.purpose),
            context: HashText(statement.context),
            sequence: file.leaf.sequence,
            timestamp: TimeText(file.leaf.timestamp_ms),
        }
    }
}

/// A [`Fault`] in the document, as a separate component: generators for Go name a constant after each enum value, and a
/// kind of dispute is `fault` too.
pub struct FaultName;

impl JsonSchema for FaultName {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FaultName".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Fault::json_schema(generator)
    }
}

/// A decided dispute.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DisputeView {
    /// Its id.
    pub id: ResourceIdText,
    /// The organization that submitted it.
    pub organization_id: ResourceIdText,
    /// The kind of dispute.
    pub kind: DisputeKindText,
    /// The proven fault; only for faults.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<FaultName>")]
    pub fault: Option<Fault>,
    /// Its subject. For a fault a batch, by its header, or an anchor, by its checkpoint. The log may not hold it,
    /// because that may be the fault. For a claim the action.
    pub subject_id: ResourceIdText,
    /// The number of that batch, of the checkpoint's last one, or of the batch that holds the action.
    pub batch: u64,
    /// SHA-256 of the evidence in its normal form; only for faults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence_digest: Option<HashText>,
    /// The evidence file, in its normal form; only for faults, and not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<RawJsonObject<'static>>,
    /// What the claim shows; only for claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<ClaimShownView>,
    /// SHA-256 of the claim file in its normal form; only for claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim_digest: Option<HashText>,
    /// The claim file, in its normal form; only for claims, and not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<RawJsonObject<'static>>,
    /// When the verdict was recorded.
    pub created_at: TimeText,
    /// How many actions have created and changed it.
    pub version: u64,
    /// The hash over those actions.
    pub integrity_hash: HashText,
    /// The sequence of the verdict's action.
    pub sequence: u64,
}

impl DisputeView {
    /// A dispute with its evidence or claim; fails if its stored verdict cannot be parsed.
    pub fn whole(dispute: &Dispute) -> Result<Self, serde_json::Error> {
        let bare = Self::bare(dispute);
        match dispute.matter {
            DisputeMatter::Fault { evidence_digest } => {
                let verdict: FaultVerdict = serde_json::from_str(&dispute.verdict)?;
                Ok(Self {
                    kind: verdict.kind.into(),
                    fault: Some(verdict.fault),
                    batch: verdict.batch,
                    evidence_digest: Some(HashText(evidence_digest)),
                    evidence: Some(verdict.evidence.get().to_owned().into()),
                    ..bare
                })
            }
            DisputeMatter::Claim { .. } => {
                let verdict: ClaimVerdict = serde_json::from_str(&dispute.verdict)?;
                let claim = verdict.claim.get();
                let file: ClaimFile = serde_json::from_str(claim)?;
                Ok(Self {
                    kind: verdict.kind.into(),
                    batch: file.batch.header.number,
                    action: Some(ClaimShownView::of(verdict.shown, file)),
                    claim_digest: Some(HashText(ClaimFile::digest_of(claim))),
                    claim: Some(claim.to_owned().into()),
                    ..bare
                })
            }
        }
    }

    /// A dispute for a list.
    pub fn listed(dispute: &Dispute) -> Result<Self, serde_json::Error> {
        Ok(Self {
            evidence: None,
            claim: None,
            ..Self::whole(dispute)?
        })
    }

    /// Removes the content of actions, for callers that may not read it.
    #[must_use]
    pub fn without_content(self) -> Self {
        let hidden = |text: Option<DisclosedTextView>| {
            text.map(|text| DisclosedTextView { text: None, ..text })
        };
        let action = self.action.map(|action| ClaimShownView {
            disclosed: DisclosedView {
                target: hidden(action.disclosed.target),
                payload: hidden(action.disclosed.payload),
                ..action.disclosed
            },
            ..action
        });
        Self {
            evidence: None,
            action,
            claim: None,
            ..self
        }
    }

    /// The members that do not depend on the verdict.
    fn bare(dispute: &Dispute) -> Self {
        let trace = &dispute.trace;
        Self {
            id: ResourceIdText(dispute.id),
            organization_id: ResourceIdText(dispute.organization_id),
            kind: DisputeKindText::Fault,
            fault: None,
            subject_id: ResourceIdText(dispute.subject_id),
            batch: 0,
            evidence_digest: None,
            evidence: None,
            action: None,
            claim_digest: None,
            claim: None,
            created_at: TimeText(trace.created_at_ms),
            version: trace.version,
            integrity_hash: HashText(trace.integrity),
            sequence: trace.sequence,
        }
    }
}
