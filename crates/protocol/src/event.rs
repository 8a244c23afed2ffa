//! Events: their types, their places and their ids. The events of an action are a function of the log alone, so every
//! replay yields the same events under the same ids.

use core::fmt;
use core::str::FromStr;

use crate::hash::Hash;
use crate::ids::{Id, Prefix};
use crate::limits::VARIATIONS_MAX;

pub use crate::event_type::EventType;

/// Position of an event in the order of all events: a sequence of the log and an index at it. The events of an action
/// have the indices from 0. After them come the batch that ends at the sequence, and then the events outside the log
/// that were written meanwhile. Positions only increase with time.
///
/// Text form: `17` for index 0, `17.501` for others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct EventPosition {
    /// Sequence of the log; 0 before the first action.
    pub sequence: u64,
    /// Index among the events at the sequence.
    pub index: u32,
}

impl EventPosition {
    /// Index of the batch that ends at the sequence: above every index of an action's event.
    pub const BATCH: u32 = VARIATIONS_MAX as u32;
    /// The first index of events outside the log.
    pub const SIDE: u32 = Self::BATCH + 1;

    /// The position after every present and future event at a sequence.
    pub const fn end_of(sequence: u64) -> Self {
        Self {
            sequence,
            index: u32::MAX,
        }
    }

    /// The first position at a sequence.
    pub const fn start_of(sequence: u64) -> Self {
        Self { sequence, index: 0 }
    }
}

impl fmt::Display for EventPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            0 => write!(f, "{}", self.sequence),
            index => write!(f, "{}.{index}", self.sequence),
        }
    }
}

/// The text is not a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a position is a sequence, or a sequence, a dot and an index")]
pub struct PositionError;

impl FromStr for EventPosition {
    type Err = PositionError;

    fn from_str(text: &str) -> Result<Self, PositionError> {
        let (sequence, index) = match text.split_once('.') {
            None => (text, "0"),
            Some((sequence, index)) => (sequence, index),
        };
        let position = Self {
            sequence: sequence.parse().map_err(|_| PositionError)?,
            index: index.parse().map_err(|_| PositionError)?,
        };
        // One position has one text: no signs, no leading zeros, no index 0 after a dot.
        if position.to_string() == text {
            Ok(position)
        } else {
            Err(PositionError)
        }
    }
}

impl From<EventPosition> for u128 {
    fn from(position: EventPosition) -> Self {
        Self::from(position.sequence) << 32 | Self::from(position.index)
    }
}

impl TryFrom<u128> for EventPosition {
    type Error = PositionError;

    fn try_from(number: u128) -> Result<Self, PositionError> {
        Ok(Self {
            sequence: u64::try_from(number >> 32).map_err(|_| PositionError)?,
            index: number as u32,
        })
    }
}

/// Id of the `index`-th event of an action, a batch or an anchor, which `hash` identifies: the action's content, the
/// batch's hash or the checkpoint's hash.
pub fn event_id(hash: &Hash, index: u32) -> Id {
    Id::made_by(Prefix::Event, hash, index)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn position() -> impl Strategy<Value = EventPosition> {
        let small = (0..4u64, 0..4u32);
        prop_oneof![small, (any::<u64>(), any::<u32>())]
            .prop_map(|(sequence, index)| EventPosition { sequence, index })
    }

    proptest! {
        #[test]
        fn a_position_has_one_text_and_one_number(one in position(), other in position()) {
            prop_assert_eq!(one.to_string().parse(), Ok(one));
            prop_assert_eq!(EventPosition::try_from(u128::from(one)), Ok(one));
            prop_assert_eq!(one.cmp(&other), u128::from(one).cmp(&u128::from(other)));
            prop_assert_eq!(one == other, one.to_string() == other.to_string());
        }

        #[test]
        fn other_texts_are_no_position(text in "[0-9+. -]{0,6}") {
            if let Ok(position) = text.parse::<EventPosition>() {
                prop_assert_eq!(position.to_string(), text);
            }
        }
    }

    #[test]
    fn bad_positions_are_refused() {
        for bad in [
            "",
            "-1",
            "+1",
            "01",
            "1.",
            ".1",
            "1.0",
            "1.01",
            "1.2.3",
            "1 ",
            "a",
            "18446744073709551616",
            "1.4294967296",
        ] {
            assert_eq!(bad.parse::<EventPosition>(), Err(PositionError), "{bad}");
        }
        assert!(EventPosition::try_from(u128::MAX).is_err());
    }

    #[test]
    fn what_is_told_at_a_sequence_has_its_order() {
        let at = |index| EventPosition { sequence: 9, index };
        let order = [
            EventPosition::end_of(8),
            EventPosition::start_of(9),
            at(VARIATIONS_MAX as u32 - 1),
            at(EventPosition::BATCH),
            at(EventPosition::SIDE),
            EventPosition::end_of(9),
            EventPosition::start_of(10),
        ];
        assert!(order.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn types_read_back() {
        for event_type in EventType::ALL {
            assert_eq!(EventType::of_number(event_type.number()), Some(*event_type));
            assert_eq!(EventType::of_text(event_type.text()), Some(*event_type));
            assert_eq!(event_type.to_string(), event_type.text());
        }
    }
}
