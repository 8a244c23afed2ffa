//! The sequencer's step: checks that a decision is still valid, and assigns sequences, times, leaves and heads to the
//! decided actions. It never reads the store.

use kedge_protocol::chain::{LogLeaf, next_head};
use kedge_protocol::hash::{keccak, keccak_parts};
use kedge_protocol::ids::IdMap;
use kedge_protocol::{Address, Hash, Id};

use crate::world::CountedResource;

/// Key of a version that the sequencer compares: a resource, or a name that must stay unique.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct VersionKey {
    tag: u8,
    bytes: [u8; 16],
}

const TAG_EMAIL: u8 = 128;
const TAG_ADDRESS: u8 = 129;
const TAG_TEMPLATE_NAME: u8 = 130;
const TAG_PLACE: u8 = 131;
const TAG_CLAIM_CONTEXT: u8 = 132;

impl VersionKey {
    pub fn resource(id: Id) -> Self {
        Self {
            tag: id.prefix as u8,
            bytes: id.bytes,
        }
    }

    /// An e-mail address in its normal form.
    pub fn email(email: &str) -> Self {
        Self {
            tag: TAG_EMAIL,
            bytes: keccak(email.as_bytes()).first_16(),
        }
    }

    /// A wallet's address.
    pub fn address(address: Address) -> Self {
        Self {
            tag: TAG_ADDRESS,
            bytes: keccak(&address.0).first_16(),
        }
    }

    /// A template's name in its organization.
    pub fn template_name(organization: Id, name: &str) -> Self {
        Self {
            tag: TAG_TEMPLATE_NAME,
            bytes: keccak_parts(&[&organization.bytes, name.as_bytes()]).first_16(),
        }
    }

    /// The context of a claim, which the log accepts once.
    pub fn claim_context(context: &Hash) -> Self {
        Self {
            tag: TAG_CLAIM_CONTEXT,
            bytes: keccak(&context.0).first_16(),
        }
    }
}

impl VersionKey {
    /// Key of the `number`th resource of a limited type in an organization. Two decisions that saw the same count claim
    /// the same number, so only one of them is placed.
    pub fn place(organization: Id, of: CountedResource, number: u64) -> Self {
        let parts: [&[u8]; 3] = [&organization.bytes, &[of as u8], &number.to_be_bytes()];
        Self {
            tag: TAG_PLACE,
            bytes: keccak_parts(&parts).first_16(),
        }
    }
}

type VersionMap = IdMap<VersionKey, u64>;

/// A key that a unit writes, with the versions before and after.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyWrite {
    pub key: VersionKey,
    /// The version that the decision read; 0 for a key that must not exist yet.
    pub base_version: u64,
    /// The version after the unit.
    pub version: u64,
}

impl KeyWrite {
    /// A key that a unit only reads: it must still be at this version.
    pub fn read(key: VersionKey, version: u64) -> Self {
        Self {
            key,
            base_version: version,
            version,
        }
    }

    /// Whether the key was read in a snapshot, by an actor that does not own it.
    fn is_of_snapshot(&self) -> bool {
        self.base_version == 0 || self.base_version == self.version
    }
}

/// The decision is outdated and must be repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StaleDecision {
    /// The changed key; `None` if the decision is older than the remembered versions.
    pub key: Option<VersionKey>,
}

/// Versions of recently written keys, bounded: two generations, the older one dropped as a whole.
struct RecentVersions {
    current: VersionMap,
    previous: VersionMap,
    generation_keys_max: usize,
    /// All writes at or after this sequence are remembered.
    floor_sequence: u64,
    current_since_sequence: u64,
}

impl RecentVersions {
    fn version(&self, key: &VersionKey) -> Option<u64> {
        self.current
            .get(key)
            .or_else(|| self.previous.get(key))
            .copied()
    }

    fn record(&mut self, key: VersionKey, version: u64, sequence: u64) {
        if self.current.len() >= self.generation_keys_max {
            self.previous = std::mem::take(&mut self.current);
            self.floor_sequence = self.current_since_sequence;
            self.current_since_sequence = sequence;
        }
        self.current.insert(key, version);
    }
}

/// End of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogTip {
    /// Sequence of the last action; 0 before the first.
    pub sequence: u64,
    /// Head of the hash chain.
    pub head: Hash,
    /// Lower bound of the next action's time.
    pub timestamp_ms: u64,
}

/// A decided action without a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SequencerInput {
    pub content: Hash,
    /// The resource's integrity after the action.
    pub integrity: Hash,
}

/// A placed action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SequencedAction {
    pub sequence: u64,
    pub leaf: Hash,
    /// The log's head after the action.
    pub head: Hash,
}

/// The end of the log and the versions of recent writes.
pub struct Sequencer {
    tip: LogTip,
    recent: RecentVersions,
}

impl Sequencer {
    /// Continues from a tip. `recent_keys_max` bounds the remembered keys.
    pub fn new(tip: LogTip, recent_keys_max: usize) -> Self {
        Self {
            tip,
            recent: RecentVersions {
                current: VersionMap::default(),
                previous: VersionMap::default(),
                generation_keys_max: (recent_keys_max / 2).max(1),
                floor_sequence: tip.sequence,
                current_since_sequence: tip.sequence,
            },
        }
    }

    pub fn tip(&self) -> LogTip {
        self.tip
    }

    /// The time for the next actions: now, or the last action's time if the clock went back.
    pub fn time(&self, now_ms: u64) -> u64 {
        now_ms.max(self.tip.timestamp_ms)
    }

    /// Checks a unit's reads and writes. `read_sequence` is the sequence of the snapshot in which keys were read or
    /// found absent. Keys owned by an actor are compared only if they are remembered, because no other part writes
    /// them.
    pub fn check(&self, writes: &[KeyWrite], read_sequence: u64) -> Result<(), StaleDecision> {
        for write in writes {
            match self.recent.version(&write.key) {
                Some(version) if version != write.base_version => {
                    return Err(StaleDecision {
                        key: Some(write.key),
                    });
                }
                None if write.is_of_snapshot() && read_sequence < self.recent.floor_sequence => {
                    return Err(StaleDecision { key: None });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Places checked actions consecutively, at one time, which [`Self::time`] returned.
    pub fn place(
        &mut self,
        timestamp_ms: u64,
        actions: &[SequencerInput],
        writes: &[KeyWrite],
    ) -> Vec<SequencedAction> {
        assert!(timestamp_ms >= self.tip.timestamp_ms, "time never falls");
        self.tip.timestamp_ms = timestamp_ms;
        let leaves: Vec<LogLeaf> = (self.tip.sequence + 1..)
            .zip(actions)
            .map(|(sequence, action)| LogLeaf {
                sequence,
                timestamp_ms,
                content: action.content,
                integrity: action.integrity,
            })
            .collect();
        let placed = LogLeaf::hash_each(&leaves)
            .into_iter()
            .map(|leaf| {
                self.tip.sequence += 1;
                self.tip.head = next_head(&self.tip.head, &leaf);
                SequencedAction {
                    sequence: self.tip.sequence,
                    leaf,
                    head: self.tip.head,
                }
            })
            .collect();
        for write in writes {
            self.recent
                .record(write.key, write.version, self.tip.sequence);
        }
        placed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequencer(recent_keys_max: usize) -> Sequencer {
        let tip = LogTip {
            sequence: 10,
            head: Hash::ZERO,
            timestamp_ms: 1_000,
        };
        Sequencer::new(tip, recent_keys_max)
    }

    fn write(name: &str, base_version: u64) -> KeyWrite {
        KeyWrite {
            key: VersionKey::email(name),
            base_version,
            version: base_version + 1,
        }
    }

    const ACTION: SequencerInput = SequencerInput {
        content: Hash::ZERO,
        integrity: Hash::ZERO,
    };

    #[test]
    fn a_second_writer_of_one_version_is_stale() {
        let mut sequencer = sequencer(100);
        let claim = [write("a", 0)];
        assert_eq!(sequencer.check(&claim, 10), Ok(()));
        sequencer.place(1_000, &[ACTION], &claim);
        assert_eq!(
            sequencer.check(&claim, 10),
            Err(StaleDecision {
                key: Some(claim[0].key)
            })
        );
        assert_eq!(sequencer.check(&[write("a", 1)], 11), Ok(()));
    }

    #[test]
    fn an_absence_below_the_floor_is_stale() {
        let mut sequencer = sequencer(2);
        for (i, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
            assert_eq!(sequencer.check(&[write(name, 0)], 10 + i as u64), Ok(()));
            sequencer.place(1_000, &[ACTION], &[write(name, 0)]);
        }
        // "a" and "b" are forgotten: an old reader cannot rely on their absence.
        assert_eq!(
            sequencer.check(&[write("a", 0)], 10),
            Err(StaleDecision { key: None })
        );
        assert_eq!(sequencer.check(&[write("e", 0)], 14), Ok(()));
    }

    // Holds invariant 132.
    #[test]
    fn a_read_stands_until_somebody_writes() {
        let mut sequencer = sequencer(2);
        let read = |version| [KeyWrite::read(VersionKey::email("a"), version)];
        sequencer.place(1_000, &[ACTION], &[write("a", 3)]);
        assert_eq!(sequencer.check(&read(4), 11), Ok(()));
        sequencer.place(1_000, &[ACTION], &read(4));
        assert_eq!(sequencer.check(&[write("a", 4)], 12), Ok(()));
        sequencer.place(1_000, &[ACTION], &[write("a", 4)]);
        let key = Some(VersionKey::email("a"));
        assert_eq!(sequencer.check(&read(4), 12), Err(StaleDecision { key }));
        assert_eq!(sequencer.check(&read(5), 13), Ok(()));
        for (i, name) in ["b", "c", "d"].into_iter().enumerate() {
            sequencer.place(1_000, &[ACTION], &[write(name, 0)]);
            assert!(sequencer.tip().sequence == 14 + i as u64);
        }
        // Forgotten: only a recent reader knows that it has not changed.
        assert_eq!(
            sequencer.check(&read(5), 12),
            Err(StaleDecision { key: None })
        );
        assert_eq!(sequencer.check(&read(5), 16), Ok(()));
    }

    // Holds invariant 4.
    #[test]
    fn sequences_are_dense_and_time_never_falls() {
        let mut sequencer = sequencer(100);
        assert_eq!(sequencer.time(500), 1_000);
        let placed = sequencer.place(1_500, &[ACTION, ACTION], &[]);
        assert_eq!(placed[0].sequence, 11);
        assert_eq!(placed[1].sequence, 12);
        for action in &placed {
            let leaf = LogLeaf {
                sequence: action.sequence,
                timestamp_ms: 1_500,
                content: ACTION.content,
                integrity: ACTION.integrity,
            };
            assert_eq!(action.leaf, leaf.hash());
        }
        assert_eq!(placed[0].head, next_head(&Hash::ZERO, &placed[0].leaf));
        assert_eq!(sequencer.tip().head, placed[1].head);
        assert_eq!(sequencer.time(1_200), 1_500);
    }

    #[test]
    fn what_is_remembered_reaches_back_to_the_floor() {
        let mut sequencer = sequencer(2);
        for name in ["a", "b", "c", "d"] {
            sequencer.place(1_000, &[ACTION], &[write(name, 0)]);
        }
        // Each generation has one key: "c" at 13 and "d" at 14 are left.
        for (read_sequence, expected) in [
            (12, Err(StaleDecision { key: None })),
            (13, Ok(())),
            (14, Ok(())),
        ] {
            assert_eq!(sequencer.check(&[write("e", 0)], read_sequence), expected);
            let read = [KeyWrite::read(VersionKey::email("e"), 7)];
            assert_eq!(sequencer.check(&read, read_sequence), expected);
            // Only the owning actor writes its keys.
            assert_eq!(sequencer.check(&[write("a", 1)], read_sequence), Ok(()));
        }
        for name in ["c", "d"] {
            let key = Some(VersionKey::email(name));
            assert_eq!(
                sequencer.check(&[write(name, 0)], 14),
                Err(StaleDecision { key })
            );
            assert_eq!(sequencer.check(&[write(name, 1)], 0), Ok(()));
        }
    }

    #[test]
    fn keys_of_different_things_differ() {
        let id = |prefix, byte| Id {
            prefix,
            bytes: [byte; 16],
        };
        let organization = id(kedge_protocol::Prefix::Organization, 1);
        let other = id(kedge_protocol::Prefix::Organization, 2);
        let hash = Hash([1; 32]);
        let keys = [
            VersionKey::resource(organization),
            VersionKey::resource(other),
            VersionKey::resource(id(kedge_protocol::Prefix::Wallet, 1)),
            VersionKey::email("a"),
            VersionKey::email("b"),
            VersionKey::address(Address([1; 20])),
            VersionKey::address(Address([2; 20])),
            VersionKey::template_name(organization, "a"),
            VersionKey::template_name(organization, "b"),
            VersionKey::template_name(other, "a"),
            VersionKey::claim_context(&hash),
            VersionKey::claim_context(&Hash([2; 32])),
            VersionKey::place(organization, CountedResource::ApiKeys, 1),
            VersionKey::place(organization, CountedResource::ApiKeys, 2),
            VersionKey::place(organization, CountedResource::Webhooks, 1),
            VersionKey::place(other, CountedResource::ApiKeys, 1),
        ];
        let different: std::collections::HashSet<VersionKey> = keys.into_iter().collect();
        assert_eq!(different.len(), keys.len());
    }
}
