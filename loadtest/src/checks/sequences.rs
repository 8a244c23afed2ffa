//! Set of acknowledged sequences, one bit an action, so that a long run stays small.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Positions further ahead are invalid.
const SPAN_MAX: u64 = 1 << 34;

/// Sequences named by answers.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SequenceBitmap {
    /// Last sequence of the log before the run.
    base: u64,
    #[serde(serialize_with = "write_bits", deserialize_with = "read_bits")]
    bits: Vec<u64>,
    /// Number of acknowledged actions.
    pub(crate) named: u64,
    /// Of these, actions at a position that another answer named too.
    pub(crate) twice: u64,
    /// Of these, actions at a position before the run or far after it.
    pub(crate) misplaced: u64,
    pub(crate) highest: u64,
}

impl SequenceBitmap {
    pub(crate) fn new(base: u64) -> Self {
        Self {
            base,
            ..Self::default()
        }
    }

    /// Adds `count` positions from `first` on.
    pub(crate) fn add(&mut self, first: u64, count: u64) {
        self.named += count;
        let end = first.saturating_add(count);
        if first <= self.base || end - self.base > SPAN_MAX {
            self.misplaced += count;
            return;
        }
        for sequence in first..end {
            let bit = sequence - self.base;
            let word = (bit / 64) as usize;
            if word >= self.bits.len() {
                self.bits.resize(word + 1 + word / 8, 0);
            }
            let mask = 1 << (bit % 64);
            self.twice += u64::from(self.bits[word] & mask != 0);
            self.bits[word] |= mask;
            self.highest = self.highest.max(sequence);
        }
    }

    /// Adds the positions of another part of the run.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.bits.resize(self.bits.len().max(other.bits.len()), 0);
        for (own, others) in self.bits.iter_mut().zip(&other.bits) {
            self.twice += u64::from((*own & others).count_ones());
            *own |= others;
        }
        self.named += other.named;
        self.twice += other.twice;
        self.misplaced += other.misplaced;
        self.highest = self.highest.max(other.highest);
    }
}

fn write_bits<S: Serializer>(bits: &[u64], serializer: S) -> Result<S::Ok, S::Error> {
    let bytes: Vec<u8> = bits.iter().flat_map(|word| word.to_le_bytes()).collect();
    BASE64.encode(bytes).serialize(serializer)
}

fn read_bits<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let bytes = BASE64.decode(text).map_err(serde::de::Error::custom)?;
    let (words, _) = bytes.as_chunks::<8>();
    Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_two_answers_name_is_found() {
        let mut places = SequenceBitmap::new(100);
        places.add(101, 500);
        places.add(700, 1);
        assert_eq!((places.named, places.twice, places.highest), (501, 0, 700));
        places.add(600, 2);
        assert_eq!((places.named, places.twice), (503, 1));
        places.add(100, 1);
        places.add(u64::MAX - 1, 1);
        assert_eq!(places.misplaced, 2);
    }

    #[test]
    fn parts_of_a_run_come_together_through_a_pipe() {
        let mut one = SequenceBitmap::new(7);
        one.add(8, 64);
        let mut other = SequenceBitmap::new(7);
        other.add(71, 3);
        let text = serde_json::to_string(&other).unwrap();
        one.merge(&serde_json::from_str(&text).unwrap());
        assert_eq!((one.named, one.twice, one.highest), (67, 1, 73));
    }
}
