//! Evidence that a thief of a sequencer's key could make without a log.

use kedge_protocol::Hash;
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::eip712::Domain;
use kedge_protocol::evidence::{Evidence, EvidenceFile, HeaderEvidence};
use kedge_protocol::signature::SigningKey;

/// Two headers with one number, signed by one key.
pub(crate) fn equivocation(
    domain: Domain,
    key: &SigningKey,
    key_index: u32,
    number: u64,
) -> EvidenceFile {
    let signed = |sealed_at_ms| {
        let header = BatchHeader {
            number,
            first_sequence: 1 + number,
            count: 1,
            previous_head: Hash([1; 32]),
            head: Hash([2; 32]),
            root: Hash([3; 32]),
            history: Hash([4; 32]),
            state: Hash::ZERO,
            sealed_at_ms,
        };
        HeaderEvidence::signed(&header.sign(&domain.separator(), key), key_index)
    };
    let evidence = Evidence::ConflictingBatches {
        first: signed(1),
        second: signed(2),
    };
    EvidenceFile::new(domain, evidence)
}
