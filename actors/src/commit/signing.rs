//! Choice of the key that signs the next batch, from the server's keys, the log's list, and the contract's list as the
//! anchor actor last read it. The log's list determines the key of a batch; the contract's, once it is known, must
//! agree. The committer asks for the key when it opens a batch (adr/0011).

use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use kedge_chain::contract::KeyTrust;
use kedge_protocol::checkpoint::{Checkpoint, SignedCheckpoint};
use kedge_protocol::eip712::Domain;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, BatchKeys, Hash, KeyActivation, SequencerKeys};

use crate::metric_definitions as metric;

/// The sequencer's keys on this server: the present one, and the next if it is known.
#[derive(Clone)]
pub struct HeldKeys(Vec<Arc<SigningKey>>);

impl HeldKeys {
    /// The first key signs the batches of a new log.
    pub fn new(first: SigningKey, others: impl IntoIterator<Item = SigningKey>) -> Self {
        let keys = std::iter::once(first).chain(others);
        Self(keys.map(Arc::new).collect())
    }

    /// The key with this address.
    pub fn get(&self, address: Address) -> Option<&Arc<SigningKey>> {
        self.0.iter().find(|key| key.address() == address)
    }

    pub fn addresses(&self) -> Vec<Address> {
        self.0.iter().map(|key| key.address()).collect()
    }
}

/// Reason why a batch or a checkpoint is not signed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SigningError {
    /// This server does not hold the right key.
    #[error(
        "batch {batch} must be signed with the sequencer key {wanted}, which the log names from batch {from_batch} on, but this server does not hold that key: set sequencer_key_file or next_sequencer_key_file to its file and start again"
    )]
    NotHeld {
        /// The batch that waits.
        batch: u64,
        /// The key that signs it.
        wanted: Address,
        /// The key's first batch.
        from_batch: u64,
    },
    /// Log and contract differ.
    #[error(
        "the log names the sequencer key {log} for batch {batch}, the contract names {contract}: nothing is signed until they agree. If the contract lacks a rotation, run `kedge contract rotate` again with the same key and batch"
    )]
    Disagree {
        /// The first batch for which they differ.
        batch: u64,
        log: Address,
        contract: Address,
    },
    /// The contract anchors another log than this one.
    #[error(
        "the contract signs for chain {contract_chain} and contract {contract}, and this log for chain {log_chain} and contract {log}: nothing that this log signs could be anchored, so nothing is signed. Correct chain_id and chain_contract (domain_contract after a change of contracts), and start with a new data directory: this log holds no batch yet"
    )]
    OtherDomain {
        contract_chain: u64,
        contract: Address,
        log_chain: u64,
        log: Address,
    },
    /// A new log whose contract has not named the first key yet.
    #[error(
        "the contract has not been read yet: a new log signs nothing before the contract names its first key. Check chain_rpc_url and chain_contract"
    )]
    ContractUnknown,
}

/// Chooses the key that signs a batch.
pub(crate) struct BatchSigner {
    held: HeldKeys,
    separator: Hash,
    /// Whether a new log waits for the contract's keys.
    asks_contract: bool,
    log: ArcSwap<SequencerKeys>,
    pub(crate) contract: ArcSwapOption<KeyTrust>,
    /// Whether the contract signs for this log's domain; `None` before it was read.
    domain: ArcSwapOption<Result<(), SigningError>>,
    stopped: ArcSwapOption<SigningError>,
}

impl BatchSigner {
    pub(crate) fn new(
        held: HeldKeys,
        separator: Hash,
        asks_contract: bool,
        log: SequencerKeys,
    ) -> Self {
        Self {
            held,
            separator,
            asks_contract,
            log: ArcSwap::from_pointee(log),
            contract: ArcSwapOption::empty(),
            domain: ArcSwapOption::empty(),
            stopped: ArcSwapOption::empty(),
        }
    }

    /// Whether the contract's domain must be read before anything is signed.
    pub(crate) fn asks_domain(&self, batches: u64) -> bool {
        let is_known = self.domain.load().as_deref() == Some(&Ok(()));
        self.asks_contract && batches == 0 && !is_known
    }

    /// Notes the contract's domain; `own` is the log's.
    pub(crate) fn note_domain(&self, found: &Domain, own: &Domain) {
        let agreed = if found.separator() == own.separator() {
            Ok(())
        } else {
            Err(SigningError::OtherDomain {
                contract_chain: found.chain_id,
                contract: found.verifying_contract,
                log_chain: own.chain_id,
                log: own.verifying_contract,
            })
        };
        self.domain.store(Some(Arc::new(agreed)));
    }

    /// Returns to the keys that the committed log names.
    pub(crate) fn reset(&self, log: SequencerKeys) {
        self.log.store(Arc::new(log));
    }

    /// The address of the key that the log names for a batch.
    pub(crate) fn named_for(&self, batch: u64) -> Address {
        self.log.load().key_of(batch)
    }

    /// The key that signs a batch.
    pub(crate) fn key_of(&self, batch: u64) -> Result<Arc<SigningKey>, SigningError> {
        let log = self.log.load();
        if batch == 0 && self.asks_contract {
            // The first signature fixes what a log is bound to.
            match self.domain.load().as_deref() {
                Some(agreed) => agreed.clone()?,
                None => return Err(SigningError::ContractUnknown),
            }
        }
        match self.contract.load().as_deref() {
            Some(contract) => agree(&log, contract, batch)?,
            None if batch == 0 && self.asks_contract => return Err(SigningError::ContractUnknown),
            None => {}
        }
        self.held_key(&log, batch)
    }

    fn held_key(&self, log: &SequencerKeys, batch: u64) -> Result<Arc<SigningKey>, SigningError> {
        let KeyActivation { key, from_batch } = log.entry_of(batch);
        let held = self.held.get(key).ok_or(SigningError::NotHeld {
            batch,
            wanted: key,
            from_batch,
        });
        held.cloned()
    }

    /// Signs a checkpoint with the key of its last batch.
    pub(crate) fn sign(&self, checkpoint: &Checkpoint) -> Result<SignedCheckpoint, SigningError> {
        let last = checkpoint.batches.saturating_sub(1);
        let key = self.held_key(&self.log.load(), last)?;
        Ok(checkpoint.sign(&self.separator, &key))
    }

    /// Adds a key that batch `batch` of the log names. False if the key should have signed that batch already: the
    /// rules were violated, and nothing may be signed any more.
    pub(crate) fn named(&self, entry: KeyActivation, batch: u64) -> bool {
        let mut keys = SequencerKeys::clone(&self.log.load());
        let follows = entry.from_batch > batch && keys.push(entry).is_ok();
        if follows {
            self.log.store(Arc::new(keys));
        }
        follows
    }

    /// Notes at the start whether the next batch can be signed.
    pub(crate) fn begin(&self, next_batch: u64) {
        self.stopped
            .store(self.key_of(next_batch).err().map(Arc::new));
        self.show();
    }

    /// Notes whether the next batch can be signed, and logs a change.
    pub(crate) fn review(&self, next_batch: u64) {
        match self.key_of(next_batch) {
            Ok(_) => {
                if self.stopped.swap(None).is_some() {
                    tracing::info!(next_batch, "batches are signed again");
                }
            }
            Err(why) => self.stop(why),
        }
        self.show();
    }

    pub(crate) fn stop(&self, why: SigningError) {
        if self.stopped.load().as_deref() != Some(&why) {
            tracing::error!(%why, "no batch is signed");
            self.stopped.store(Some(Arc::new(why)));
        }
        self.show();
    }

    /// Forgets why nothing could be signed, because this node no longer leads.
    pub(crate) fn end(&self) {
        self.stopped.store(None);
        self.show();
    }

    fn show(&self) {
        let is_stopped = u8::from(self.stopped().is_some());
        metrics::gauge!(metric::SIGNING_STOPPED).set(f64::from(is_stopped));
    }

    /// Why nothing is signed; `None` if batches are signed.
    pub(crate) fn stopped(&self) -> Option<Arc<SigningError>> {
        self.stopped.load_full()
    }

    /// True while the contract's list and the log's differ: one names a key that the other does not name yet.
    pub(crate) fn is_unsettled(&self) -> bool {
        let log = self.log.load();
        let contract = self.contract.load();
        contract
            .as_deref()
            .is_none_or(|contract| agree(&log, contract, u64::MAX - 1).is_err())
    }
}

/// Whether log and contract name the same keys for all batches up to `batch` that the contract covers.
fn agree(log: &SequencerKeys, contract: &KeyTrust, batch: u64) -> Result<(), SigningError> {
    let (from, until) = (contract.coverage.from_batch, contract.coverage.until_batch);
    if batch < from {
        return Ok(());
    }
    let last = batch.min(until.saturating_sub(1));
    // First batches of the keys in both lists, and the first batch that the contract covers.
    let begins = contract.keys.iter().map(|term| term.from_batch);
    let begins = begins.chain(log.entries().iter().map(|entry| entry.from_batch));
    let differs = |batch: &u64| contract_key(contract, *batch) != Some(log.key_of(*batch));
    let first = begins
        .chain([from])
        .filter(|batch| (from..=last).contains(batch))
        .filter(differs)
        .min();
    match first {
        None => Ok(()),
        Some(batch) => Err(SigningError::Disagree {
            batch,
            log: log.key_of(batch),
            contract: contract_key(contract, batch).unwrap_or_default(),
        }),
    }
}

fn contract_key(contract: &KeyTrust, batch: u64) -> Option<Address> {
    let terms = contract.keys.iter().rev();
    let mut terms = terms.filter(|term| term.from_batch <= batch);
    terms.next().map(|term| term.key)
}

#[cfg(test)]
mod tests {
    use kedge_protocol::evidence::{ContractCoverage, KeyTerm};

    use super::*;

    fn key(byte: u8) -> SigningKey {
        SigningKey::from_bytes(&[byte; 32]).unwrap()
    }

    fn entry(byte: u8, from_batch: u64) -> KeyActivation {
        let key = key(byte).address();
        KeyActivation { key, from_batch }
    }

    fn signing(asks_contract: bool, log: &[KeyActivation]) -> BatchSigner {
        let log = SequencerKeys::new(log.to_vec()).unwrap();
        let held = HeldKeys::new(key(1), [key(2)]);
        BatchSigner::new(held, Hash::ZERO, asks_contract, log)
    }

    fn contract(keys: &[(u8, u64)], (from_batch, until_batch): (u64, u64)) -> Arc<KeyTrust> {
        let term = |(byte, from_batch): &(u8, u64)| KeyTerm {
            from_batch: *from_batch,
            ..KeyTerm::only(key(*byte).address())
        };
        Arc::new(KeyTrust {
            keys: keys.iter().map(term).collect(),
            coverage: ContractCoverage {
                from_batch,
                until_batch,
                retired_at_s: 0,
            },
            evidence_age_s: 0,
        })
    }

    const ALL: (u64, u64) = (0, u64::MAX);

    fn signer(signing: &BatchSigner, batch: u64) -> Result<Address, SigningError> {
        signing.key_of(batch).map(|key| key.address())
    }

    // Holds invariant 99.
    #[test]
    fn each_batch_is_signed_with_its_key_or_not_at_all() {
        let signing = signing(false, &[entry(1, 0), entry(2, 5), entry(3, 9)]);
        assert_eq!(signer(&signing, 4), Ok(key(1).address()));
        assert_eq!(signer(&signing, 5), Ok(key(2).address()));
        assert_eq!(signer(&signing, 8), Ok(key(2).address()));
        let wanted = key(3).address();
        let not_held = SigningError::NotHeld {
            batch: 9,
            wanted,
            from_batch: 9,
        };
        assert_eq!(signer(&signing, 9), Err(not_held.clone()));
        let text = not_held.to_string();
        assert!(text.contains("batch 9") && text.contains(&wanted.to_string()));
    }

    #[test]
    fn the_log_names_keys_of_later_batches_only() {
        let signing = signing(false, &[entry(1, 0)]);
        assert!(!signing.named(entry(2, 3), 4));
        assert!(!signing.named(entry(2, 4), 4));
        assert_eq!(signer(&signing, 9), Ok(key(1).address()));
        assert!(signing.named(entry(2, 6), 4));
        assert_eq!(signer(&signing, 5), Ok(key(1).address()));
        assert_eq!(signer(&signing, 6), Ok(key(2).address()));
        // A key must not begin before one that the log names already.
        assert!(!signing.named(entry(1, 5), 4));
    }

    // Holds invariants 102, 238.
    #[test]
    fn a_new_log_waits_for_the_contract() {
        let signing = signing(true, &[entry(1, 0)]);
        assert_eq!(signer(&signing, 0), Err(SigningError::ContractUnknown));
        // While the node is down, an existing log continues.
        assert_eq!(signer(&signing, 1), Ok(key(1).address()));
        let own = Domain {
            chain_id: 1,
            verifying_contract: Address([9; 20]),
        };
        signing.contract.store(Some(contract(&[(1, 0)], ALL)));
        assert_eq!(signer(&signing, 0), Err(SigningError::ContractUnknown));
        let other = Domain { chain_id: 2, ..own };
        signing.note_domain(&other, &own);
        assert!(signing.asks_domain(0) && !signing.asks_domain(1));
        let wrong = signer(&signing, 0).unwrap_err();
        assert!(wrong.to_string().contains("chain 2"), "{wrong}");
        assert_eq!(signer(&signing, 1), Ok(key(1).address()));
        signing.note_domain(&own, &own);
        assert!(!signing.asks_domain(0));
        signing.contract.store(Some(contract(&[(2, 0)], ALL)));
        let wrong = signer(&signing, 0).unwrap_err();
        assert!(matches!(wrong, SigningError::Disagree { batch: 0, .. }));
        signing.contract.store(Some(contract(&[(1, 0)], ALL)));
        assert_eq!(signer(&signing, 0), Ok(key(1).address()));
    }

    // Holds invariant 101.
    #[test]
    fn log_and_contract_agree_up_to_the_batch_that_is_signed() {
        let signing = signing(false, &[entry(1, 0), entry(2, 5)]);
        let differ_at = |terms: &[(u8, u64)], coverage, batch| {
            signing.contract.store(Some(contract(terms, coverage)));
            match signer(&signing, batch) {
                Err(SigningError::Disagree { batch, .. }) => Some(batch),
                Ok(_) => None,
                other => panic!("{other:?}"),
            }
        };
        // The contract lacks the rotation, which counts from the log's batch on.
        assert_eq!(differ_at(&[(1, 0)], ALL, 4), None);
        assert_eq!(differ_at(&[(1, 0)], ALL, 5), Some(5));
        assert!(signing.is_unsettled());
        // The contract has a rotation that the log lacks, or another key or batch.
        assert_eq!(differ_at(&[(1, 0), (2, 5), (1, 7)], ALL, 6), None);
        assert_eq!(differ_at(&[(1, 0), (2, 5), (1, 7)], ALL, 8), Some(7));
        assert_eq!(differ_at(&[(1, 0), (2, 4)], ALL, 6), Some(4));
        assert_eq!(differ_at(&[(1, 0), (3, 5)], ALL, 6), Some(5));
        // A successor covers only its own batches, and a retired contract only those before it.
        assert_eq!(differ_at(&[(2, 0)], (5, u64::MAX), 6), None);
        assert_eq!(differ_at(&[(2, 0)], (4, u64::MAX), 6), Some(4));
        assert_eq!(differ_at(&[(1, 0)], (0, 5), 6), None);
        assert_eq!(differ_at(&[(1, 0), (2, 5)], ALL, 6), None);
        assert!(!signing.is_unsettled());
    }

    // Holds invariant 100.
    #[test]
    fn no_key_is_named_for_a_batch_that_is_signed() {
        let signing = signing(false, &[entry(1, 0)]);
        assert!(!signing.named(entry(2, 7), 7));
        assert!(signing.named(entry(2, 8), 7));
        assert!(!signing.named(entry(1, 8), 7));
        assert_eq!(signing.log.load().entries().len(), 2);
    }

    // Holds invariant 99.
    #[test]
    fn a_checkpoint_bears_the_key_of_its_last_batch() {
        let signing = signing(false, &[entry(1, 0), entry(2, 5), entry(3, 9)]);
        let signer = |batches| {
            let checkpoint = Checkpoint {
                batches,
                sequence: batches,
                head: Hash::ZERO,
                history: Hash::ZERO,
                state: Hash::ZERO,
                issued_at_ms: 0,
            };
            let signed = signing.sign(&checkpoint)?;
            let digest = checkpoint.digest(&Hash::ZERO);
            Ok(signed.signature.recover(&digest).unwrap())
        };
        for (batches, byte) in [(0, 1), (5, 1), (6, 2), (9, 2)] {
            assert_eq!(signer(batches), Ok(key(byte).address()), "{batches}");
        }
        let not_held = signer(10).unwrap_err();
        assert!(matches!(not_held, SigningError::NotHeld { batch: 9, .. }));
    }

    #[test]
    fn a_stop_is_noted_and_ends() {
        let signing = signing(false, &[entry(1, 0), entry(3, 5)]);
        signing.review(4);
        assert_eq!(signing.stopped(), None);
        signing.review(5);
        assert!(signing.stopped().is_some());
        signing.review(4);
        assert_eq!(signing.stopped(), None);
    }

    #[test]
    fn what_was_named_and_not_committed_is_forgotten() {
        let signing = signing(false, &[entry(1, 0)]);
        assert!(signing.named(entry(2, 6), 4));
        assert_eq!(signing.named_for(5), key(1).address());
        assert_eq!(signing.named_for(6), key(2).address());
        signing.reset(SequencerKeys::new(vec![entry(1, 0)]).unwrap());
        assert_eq!(signing.named_for(6), key(1).address());
        assert_eq!(signer(&signing, 6), Ok(key(1).address()));
    }

    #[test]
    fn at_the_start_it_is_known_whether_the_next_batch_can_be_signed() {
        let signing = signing(false, &[entry(1, 0), entry(3, 5)]);
        signing.begin(5);
        assert!(signing.stopped().is_some());
        signing.begin(4);
        assert_eq!(signing.stopped(), None);
    }

    #[test]
    fn the_keys_that_are_held_can_be_listed() {
        let held = HeldKeys::new(key(1), [key(2)]);
        assert_eq!(held.addresses(), [key(1).address(), key(2).address()]);
    }
}
