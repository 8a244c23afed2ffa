//! The sequencer's keys: the list of keys and the batches that each signs. A header names no key; every check takes a
//! [`BatchKeys`] instead. The log and the anchor contract hold the same list.

use serde::{Deserialize, Serialize};

use crate::Address;
use crate::limits::SEQUENCER_KEYS_MAX;

/// Finds the key that signs a batch.
pub trait BatchKeys {
    /// The key that signs the batch with this number.
    fn key_of(&self, batch: u64) -> Address;

    /// The key that signs a checkpoint over this many batches: the key of its last batch.
    fn key_of_checkpoint(&self, batches: u64) -> Address {
        self.key_of(batches.saturating_sub(1))
    }
}

/// One key for all batches: a log whose key was never rotated.
impl BatchKeys for Address {
    fn key_of(&self, _batch: u64) -> Address {
        *self
    }
}

/// A key, and the first batch that it signs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyActivation {
    /// The key's address.
    pub key: Address,
    /// The number of the first batch that it signs.
    pub from_batch: u64,
}

/// The payload of `system.sequencer_key`; the action's target is the key's address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SequencerKeyPayload {
    /// The number of the first batch that the key signs.
    pub from_batch: u64,
}

impl KeyActivation {
    /// The entry that a `system.sequencer_key` with this target and payload names, if any.
    pub fn named_by(target: &str, payload: &str) -> Option<Self> {
        let SequencerKeyPayload { from_batch } = serde_json::from_str(payload).ok()?;
        let key = key_named(target)?;
        Some(Self { key, from_batch })
    }
}

/// The key that an action's target names. Only the key's canonical text is accepted, so that the log has one form of
/// it.
pub fn key_named(target: &str) -> Option<Address> {
    let key: Address = target.parse().ok()?;
    (key != Address::ZERO && key.to_string() == target).then_some(key)
}

/// Why entries do not form a list of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyListError {
    /// The first key must sign from batch 0.
    #[error("the first key of a log signs from batch 0")]
    First,
    /// Each key must begin at a later batch than the key before it.
    #[error("key {index} begins at batch {from_batch}, not after the key before it")]
    Order {
        /// The key's index, from 0.
        index: usize,
        /// The batch at which it begins.
        from_batch: u64,
    },
    /// The zero address signs nothing.
    #[error("key {0} is the zero address")]
    Zero(usize),
    /// More keys than a log may have.
    #[error("a log has at most {SEQUENCER_KEYS_MAX} keys")]
    TooMany,
}

/// All keys of a log, ordered by their batches. Never empty.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "Vec<KeyActivation>", into = "Vec<KeyActivation>")]
pub struct SequencerKeys(Vec<KeyActivation>);

impl SequencerKeys {
    /// Checks the entries and makes a list of them.
    ///
    /// # Errors
    /// The first invalid entry.
    pub fn new(entries: Vec<KeyActivation>) -> Result<Self, KeyListError> {
        let mut entries = entries.into_iter();
        let first = entries.next().ok_or(KeyListError::First)?;
        if first.from_batch != 0 {
            return Err(KeyListError::First);
        }
        if first.key == Address::ZERO {
            return Err(KeyListError::Zero(0));
        }
        let mut keys = Self(vec![first]);
        entries.try_for_each(|entry| keys.push(entry))?;
        Ok(keys)
    }

    /// Adds the next key.
    ///
    /// # Errors
    /// Why it cannot follow the existing keys.
    pub fn push(&mut self, next: KeyActivation) -> Result<(), KeyListError> {
        let index = self.0.len();
        if index >= SEQUENCER_KEYS_MAX {
            return Err(KeyListError::TooMany);
        }
        if next.key == Address::ZERO {
            return Err(KeyListError::Zero(index));
        }
        if next.from_batch <= self.last().from_batch {
            let from_batch = next.from_batch;
            return Err(KeyListError::Order { index, from_batch });
        }
        self.0.push(next);
        Ok(())
    }

    /// The entries, in order.
    pub fn entries(&self) -> &[KeyActivation] {
        &self.0
    }

    /// The log's first key.
    pub fn first(&self) -> Address {
        self.0[0].key
    }

    /// The last entry.
    pub fn last(&self) -> KeyActivation {
        self.0[self.0.len() - 1]
    }

    /// The entry in force at a batch.
    pub fn entry_of(&self, batch: u64) -> KeyActivation {
        let after = self.0.partition_point(|entry| entry.from_batch <= batch);
        self.0[after.saturating_sub(1)]
    }

    /// The keys that sign at least one of the first `batches` batches, and always the first key.
    #[must_use]
    pub fn begun(&self, batches: u64) -> Self {
        let begun = self.0.partition_point(|entry| entry.from_batch < batches);
        Self(self.0[..begun.max(1)].to_vec())
    }

    /// True if this list is `other` followed by any number of keys.
    pub fn extends(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    /// The first batch below `batches` whose key differs in the two lists.
    pub fn first_difference(&self, other: &Self, batches: u64) -> Option<u64> {
        let starts = self.0.iter().chain(&other.0).map(|entry| entry.from_batch);
        starts
            .filter(|batch| *batch < batches && self.key_of(*batch) != other.key_of(*batch))
            .min()
    }
}

impl BatchKeys for SequencerKeys {
    fn key_of(&self, batch: u64) -> Address {
        self.entry_of(batch).key
    }
}

impl From<Address> for SequencerKeys {
    fn from(key: Address) -> Self {
        Self(vec![KeyActivation { key, from_batch: 0 }])
    }
}

impl From<&Address> for SequencerKeys {
    fn from(key: &Address) -> Self {
        Self::from(*key)
    }
}

impl From<&SequencerKeys> for SequencerKeys {
    fn from(keys: &SequencerKeys) -> Self {
        keys.clone()
    }
}

impl TryFrom<Vec<KeyActivation>> for SequencerKeys {
    type Error = KeyListError;

    fn try_from(entries: Vec<KeyActivation>) -> Result<Self, KeyListError> {
        Self::new(entries)
    }
}

impl From<SequencerKeys> for Vec<KeyActivation> {
    fn from(keys: SequencerKeys) -> Self {
        keys.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: u8, from_batch: u64) -> KeyActivation {
        let key = Address([key; 20]);
        KeyActivation { key, from_batch }
    }

    // Holds invariant 99.
    #[test]
    fn each_batch_has_the_key_that_began_last() {
        let keys = SequencerKeys::new(vec![entry(1, 0), entry(2, 7), entry(1, 8)]).unwrap();
        for (batch, key) in [(0, 1), (6, 1), (7, 2), (8, 1), (u64::MAX, 1)] {
            assert_eq!(keys.key_of(batch), Address([key; 20]), "batch {batch}");
        }
        for (batches, key) in [(0, 1), (7, 1), (8, 2), (9, 1)] {
            let found = keys.key_of_checkpoint(batches);
            assert_eq!(found, Address([key; 20]), "{batches} batches");
        }
        assert_eq!(Address([9; 20]).key_of(77), Address([9; 20]));
    }

    #[test]
    fn a_list_has_a_first_and_a_last_key() {
        let keys = SequencerKeys::new(vec![entry(1, 0), entry(2, 7)]).unwrap();
        assert_eq!(keys.first(), Address([1; 20]));
        assert_eq!(keys.last(), entry(2, 7));
        assert_eq!(keys.entries(), [entry(1, 0), entry(2, 7)]);
    }

    #[test]
    fn a_key_is_named_by_its_one_text() {
        let key: Address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
            .parse()
            .unwrap();
        let target = key.to_string();
        assert_eq!(key_named(&target), Some(key));
        let named = KeyActivation::named_by(&target, r#"{"from_batch":7}"#);
        assert_eq!(named, Some(KeyActivation { key, from_batch: 7 }));
        for other in ["", &target.to_lowercase(), &Address::ZERO.to_string()] {
            assert_eq!(key_named(other), None, "{other}");
            assert_eq!(KeyActivation::named_by(other, r#"{"from_batch":7}"#), None);
        }
        for payload in ["", "{}", r#"{"from_batch":7,"until":9}"#] {
            assert_eq!(KeyActivation::named_by(&target, payload), None, "{payload}");
        }
    }

    #[test]
    fn no_list_begins_late_or_falls() {
        let list = |entries: &[KeyActivation]| SequencerKeys::new(entries.to_vec());
        assert_eq!(list(&[]), Err(KeyListError::First));
        assert_eq!(list(&[entry(1, 1)]), Err(KeyListError::First));
        assert_eq!(list(&[entry(0, 0)]), Err(KeyListError::Zero(0)));
        assert_eq!(
            list(&[entry(1, 0), entry(0, 4)]),
            Err(KeyListError::Zero(1))
        );
        for from_batch in [0, 4, 5] {
            let index = 2;
            assert_eq!(
                list(&[entry(1, 0), entry(2, 5), entry(3, from_batch)]),
                Err(KeyListError::Order { index, from_batch })
            );
        }
        let rising = |count: u64| (0..count).map(|from| entry(1, from)).collect();
        assert!(SequencerKeys::new(rising(SEQUENCER_KEYS_MAX as u64)).is_ok());
        assert_eq!(
            SequencerKeys::new(rising(SEQUENCER_KEYS_MAX as u64 + 1)),
            Err(KeyListError::TooMany)
        );
    }

    #[test]
    fn lists_are_compared_below_a_batch() {
        let one = SequencerKeys::new(vec![entry(1, 0), entry(2, 5)]).unwrap();
        let more = SequencerKeys::new(vec![entry(1, 0), entry(2, 5), entry(3, 9)]).unwrap();
        let other = SequencerKeys::new(vec![entry(1, 0), entry(4, 6)]).unwrap();
        assert!(more.extends(&one) && one.extends(&one) && !one.extends(&more));
        assert_eq!(more.begun(9), one);
        assert_eq!(more.begun(10), more);
        assert_eq!(more.begun(0), SequencerKeys::from(Address([1; 20])));
        assert_eq!(one.first_difference(&more, 9), None);
        assert_eq!(one.first_difference(&more, 10), Some(9));
        assert_eq!(one.first_difference(&other, 5), None);
        assert_eq!(one.first_difference(&other, 6), Some(5));
        assert_eq!(other.first_difference(&one, u64::MAX), Some(5));
    }

    #[test]
    fn a_list_is_read_as_strictly_as_it_is_made() {
        let one = SequencerKeys::new(vec![entry(1, 0), entry(2, 5)]).unwrap();
        let text = serde_json::to_string(&one).unwrap();
        assert!(text.starts_with(r#"[{"key":"0x0101"#) && text.ends_with(r#""from_batch":5}]"#));
        assert_eq!(serde_json::from_str::<SequencerKeys>(&text).unwrap(), one);
        let late = text.replace("\"from_batch\":0", "\"from_batch\":1");
        assert!(serde_json::from_str::<SequencerKeys>(&late).is_err());
        let more = text.replace("\"from_batch\":5", "\"from_batch\":5,\"until\":9");
        assert!(serde_json::from_str::<SequencerKeys>(&more).is_err());
    }
}
