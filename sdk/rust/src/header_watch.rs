//! Memory of the sequencer's headers, to notice contradictions.

use std::collections::BTreeMap;

use kedge_protocol::batch::SignedBatch;
use parking_lot::Mutex;

use crate::error::VerificationError;

/// Number of remembered headers, the newest ones.
const HEADERS_MAX: usize = 1024;

/// Headers seen so far, by number.
#[derive(Debug, Default)]
pub(crate) struct HeaderWatch {
    headers: Mutex<BTreeMap<u64, SignedBatch>>,
}

impl HeaderWatch {
    /// Records a header whose signature was verified. Fails if another header has its number, or if it does not connect
    /// to the one before or after it.
    pub(crate) fn see(&self, batch: &SignedBatch) -> Result<(), VerificationError> {
        let mut headers = self.headers.lock();
        let number = batch.header.number;
        if let Some(known) = headers.get(&number) {
            return if known.header == batch.header {
                Ok(())
            } else {
                let evidence = Box::new([*known, *batch]);
                Err(VerificationError::Equivocation(evidence))
            };
        }
        let before = number.checked_sub(1).and_then(|n| headers.get(&n));
        if let Some(before) = before {
            check_link(before, batch)?;
        }
        if let Some(after) = headers.get(&(number + 1)) {
            check_link(batch, after)?;
        }
        headers.insert(number, *batch);
        if headers.len() > HEADERS_MAX {
            headers.pop_first();
        }
        Ok(())
    }

    /// The seen header with the highest number.
    pub(crate) fn highest(&self) -> Option<SignedBatch> {
        let headers = self.headers.lock();
        headers.last_key_value().map(|(_, batch)| *batch)
    }
}

fn check_link(before: &SignedBatch, after: &SignedBatch) -> Result<(), VerificationError> {
    let (first, second) = (&before.header, &after.header);
    let joined = second.previous_head == first.head
        && second.first_sequence == first.last_sequence() + 1
        && second.sealed_at_ms >= first.sealed_at_ms;
    if joined {
        Ok(())
    } else {
        Err(VerificationError::BrokenLink(Box::new([*before, *after])))
    }
}

#[cfg(test)]
mod tests {
    use kedge_protocol::Hash;
    use kedge_protocol::batch::BatchHeader;
    use kedge_protocol::hash::keccak;
    use kedge_protocol::signature::SigningKey;

    use super::*;

    fn batch(number: u64) -> SignedBatch {
        let head = |n: u64| keccak(&n.to_be_bytes());
        BatchHeader {
            number,
            first_sequence: number * 2 + 1,
            count: 2,
            previous_head: head(number),
            head: head(number + 1),
            root: Hash::ZERO,
            history: Hash::ZERO,
            state: Hash::ZERO,
            sealed_at_ms: 1000 + number,
        }
        .sign(&Hash::ZERO, &SigningKey::from_bytes(&[7; 32]).unwrap())
    }

    #[test]
    fn order_does_not_matter_but_contradictions_do() {
        let watch = HeaderWatch::default();
        for number in [4, 2, 3, 3, 9] {
            assert_eq!(watch.see(&batch(number)), Ok(()));
        }
        assert_eq!(watch.highest(), Some(batch(9)));

        let mut other = batch(3);
        other.header.sealed_at_ms += 1;
        let evidence = Box::new([batch(3), other]);
        let seen = watch.see(&other);
        assert_eq!(seen, Err(VerificationError::Equivocation(evidence)));

        let mut stranger = batch(5);
        stranger.header.previous_head = Hash::ZERO;
        let evidence = Box::new([batch(4), stranger]);
        let seen = watch.see(&stranger);
        assert_eq!(seen, Err(VerificationError::BrokenLink(evidence)));
        let mut late = batch(8);
        late.header.sealed_at_ms = u64::MAX;
        assert!(matches!(
            watch.see(&late),
            Err(VerificationError::BrokenLink(_))
        ));
        assert_eq!(watch.see(&batch(5)), Ok(()));
    }

    #[test]
    fn memory_is_bounded() {
        let watch = HeaderWatch::default();
        for number in 0..=HEADERS_MAX as u64 {
            assert_eq!(watch.see(&batch(number)), Ok(()));
        }
        assert_eq!(watch.headers.lock().len(), HEADERS_MAX);
        assert_eq!(watch.highest(), Some(batch(HEADERS_MAX as u64)));
    }
}
