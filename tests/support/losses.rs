//! A loss of power: everything that was written to a file after its last sync is undone. `faults.c` notes every write
//! with what it replaced.

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::faults::Faults;
use super::server::Setup;

/// Bytes of a note before the replaced bytes.
const NOTE_BYTES: usize = 40;

/// The notes of one server.
pub(crate) struct Losses {
    path: PathBuf,
}

struct Write {
    file: u64,
    offset: u64,
    size: u64,
    replaced: Vec<u8>,
}

impl Losses {
    /// The notes are stored in `directory`, which must not be the server's.
    pub(crate) fn new(directory: &Path) -> Self {
        Self {
            path: directory.join("losses"),
        }
    }

    /// A server whose writes are noted.
    pub(crate) fn under(&self, faults: &Faults, setup: Setup) -> Setup {
        faults
            .under(setup)
            .environment("FAULTS_LOSSES", self.path.to_str().unwrap())
    }

    /// Undoes all writes below `root` that no sync has followed, and starts new notes. The server must have ended.
    /// Returns how many writes were lost.
    pub(crate) fn lose(&self, root: &Path) -> usize {
        let notes = std::fs::read(&self.path).unwrap_or_default();
        let mut lost = Vec::new();
        let mut synced = HashSet::new();
        // From the last note backwards: writes before a sync of their file stay.
        for (what, write) in read(&notes).into_iter().rev() {
            if what == b's' {
                synced.insert(write.file);
            } else if !synced.contains(&write.file) {
                lost.push(write);
            }
        }
        let mut files = HashMap::new();
        find(root, &mut files);
        let mut count = 0;
        for write in lost {
            let Some(path) = files.get(&write.file) else {
                continue;
            };
            let file = std::fs::File::options().write(true).open(path).unwrap();
            if file.metadata().unwrap().len() > write.size {
                file.set_len(write.size).unwrap();
            }
            file.write_all_at(&write.replaced, write.offset).unwrap();
            count += 1;
        }
        std::fs::write(&self.path, b"").unwrap();
        count
    }
}

fn read(mut notes: &[u8]) -> Vec<(u8, Write)> {
    let mut found = Vec::new();
    while let Some((head, rest)) = notes.split_at_checked(NOTE_BYTES) {
        let number = |at: usize| u64::from_ne_bytes(head[at..at + 8].try_into().unwrap());
        // A killed server may leave half a note; its write was not done.
        let Some((replaced, rest)) = rest.split_at_checked(number(32) as usize) else {
            break;
        };
        let write = Write {
            file: number(8),
            offset: number(16),
            size: number(24),
            replaced: replaced.to_vec(),
        };
        found.push((head[0], write));
        notes = rest;
    }
    found
}

fn find(folder: &Path, files: &mut HashMap<u64, PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let found = std::fs::symlink_metadata(&path).unwrap();
        if found.is_dir() {
            find(&path, files);
        } else if found.is_file() {
            files.insert(found.ino(), path);
        }
    }
}
