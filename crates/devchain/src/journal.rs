//! Journal of the embedded chain: every block's transaction, fsynced before it is acknowledged.
//!
//! File: `KEDGECHN`, u32 version, u64 chain id, u64 genesis time (seconds), 4 bytes of checksum. Then records: u32
//! length, its complement, the body, 8 bytes of keccak256 over the body. All numbers are big-endian. The complement
//! distinguishes a torn tail from a damaged length: a wrong length would hide every record after it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use revm::primitives::{B256, Bytes, keccak256};
use thiserror::Error;

const MAGIC: &[u8; 8] = b"KEDGECHN";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 32;
const LENGTH_BYTES: usize = 8;
const CHECKSUM_BYTES: usize = 8;

#[derive(Debug, Error)]
pub enum JournalError {
    #[error("journal {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    /// Another process has the journal open.
    #[error("journal {path} is in use by another process")]
    Locked { path: PathBuf },
    /// The file is not a journal of this version.
    #[error("journal {path} is not an embedded chain's journal of version {VERSION}")]
    Foreign { path: PathBuf },
    /// The file belongs to a chain with another id.
    #[error("journal {path} belongs to chain {found}, not {expected}")]
    ChainId {
        path: PathBuf,
        found: u64,
        expected: u64,
    },
    /// A record before the last is damaged; opening would lose blocks.
    #[error("journal {path} is damaged in record {record}, at byte {offset}: {what}")]
    Corrupt {
        path: PathBuf,
        /// Index of the record, from 0.
        record: usize,
        /// Offset of the record in the file, in bytes.
        offset: u64,
        what: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChainJournalRecord {
    /// A new block.
    Block {
        timestamp_s: u64,
        /// The block's hash, which replaying must produce.
        hash: B256,
        /// `None` for a block without a transaction.
        transaction: Option<Bytes>,
    },
    /// The chain's clock leads by this many seconds.
    TimeOffset(u64),
}

impl ChainJournalRecord {
    fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        match self {
            Self::Block {
                timestamp_s,
                hash,
                transaction,
            } => {
                body.push(u8::from(transaction.is_some()));
                body.extend_from_slice(&timestamp_s.to_be_bytes());
                body.extend_from_slice(hash.as_slice());
                body.extend_from_slice(transaction.as_ref().map_or(&[], |raw| raw.as_ref()));
            }
            Self::TimeOffset(seconds) => {
                body.push(2);
                body.extend_from_slice(&seconds.to_be_bytes());
            }
        }
        body
    }

    fn decode(body: &[u8]) -> Option<Self> {
        let (kind, rest) = body.split_first()?;
        let (number, rest) = rest.split_first_chunk::<8>()?;
        let number = u64::from_be_bytes(*number);
        if *kind == 2 {
            return rest.is_empty().then_some(Self::TimeOffset(number));
        }
        let (hash, raw) = rest.split_first_chunk::<32>()?;
        let transaction = match kind {
            0 if raw.is_empty() => None,
            1 => Some(Bytes::copy_from_slice(raw)),
            _ => return None,
        };
        Some(Self::Block {
            timestamp_s: number,
            hash: B256::from(*hash),
            transaction,
        })
    }
}

/// The open journal, positioned at its end.
#[derive(Debug)]
pub(super) struct ChainJournal {
    file: File,
    path: PathBuf,
    length: u64,
}

/// Contents of an opened file.
pub(super) struct ChainJournalContents {
    pub(super) journal: ChainJournal,
    pub(super) genesis_timestamp_s: u64,
    pub(super) records: Vec<ChainJournalRecord>,
}

impl ChainJournal {
    /// Opens the journal, or creates one whose chain begins at `now_s`. A torn last record is cut off with a warning:
    /// its block was never acknowledged.
    pub(super) fn open(
        path: &Path,
        chain_id: u64,
        now_s: u64,
    ) -> Result<ChainJournalContents, JournalError> {
        let io = |source| JournalError::Io {
            path: path.to_owned(),
            source,
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(io)?;
        file.try_lock().map_err(|error| match error {
            std::fs::TryLockError::WouldBlock => JournalError::Locked {
                path: path.to_owned(),
            },
            std::fs::TryLockError::Error(source) => io(source),
        })?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        if bytes.len() < HEADER_BYTES {
            return Self::create(file, path, chain_id, now_s, &bytes);
        }
        let genesis_timestamp_s = read_header(path, chain_id, &bytes)?;
        let (records, length) = read_records(path, &bytes)?;
        let mut journal = Self {
            file,
            path: path.to_owned(),
            length,
        };
        if length < bytes.len() as u64 {
            tracing::warn!(
                path = %path.display(),
                cut_bytes = bytes.len() as u64 - length,
                "the journal's last record was torn; it is cut off"
            );
            journal.truncate(length)?;
        }
        journal.file.seek(SeekFrom::Start(length)).map_err(io)?;
        Ok(ChainJournalContents {
            journal,
            genesis_timestamp_s,
            records,
        })
    }

    fn create(
        file: File,
        path: &Path,
        chain_id: u64,
        now_s: u64,
        found: &[u8],
    ) -> Result<ChainJournalContents, JournalError> {
        let header = encode_header(chain_id, now_s);
        // A crash during creation leaves part of a header, or zeros; any other content belongs to another program.
        let magic_length = found.len().min(MAGIC.len());
        if found[..magic_length] != MAGIC[..magic_length] && found.iter().any(|byte| *byte != 0) {
            return Err(JournalError::Foreign {
                path: path.to_owned(),
            });
        }
        let mut journal = Self {
            file,
            path: path.to_owned(),
            length: 0,
        };
        journal.truncate(0)?;
        journal.write_at_end(&header)?;
        // The directory entry must be as durable as the content.
        if let Some(parent) = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
        {
            File::open(parent)
                .and_then(|directory| directory.sync_all())
                .map_err(|source| journal.io(source))?;
        }
        Ok(ChainJournalContents {
            journal,
            genesis_timestamp_s: now_s,
            records: Vec::new(),
        })
    }

    /// Length in bytes, for a later [`ChainJournal::truncate`].
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Appends a record and syncs it. After an error the journal is unchanged.
    pub(super) fn append(&mut self, record: &ChainJournalRecord) -> Result<(), JournalError> {
        let body = record.encode();
        let length = u32::try_from(body.len()).map_err(|_| {
            self.io(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a record exceeds 4 GiB",
            ))
        })?;
        let mut bytes = Vec::with_capacity(LENGTH_BYTES + body.len() + CHECKSUM_BYTES);
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(&(!length).to_be_bytes());
        bytes.extend_from_slice(&body);
        bytes.extend_from_slice(&keccak256(&body)[..CHECKSUM_BYTES]);
        self.write_at_end(&bytes)
    }

    /// Cuts the file to `length` bytes, to return to an earlier state.
    pub(super) fn truncate(&mut self, length: u64) -> Result<(), JournalError> {
        let cut = self
            .file
            .set_len(length)
            .and_then(|()| self.file.seek(SeekFrom::Start(length)))
            .and_then(|_| self.file.sync_all());
        cut.map_err(|source| self.io(source))?;
        self.length = length;
        Ok(())
    }

    fn write_at_end(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        let written = self
            .file
            .write_all(bytes)
            .and_then(|()| self.file.sync_data());
        if let Err(source) = written {
            let error = self.io(source);
            self.truncate(self.length)?;
            return Err(error);
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    fn io(&self, source: io::Error) -> JournalError {
        JournalError::Io {
            path: self.path.clone(),
            source,
        }
    }
}

impl Drop for ChainJournal {
    /// Closing the file is not enough: a freshly forked child process shares the lock until it executes its own
    /// program.
    fn drop(&mut self) {
        if let Err(error) = self.file.unlock() {
            tracing::warn!(%error, "the journal's lock was not released");
        }
    }
}

fn encode_header(chain_id: u64, genesis_timestamp_s: u64) -> Vec<u8> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    header.extend_from_slice(MAGIC);
    header.extend_from_slice(&VERSION.to_be_bytes());
    header.extend_from_slice(&chain_id.to_be_bytes());
    header.extend_from_slice(&genesis_timestamp_s.to_be_bytes());
    let checksum = keccak256(&header);
    header.extend_from_slice(&checksum[..HEADER_BYTES - header.len()]);
    header
}

fn read_header(path: &Path, expected: u64, bytes: &[u8]) -> Result<u64, JournalError> {
    let number = |at: usize| {
        let mut number = [0; 8];
        number.copy_from_slice(&bytes[at..at + 8]);
        u64::from_be_bytes(number)
    };
    let (found, genesis_timestamp_s) = (number(12), number(20));
    if bytes[..HEADER_BYTES] != encode_header(found, genesis_timestamp_s) {
        return Err(JournalError::Foreign {
            path: path.to_owned(),
        });
    }
    if found != expected {
        return Err(JournalError::ChainId {
            path: path.to_owned(),
            found,
            expected,
        });
    }
    Ok(genesis_timestamp_s)
}

/// The records, and the file's length up to the last whole one.
fn read_records(path: &Path, bytes: &[u8]) -> Result<(Vec<ChainJournalRecord>, u64), JournalError> {
    let mut records = Vec::new();
    let mut offset = HEADER_BYTES;
    loop {
        match read_record(&bytes[offset..]) {
            ChainRecordParse::Record { record, length } => {
                records.push(record);
                offset += length;
            }
            ChainRecordParse::End | ChainRecordParse::Torn => return Ok((records, offset as u64)),
            ChainRecordParse::Corrupt(what) => {
                return Err(JournalError::Corrupt {
                    path: path.to_owned(),
                    record: records.len(),
                    offset: offset as u64,
                    what: what.to_owned(),
                });
            }
        }
    }
}

/// Result of parsing one record.
enum ChainRecordParse {
    Record {
        record: ChainJournalRecord,
        length: usize,
    },
    End,
    Torn,
    Corrupt(&'static str),
}

fn read_record(rest: &[u8]) -> ChainRecordParse {
    if rest.is_empty() {
        return ChainRecordParse::End;
    }
    let Some((lengths, after)) = rest.split_first_chunk::<LENGTH_BYTES>() else {
        return ChainRecordParse::Torn;
    };
    let lengths = u64::from_be_bytes(*lengths);
    let length = (lengths >> 32) as u32;
    if !length != lengths as u32 {
        // File systems may allocate the last record without writing it.
        return if rest.iter().all(|byte| *byte == 0) {
            ChainRecordParse::Torn
        } else {
            ChainRecordParse::Corrupt("its length is damaged")
        };
    }
    let length = length as usize;
    if after.len() < length + CHECKSUM_BYTES {
        return ChainRecordParse::Torn;
    }
    let (body, after) = after.split_at(length);
    let (checksum, after) = after.split_at(CHECKSUM_BYTES);
    if keccak256(body)[..CHECKSUM_BYTES] != *checksum {
        return if after.is_empty() {
            ChainRecordParse::Torn
        } else {
            ChainRecordParse::Corrupt("its checksum does not match")
        };
    }
    match ChainJournalRecord::decode(body) {
        Some(record) => ChainRecordParse::Record {
            record,
            length: LENGTH_BYTES + length + CHECKSUM_BYTES,
        },
        None => ChainRecordParse::Corrupt("its content is unknown"),
    }
}
