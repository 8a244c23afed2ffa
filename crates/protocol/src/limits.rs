//! All bounds of the system; their relations are asserted at compile time.

/// Actions in one batch, and in one request.
pub const BATCH_ACTIONS_MAX: usize = 500;
/// Compact JSON bytes of one object's properties.
pub const OBJECT_PROPERTIES_BYTES_MAX: usize = 1_048_576;
/// Actions that an object's history lists.
pub const OBJECT_HISTORY_MAX: u64 = 1_000;
/// Distance below a signer's highest nonce at which an unused one is still accepted.
pub const NONCE_WINDOW: u64 = 1_024;
/// Distance above a signer's highest nonce up to which the next one may be.
pub const NONCE_JUMP_MAX: u64 = 1 << 20;
/// How far ahead a request's deadline may be, in seconds.
pub const DEADLINE_AHEAD_S_MAX: u64 = 24 * 60 * 60;
/// Bytes of one JSON request body, enough for a batch of large updates.
pub const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes of one action's payload: a whole object's properties and the members around them.
pub const PAYLOAD_BYTES_MAX: usize = OBJECT_PROPERTIES_BYTES_MAX + 64 * 1024;
/// Nesting of JSON arrays and objects.
pub const JSON_DEPTH_MAX: usize = 64;
/// Variations in one request.
pub const VARIATIONS_MAX: usize = 500;
/// Items of one list page if the request names no number.
pub const PAGE_ITEMS_DEFAULT: usize = 100;
/// Most items of one list page.
pub const PAGE_ITEMS_MAX: usize = 1_000;
/// Largest value of the deprecated `offset` parameter.
pub const PAGE_OFFSET_MAX: usize = 10_000;
/// Characters of a name (template, variation, organization, nickname).
pub const NAME_CHARS_MAX: usize = 200;
/// Characters of a description.
pub const DESCRIPTION_CHARS_MAX: usize = 4_000;
/// Bytes of an e-mail address (RFC 5321, 4.5.3.1.3, less the angle brackets).
pub const EMAIL_BYTES_MAX: usize = 254;
/// Bytes of an action kind.
pub const KIND_BYTES_MAX: usize = 64;
/// Fewest characters of a password (NIST SP 800-63B, 3.1.1.2 as a single factor).
pub const PASSWORD_CHARS_MIN: usize = 15;
/// Most bytes of a password: bounds the hashing work, far above any person's choice.
pub const PASSWORD_BYTES_MAX: usize = 1_024;
/// Fewest random bytes that a request with a secret must hold in `blind`.
pub const BLIND_BYTES_MIN: usize = 16;
/// Signing keys of one wallet.
pub const WALLET_KEYS_MAX: usize = 16;
/// Action rules of one template.
pub const TEMPLATE_RULES_MAX: usize = 64;
/// Permissions of one API key: each area at most once.
pub const KEY_PERMISSIONS_MAX: usize = 16;
/// Live API keys of one organization.
pub const KEYS_MAX: usize = 1_000;
/// How long a replaced secret may stay valid, seconds.
pub const ROTATION_OVERLAP_S_MAX: u64 = 7 * 24 * 60 * 60;
/// How long a replaced secret stays valid by default, seconds.
pub const ROTATION_OVERLAP_S_DEFAULT: u64 = 24 * 60 * 60;
/// Live webhooks of one organization.
pub const WEBHOOKS_MAX: usize = 100;
/// Bytes of a webhook's URL.
pub const URL_BYTES_MAX: usize = 2_048;
/// Types of events that one webhook names.
pub const WEBHOOK_EVENTS_MAX: usize = 32;
/// Pending deliveries of one webhook; further events wait in the log.
pub const WEBHOOK_PENDING_MAX: usize = 1_000;
/// Finished deliveries of one webhook that are kept for inspection.
pub const WEBHOOK_DELIVERIES_KEPT: usize = 1_000;
/// Bytes of the body that is sent to a webhook (Standard Webhooks 1.0, payload size).
pub const WEBHOOK_BODY_BYTES_MAX: usize = 20_000;
/// Bytes of a receiver's answer that are read.
pub const WEBHOOK_ANSWER_BYTES_MAX: usize = 16 * 1024;
/// How long an invitation may stay open, seconds.
pub const INVITATION_S_MAX: u64 = 30 * 24 * 60 * 60;
/// How long an invitation stays open by default, seconds.
pub const INVITATION_S_DEFAULT: u64 = 7 * 24 * 60 * 60;
/// Characters of a file's name.
pub const FILE_NAME_CHARS_MAX: usize = 255;
/// Bytes of a JSON Schema.
pub const SCHEMA_BYTES_MAX: usize = 64 * 1024;
/// Subschemas of a JSON Schema that may apply to one value: checking takes at most this many steps for each
/// part of a value.
pub const SCHEMA_WEIGHT_MAX: u64 = 256;
/// Regular expressions in a JSON Schema.
pub const SCHEMA_PATTERNS_MAX: usize = 64;
/// Bytes of one regular expression when it is compiled, and of its engine's cache.
pub const SCHEMA_PATTERN_BYTES_MAX: usize = 256 * 1024;
/// Weight of the regular expressions in a request's schema of properties, and in its schemas of payloads together: the
/// number of positions, repetitions written out. A position that may match a character outside ASCII counts as 10, one
/// of a class such as `\p{L}` as 1,000. Compiling them delays other requests by about a hundredth of a second at most.
pub const SCHEMA_EFFORT_MAX: u64 = 16 * 1024;
/// Steps that one check against a JSON Schema may take: the steps for each byte times the bytes. They take some
/// hundredths of a second at most.
pub const SCHEMA_WORK_MAX: u64 = 16 * 1024 * 1024;
/// Steps that one request may take: those of checks, and one for each byte of the objects that it changes.
pub const REQUEST_STEPS_MAX: u64 = 4 * SCHEMA_WORK_MAX;
/// Bytes of the JSON pointers to all places of a request's JSON Schema together. A schema of the maximum size whose
/// places have pointers of a hundred bytes needs less than half of it.
pub const SCHEMA_POINTER_BYTES_MAX: u64 = 2 * 1024 * 1024;
/// Bytes of objects' properties that the decisions on one request may read, in addition to those of the objects that it
/// changes.
pub const REQUEST_READ_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Violations of a JSON Schema that one error reports.
pub const SCHEMA_ERRORS_MAX: usize = 20;
/// Largest product of a value's bytes and its schema's weight at which violations are located.
pub const SCHEMA_WORK_TOLD_MAX: u64 = 512 * 1024;
/// Largest product of the bytes of a value's pointers and its schema's weight at which violations are located.
pub const SCHEMA_POINTERS_TOLD_MAX: u64 = 16 * 1024 * 1024;
/// Organizations whose rate counters are kept in memory.
pub const LIMITED_ORGANIZATIONS_MAX: usize = 100_000;
/// Addresses whose rate counters are kept in memory.
pub const LIMITED_ADDRESSES_MAX: usize = 100_000;
/// Accounts, and addresses, whose failed logins are kept in memory.
pub const LIMITED_ACCOUNTS_MAX: usize = 100_000;
/// Bytes of an action's payload that its event repeats; a longer payload is read with the action.
pub const EVENT_PAYLOAD_BYTES_MAX: usize = 4_096;
/// Characters of a failure's text that its event repeats.
pub const EVENT_TEXT_CHARS_MAX: usize = 300;
/// Events outside the log that are kept for an organization, and as many public ones.
pub const EVENTS_KEPT_MAX: u64 = 10_000;
/// Number of the oldest events that are deleted together above [`EVENTS_KEPT_MAX`].
pub const EVENTS_PRUNED_AT_ONCE: u64 = 1_000;
/// Places in the properties of a template's objects that may be indexed.
pub const INDEXED_PATHS_MAX: usize = 16;
/// Bytes of a text that an index distinguishes; longer texts may share an entry.
pub const INDEXED_TEXT_BYTES_MAX: usize = 256;
/// Digits of a number that an index distinguishes.
pub const INDEXED_NUMBER_DIGITS_MAX: usize = 64;
/// Rows of the store that one search may read, index entries and objects together.
pub const SEARCH_ROWS_MAX: usize = 50_000;
/// Bytes of properties that one search may read.
pub const SEARCH_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes of values that the conditions of one search may examine: each condition counts the value that it tests.
pub const SEARCH_TESTED_BYTES_MAX: usize = SEARCH_BYTES_MAX;
/// Nesting of a filter's `and`, `or` and `not`.
pub const SEARCH_DEPTH_MAX: usize = 16;
/// Parts of a filter: conditions, `and`, `or`, `not`, and the values of `in`.
pub const SEARCH_PARTS_MAX: usize = 128;
/// Keys of a path into the properties.
pub const SEARCH_PATH_KEYS_MAX: usize = 16;
/// Templates of an organization whose indexes a search tries when its filter names none.
pub const SEARCH_TEMPLATES_MAX: usize = 32;
/// Levels of a Merkle tree over u64-many leaves.
pub const TREE_LEVELS_MAX: usize = 64;
/// Hashes of a path or a consistency proof in evidence: one per level, and one that both trees share.
pub const EVIDENCE_PATH_MAX: usize = TREE_LEVELS_MAX + 1;
/// Sequencer keys of one log: no key has a higher place in the contract's list.
pub const SEQUENCER_KEYS_MAX: usize = 1_024;
/// Bytes of an evidence file: two opened leaves with their headers, or all leaves of a batch.
pub const EVIDENCE_BYTES_MAX: usize = 128 * 1024;
/// Bytes of an entry in evidence of a false SHA-256 root: the largest that an entry bundle can hold.
pub const TLOG_ENTRY_BYTES_MAX: usize = 65_535;
/// Bytes of the origin of a log's notes: the largest that a cosigned message can name.
pub const TLOG_ORIGIN_BYTES_MAX: usize = 255;
/// Bytes of a signed note: twenty times as much as the log's own lines and four cosignatures with ML-DSA need.
pub const NOTE_BYTES_MAX: usize = 512 * 1024;
/// Signature lines of a note.
pub const NOTE_LINES_MAX: usize = 100;
/// Bytes of a file with evidence of a fault of the state: three state proofs, and leaves with their headers.
pub const STATE_EVIDENCE_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of a submitted claim file: a longer text is disclosed by its hash alone.
pub const CLAIM_BYTES_MAX: usize = 128 * 1024;
/// Claims that a server checks in parallel; each takes a core for some milliseconds.
pub const CLAIM_CHECKS_MAX: usize = 4;

const _: () = {
    assert!(
        BATCH_ACTIONS_MAX <= u16::MAX as usize,
        "an action's index is a u16"
    );
    assert!(PAYLOAD_BYTES_MAX < BODY_BYTES_MAX);
    assert!(OBJECT_PROPERTIES_BYTES_MAX < PAYLOAD_BYTES_MAX);
    assert!(PAGE_ITEMS_DEFAULT <= PAGE_ITEMS_MAX);
    assert!(OBJECT_HISTORY_MAX as usize >= PAGE_ITEMS_MAX);
    assert!(
        NONCE_WINDOW.is_multiple_of(64),
        "the window is kept in 64-bit words"
    );
    assert!(VARIATIONS_MAX <= BATCH_ACTIONS_MAX);
    assert!(
        EVENTS_KEPT_MAX > EVENTS_PRUNED_AT_ONCE + 16 * BATCH_ACTIONS_MAX as u64,
        "what one commit adds never makes up all that is kept"
    );
    assert!(
        INDEXED_PATHS_MAX <= u8::MAX as usize,
        "a path's number is a u8"
    );
    assert!(
        INDEXED_NUMBER_DIGITS_MAX.is_multiple_of(2),
        "digits are kept in pairs"
    );
    assert!(EVIDENCE_BYTES_MAX < BODY_BYTES_MAX);
    assert!(
        CLAIM_BYTES_MAX < PAYLOAD_BYTES_MAX,
        "a verdict holds its claim"
    );
    assert!(SEARCH_DEPTH_MAX < JSON_DEPTH_MAX);
    assert!(SEARCH_ROWS_MAX >= 10 * PAGE_ITEMS_MAX);
    assert!(SEARCH_BYTES_MAX >= 16 * OBJECT_PROPERTIES_BYTES_MAX);
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Other implementations, and the service's document, repeat these numbers.
    #[test]
    fn what_is_published_has_its_published_number() {
        assert_eq!(BATCH_ACTIONS_MAX, 500);
        assert_eq!(OBJECT_PROPERTIES_BYTES_MAX, 1_048_576);
        assert_eq!(OBJECT_HISTORY_MAX, 1_000);
        assert_eq!(NONCE_WINDOW, 1_024);
        assert_eq!(NONCE_JUMP_MAX, 1_048_576);
        assert_eq!(DEADLINE_AHEAD_S_MAX, 86_400);
        assert_eq!(VARIATIONS_MAX, 500);
        assert_eq!(PAGE_ITEMS_DEFAULT, 100);
        assert_eq!(PAGE_ITEMS_MAX, 1_000);
        assert_eq!(PAGE_OFFSET_MAX, 10_000);
        assert_eq!(BLIND_BYTES_MIN, 16);
        assert_eq!(WEBHOOK_BODY_BYTES_MAX, 20_000);
    }
}
