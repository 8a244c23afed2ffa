//! Row formats: written rows read back, and damaged bytes are an error or another value, never a panic and never the
//! same value.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::fmt::Debug;

use kedge_protocol::resource::{Object, ObjectStatus, ResourceTrace, Role, Wallet};
use kedge_protocol::{Address, Hash, Prefix};
use proptest::prelude::*;

use super::objects::object_row;
use super::row::{BincodeRow, StoredResource};
use super::{FORMAT_VERSION, Table};
use crate::codec::{CodecError, encode_into};

/// Stores of one version have the same tables: a new one would be empty there.
#[test]
fn another_table_is_another_format() {
    let known = (9, 39);
    assert_eq!(
        (FORMAT_VERSION, Table::ALL.len()),
        known,
        "raise FORMAT_VERSION with the tables"
    );
}

#[test]
fn side_numbers_are_given_once() {
    let numbers: Vec<u16> = Table::ALL
        .iter()
        .filter_map(|table| table.side_number())
        .collect();
    let different: BTreeSet<u16> = numbers.iter().copied().collect();
    assert_eq!(different.len(), numbers.len(), "{numbers:?}");
}

fn hash() -> impl Strategy<Value = Hash> {
    prop_oneof![Just(Hash::ZERO), any::<[u8; 32]>().prop_map(Hash)]
}

fn address() -> impl Strategy<Value = Address> {
    any::<[u8; 20]>().prop_map(Address)
}

/// Every cut is an error; every flipped bit is an error or another value.
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

fn trace() -> impl Strategy<Value = ResourceTrace> {
    (any::<[u64; 5]>(), hash()).prop_map(|(numbers, integrity)| ResourceTrace {
        version: numbers[0],
        integrity,
        created_sequence: numbers[1],
        sequence: numbers[2],
        created_at_ms: numbers[3],
        updated_at_ms: numbers[4],
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn noise_is_never_a_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = Object::read([0; 16], &bytes);
        if let Some(first) = bytes.first_mut() {
            *first = crate::codec::FORMAT;
        }
        let _ = Object::read([0; 16], &bytes);
    }

    #[test]
    fn damaged_objects_are_noticed(
        ids in prop::array::uniform4(any::<[u8; 16]>()),
        has_variation: bool,
        owner_address in address(),
        properties in ".{0,40}",
        status in 0..3usize,
        trace in trace(),
    ) {
        let object = Object {
            id: super::id(Prefix::Object, [9; 16]),
            organization_id: super::id(Prefix::Organization, ids[0]),
            template_id: super::id(Prefix::Template, ids[1]),
            variation_id: has_variation.then(|| super::id(Prefix::Variation, ids[2])),
            owner_id: super::id(Prefix::Wallet, ids[3]),
            owner_address,
            properties,
            status: [ObjectStatus::Active, ObjectStatus::Locked, ObjectStatus::Burned][status],
            trace,
        };
        let mut bytes = Vec::new();
        encode_into(&mut bytes, &object_row(&object, &object.trace));
        check_damage(&bytes, &object, |bytes| Object::read([9; 16], bytes));
    }

    #[test]
    fn damaged_wallets_are_noticed(
        nickname in prop::option::of(".{0,20}"),
        email in ".{0,40}",
        keys in prop::collection::vec(address(), 0..4),
        trace in trace(),
    ) {
        let wallet = Wallet {
            id: super::id(Prefix::Wallet, [9; 16]),
            organization_id: super::id(Prefix::Organization, [8; 16]),
            role: Role::Admin,
            nickname,
            email,
            address: Address([7; 20]),
            keys,
            trace,
        };
        let mut bytes = Vec::new();
        encode_into(&mut bytes, &BincodeRow(&wallet));
        check_damage(&bytes, &wallet, |bytes| Wallet::read([9; 16], bytes));
    }
}
