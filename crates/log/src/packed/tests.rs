//! Packed records read back as written, and damaged bytes are an error or another value, never a panic and never the
//! same value.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::borrow::Cow;
use std::fmt::Debug;

use kedge_protocol::action::{Kind, RequestHead};
use kedge_protocol::record::{ActionRecord, FailedAction, RequestRecord};
use kedge_protocol::signature::Signature;
use kedge_protocol::{Address, Hash, Id, Prefix};
use proptest::prelude::*;

use super::packing::{ByteReader, push_varint};
use super::{PackedRequest, RecordOutline, action_of, groups, leaves_of, pack};
use crate::codec::CodecError;

fn id() -> impl Strategy<Value = Id> {
    (0..Prefix::ALL.len(), any::<[u8; 16]>()).prop_map(|(number, bytes)| Id {
        prefix: Prefix::ALL[number],
        bytes,
    })
}

fn id_of(prefix: Prefix) -> impl Strategy<Value = Id> {
    any::<[u8; 16]>().prop_map(move |bytes| Id { prefix, bytes })
}

fn hash() -> impl Strategy<Value = Hash> {
    prop_oneof![Just(Hash::ZERO), any::<[u8; 32]>().prop_map(Hash)]
}

fn address() -> impl Strategy<Value = Address> {
    any::<[u8; 20]>().prop_map(Address)
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        (0..Kind::BUILT_IN.len()).prop_map(|number| Kind::BUILT_IN[number].clone()),
        "x\\.[a-zA-Z0-9._-]{1,62}".prop_map(|text| Kind::of_text(&text).unwrap()),
    ]
}

fn action() -> impl Strategy<Value = ActionRecord<'static>> {
    let target = prop_oneof![
        Just(None),
        Just(Some(String::new())),
        ".{0,40}".prop_map(Some),
        id().prop_map(|id| Some(id.to_string())),
    ];
    let texts = (target, ".{0,60}", prop::option::of(".{0,60}"));
    let numbers = (any::<u16>(), any::<u64>(), any::<u64>());
    (kind(), texts, id(), numbers, hash()).prop_map(
        |(kind, (target, payload, disclosed), resource, (index, version, previous), integrity)| {
            ActionRecord {
                index,
                kind,
                target: Cow::Owned(target.unwrap_or_else(|| resource.to_string())),
                payload: Cow::Owned(payload),
                disclosed: disclosed.map(Cow::Owned),
                resource,
                version,
                previous_integrity: integrity,
                previous_sequence: previous,
            }
        },
    )
}

fn record(actions: usize) -> impl Strategy<Value = RequestRecord<'static>> {
    let failed =
        (any::<u16>(), hash()).prop_map(|(index, action_hash)| FailedAction { index, action_hash });
    let signature = (any::<[u8; 32]>(), any::<[u8; 32]>()).prop_map(|(r, s)| {
        let mut bytes = [27; 65];
        bytes[..32].copy_from_slice(&r);
        bytes[32..64].copy_from_slice(&s);
        Signature(bytes)
    });
    (
        (any::<u64>(), 0..u64::MAX / 2, any::<u32>(), any::<u64>()),
        (id_of(Prefix::Organization), id_of(Prefix::Wallet)),
        (address(), any::<u64>(), any::<u64>(), any::<bool>()),
        (signature, hash()),
        prop::collection::vec(action(), 1..=actions),
        prop::collection::vec(failed, 0..4),
    )
        .prop_map(
            |(place, ids, head, (signature, salt_seed), actions, failed)| RequestRecord {
                batch_number: place.0,
                first_sequence: place.1,
                first_leaf_index: place.2,
                timestamp_ms: place.3,
                organization_id: ids.0,
                wallet_id: ids.1,
                head: RequestHead {
                    signer: head.0,
                    nonce: head.1,
                    deadline_s: head.2,
                    atomic: head.3,
                },
                signature,
                salt_seed,
                actions,
                failed,
            },
        )
}

fn packed(record: &RequestRecord<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    pack(&mut bytes, record);
    bytes
}

fn unpacked(bytes: &[u8]) -> Result<RequestRecord<'_>, CodecError> {
    PackedRequest::read(bytes)?.into_record()
}

/// Every cut causes an error; every flipped bit causes an error or another value.
fn check_damage<T: PartialEq + Debug>(
    bytes: &[u8],
    value: &T,
    read: impl Fn(&[u8]) -> Result<T, CodecError>,
) {
    assert_eq!(read(bytes).as_ref(), Ok(value));
    for end in 0..bytes.len() {
        assert_ne!(read(&bytes[..end]).as_ref(), Ok(value), "cut at {end}");
    }
    let longer = [bytes, &[0]].concat();
    assert_ne!(read(&longer).as_ref(), Ok(value), "a byte longer");
    let mut changed = bytes.to_vec();
    for bit in 0..bytes.len() * 8 {
        changed[bit / 8] ^= 1 << (bit % 8);
        let found = read(&changed);
        assert_ne!(found.as_ref(), Ok(value), "bit {bit}");
        changed[bit / 8] ^= 1 << (bit % 8);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn records_read_back_whole_and_in_parts(record in record(40)) {
        let bytes = packed(&record);
        prop_assert_eq!(unpacked(&bytes), Ok(record.clone()));
        let request = PackedRequest::read(&bytes).unwrap();
        for (position, action) in record.actions.iter().enumerate() {
            prop_assert_eq!(request.action(position), Ok(action.clone()));
        }
        prop_assert!(request.action(record.actions.len()).is_err());
        let (outline, actions) = RecordOutline::read(&bytes).unwrap();
        let begin = bytes.len() - actions.len();
        prop_assert_eq!(RecordOutline::bytes(&bytes[..199]), Some(begin));
        prop_assert_eq!(RecordOutline::bytes(&bytes[..198]), None);
        prop_assert_eq!(&RecordOutline::read(&bytes[..begin]).unwrap().0.head, &outline.head);
        for (position, action) in record.actions.iter().enumerate() {
            let range = outline.range(position).unwrap();
            prop_assert_eq!(action_of(&actions[range]), Ok(action.clone()));
        }
        prop_assert_eq!(outline.range(record.actions.len()), None);
    }

    #[test]
    fn leaves_are_those_of_the_records(records in prop::collection::vec(record(30), 1..30)) {
        let bytes: Vec<Vec<u8>> = records.iter().map(packed).collect();
        let expected: Vec<Vec<Hash>> = records.iter().map(|r| r.leaves(&r.hashes())).collect();
        let requests: Vec<_> = bytes.iter().map(|bytes| PackedRequest::read(bytes).unwrap()).collect();
        for (request, expected) in requests.iter().zip(&expected) {
            prop_assert_eq!(&request.leaves().unwrap(), expected);
        }
        let groups = groups(&requests);
        prop_assert_eq!(groups.iter().map(|group| group.len()).sum::<usize>(), requests.len());
        let found = groups.into_iter().map(|group| leaves_of(group).unwrap());
        prop_assert_eq!(found.collect::<Vec<_>>().concat(), expected.concat());
    }

    #[test]
    fn damaged_records_are_noticed(record in record(3)) {
        check_damage(&packed(&record), &record, |bytes| {
            unpacked(bytes).map(super::owned_record)
        });
    }

    #[test]
    fn noise_is_never_a_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = unpacked(&bytes);
        if let Some(first) = bytes.first_mut() {
            *first = crate::codec::FORMAT;
        }
        let noise_reads = unpacked(&bytes).map(|record| packed(&record));
        // Readable bytes are packed to exactly the same bytes.
        prop_assert!(noise_reads.is_err() || noise_reads == Ok(bytes));
    }

    #[test]
    fn numbers_have_one_form(number: u64, shift in 0..64u32) {
        let number = number >> shift;
        let mut bytes = Vec::new();
        push_varint(&mut bytes, number);
        prop_assert_eq!(ByteReader(&bytes).varint(), Ok(number));
        let last = bytes.len() - 1;
        bytes[last] |= 0x80;
        bytes.push(0);
        prop_assert!(ByteReader(&bytes).varint().is_err());
    }
}

/// The packed record of a full batch of updates is little larger than its payloads and hashes.
#[test]
fn a_full_record_is_compact() {
    let object = |number: u16| {
        let mut bytes = [3; 16];
        bytes[..2].copy_from_slice(&number.to_be_bytes());
        super::id(Prefix::Object, bytes)
    };
    let payload = "{\"properties\":{\"n\":1}}";
    let actions = (0..500)
        .map(|index| ActionRecord {
            index,
            kind: Kind::Update,
            target: Cow::Owned(object(index).to_string()),
            payload: Cow::Borrowed(payload),
            disclosed: None,
            resource: object(index),
            version: 5,
            previous_integrity: Hash([1; 32]),
            previous_sequence: 1_000_000,
        })
        .collect();
    let record = RequestRecord {
        batch_number: 1,
        first_sequence: 1,
        first_leaf_index: 0,
        timestamp_ms: 1,
        organization_id: super::id(Prefix::Organization, [1; 16]),
        wallet_id: super::id(Prefix::Wallet, [1; 16]),
        head: RequestHead {
            signer: Address([1; 20]),
            nonce: 1,
            deadline_s: 1,
            atomic: false,
        },
        signature: Signature([27; 65]),
        salt_seed: Hash([1; 32]),
        actions,
        failed: Vec::new(),
    };
    let bytes = packed(&record).len();
    assert!(bytes < 500 * (payload.len() + 62) + 250, "{bytes} bytes");
}
