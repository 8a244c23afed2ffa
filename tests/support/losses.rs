//! Loss of power: everything after the last sync is undone, in files and in folders. `faults.c` records every write
//! with the bytes that it replaced, and every new, renamed and removed name.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::faults::Faults;
use super::server::Setup;

/// Bytes of a note's fixed part.
const NOTE_BYTES: usize = 40;

/// The notes of one server.
pub(crate) struct Losses {
    path: PathBuf,
}

/// One note. For a name, `offset` and `size` are the numbers of its present folder and of its previous one.
struct Note {
    what: u8,
    file: u64,
    offset: u64,
    size: u64,
    bytes: Vec<u8>,
}

impl Losses {
    /// The notes are stored in `directory`, which must not be the server's.
    pub(crate) fn new(directory: &Path) -> Self {
        Self {
            path: directory.join("losses"),
        }
    }

    /// The setup of a server whose writes are recorded.
    pub(crate) fn under(&self, faults: &Faults, setup: Setup) -> Setup {
        faults
            .under(setup)
            .environment("FAULTS_LOSSES", self.path.to_str().unwrap())
    }

    /// Undoes everything below `root` after its last sync, and starts new notes. A file's sync makes its contents
    /// durable and its name, if it is new; other changes of names need a sync of the folder. Writes before a failed
    /// sync are lost, whatever later syncs report. The server must have ended. Returns the number of lost writes and
    /// names.
    pub(crate) fn lose(&self, root: &Path) -> usize {
        let notes = read(&std::fs::read(&self.path).unwrap_or_default());
        let lost = lost(&notes);
        let names = lost.iter().filter(|note| is_name(note)).collect::<Vec<_>>();
        let mut count = names.iter().filter(|note| undo_name(note, root)).count();
        let mut files = HashMap::new();
        find(root, &mut files);
        for write in lost.iter().filter(|note| note.what == b'w') {
            let Some(path) = files.get(&write.file) else {
                continue;
            };
            let file = std::fs::File::options().write(true).open(path).unwrap();
            if file.metadata().unwrap().len() > write.size {
                file.set_len(write.size).unwrap();
            }
            file.write_all_at(&write.bytes, write.offset).unwrap();
            count += 1;
        }
        std::fs::write(&self.path, b"").unwrap();
        count
    }
}

fn is_name(note: &Note) -> bool {
    matches!(note.what, b'c' | b'm' | b'l' | b'n' | b'u')
}

/// The lost notes, the last first.
fn lost(notes: &[Note]) -> Vec<&Note> {
    let mut lost = Vec::new();
    let mut synced = HashSet::new();
    // Since a failed sync of a file, writes before it are lost, back to the previous sync.
    let mut dropped = HashSet::new();
    // Ranges of later writes that stay.
    let mut kept: HashMap<u64, Vec<Range<u64>>> = HashMap::new();
    for note in notes.iter().rev() {
        match note.what {
            b's' => {
                synced.insert(note.file);
                dropped.remove(&note.file);
            }
            b'x' => {
                dropped.insert(note.file);
            }
            b'w' => {
                let range = note.offset..note.offset + (note.bytes.len() as u64).max(1);
                let ranges = kept.entry(note.file).or_default();
                if synced.contains(&note.file) && !dropped.contains(&note.file) {
                    ranges.push(range);
                } else if !ranges
                    .iter()
                    .any(|kept| kept.start < range.end && range.start < kept.end)
                {
                    lost.push(note);
                }
            }
            b'n' | b'u' => {
                let folders = [note.offset, note.size];
                let mut moved = folders.iter().filter(|folder| **folder != 0);
                if !moved.all(|folder| synced.contains(folder)) {
                    lost.push(note);
                }
            }
            _ if synced.contains(&note.offset) || synced.contains(&note.file) => {}
            _ => lost.push(note),
        }
    }
    lost
}

/// Undoes a change of a name; returns whether there was anything to undo.
fn undo_name(note: &Note, root: &Path) -> bool {
    let text = String::from_utf8_lossy(&note.bytes);
    let texts: Vec<&str> = text.split('\0').collect();
    let [name, before, link, ..] = texts.as_slice() else {
        panic!("a note of a name has three texts: {texts:?}");
    };
    let is_there = std::fs::symlink_metadata(name).is_ok_and(|found| found.ino() == note.file)
        || note.what == b'u';
    if !Path::new(name).starts_with(root) || !is_there {
        return false;
    }
    match note.what {
        b'm' => return std::fs::remove_dir(name).is_ok(),
        b'n' => std::fs::rename(name, before).unwrap(),
        b'u' => {}
        _ => std::fs::remove_file(name).unwrap(),
    }
    if !link.is_empty() && !Path::new(name).exists() {
        std::fs::rename(link, name).unwrap();
    }
    true
}

fn read(mut notes: &[u8]) -> Vec<Note> {
    let mut found = Vec::new();
    while let Some((head, rest)) = notes.split_at_checked(NOTE_BYTES) {
        let number = |at: usize| u64::from_ne_bytes(head[at..at + 8].try_into().unwrap());
        // A killed server may leave half a note; its write was not done.
        let Some((bytes, rest)) = rest.split_at_checked(number(32) as usize) else {
            break;
        };
        found.push(Note {
            what: head[0],
            file: number(8),
            offset: number(16),
            size: number(24),
            bytes: bytes.to_vec(),
        });
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
