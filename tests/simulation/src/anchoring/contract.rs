//! Second implementation of the anchor contract: accepted and refused transactions, and view calls.

use kedge_chain::contract::decode_anchor_call;
use kedge_protocol::Address;
use kedge_protocol::Hash;
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::chain::LogLeaf;
use kedge_protocol::checkpoint::{Checkpoint, SignedCheckpoint};
use kedge_protocol::eip712::{DOMAIN_NAME, DOMAIN_VERSION, Domain};
use kedge_protocol::hash::keccak;
use kedge_protocol::log_tree;
use kedge_protocol::merkle::{empty_root, verify_consistency, verify_proof};

use crate::client::DOMAIN;

/// Address of the contract.
pub(super) const CONTRACT: Address = DOMAIN.verifying_contract;
/// Limit on a checkpoint's time ahead of the block's, milliseconds.
const AHEAD_MS_MAX: u64 = 15 * 60 * 1_000;

/// `Status.Frozen`.
const FROZEN: u64 = 3;

/// An accepted checkpoint.
#[derive(Clone, Copy, Debug)]
pub(super) struct AcceptedCheckpoint {
    pub(super) checkpoint: Checkpoint,
    anchored_at_s: u64,
    block: u64,
}

/// State of the contract after a block.
#[derive(Clone, Debug)]
pub(super) struct SimulatedContract {
    /// The only sequencer key of the log.
    key: Address,
    /// Signing domain of the log.
    domain: Domain,
    /// Deployment time, Unix seconds, and block.
    made: (u64, u64),
    pub(super) taken: Vec<AcceptedCheckpoint>,
    /// Address of the bond; zero for none.
    pub(super) bond: Address,
    /// Whether the bond was seized, which ends anchoring.
    pub(super) is_frozen: bool,
}

/// Revert data.
pub(super) type RevertBytes = Vec<u8>;

pub(super) fn selector(signature: &str) -> [u8; 4] {
    let hash = keccak(signature.as_bytes());
    [hash.0[0], hash.0[1], hash.0[2], hash.0[3]]
}

pub(super) fn error(signature: &str, words: &[[u8; 32]]) -> RevertBytes {
    [&selector(signature)[..], &words.concat()].concat()
}

/// A number as a word.
pub(super) fn word(number: u64) -> [u8; 32] {
    let mut word = [0; 32];
    word[24..].copy_from_slice(&number.to_be_bytes());
    word
}

pub(super) fn address_word(address: Address) -> [u8; 32] {
    let mut word = [0; 32];
    word[12..].copy_from_slice(&address.0);
    word
}

/// An EIP-712 domain in the form of EIP-5267, without salt and extensions.
fn domain_words(domain: &Domain) -> Vec<[u8; 32]> {
    let mut fields = [0; 32];
    // Name, version, chain and contract.
    fields[0] = 0b0_1111;
    let text = |text: &str| {
        let mut padded = [0; 32];
        padded[..text.len()].copy_from_slice(text.as_bytes());
        [word(text.len() as u64), padded]
    };
    let (head, each) = (7 * 32, 2 * 32);
    let mut words = vec![
        fields,
        word(head),
        word(head + each),
        word(domain.chain_id),
        address_word(domain.verifying_contract),
        [0; 32],
        word(head + 2 * each),
    ];
    words.extend(text(DOMAIN_NAME));
    words.extend(text(DOMAIN_VERSION));
    words.push(word(0));
    words
}

struct AnchorCall {
    signed: SignedCheckpoint,
    proof: Vec<Hash>,
}

/// Decodes a call of `anchor`. The proof follows the six words of the checkpoint, and the offsets of signature and
/// proof.
fn read(data: &[u8]) -> Option<AnchorCall> {
    let signed = decode_anchor_call(data)?;
    let arguments = data.get(4..)?;
    let number = |at: usize| -> Option<usize> {
        let word = arguments.get(at..at + 32)?;
        usize::try_from(u64::from_be_bytes(word[24..].try_into().ok()?)).ok()
    };
    let at = number(7 * 32)?;
    let words = arguments.get(at + 32..at + 32 + 32 * number(at)?)?;
    let proof = words.chunks_exact(32);
    let proof = proof.map(|word| word.try_into().map(Hash));
    Some(AnchorCall {
        signed,
        proof: proof.collect::<Result<_, _>>().ok()?,
    })
}

impl SimulatedContract {
    pub(super) fn new(key: Address, domain: Domain, made: (u64, u64)) -> Self {
        Self {
            key,
            domain,
            made,
            taken: Vec::new(),
            bond: Address::default(),
            is_frozen: false,
        }
    }

    /// The only sequencer key of the log, and its domain.
    pub(super) fn trusts(&self) -> (Address, Hash) {
        (self.key, self.domain.separator())
    }

    /// The batch's hash, if the path leads to the checkpoint over `anchored` batches.
    pub(super) fn verify_batch(
        &self,
        anchored: u64,
        header: &BatchHeader,
        path: &[Hash],
    ) -> Result<Hash, RevertBytes> {
        let root = Hash(self.record(anchored)?[4]);
        let hash = header.hash();
        let leaf = log_tree::leaf(&hash);
        let is_held = verify_proof(&root, anchored, &[header.number], &[leaf], path).is_ok();
        let words = [anchored, header.number].map(word);
        is_held
            .then_some(hash)
            .ok_or_else(|| error("BatchNotInHistory(uint64,uint64)", &words))
    }

    /// The batch's hash, if the paths lead from the leaf to the batch, and to the checkpoint over `anchored` batches.
    pub(super) fn verify_action(
        &self,
        anchored: u64,
        (header, batch_path): (&BatchHeader, &[Hash]),
        (leaf, leaf_path): (&LogLeaf, &[Hash]),
    ) -> Result<Hash, RevertBytes> {
        let hash = self.verify_batch(anchored, header, batch_path)?;
        let count = u64::from(header.count);
        let index = leaf.sequence.checked_sub(header.first_sequence);
        let is_held = index.is_some_and(|index| {
            verify_proof(&header.root, count, &[index], &[leaf.hash()], leaf_path).is_ok()
        });
        let words = [header.number, leaf.sequence].map(word);
        is_held
            .then_some(hash)
            .ok_or_else(|| error("ActionNotInBatch(uint64,uint64)", &words))
    }

    /// Time at which the checkpoint over `anchored` batches was accepted, Unix seconds.
    pub(super) fn anchored_at_s(&self, anchored: u64) -> Result<u64, RevertBytes> {
        let mut taken = self.taken.iter();
        let found = taken.find(|taken| taken.checkpoint.batches == anchored);
        let unknown = || error("UnknownCheckpoint(uint64)", &[word(anchored)]);
        found.map(|taken| taken.anchored_at_s).ok_or_else(unknown)
    }

    /// Batches, sequence and root of the last checkpoint.
    pub(super) fn latest(&self) -> (u64, u64, Hash) {
        let last = self.taken.last().map(|taken| taken.checkpoint);
        last.map_or((0, 0, empty_root()), |last| {
            (last.batches, last.sequence, last.history)
        })
    }

    /// Executes a transaction in a block.
    pub(super) fn carry_out(
        &mut self,
        data: &[u8],
        block: u64,
        timestamp_s: u64,
    ) -> Result<Checkpoint, RevertBytes> {
        let Some(AnchorCall { signed, proof }) = read(data) else {
            return Err(Vec::new());
        };
        if self.is_frozen {
            return Err(error("NotOpen(uint8)", &[word(FROZEN)]));
        }
        let next = signed.checkpoint;
        let (batches, sequence, history) = self.latest();
        if next.batches <= batches || next.sequence <= sequence {
            let words = [batches, sequence, next.batches, next.sequence].map(word);
            return Err(error("NotNewer(uint64,uint64,uint64,uint64)", &words));
        }
        let latest_ms = timestamp_s * 1_000 + AHEAD_MS_MAX;
        if next.issued_at_ms > latest_ms {
            let words = [next.issued_at_ms, latest_ms].map(word);
            return Err(error("IssuedAhead(uint64,uint256)", &words));
        }
        let signer = signed
            .signature
            .recover(&next.digest(&self.domain.separator()));
        if signer != Ok(self.key) {
            let words = [signer.unwrap_or_default(), self.key].map(address_word);
            return Err(error("WrongSigner(address,address)", &words));
        }
        let extends = if batches == 0 {
            proof.is_empty()
        } else {
            verify_consistency(batches, next.batches, &history, &next.history, &proof).is_ok()
        };
        if !extends {
            let words = [batches, next.batches].map(word);
            return Err(error("HistoryNotExtended(uint64,uint64)", &words));
        }
        self.taken.push(AcceptedCheckpoint {
            checkpoint: next,
            anchored_at_s: timestamp_s,
            block,
        });
        Ok(next)
    }

    /// Executes a view call.
    pub(super) fn view(&self, data: &[u8]) -> Result<Vec<u8>, RevertBytes> {
        let (function, arguments) = data.split_first_chunk::<4>().ok_or_else(Vec::new)?;
        let argument = arguments
            .last_chunk::<8>()
            .map(|bytes| u64::from_be_bytes(*bytes));
        let is = |signature| *function == selector(signature);
        let words = if is("latest()") {
            let (batches, sequence, history) = self.latest();
            vec![word(batches), word(sequence), history.0]
        } else if is("checkpoint(uint64)") {
            self.record(argument.unwrap_or_default())?
        } else if is("domainSeparator()") {
            vec![self.domain.separator().0]
        } else if is("eip712Domain()") {
            domain_words(&self.domain)
        } else if is("bond()") {
            vec![address_word(self.bond)]
        } else if is("status()") {
            vec![word(if self.is_frozen { FROZEN } else { 0 })]
        } else if is("sequencerKeyCount()") {
            vec![word(1)]
        } else if is("keyTerm(uint32)") {
            vec![
                address_word(self.key),
                word(0),
                word(u64::MAX),
                word(0),
                word(0),
            ]
        } else if is("coverage()") {
            vec![word(0), word(u64::MAX), word(0)]
        } else {
            return Err(Vec::new());
        };
        Ok(words.concat())
    }

    /// The contract's record of a checkpoint; the last two words are the roots of history and state.
    pub(super) fn record(&self, batches: u64) -> Result<Vec<[u8; 32]>, RevertBytes> {
        if batches == 0 {
            let (made_at_s, made_in) = self.made;
            let numbers = [0, 0, made_at_s, made_in].map(word);
            return Ok([&numbers[..], &[empty_root().0, [0; 32]]].concat());
        }
        let mut taken = self.taken.iter();
        let found = taken.find(|taken| taken.checkpoint.batches == batches);
        let unknown = || error("UnknownCheckpoint(uint64)", &[word(batches)]);
        let AcceptedCheckpoint {
            checkpoint,
            anchored_at_s,
            block,
        } = *found.ok_or_else(unknown)?;
        let numbers = [
            checkpoint.sequence,
            checkpoint.issued_at_ms,
            anchored_at_s,
            block,
        ];
        let mut words: Vec<[u8; 32]> = numbers.map(word).to_vec();
        words.extend([checkpoint.history.0, checkpoint.state.0]);
        Ok(words)
    }
}

/// Whether a call asks for the last checkpoint.
pub(super) fn is_latest(data: &[u8]) -> bool {
    data == selector("latest()")
}

/// A forged checkpoint, as an answer to `latest`.
pub(super) fn claimed(batches: u64) -> String {
    let history = keccak(&batches.to_be_bytes());
    let words = [word(batches), word(batches), history.0];
    kedge_protocol::hash::to_hex(&words.concat())
}

#[cfg(test)]
pub(super) mod tests;
