//! Evidence of the faults that a state's root shows: state proofs at signed checkpoints, and leaves of the log with
//! their places in headers that the operator is responsible for. [`judge_state`] first checks every record, then the
//! fault's predicate ([`crate::state::faults`]).

use std::fmt;

use serde::{Deserialize, Serialize};

use super::check::EvidenceJudge;
use super::{CheckpointEvidence, ContractView, HeaderStatus, LeafEvidence, NoFault};
use crate::json::{object, object_or_absent, objects, value_or_absent};
use crate::state::faults::{
    self, FalseEntryEvidence, LeafWords, ShownEntry, ShownLeaf, StatePoint, TrespassEvidence,
};
use crate::state::trie::breaks_trie;
use crate::state::{StateProof, StateProofError};
use crate::{Hash, Id};

/// What a state proof shows at a signed checkpoint.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntryEvidence {
    /// The checkpoint, with a root.
    #[serde(deserialize_with = "object")]
    pub checkpoint: CheckpointEvidence,
    /// The proof; of absence where the fault asks for it.
    #[serde(deserialize_with = "object")]
    pub proof: StateProof,
}

/// A leaf of the log, with the words of its content where the fault asks for them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenedLeafEvidence {
    /// The leaf, at its place in a header.
    #[serde(deserialize_with = "object")]
    pub action: LeafEvidence,
    /// The words that give its content.
    #[serde(
        default,
        deserialize_with = "object_or_absent",
        skip_serializing_if = "Option::is_none"
    )]
    pub words: Option<LeafWords>,
}

/// Records that show one fault of the state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "snake_case", deny_unknown_fields)]
pub enum StateEvidence {
    /// No root above a checkpoint that has one.
    UnrootedCheckpoint {
        /// The checkpoint with a root.
        #[serde(deserialize_with = "object")]
        first: CheckpointEvidence,
        /// The later one, without.
        #[serde(deserialize_with = "object")]
        second: CheckpointEvidence,
    },
    /// An entry that is not of its type's form.
    MalformedState {
        /// The entry.
        #[serde(deserialize_with = "object")]
        entry: EntryEvidence,
    },
    /// A node that has not the one form.
    BrokenTrie {
        /// The checkpoint.
        #[serde(deserialize_with = "object")]
        signed: CheckpointEvidence,
        /// The path that leads to the node.
        path: Hash,
        /// The nodes from the root to it, as hexadecimal texts.
        #[serde(with = "crate::state::trie::hex_list")]
        nodes: Vec<Vec<u8>>,
    },
    /// An entry that a leaf at or before its checkpoint had already changed.
    StaleState {
        /// The entry.
        #[serde(deserialize_with = "object")]
        entry: EntryEvidence,
        /// The leaf that extends it.
        #[serde(deserialize_with = "object")]
        leaf: OpenedLeafEvidence,
    },
    /// An entry and the leaf at its sequence that do not belong together.
    FalseEntry(#[serde(deserialize_with = "object")] FalseEntryRecords),
    /// A resource that a leaf at or before a checkpoint makes, and the checkpoint's state lacks.
    MissingState {
        /// The absence.
        #[serde(deserialize_with = "object")]
        entry: EntryEvidence,
        /// The leaf.
        #[serde(deserialize_with = "object")]
        leaf: OpenedLeafEvidence,
        /// The plain text of its kind.
        kind: String,
    },
    /// An entry that went away, changed without an action, or fell back.
    RewrittenState(#[serde(deserialize_with = "object")] EntryPairEvidence),
    /// Version, sequence and integrity that did not change together.
    LoneStep(#[serde(deserialize_with = "object")] EntryPairEvidence),
    /// One integrity with two sets of fields.
    TwoFacedState(#[serde(deserialize_with = "object")] EntryPairEvidence),
    /// A field that never changes, or a resource that had ended, changed.
    ChangedConstant(#[serde(deserialize_with = "object")] EntryPairEvidence),
    /// One integrity under two ids.
    TwinState(#[serde(deserialize_with = "object")] EntryPairEvidence),
    /// An object and then its owner or its template, which disagree, or two wallets with one address.
    FalseAddress(#[serde(deserialize_with = "object")] EntryPairEvidence),
    /// An object's owner or origin that changed without a transfer.
    FalseOwner(#[serde(deserialize_with = "object")] ChangeEvidence),
    /// Properties or rules that changed by no action that changes them.
    HiddenChange(#[serde(deserialize_with = "object")] ChangeEvidence),
    /// A wallet's keys that changed by other than its actions.
    FalseKeys(#[serde(deserialize_with = "object")] ChangeEvidence),
    /// A version that grew by another number than actions.
    FalseVersion(#[serde(deserialize_with = "object")] ChangeEvidence),
    /// An object's action by a wallet that its template does not allow.
    Trespass(#[serde(deserialize_with = "object")] TrespassRecords),
    /// An action on a resource of an organization that its signer does not belong to.
    ForeignHand {
        /// The entry that the leaf extends.
        #[serde(deserialize_with = "object")]
        entry: EntryEvidence,
        /// The leaf.
        #[serde(deserialize_with = "object")]
        leaf: OpenedLeafEvidence,
        /// The signer's wallet; not needed for an action on a wallet.
        #[serde(
            default,
            deserialize_with = "object_or_absent",
            skip_serializing_if = "Option::is_none"
        )]
        wallet: Option<Box<EntryEvidence>>,
    },
    /// An action on what had ended, or was locked.
    DeadHand {
        /// The entry that the leaf extends.
        #[serde(deserialize_with = "object")]
        entry: EntryEvidence,
        /// The leaf.
        #[serde(deserialize_with = "object")]
        leaf: OpenedLeafEvidence,
    },
    /// A resource whose maker belongs to another organization.
    ForeignMaker {
        /// The resource.
        #[serde(deserialize_with = "object")]
        entry: EntryEvidence,
        /// The leaf that made it.
        #[serde(deserialize_with = "object")]
        leaf: OpenedLeafEvidence,
        /// The signer's wallet.
        #[serde(deserialize_with = "object")]
        wallet: EntryEvidence,
    },
    /// A mint by another organization than the template's.
    ForeignMint {
        /// The template, at or after the mint.
        #[serde(deserialize_with = "object")]
        template: EntryEvidence,
        /// The mint's leaf.
        #[serde(deserialize_with = "object")]
        leaf: OpenedLeafEvidence,
        /// The signer's wallet.
        #[serde(deserialize_with = "object")]
        wallet: EntryEvidence,
    },
    /// A template that changed while an object of it lived.
    LiveUpdate {
        /// The object, at or after the change.
        #[serde(deserialize_with = "object")]
        object: EntryEvidence,
        /// The leaf of the change.
        #[serde(deserialize_with = "object")]
        leaf: OpenedLeafEvidence,
    },
    /// A removed wallet that has keys.
    GhostMember {
        /// The leaf of the removal.
        #[serde(deserialize_with = "object")]
        leaf: OpenedLeafEvidence,
        /// The wallet, at or after it.
        #[serde(deserialize_with = "object")]
        wallet: EntryEvidence,
    },
    /// More objects than the template counts or allows: an object and then its template, two objects, or a template
    /// twice.
    Oversupply(#[serde(deserialize_with = "object")] EntryPairEvidence),
}

/// Two entries: of one resource, the earlier checkpoint's first, or of two.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntryPairEvidence {
    /// The entry, or its absence, at the earlier checkpoint.
    #[serde(deserialize_with = "object")]
    pub first: EntryEvidence,
    /// The entry, or its absence, at the later one.
    #[serde(deserialize_with = "object")]
    pub second: EntryEvidence,
}

/// An entry and the leaf at its sequence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FalseEntryRecords {
    /// The entry.
    #[serde(deserialize_with = "object")]
    pub entry: EntryEvidence,
    /// The leaf.
    #[serde(deserialize_with = "object")]
    pub leaf: OpenedLeafEvidence,
    /// The plain text of its kind.
    #[serde(
        default,
        deserialize_with = "value_or_absent",
        skip_serializing_if = "Option::is_none"
    )]
    pub kind: Option<String>,
    /// The wallet that its payload names.
    #[serde(
        default,
        deserialize_with = "value_or_absent",
        skip_serializing_if = "Option::is_none"
    )]
    pub to: Option<Id>,
    /// The signer's wallet at any checkpoint.
    #[serde(
        default,
        deserialize_with = "object_or_absent",
        skip_serializing_if = "Option::is_none"
    )]
    pub wallet: Option<Box<EntryEvidence>>,
}

/// An object's entry, and the leaves that follow it up to the one of another signer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrespassRecords {
    /// The object.
    #[serde(deserialize_with = "object")]
    pub object: EntryEvidence,
    /// Its template, at the same checkpoint.
    #[serde(deserialize_with = "object")]
    pub template: EntryEvidence,
    /// The leaves that follow the object's entry.
    #[serde(deserialize_with = "objects")]
    pub leaves: Vec<OpenedLeafEvidence>,
    /// The leaf after them.
    #[serde(deserialize_with = "object")]
    pub leaf: OpenedLeafEvidence,
    /// The plain text of its kind.
    #[serde(
        default,
        deserialize_with = "value_or_absent",
        skip_serializing_if = "Option::is_none"
    )]
    pub kind: Option<String>,
    /// The signer's wallet, or the owner's.
    #[serde(
        default,
        deserialize_with = "object_or_absent",
        skip_serializing_if = "Option::is_none"
    )]
    pub wallet: Option<Box<EntryEvidence>>,
}

/// Two entries of one resource, and the leaves that lead from the first to the second.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeEvidence {
    /// The entry before the leaves.
    #[serde(deserialize_with = "object")]
    pub first: EntryEvidence,
    /// The entry after them.
    #[serde(deserialize_with = "object")]
    pub second: EntryEvidence,
    /// The leaves, in order.
    #[serde(deserialize_with = "objects")]
    pub leaves: Vec<OpenedLeafEvidence>,
}

macro_rules! state_faults {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// A fault of the state by the name of its evidence.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum StateFault { $($(#[$doc])* $name),* }

        impl StateFault {
            /// Every fault of the state.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Its text in files.
            pub fn text(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// The fault with this text.
            pub fn of_text(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$name),)* _ => None }
            }
        }

        impl StateEvidence {
            /// The fault that the evidence is meant to show.
            pub fn fault(&self) -> StateFault {
                match self { $(Self::$name { .. } => StateFault::$name),* }
            }
        }
    };
}

state_faults! {
    /// No root above a checkpoint that has one.
    UnrootedCheckpoint = "unrooted_checkpoint";
    /// An entry of another form.
    MalformedState = "malformed_state";
    /// A node of another form.
    BrokenTrie = "broken_trie";
    /// An entry that was already changed.
    StaleState = "stale_state";
    /// An entry that the leaf at its sequence did not leave.
    FalseEntry = "false_entry";
    /// A resource without an entry.
    MissingState = "missing_state";
    /// An entry that went away or fell back.
    RewrittenState = "rewritten_state";
    /// Version, sequence and integrity that did not change together.
    LoneStep = "lone_step";
    /// One integrity with two sets of fields.
    TwoFacedState = "two_faced_state";
    /// A change of what never changes.
    ChangedConstant = "changed_constant";
    /// One integrity under two ids.
    TwinState = "twin_state";
    /// Entries that disagree on an address or an organization.
    FalseAddress = "false_address";
    /// An owner who changed without a transfer.
    FalseOwner = "false_owner";
    /// A change by no action that makes it.
    HiddenChange = "hidden_change";
    /// Keys that no action added or removed.
    FalseKeys = "false_keys";
    /// A version that grew by another number than actions.
    FalseVersion = "false_version";
    /// An object's action by a wallet that may not.
    Trespass = "trespass";
    /// An action on another organization's resource.
    ForeignHand = "foreign_hand";
    /// An action on what had ended.
    DeadHand = "dead_hand";
    /// A resource made by another organization's member.
    ForeignMaker = "foreign_maker";
    /// A mint by another organization's member.
    ForeignMint = "foreign_mint";
    /// A template that changed under its objects.
    LiveUpdate = "live_update";
    /// A removed wallet with keys.
    GhostMember = "ghost_member";
    /// More objects than the template counts or allows.
    Oversupply = "oversupply";
}

impl fmt::Display for StateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Why evidence shows no fault of the state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoStateFault {
    /// A checkpoint or a leaf is not the operator's.
    #[error(transparent)]
    Record(#[from] NoFault),
    /// A state proof does not hold.
    #[error("a state proof: {0}")]
    Proof(#[from] StateProofError),
    /// Words do not give the content of their leaf.
    #[error("the opened words do not hash to their leaf's content")]
    OtherWords,
    /// The records hold, and the fault's rule is kept.
    #[error("the records contradict neither each other nor the protocol")]
    NoContradiction,
}

/// Checks evidence of a fault of the state against a log that the caller trusts: signatures, state proofs, the leaves'
/// places, and then the fault itself.
///
/// # Errors
/// Why the evidence shows no fault.
pub fn judge_state(
    evidence: &StateEvidence,
    trust: &ContractView,
) -> Result<StateFault, NoStateFault> {
    let judge = StateJudge {
        records: EvidenceJudge::of(trust),
    };
    if judge.convicts(evidence)? {
        Ok(evidence.fault())
    } else {
        Err(NoStateFault::NoContradiction)
    }
}

struct StateJudge<'a> {
    records: EvidenceJudge<'a>,
}

type ChangeRule = fn(&ShownEntry, &ShownEntry, &[ShownLeaf]) -> bool;
type PairRule = fn(&ShownEntry, &ShownEntry) -> bool;
type LeafRule = fn(&ShownEntry, &ShownLeaf) -> bool;
type WalletRule = fn(&ShownEntry, &ShownLeaf, &ShownEntry) -> bool;

impl StateJudge<'_> {
    fn convicts(&self, evidence: &StateEvidence) -> Result<bool, NoStateFault> {
        use StateEvidence as E;
        match evidence {
            E::UnrootedCheckpoint { first, second } => {
                let points = (self.point(first)?, self.point(second)?);
                Ok(faults::unrooted_checkpoint(&points.0, &points.1))
            }
            E::MalformedState { entry } => Ok(faults::malformed_state(&self.shown(entry)?)),
            E::BrokenTrie {
                signed,
                path,
                nodes,
            } => {
                self.point(signed)?;
                Ok(breaks_trie(&signed.checkpoint.state, path, nodes))
            }
            E::RewrittenState(pair) => self.pair(faults::rewritten_state, pair),
            E::LoneStep(pair) => self.pair(faults::lone_step, pair),
            E::TwoFacedState(pair) => self.pair(faults::two_faced_state, pair),
            E::ChangedConstant(pair) => self.pair(faults::changed_constant, pair),
            E::TwinState(pair) => self.pair(faults::twin_state, pair),
            E::FalseAddress(pair) => self.pair(faults::false_address, pair),
            E::Oversupply(pair) => self.pair(faults::oversupply, pair),
            E::FalseOwner(change) => self.change(faults::false_owner, change),
            E::HiddenChange(change) => self.change(faults::hidden_change, change),
            E::FalseKeys(change) => self.change(faults::false_keys, change),
            E::FalseVersion(change) => self.change(faults::false_version, change),
            E::StaleState { entry, leaf } => self.entry_and_leaf(faults::stale_state, entry, leaf),
            E::DeadHand { entry, leaf } => self.entry_and_leaf(faults::dead_hand, entry, leaf),
            E::LiveUpdate { object, leaf } => {
                self.entry_and_leaf(faults::live_update, object, leaf)
            }
            E::GhostMember { leaf, wallet } => self.entry_and_leaf(
                |wallet, leaf| faults::ghost_member(leaf, wallet),
                wallet,
                leaf,
            ),
            E::MissingState { entry, leaf, kind } => {
                let (entry, leaf) = (self.shown(entry)?, self.leaf(leaf)?);
                Ok(faults::missing_state(&entry, &leaf, kind))
            }
            E::FalseEntry(records) => self.false_entry(records),
            E::Trespass(records) => self.trespass(records),
            E::ForeignHand {
                entry,
                leaf,
                wallet,
            } => self.foreign_hand(entry, leaf, wallet.as_deref()),
            E::ForeignMaker {
                entry,
                leaf,
                wallet,
            } => self.with_wallet(faults::foreign_maker, entry, leaf, wallet),
            E::ForeignMint {
                template,
                leaf,
                wallet,
            } => self.with_wallet(faults::foreign_mint, template, leaf, wallet),
        }
    }

    fn false_entry(&self, records: &FalseEntryRecords) -> Result<bool, NoStateFault> {
        let wallet = self.optional(records.wallet.as_deref())?;
        let further = FalseEntryEvidence {
            kind: records.kind.as_deref(),
            to: records.to.as_ref(),
            wallet: wallet.as_ref(),
        };
        let (entry, leaf) = (self.shown(&records.entry)?, self.leaf(&records.leaf)?);
        Ok(faults::false_entry(&entry, &leaf, &further))
    }

    fn trespass(&self, records: &TrespassRecords) -> Result<bool, NoStateFault> {
        Ok(faults::trespass(&TrespassEvidence {
            object: &self.shown(&records.object)?,
            template: &self.shown(&records.template)?,
            leaves: &self.leaves(&records.leaves)?,
            leaf: &self.leaf(&records.leaf)?,
            kind: records.kind.as_deref(),
            wallet: self.optional(records.wallet.as_deref())?.as_ref(),
        }))
    }

    fn foreign_hand(
        &self,
        entry: &EntryEvidence,
        leaf: &OpenedLeafEvidence,
        wallet: Option<&EntryEvidence>,
    ) -> Result<bool, NoStateFault> {
        let wallet = self.optional(wallet)?;
        let (entry, leaf) = (self.shown(entry)?, self.leaf(leaf)?);
        Ok(faults::foreign_hand(&entry, &leaf, wallet.as_ref()))
    }

    fn entry_and_leaf(
        &self,
        rule: LeafRule,
        entry: &EntryEvidence,
        leaf: &OpenedLeafEvidence,
    ) -> Result<bool, NoStateFault> {
        Ok(rule(&self.shown(entry)?, &self.leaf(leaf)?))
    }

    fn with_wallet(
        &self,
        rule: WalletRule,
        entry: &EntryEvidence,
        leaf: &OpenedLeafEvidence,
        wallet: &EntryEvidence,
    ) -> Result<bool, NoStateFault> {
        let (entry, leaf) = (self.shown(entry)?, self.leaf(leaf)?);
        Ok(rule(&entry, &leaf, &self.shown(wallet)?))
    }

    fn pair(&self, rule: PairRule, pair: &EntryPairEvidence) -> Result<bool, NoStateFault> {
        Ok(rule(&self.shown(&pair.first)?, &self.shown(&pair.second)?))
    }

    fn change(&self, rule: ChangeRule, change: &ChangeEvidence) -> Result<bool, NoStateFault> {
        let leaves = self.leaves(&change.leaves)?;
        Ok(rule(
            &self.shown(&change.first)?,
            &self.shown(&change.second)?,
            &leaves,
        ))
    }

    fn point(&self, evidence: &CheckpointEvidence) -> Result<StatePoint, NoStateFault> {
        self.records.signed_checkpoint(evidence)?;
        Ok(StatePoint::of(&evidence.checkpoint))
    }

    fn shown(&self, evidence: &EntryEvidence) -> Result<ShownEntry, NoStateFault> {
        let point = self.point(&evidence.checkpoint)?;
        let proof = &evidence.proof;
        proof.verify(&evidence.checkpoint.checkpoint.state)?;
        Ok(ShownEntry::read(point, proof.key, &proof.entry))
    }

    fn optional(
        &self,
        evidence: Option<&EntryEvidence>,
    ) -> Result<Option<ShownEntry>, NoStateFault> {
        evidence.map(|evidence| self.shown(evidence)).transpose()
    }

    fn leaf(&self, evidence: &OpenedLeafEvidence) -> Result<ShownLeaf, NoStateFault> {
        self.records.leaf(&evidence.action)?;
        let leaf = evidence.action.leaf;
        let words = evidence.words;
        if words.is_some_and(|words| words.content() != leaf.content) {
            return Err(NoStateFault::OtherWords);
        }
        Ok(ShownLeaf { leaf, words })
    }

    fn leaves(&self, evidence: &[OpenedLeafEvidence]) -> Result<Vec<ShownLeaf>, NoStateFault> {
        evidence.iter().map(|leaf| self.leaf(leaf)).collect()
    }
}

impl StateEvidence {
    /// Batch counts of the anchored checkpoints that the leaves' headers refer to, ascending and without repeats: a
    /// checker looks these up for [`ContractView::anchored`].
    pub fn anchored_batches(&self) -> Vec<u64> {
        let leaves = self.leaves().into_iter();
        let mut named: Vec<u64> = leaves
            .filter_map(|leaf| match &leaf.action.batch.standing {
                HeaderStatus::Anchored(anchored) => Some(anchored.batches),
                HeaderStatus::Signed(_) => None,
            })
            .collect();
        named.sort_unstable();
        named.dedup();
        named
    }

    /// Id of the subject: of the first entry, or the anchor of the first checkpoint.
    pub fn subject(&self) -> Id {
        match self.first_entry() {
            Ok(entry) => entry.proof.key,
            Err(signed) => signed.checkpoint.anchor_id(),
        }
    }

    /// Number of the last batch of the first checkpoint.
    pub fn batch(&self) -> u64 {
        let signed = match self.first_entry() {
            Ok(entry) => &entry.checkpoint,
            Err(signed) => signed,
        };
        signed.checkpoint.batches.saturating_sub(1)
    }

    /// The entry that the evidence is about, or else its first checkpoint.
    fn first_entry(&self) -> Result<&EntryEvidence, &CheckpointEvidence> {
        match self {
            Self::UnrootedCheckpoint { first: signed, .. } | Self::BrokenTrie { signed, .. } => {
                Err(signed)
            }
            Self::MalformedState { entry }
            | Self::StaleState { entry, .. }
            | Self::MissingState { entry, .. }
            | Self::ForeignHand { entry, .. }
            | Self::DeadHand { entry, .. }
            | Self::ForeignMaker { entry, .. }
            | Self::ForeignMint {
                template: entry, ..
            }
            | Self::LiveUpdate { object: entry, .. }
            | Self::GhostMember { wallet: entry, .. } => Ok(entry),
            Self::FalseEntry(records) => Ok(&records.entry),
            Self::Trespass(records) => Ok(&records.object),
            Self::RewrittenState(pair)
            | Self::LoneStep(pair)
            | Self::TwoFacedState(pair)
            | Self::ChangedConstant(pair)
            | Self::TwinState(pair)
            | Self::FalseAddress(pair)
            | Self::Oversupply(pair) => Ok(&pair.first),
            Self::FalseOwner(change)
            | Self::HiddenChange(change)
            | Self::FalseKeys(change)
            | Self::FalseVersion(change) => Ok(&change.first),
        }
    }

    fn leaves(&self) -> Vec<&OpenedLeafEvidence> {
        match self {
            Self::StaleState { leaf, .. }
            | Self::MissingState { leaf, .. }
            | Self::ForeignHand { leaf, .. }
            | Self::DeadHand { leaf, .. }
            | Self::ForeignMaker { leaf, .. }
            | Self::ForeignMint { leaf, .. }
            | Self::LiveUpdate { leaf, .. }
            | Self::GhostMember { leaf, .. } => vec![leaf],
            Self::FalseEntry(records) => vec![&records.leaf],
            Self::Trespass(records) => records.leaves.iter().chain([&records.leaf]).collect(),
            Self::FalseOwner(change)
            | Self::HiddenChange(change)
            | Self::FalseKeys(change)
            | Self::FalseVersion(change) => change.leaves.iter().collect(),
            Self::UnrootedCheckpoint { .. }
            | Self::MalformedState { .. }
            | Self::BrokenTrie { .. }
            | Self::RewrittenState(_)
            | Self::LoneStep(_)
            | Self::TwoFacedState(_)
            | Self::ChangedConstant(_)
            | Self::TwinState(_)
            | Self::FalseAddress(_)
            | Self::Oversupply(_) => Vec::new(),
        }
    }
}
