//! The files of action ids, read and written by docs/STORAGE.md alone, as an attacker would.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::support::rows_path;

const BLOCK_BYTES: usize = 4096;
const BLOCK_ENTRIES: usize = 170;

/// Action id → sequence.
pub(crate) type Ids = BTreeMap<[u8; 16], u64>;

pub(crate) fn directory_of(data: &Path) -> PathBuf {
    rows_path(data).join("action-ids")
}

/// The names of the files, in order; none if there is no directory.
pub(crate) fn names(data: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(directory_of(data)) else {
        return Vec::new();
    };
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The name of the file with these sequences.
pub(crate) fn name(first: u64, last: u64) -> String {
    format!("{first:020}-{last:020}.ids")
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(*bytes.first_chunk().unwrap())
}

fn read(bytes: &[u8]) -> Ids {
    let footer = &bytes[bytes.len() - 40..];
    assert_eq!(&footer[..12], b"KEDGEIDS\0\0\0\x01");
    let count = number(&footer[12..]) as usize;
    let blocks = bytes.chunks_exact(BLOCK_BYTES);
    let entries = blocks.flat_map(|block| block[..BLOCK_ENTRIES * 24].chunks_exact(24));
    let entry = |entry: &[u8]| (*entry.first_chunk().unwrap(), number(&entry[16..]));
    entries.take(count).map(entry).collect()
}

fn written(ids: &Ids, first: u64, last: u64) -> Vec<u8> {
    let entries: Vec<_> = ids.iter().collect();
    let (mut bytes, mut starts) = (Vec::new(), Vec::new());
    for block in entries.chunks(BLOCK_ENTRIES) {
        let begin = bytes.len();
        starts.extend_from_slice(&block[0].0[..8]);
        for (id, sequence) in block {
            bytes.extend_from_slice(&id[..]);
            bytes.extend_from_slice(&sequence.to_be_bytes());
        }
        bytes.resize(begin + BLOCK_BYTES - 4, 0);
        let crc = crc32c::crc32c(&bytes[begin..]);
        bytes.extend_from_slice(&crc.to_be_bytes());
    }
    let begin = bytes.len();
    bytes.extend_from_slice(&starts);
    bytes.extend_from_slice(b"KEDGEIDS\0\0\0\x01");
    for number in [ids.len() as u64, first, last] {
        bytes.extend_from_slice(&number.to_be_bytes());
    }
    let crc = crc32c::crc32c(&bytes[begin..]);
    bytes.extend_from_slice(&crc.to_be_bytes());
    bytes
}

/// Changes the ids of a store with one file of them.
pub(crate) fn change(data: &Path, change: impl FnOnce(&mut Ids)) {
    let names = names(data);
    let [name] = names.as_slice() else {
        panic!("{names:?}");
    };
    let path = directory_of(data).join(name);
    let bytes = std::fs::read(&path).unwrap();
    let mut ids = read(&bytes);
    let (first, last) = name.strip_suffix(".ids").unwrap().split_once('-').unwrap();
    let [first, last] = [first, last].map(|number| number.parse().unwrap());
    assert!(
        written(&ids, first, last) == bytes,
        "the layout is another one"
    );
    change(&mut ids);
    std::fs::write(path, written(&ids, first, last)).unwrap();
}
