//! Bytes of a key or a value, stored inline if they are few: most rows are small, and an allocation for each would cost
//! more than the rest of writing and dropping them.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// Up to `N` bytes inline, more in an allocation.
#[derive(Clone)]
pub(crate) struct InlineBytes<const N: usize>(InlineForm<N>);

#[derive(Clone)]
enum InlineForm<const N: usize> {
    Few(u8, [u8; N]),
    Many(Box<[u8]>),
}

impl<const N: usize> InlineBytes<N> {
    pub(crate) fn from_slice(bytes: &[u8]) -> Self {
        let mut few = [0; N];
        match (few.get_mut(..bytes.len()), u8::try_from(bytes.len())) {
            (Some(place), Ok(count)) => {
                place.copy_from_slice(bytes);
                Self(InlineForm::Few(count, few))
            }
            _ => Self(InlineForm::Many(Box::from(bytes))),
        }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        match &self.0 {
            InlineForm::Few(count, few) => &few[..usize::from(*count)],
            InlineForm::Many(many) => many,
        }
    }

    /// Sets these bytes, in its present memory if they fit.
    pub(super) fn set(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            InlineForm::Many(many) if many.len() == bytes.len() => many.copy_from_slice(bytes),
            _ => *self = Self::from_slice(bytes),
        }
    }
}

impl<const N: usize> Default for InlineBytes<N> {
    fn default() -> Self {
        Self::from_slice(&[])
    }
}

impl<const N: usize> Deref for InlineBytes<N> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl<const N: usize> Borrow<[u8]> for InlineBytes<N> {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl<const N: usize> PartialEq for InlineBytes<N> {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl<const N: usize> Eq for InlineBytes<N> {}

impl<const N: usize> PartialOrd for InlineBytes<N> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<const N: usize> Ord for InlineBytes<N> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl<const N: usize> Hash for InlineBytes<N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // As a borrowed slice, because look-ups are by slice.
        self.as_slice().hash(state);
    }
}

impl<const N: usize> fmt::Debug for InlineBytes<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}
