//! The nonce window of a signer: RFC 6479's anti-replay bitmap, wide enough for parallel clients.

use crate::limits::{NONCE_JUMP_MAX, NONCE_WINDOW};

/// One word more than the window, so that the window's two ends never share a word.
const WORDS: usize = (NONCE_WINDOW / 64 + 1) as usize;

/// Which nonces a signer has spent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NonceWindow {
    highest: u64,
    words: [u64; WORDS],
}

/// Why a nonce is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NonceError {
    /// The nonce was spent before.
    #[error("nonce {nonce} was used before; the highest used is {highest}")]
    Used {
        /// The rejected nonce.
        nonce: u64,
        /// The signer's highest.
        highest: u64,
    },
    /// The nonce lies below the window, where nothing is remembered.
    #[error("nonce {nonce} is more than {NONCE_WINDOW} below the highest used, {highest}")]
    TooOld {
        /// The rejected nonce.
        nonce: u64,
        /// The signer's highest.
        highest: u64,
    },
    /// The nonce lies too far above the highest one.
    #[error("nonce {nonce} is more than {NONCE_JUMP_MAX} above the highest used, {highest}")]
    TooFar {
        /// The rejected nonce.
        nonce: u64,
        /// The signer's highest.
        highest: u64,
    },
}

impl Default for NonceWindow {
    fn default() -> Self {
        Self {
            highest: 0,
            words: [0; WORDS],
        }
    }
}

impl NonceWindow {
    /// The stored form's length in bytes: the highest, then the bitmap's words, big-endian.
    pub const BYTES: usize = 8 + WORDS * 8;

    /// The highest nonce spent; 0 before the first.
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// Checks whether `nonce` may be spent.
    pub fn check(&self, nonce: u64) -> Result<(), NonceError> {
        let highest = self.highest;
        if nonce > highest {
            return if nonce - highest > NONCE_JUMP_MAX {
                Err(NonceError::TooFar { nonce, highest })
            } else {
                Ok(())
            };
        }
        if highest - nonce > NONCE_WINDOW {
            return Err(NonceError::TooOld { nonce, highest });
        }
        let (word, bit) = Self::place(nonce);
        if self.words[word] & bit == 0 {
            Ok(())
        } else {
            Err(NonceError::Used { nonce, highest })
        }
    }

    /// Spends `nonce`.
    pub fn spend(&mut self, nonce: u64) -> Result<(), NonceError> {
        self.check(nonce)?;
        let words_ahead = (nonce / 64).saturating_sub(self.highest / 64);
        for step in 1..=words_ahead.min(WORDS as u64) {
            let word = (self.highest / 64 + step) as usize % WORDS;
            self.words[word] = 0;
        }
        self.highest = self.highest.max(nonce);
        let (word, bit) = Self::place(nonce);
        self.words[word] |= bit;
        Ok(())
    }

    fn place(nonce: u64) -> (usize, u64) {
        ((nonce / 64) as usize % WORDS, 1 << (nonce % 64))
    }

    /// The stored form.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        let numbers = core::iter::once(self.highest).chain(self.words);
        for (chunk, number) in out.chunks_exact_mut(8).zip(numbers) {
            chunk.copy_from_slice(&number.to_be_bytes());
        }
        out
    }

    /// Reads the stored form; `None` for another length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (chunks, rest) = bytes.as_chunks::<8>();
        if chunks.len() != WORDS + 1 || !rest.is_empty() {
            return None;
        }
        let mut words = [0; WORDS];
        for (word, chunk) in words.iter_mut().zip(&chunks[1..]) {
            *word = u64::from_be_bytes(*chunk);
        }
        Some(Self {
            highest: u64::from_be_bytes(chunks[0]),
            words,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn edges_of_the_window() {
        let mut window = NonceWindow::default();
        assert_eq!(window.spend(NONCE_JUMP_MAX), Ok(()));
        let highest = NONCE_JUMP_MAX;
        assert_eq!(window.check(highest - NONCE_WINDOW), Ok(()));
        assert_eq!(
            window.check(highest - NONCE_WINDOW - 1),
            Err(NonceError::TooOld {
                nonce: highest - NONCE_WINDOW - 1,
                highest
            })
        );
        assert_eq!(window.check(highest + NONCE_JUMP_MAX), Ok(()));
        assert_eq!(
            window.check(highest + NONCE_JUMP_MAX + 1),
            Err(NonceError::TooFar {
                nonce: highest + NONCE_JUMP_MAX + 1,
                highest
            })
        );
        assert!(NonceWindow::default().spend(0).is_ok());
    }

    #[test]
    fn the_stored_form_has_one_length() {
        assert_eq!(NonceWindow::BYTES, 8 * (1 + 17));
        let window = NonceWindow::default();
        let mut bytes = window.to_bytes().to_vec();
        assert_eq!(NonceWindow::from_bytes(&bytes), Some(window));
        bytes.extend([0; 8]);
        for length in 0..bytes.len() {
            let read = NonceWindow::from_bytes(&bytes[..length]);
            assert_eq!(read.is_some(), length == NonceWindow::BYTES, "{length}");
        }
    }

    proptest! {
        /// Compares the window with a set that forgets nothing.
        #[test]
        fn agrees_with_a_plain_set(steps in prop::collection::vec((0u64..3000, any::<bool>()), 1..400)) {
            let mut window = NonceWindow::default();
            let mut spent = HashSet::new();
            let mut highest = 0u64;
            for (step, up) in steps {
                let nonce = if up { highest + step } else { highest.saturating_sub(step) };
                let allowed = highest.saturating_sub(nonce) <= NONCE_WINDOW && !spent.contains(&nonce);
                prop_assert_eq!(window.spend(nonce).is_ok(), allowed, "nonce {} highest {}", nonce, highest);
                if allowed {
                    spent.insert(nonce);
                    highest = highest.max(nonce);
                }
                prop_assert_eq!(window.highest(), highest);
                prop_assert_eq!(NonceWindow::from_bytes(&window.to_bytes()), Some(window.clone()));
            }
        }
    }
}
