//! Evidence of faults of the state as calldata of the judges that tell them. A fault with several functions gets the
//! one whose rule its records break.

use ethers_core::abi::Token;
use kedge_protocol::action::Kind;
use kedge_protocol::evidence::{
    ChangeEvidence, EntryEvidence, EntryPairEvidence, FalseEntryRecords, OpenedLeafEvidence,
    StateEvidence, TrespassRecords,
};
use kedge_protocol::hash::keccak;
use kedge_protocol::state::entry::EntryRule;
use kedge_protocol::state::faults::LeafWords;
use kedge_protocol::state::{EntryFields, StateEntry};
use kedge_protocol::{Id, Prefix};

use super::artifact::{Artifact, HISTORY_JUDGE, SIGNER_JUDGE, STATE_JUDGE};
use super::evidence::{checkpoint, leaf};
use super::{account, word};

/// A call of one of the judges of the state.
struct JudgeCall {
    judge: &'static Artifact,
    function: &'static str,
    arguments: Vec<Token>,
}

impl JudgeCall {
    /// Of the judge of faults that entries show.
    fn of_entries(function: &'static str, arguments: Vec<Token>) -> Self {
        Self {
            judge: &STATE_JUDGE,
            function,
            arguments,
        }
    }

    /// Of the judge of faults that entries show next to leaves.
    fn of_history(function: &'static str, arguments: Vec<Token>) -> Self {
        Self {
            judge: &HISTORY_JUDGE,
            function,
            arguments,
        }
    }

    /// Of the judge of faults of signers.
    fn of_signers(function: &'static str, arguments: Vec<Token>) -> Self {
        Self {
            judge: &SIGNER_JUDGE,
            function,
            arguments,
        }
    }

    fn of(evidence: &StateEvidence) -> Self {
        use StateEvidence as E;
        match evidence {
            E::UnrootedCheckpoint { first, second } => {
                let arguments = vec![checkpoint(first), checkpoint(second)];
                Self::of_entries("unrootedCheckpoint", arguments)
            }
            E::MalformedState { entry: shown } => {
                Self::of_entries("malformedState", vec![entry(shown)])
            }
            E::BrokenTrie {
                signed,
                path,
                nodes: linked,
            } => {
                let arguments = vec![checkpoint(signed), word(*path), nodes(linked)];
                Self::of_entries("brokenTrie", arguments)
            }
            E::RewrittenState(shown) => Self::of_entries("rewrittenState", pair(shown)),
            E::LoneStep(shown) => Self::of_entries("loneStep", pair(shown)),
            E::TwoFacedState(shown) => Self::of_entries("twoFacedState", pair(shown)),
            E::ChangedConstant(shown) => Self::of_entries("changedConstant", pair(shown)),
            E::TwinState(shown) => Self::of_entries("twinState", pair(shown)),
            E::FalseAddress(shown) => Self::of_entries(false_address(shown), pair(shown)),
            E::Oversupply(shown) => Self::of_entries(oversupply(shown), pair(shown)),
            E::FalseOwner(shown) => Self::of_history("falseOwner", change(shown)),
            E::HiddenChange(shown) => Self::of_history("hiddenChange", change(shown)),
            E::FalseKeys(shown) => Self::of_history("falseKeys", change(shown)),
            E::FalseVersion(shown) => Self::of_history("falseVersion", change(shown)),
            E::StaleState { entry, leaf } => Self::of_history("staleState", led(entry, leaf)),
            E::MissingState { entry, leaf, kind } => {
                let mut arguments = led(entry, leaf);
                arguments.push(Token::String(kind.clone()));
                Self::of_history("missingState", arguments)
            }
            E::FalseEntry(records) => Self::of_false_entry(records),
            E::Trespass(records) => Self::of_trespass(records),
            E::ForeignHand {
                entry,
                leaf,
                wallet,
            } => Self::of_foreign_hand(led(entry, leaf), entry, wallet.as_deref()),
            E::DeadHand { entry, leaf } => Self::of_signers("deadHand", led(entry, leaf)),
            E::ForeignMaker {
                entry: shown,
                leaf,
                wallet,
            } => Self::of_signers("foreignMaker", signed(shown, leaf, wallet)),
            E::ForeignMint {
                template,
                leaf,
                wallet,
            } => Self::of_signers("foreignMint", signed(template, leaf, wallet)),
            E::LiveUpdate { object, leaf } => Self::of_signers("liveUpdate", led(object, leaf)),
            E::GhostMember { leaf, wallet } => {
                Self::of_signers("ghostMember", vec![opened(leaf), entry(wallet)])
            }
        }
    }

    fn of_foreign_hand(
        mut arguments: Vec<Token>,
        shown: &EntryEvidence,
        wallet: Option<&EntryEvidence>,
    ) -> Self {
        match wallet {
            Some(wallet) if shown.proof.key.prefix != Prefix::Wallet => {
                arguments.push(entry(wallet));
                Self::of_signers("foreignHand", arguments)
            }
            _ => Self::of_signers("unknownHand", arguments),
        }
    }

    fn of_false_entry(records: &FalseEntryRecords) -> Self {
        let mut arguments = vec![entry(&records.entry), opened(&records.leaf)];
        if is_registered_by_another(records) {
            return Self::of_signers("falseRegistration", arguments);
        }
        if let Some(wallet) = records.wallet.as_deref()
            && is_minted_for_another(records, wallet)
        {
            arguments.push(entry(wallet));
            return Self::of_signers("falseMinter", arguments);
        }
        let kind = records.kind.clone();
        let kind = kind.or_else(|| kind_of(records.leaf.words.as_ref()?));
        let to = records.to.map(|to| to.to_string());
        arguments.extend([kind, to].map(|text| Token::String(text.unwrap_or_default())));
        Self::of_history("falseEntry", arguments)
    }

    fn of_trespass(records: &TrespassRecords) -> Self {
        let leaves = records.leaves.iter().map(opened).collect();
        let mut arguments = vec![
            entry(&records.object),
            entry(&records.template),
            Token::Array(leaves),
            opened(&records.leaf),
        ];
        match records.wallet.as_deref() {
            Some(wallet) if !is_unruled(records) => {
                arguments.push(entry(wallet));
                Self::of_signers("trespass", arguments)
            }
            _ => {
                arguments.push(Token::String(records.kind.clone().unwrap_or_default()));
                Self::of_signers("unruledKind", arguments)
            }
        }
    }
}

/// Calldata of the judges' function for this evidence; the reporter commits to its keccak256.
pub fn state_evidence_calldata(evidence: &StateEvidence) -> Vec<u8> {
    let call = JudgeCall::of(evidence);
    call.judge.encode(call.function, &call.arguments)
}

fn false_address(pair: &EntryPairEvidence) -> &'static str {
    match (pair.first.proof.key.prefix, pair.second.proof.key.prefix) {
        (Prefix::Wallet, _) => "sharedAddress",
        (_, Prefix::Template) => "falseOrganization",
        _ => "falseAddress",
    }
}

fn oversupply(pair: &EntryPairEvidence) -> &'static str {
    match (pair.first.proof.key.prefix, pair.second.proof.key.prefix) {
        (Prefix::Template, _) => "changedMaxSupply",
        (_, Prefix::Object) => "repeatedSerial",
        _ => "oversuppliedTemplate",
    }
}

/// The entry that a proof shows; `None` if it shows absence or a malformed one.
fn decoded(shown: &EntryEvidence) -> Option<StateEntry> {
    let sequence = shown.checkpoint.checkpoint.sequence;
    StateEntry::decode(&shown.proof.key, &shown.proof.entry, sequence).ok()
}

/// Whether the leaf registers the entry's wallet, and the wallet has another address than its signer's.
fn is_registered_by_another(records: &FalseEntryRecords) -> bool {
    let Some(words) = &records.leaf.words else {
        return false;
    };
    let content = &records.leaf.action.leaf.content;
    let made = Id::made_by(Prefix::Wallet, content, 0);
    let fields = decoded(&records.entry).map(|entry| entry.fields);
    words.kind == Kind::WalletRegister.hash()
        && made == records.entry.proof.key
        && matches!(fields, Some(EntryFields::Wallet(wallet)) if wallet.address != words.signer)
}

/// Whether the leaf mints the entry's object for its signer, another wallet than the owner.
fn is_minted_for_another(records: &FalseEntryRecords, wallet: &EntryEvidence) -> bool {
    let (Some(words), Some(object), Some(signer)) = (
        &records.leaf.words,
        decoded(&records.entry),
        decoded(wallet),
    ) else {
        return false;
    };
    let (EntryFields::Object(fields), EntryFields::Wallet(signs)) = (&object.fields, signer.fields)
    else {
        return false;
    };
    words.kind == Kind::Mint.hash()
        && words.payload == keccak(b"{}")
        && object.integrity == records.leaf.action.leaf.integrity
        && signs.keys.contains(&words.signer)
        && wallet.proof.key != fields.owner_id
}

/// Whether the leaf is of a template's own kind for which the template has no rule.
fn is_unruled(records: &TrespassRecords) -> bool {
    let (Some(words), Some(kind)) = (&records.leaf.words, &records.kind) else {
        return false;
    };
    let fields = decoded(&records.template).map(|entry| entry.fields);
    let Some(EntryFields::Template(template)) = fields else {
        return false;
    };
    let has_rule = |rule: &EntryRule| keccak(rule.kind.as_bytes()) == words.kind;
    kind.starts_with("x.") && !template.rules.iter().any(has_rule)
}

/// The text of a leaf's kind, if it is not a template's own.
fn kind_of(words: &LeafWords) -> Option<String> {
    let mut kinds = Kind::BUILT_IN.iter();
    let kind = kinds.find(|kind| kind.hash() == words.kind)?;
    Some(kind.text().to_owned())
}

fn pair(pair: &EntryPairEvidence) -> Vec<Token> {
    vec![entry(&pair.first), entry(&pair.second)]
}

/// An entry and a leaf next to it.
fn led(shown: &EntryEvidence, leaf: &OpenedLeafEvidence) -> Vec<Token> {
    vec![entry(shown), opened(leaf)]
}

/// An entry, a leaf and the wallet of its signer.
fn signed(shown: &EntryEvidence, leaf: &OpenedLeafEvidence, wallet: &EntryEvidence) -> Vec<Token> {
    vec![entry(shown), opened(leaf), entry(wallet)]
}

fn change(change: &ChangeEvidence) -> Vec<Token> {
    let leaves = change.leaves.iter().map(opened).collect();
    vec![
        entry(&change.first),
        entry(&change.second),
        Token::Array(leaves),
    ]
}

/// The contracts' struct `StateEvidence`.
pub(crate) fn entry(shown: &EntryEvidence) -> Token {
    Token::Tuple(vec![
        checkpoint(&shown.checkpoint),
        key(&shown.proof.key),
        Token::Bytes(shown.proof.entry.clone()),
        nodes(&shown.proof.nodes),
    ])
}

/// The contracts' struct `ActionEvidence`.
pub(crate) fn opened(shown: &OpenedLeafEvidence) -> Token {
    Token::Tuple(vec![
        leaf(&shown.action),
        Token::Bool(shown.words.is_some()),
        content_words(shown.words.as_ref()),
    ])
}

/// The contracts' struct `ContentWords`; zeros if the words are not shown.
fn content_words(shown: Option<&LeafWords>) -> Token {
    let hashes = shown.map_or_else(Default::default, |words| {
        [words.kind, words.target, words.payload, words.authority]
    });
    let [kind, target, payload, authority] = hashes;
    Token::Tuple(vec![
        word(kind),
        word(target),
        word(payload),
        account(shown.map(|words| words.signer).unwrap_or_default()),
        word(authority),
    ])
}

pub(crate) fn key(id: &Id) -> Token {
    Token::String(id.to_string())
}

/// `bytes[]`.
pub(crate) fn nodes(nodes: &[Vec<u8>]) -> Token {
    Token::Array(nodes.iter().cloned().map(Token::Bytes).collect())
}
