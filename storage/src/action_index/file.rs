//! File of action ids: sorted, in blocks of which a look-up reads one, and never changed after it was written.
//! docs/STORAGE.md has its layout.

use std::io;
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kedge_runtime::env::{Env, FileHandle, OpenMode, read_exact, read_exact_into, write_all};

/// An action's id and its sequence.
pub(crate) type ActionIndexEntry = ([u8; 16], u64);

/// Bytes of an entry: the id and the sequence.
const ENTRY_BYTES: usize = 24;
/// Bytes of a block, the unit of a look-up.
pub(crate) const BLOCK_BYTES: usize = 4096;
/// Entries of a block, except of the last one.
pub(crate) const BLOCK_ENTRIES: usize = 170;
/// Bytes of a block that its checksum covers.
const CHECKED_BYTES: usize = BLOCK_BYTES - 4;
/// Blocks per read or write while a whole file is walked.
const WALK_BLOCKS: usize = 64;
const FOOTER_BYTES: usize = 40;
const MAGIC: &[u8; 8] = b"KEDGEIDS";
const VERSION: u32 = 1;
/// Suffix of the file names.
const END: &str = ".ids";
/// File in progress: new ids and merged files have different names, so that neither waits for the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum UnfinishedFile {
    New,
    Merged,
}

impl UnfinishedFile {
    fn name(self) -> &'static str {
        match self {
            Self::New => "new.tmp",
            Self::Merged => "merged.tmp",
        }
    }

    /// Removes the file of an interrupted write.
    pub(super) fn remove(self, env: &dyn Env, dir: &Path) -> io::Result<()> {
        match env.remove(&dir.join(self.name())) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Reason why the ids in a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IdFileError {
    #[error("{name}: {source}")]
    Io { name: String, source: io::Error },
    /// Its content is not the written one.
    #[error("{name}: {what}")]
    Damaged {
        name: String,
        /// Description of the damage, with its position.
        what: String,
    },
    /// The write was interrupted by the end of the server.
    #[error("it was ended early")]
    Ended,
}

impl IdFileError {
    fn io(name: &str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io {
            name: name.to_owned(),
            source,
        }
    }
}

/// Complete file of ids for the actions with the sequences `first` to `last`.
pub(crate) struct IdFile {
    file: Arc<dyn FileHandle>,
    name: String,
    pub(super) first: u64,
    pub(crate) last: u64,
    pub(super) count: u64,
    /// The first 8 bytes of each block's first id, which select the block of an id.
    starts: Vec<u64>,
}

/// The sequences of a file with this name; `None` if it is no file of ids.
pub(super) fn sequences_of(name: &str) -> Option<(u64, u64)> {
    let (first, last) = name.strip_suffix(END)?.split_once('-')?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

fn prefix(id: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&id[..8]);
    u64::from_be_bytes(bytes)
}

fn entry(bytes: &[u8]) -> ActionIndexEntry {
    let (mut id, mut sequence) = ([0; 16], [0; 8]);
    id.copy_from_slice(&bytes[..16]);
    sequence.copy_from_slice(&bytes[16..ENTRY_BYTES]);
    (id, u64::from_be_bytes(sequence))
}

impl IdFile {
    /// Opens a complete file and reads its footer.
    pub(super) fn load(env: &dyn Env, dir: &Path, name: &str) -> Result<Self, IdFileError> {
        let failed = IdFileError::io(name);
        let damaged = |what: &str| IdFileError::Damaged {
            name: name.to_owned(),
            what: what.to_owned(),
        };
        let file = env.open(&dir.join(name), OpenMode::Read).map_err(&failed)?;
        let bytes = file.len().map_err(&failed)?;
        let at = bytes.checked_sub(FOOTER_BYTES as u64);
        let at = at.ok_or_else(|| damaged("it is too short"))?;
        let footer = read_exact(&*file, at, FOOTER_BYTES).map_err(&failed)?;
        let number = |at: usize| prefix(&footer[at..]);
        let blocks = number(12).div_ceil(BLOCK_ENTRIES as u64);
        let expected = blocks.checked_mul(BLOCK_BYTES as u64 + 8);
        if !footer.starts_with(MAGIC) || expected != Some(at) {
            return Err(damaged("its footer is not one"));
        }
        let starts_at = blocks * BLOCK_BYTES as u64;
        let mut tail =
            read_exact(&*file, starts_at, (bytes - starts_at) as usize).map_err(&failed)?;
        let crc = tail.split_off(tail.len() - 4);
        if crc32c::crc32c(&tail).to_be_bytes() != *crc {
            return Err(damaged("its footer has another checksum"));
        }
        if footer[8..12] != VERSION.to_be_bytes() {
            return Err(damaged("its version is not known"));
        }
        let (first, last) = (number(20), number(28));
        if sequences_of(name) != Some((first, last)) {
            return Err(damaged("its footer belongs to another name"));
        }
        let starts = tail[..blocks as usize * 8].chunks_exact(8);
        Ok(Self {
            file,
            name: name.to_owned(),
            first,
            last,
            count: number(12),
            starts: starts.map(prefix).collect(),
        })
    }

    /// Writes a file of sorted entries for the sequences `first` to `last`. It is durable and has its name afterwards.
    /// `ending` interrupts the write.
    pub(super) fn write(
        env: &dyn Env,
        (dir, unfinished): (&Path, UnfinishedFile),
        range: (u64, u64),
        entries: impl Iterator<Item = Result<ActionIndexEntry, IdFileError>>,
        ending: &AtomicBool,
    ) -> Result<Self, IdFileError> {
        let written = write_entries(env, (dir, unfinished), range, entries, ending);
        written.inspect_err(|_| {
            // If the removal fails too, the next write empties the file, and the next start removes it.
            let _ = unfinished.remove(env, dir);
        })
    }

    pub(super) fn path(&self, dir: &Path) -> PathBuf {
        dir.join(&self.name)
    }

    fn damaged(&self, what: String) -> IdFileError {
        IdFileError::Damaged {
            name: self.name.clone(),
            what,
        }
    }

    /// Entries in the block with this number.
    fn entries_in(&self, block: usize) -> usize {
        let before = block as u64 * BLOCK_ENTRIES as u64;
        (self.count - before).min(BLOCK_ENTRIES as u64) as usize
    }

    /// The entries in a block's bytes, after a check of its checksum.
    fn checked<'a>(&self, block: usize, bytes: &'a [u8]) -> Result<&'a [u8], IdFileError> {
        let (content, crc) = bytes.split_at(CHECKED_BYTES);
        let entries = &content[..self.entries_in(block) * ENTRY_BYTES];
        if crc32c::crc32c(content).to_be_bytes() != *crc || prefix(entries) != self.starts[block] {
            return Err(self.damaged(format!("block {block} has another checksum")));
        }
        Ok(entries)
    }

    /// The sequence of an id.
    pub(super) fn sequence(&self, id: &[u8; 16]) -> Result<Option<u64>, IdFileError> {
        let wanted = prefix(id);
        // Ids with the same beginning may be on both sides of a block's start.
        let from = self.starts.partition_point(|start| *start < wanted);
        let to = self.starts.partition_point(|start| *start <= wanted);
        let mut bytes = [0; BLOCK_BYTES];
        for block in from.saturating_sub(1)..to {
            let at = (block * BLOCK_BYTES) as u64;
            let read = kedge_runtime::env::read_up_to(&*self.file, &mut bytes, at);
            read.map_err(IdFileError::io(&self.name))?;
            let entries = self.checked(block, &bytes)?;
            let (mut low, mut high) = (0, entries.len() / ENTRY_BYTES);
            while low < high {
                let middle = low.midpoint(high);
                let (found, sequence) = entry(&entries[middle * ENTRY_BYTES..]);
                match found.cmp(id) {
                    std::cmp::Ordering::Less => low = middle + 1,
                    std::cmp::Ordering::Greater => high = middle,
                    std::cmp::Ordering::Equal => return Ok(Some(sequence)),
                }
            }
        }
        Ok(None)
    }

    /// Walks the entries of one of `parts` equal parts of the file, in order.
    pub(crate) fn part(
        &self,
        part: usize,
        parts: usize,
    ) -> impl Iterator<Item = Result<ActionIndexEntry, IdFileError>> {
        let [from, to] = [part, part + 1].map(|part| self.starts.len() * part / parts);
        IdFileWalk {
            file: self,
            next: from,
            end: to,
            bytes: Vec::new(),
            ready: Vec::new().into_iter(),
        }
    }
}

fn write_entries(
    env: &dyn Env,
    (dir, unfinished): (&Path, UnfinishedFile),
    (first, last): (u64, u64),
    entries: impl Iterator<Item = Result<ActionIndexEntry, IdFileError>>,
    ending: &AtomicBool,
) -> Result<IdFile, IdFileError> {
    let failed = IdFileError::io(unfinished.name());
    let unfinished = dir.join(unfinished.name());
    let file = env.open(&unfinished, OpenMode::Create).map_err(&failed)?;
    let mut entries = entries.peekable();
    let (mut starts, mut count, mut at) = (Vec::new(), 0, 0);
    let mut bytes = Vec::with_capacity(WALK_BLOCKS * BLOCK_BYTES);
    while entries.peek().is_some() {
        if ending.load(Ordering::Relaxed) {
            return Err(IdFileError::Ended);
        }
        bytes.clear();
        while bytes.len() < WALK_BLOCKS * BLOCK_BYTES && entries.peek().is_some() {
            let block = bytes.len();
            count += push_block(&mut bytes, &mut entries)?;
            starts.push(prefix(&bytes[block..]));
        }
        write_all(&*file, &bytes, at).map_err(&failed)?;
        at += bytes.len() as u64;
    }
    let mut tail: Vec<u8> = starts
        .iter()
        .flat_map(|start: &u64| start.to_be_bytes())
        .collect();
    tail.extend_from_slice(MAGIC);
    tail.extend_from_slice(&VERSION.to_be_bytes());
    for number in [count, first, last] {
        tail.extend_from_slice(&number.to_be_bytes());
    }
    tail.extend_from_slice(&crc32c::crc32c(&tail).to_be_bytes());
    write_all(&*file, &tail, at).map_err(&failed)?;
    file.sync().map_err(&failed)?;
    let name = format!("{first:020}-{last:020}{END}");
    env.rename(&unfinished, &dir.join(&name)).map_err(&failed)?;
    env.sync_dir(dir).map_err(&failed)?;
    Ok(IdFile {
        file,
        name,
        first,
        last,
        count,
        starts,
    })
}

/// Appends a block of the next entries; returns how many.
fn push_block(
    bytes: &mut Vec<u8>,
    entries: &mut Peekable<impl Iterator<Item = Result<ActionIndexEntry, IdFileError>>>,
) -> Result<u64, IdFileError> {
    let begin = bytes.len();
    let mut count = 0;
    for entry in entries.take(BLOCK_ENTRIES) {
        let (id, sequence) = entry?;
        bytes.extend_from_slice(&id);
        bytes.extend_from_slice(&sequence.to_be_bytes());
        count += 1;
    }
    bytes.resize(begin + CHECKED_BYTES, 0);
    let crc = crc32c::crc32c(&bytes[begin..]);
    bytes.extend_from_slice(&crc.to_be_bytes());
    Ok(count)
}

/// Walk through a part of a file.
struct IdFileWalk<'a> {
    file: &'a IdFile,
    /// Number of the next block.
    next: usize,
    end: usize,
    bytes: Vec<u8>,
    /// Entries of the blocks read so far.
    ready: std::vec::IntoIter<ActionIndexEntry>,
}

impl IdFileWalk<'_> {
    fn read(&mut self) -> Result<(), IdFileError> {
        let blocks = (self.end - self.next).min(WALK_BLOCKS);
        let at = (self.next * BLOCK_BYTES) as u64;
        read_exact_into(&*self.file.file, at, blocks * BLOCK_BYTES, &mut self.bytes)
            .map_err(IdFileError::io(&self.file.name))?;
        let mut ready = Vec::with_capacity(blocks * BLOCK_ENTRIES);
        for (block, bytes) in (self.next..).zip(self.bytes.chunks_exact(BLOCK_BYTES)) {
            let entries = self.file.checked(block, bytes)?;
            ready.extend(entries.chunks_exact(ENTRY_BYTES).map(entry));
        }
        if !ready.is_sorted() {
            let what = format!("ids from block {} on are not in order", self.next);
            return Err(self.file.damaged(what));
        }
        self.next += blocks;
        self.ready = ready.into_iter();
        Ok(())
    }
}

impl Iterator for IdFileWalk<'_> {
    type Item = Result<ActionIndexEntry, IdFileError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.ready.next() {
                return Some(Ok(entry));
            }
            if self.next >= self.end {
                return None;
            }
            if let Err(error) = self.read() {
                self.next = self.end;
                return Some(Err(error));
            }
        }
    }
}
