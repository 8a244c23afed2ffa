//! The header of a frame: its fields, its bytes, and the hash that the next frame names.

use aws_lc_rs::digest;
use kedge_protocol::Hash;

use crate::bytes::{self, FieldReader};

/// The first bytes of a frame. `0xff` occurs in no UTF-8 text, so no payload can imitate a frame.
pub const MAGIC: [u8; 8] = *b"\xffKFRAME\n";
/// The newest frame format. A new log begins with it. In an older log, an empty frame raises the format before the
/// first frame that needs it.
pub const FORMAT: u16 = 3;
/// The oldest format.
pub const FIRST_FORMAT: u16 = 1;
/// The first format whose requests may state a key's consent to join a wallet.
pub const CONSENT_FORMAT: u16 = 2;
/// The first format whose log may say from which number of batches on checkpoints have a root of the state.
pub const ROOTS_FORMAT: u16 = 3;
/// Bytes of a header without its table of sections.
pub const FIXED_BYTES: usize = 104;
/// Bytes of an entry in the table of sections.
pub const SECTION_BYTES: usize = 40;
/// Bytes of the longest header.
pub const HEADER_BYTES_MAX: usize = FIXED_BYTES + SectionKind::ALL.len() * SECTION_BYTES;
/// Size limit of a frame, so that a damaged length field cannot cause a huge allocation.
pub const FRAME_BYTES_MAX: usize = 1 << 30;
/// Size of a batch in its section.
pub const BATCH_BYTES: usize = 253;
/// Size of a leaf in its section.
pub const LEAF_BYTES: usize = 32;

/// Offset of the header's own checksum, which counts as zero while it is computed.
const HEADER_CRC_AT: usize = 12;
/// Prefix of a frame's hash: separates it from all other hashes.
const HASH_TAG: &[u8; 16] = b"kedge log frame\n";

/// Kind of a section. The numbers are permanent; sections are stored in their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SectionKind {
    /// Batch headers with their signatures.
    Batches = 1,
    /// Leaf hashes of the actions. May be dropped if they can be recomputed.
    Leaves = 2,
    /// Sealed side entries. May be dropped once they are no longer needed.
    Side = 3,
    /// Packed requests, with a table of their places.
    Requests = 4,
}

impl SectionKind {
    pub const ALL: [Self; 4] = [Self::Batches, Self::Leaves, Self::Side, Self::Requests];

    fn of_number(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u16 == number)
    }

    /// Whether a frame stays valid without the bytes of such a section.
    pub fn can_be_dropped(self) -> bool {
        matches!(self, Self::Leaves | Self::Side)
    }

    fn place(self) -> usize {
        self as usize - 1
    }
}

/// An entry in a header's table of sections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameSection {
    /// Bytes of the section in the body; `None` if they were dropped.
    pub length: Option<u32>,
    /// SHA-256 of the section's bytes as first written.
    pub digest: Hash,
}

/// The fixed fields of a frame and its table of sections.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrameHeader {
    /// The format bounds what the sections may hold. It never falls from one frame to the next.
    pub format: u16,
    /// The frame's number, from 1, without gaps.
    pub number: u64,
    /// Term of the node that wrote the frame; 0 with a single node. It never falls from one frame to the next.
    pub term: u64,
    /// The sequence of its first action, or of the next one if it holds none.
    pub first_sequence: u64,
    pub actions: u32,
    /// The number of its first batch, or of the next one if it holds none.
    pub first_batch: u64,
    pub batches: u32,
    /// The last frame that was durable when this one was written. Not part of the hash, because it describes the disk
    /// and not the log. 0 in a frame that several nodes share: a frame that was durable on the writer may be torn on
    /// another node, and recovery would take that for damage.
    pub durable: u64,
    /// The hash of the previous frame.
    pub previous: Hash,
    /// CRC32C of the body as stored.
    pub body_crc: u32,
    sections: [Option<FrameSection>; SectionKind::ALL.len()],
}

/// Why a frame header cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// No frame begins here.
    #[error("no frame begins here")]
    Magic,
    /// The bytes end within the header.
    #[error("the frame's header is cut off")]
    Short,
    /// The format is newer than this program.
    #[error("frame format {0} is not known; this program knows {FIRST_FORMAT} to {FORMAT}")]
    Format(u16),
    /// The checksum does not match.
    #[error("the checksum of the frame's header does not match")]
    Crc,
    /// The checksum holds, but the header is invalid.
    #[error("the frame's header contradicts itself: {0}")]
    Contents(&'static str),
}

impl FrameHeader {
    /// A header without sections.
    pub(crate) fn new(number: u64, term: u64, first_sequence: u64, first_batch: u64) -> Self {
        Self {
            format: FORMAT,
            number,
            term,
            first_sequence,
            actions: 0,
            first_batch,
            batches: 0,
            durable: 0,
            previous: Hash::ZERO,
            body_crc: 0,
            sections: [None; SectionKind::ALL.len()],
        }
    }

    /// The entry of a section, if the frame was written with one.
    pub fn section(&self, kind: SectionKind) -> Option<&FrameSection> {
        self.sections[kind.place()].as_ref()
    }

    pub(crate) fn set_section(&mut self, kind: SectionKind, section: FrameSection) {
        self.sections[kind.place()] = Some(section);
    }

    /// Marks a section as dropped from the body.
    pub(crate) fn drop_section(&mut self, kind: SectionKind) {
        if let Some(section) = &mut self.sections[kind.place()] {
            section.length = None;
        }
    }

    /// Whether the frame is empty, and so only opens a term or raises the format.
    pub fn is_empty(&self) -> bool {
        self.sections.iter().all(Option::is_none)
    }

    fn present(&self) -> impl Iterator<Item = (SectionKind, &FrameSection)> {
        let entries = SectionKind::ALL.into_iter().zip(&self.sections);
        entries.filter_map(|(kind, section)| Some((kind, section.as_ref()?)))
    }

    pub fn header_bytes(&self) -> usize {
        FIXED_BYTES + self.present().count() * SECTION_BYTES
    }

    /// Size of header and body as stored.
    pub fn frame_bytes(&self) -> usize {
        let body = |section: &FrameSection| section.length.unwrap_or(0) as usize;
        self.header_bytes() + self.present().map(|(_, s)| body(s)).sum::<usize>()
    }

    /// Byte range of a section within the frame; `None` if the frame has no such section or its bytes were dropped.
    pub fn section_range(&self, kind: SectionKind) -> Option<std::ops::Range<usize>> {
        let length = self.section(kind)?.length? as usize;
        let before = self.present().take_while(|(other, _)| *other < kind);
        let skipped: usize = before.map(|(_, s)| s.length.unwrap_or(0) as usize).sum();
        let start = self.header_bytes() + skipped;
        Some(start..start + length)
    }

    /// The sequence after its last action.
    pub fn next_sequence(&self) -> u64 {
        self.first_sequence + u64::from(self.actions)
    }

    /// The number after its last batch.
    pub fn next_batch(&self) -> u64 {
        self.first_batch + u64::from(self.batches)
    }

    /// The hash that the next frame names: SHA-256 over the frame's statements about the log, with the digest of each
    /// section in place of its bytes. A section can therefore be dropped later without breaking the chain.
    pub fn hash(&self) -> Hash {
        let mut preimage = Vec::with_capacity(112 + self.sections.len() * 34);
        preimage.extend_from_slice(HASH_TAG);
        preimage.extend_from_slice(&self.format.to_be_bytes());
        for number in [
            self.number,
            self.term,
            self.first_sequence,
            self.first_batch,
        ] {
            preimage.extend_from_slice(&number.to_be_bytes());
        }
        preimage.extend_from_slice(&self.actions.to_be_bytes());
        preimage.extend_from_slice(&self.batches.to_be_bytes());
        preimage.extend_from_slice(&self.previous.0);
        for (kind, section) in self.present() {
            preimage.extend_from_slice(&(kind as u16).to_be_bytes());
            preimage.extend_from_slice(&section.digest.0);
        }
        sha256(&preimage)
    }

    /// Appends the header's bytes, including its checksum.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&self.format.to_be_bytes());
        out.extend_from_slice(&(self.present().count() as u16).to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        let length = u32::try_from(self.frame_bytes()).expect("a frame is below 1 GiB");
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&self.body_crc.to_be_bytes());
        for number in [
            self.number,
            self.term,
            self.first_sequence,
            self.first_batch,
        ] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out.extend_from_slice(&self.actions.to_be_bytes());
        out.extend_from_slice(&self.batches.to_be_bytes());
        out.extend_from_slice(&self.durable.to_be_bytes());
        out.extend_from_slice(&self.previous.0);
        for (kind, section) in self.present() {
            out.extend_from_slice(&(kind as u16).to_be_bytes());
            out.extend_from_slice(&u16::from(section.length.is_some()).to_be_bytes());
            out.extend_from_slice(&section.length.unwrap_or(0).to_be_bytes());
            out.extend_from_slice(&section.digest.0);
        }
        let crc = bytes::crc_around(&out[start..], HEADER_CRC_AT);
        out[start + HEADER_CRC_AT..][..4].copy_from_slice(&crc.to_be_bytes());
    }

    /// Reads the header at the start of `bytes`; more bytes may follow.
    ///
    /// # Errors
    /// [`HeaderError`] if there is no header of a known format.
    pub fn read(bytes: &[u8]) -> Result<Self, HeaderError> {
        let fixed = bytes.get(..FIXED_BYTES).ok_or(HeaderError::Short)?;
        let mut fields = FieldReader(fixed);
        if fields.array() != Some(MAGIC) {
            return Err(HeaderError::Magic);
        }
        let format = fields.u16().unwrap_or(0);
        let count = usize::from(fields.u16().unwrap_or(0));
        let crc = fields.u32().unwrap_or(0);
        // Checksum before format: damage must not look like a newer format.
        let whole = FIXED_BYTES + count * SECTION_BYTES;
        let is_known = (FIRST_FORMAT..=FORMAT).contains(&format);
        let own = match bytes.get(..whole) {
            Some(own) if count <= SectionKind::ALL.len() || !is_known => own,
            Some(_) => return Err(HeaderError::Crc),
            None => return Err(HeaderError::Short),
        };
        if bytes::crc_around(own, HEADER_CRC_AT) != crc {
            return Err(HeaderError::Crc);
        }
        if !is_known {
            return Err(HeaderError::Format(format));
        }
        let header = Self::contents(fields, &own[FIXED_BYTES..]);
        let (mut header, length) = header.ok_or(HeaderError::Short)??;
        header.format = format;
        header.consistent(length)?;
        Ok(header)
    }

    fn contents(
        mut fields: FieldReader<'_>,
        table: &[u8],
    ) -> Option<Result<(Self, usize), HeaderError>> {
        let length = fields.u32()? as usize;
        let body_crc = fields.u32()?;
        let [number, term] = [fields.u64()?, fields.u64()?];
        let [first_sequence, first_batch] = [fields.u64()?, fields.u64()?];
        let [actions, batches] = [fields.u32()?, fields.u32()?];
        let durable = fields.u64()?;
        let previous = Hash(fields.array()?);
        let mut header = Self {
            actions,
            batches,
            durable,
            previous,
            body_crc,
            ..Self::new(number, term, first_sequence, first_batch)
        };
        let mut last = 0;
        let mut entries = FieldReader(table);
        while !entries.0.is_empty() {
            let [number, present] = [entries.u16()?, entries.u16()?];
            let bytes = entries.u32()?;
            let digest = Hash(entries.array()?);
            let kind = SectionKind::of_number(number).filter(|_| number > last);
            let Some(kind) = kind else {
                return Some(Err(HeaderError::Contents("its sections are not in order")));
            };
            let length = match (present, bytes) {
                (1, 1..) => Some(bytes),
                (0, 0) if kind.can_be_dropped() => None,
                _ => return Some(Err(HeaderError::Contents("a section has no length"))),
            };
            last = number;
            header.set_section(kind, FrameSection { length, digest });
        }
        Some(Ok((header, length)))
    }

    fn consistent(&self, length: usize) -> Result<(), HeaderError> {
        let holds = |holds, what| {
            if holds {
                Ok(())
            } else {
                Err(HeaderError::Contents(what))
            }
        };
        let body: u64 = self
            .present()
            .map(|(_, section)| u64::from(section.length.unwrap_or(0)))
            .sum();
        holds(
            self.header_bytes() as u64 + body == length as u64 && length <= FRAME_BYTES_MAX,
            "its length does not match its sections",
        )?;
        holds(self.number > 0, "frames are counted from 1")?;
        holds(
            !self.is_empty() || self.term > 0 || self.format > FIRST_FORMAT,
            "it is empty, opens no term and raises no format",
        )?;
        holds(
            self.durable < self.number,
            "it was durable before it was written",
        )?;
        holds(
            self.first_sequence
                .checked_add(u64::from(self.actions))
                .is_some()
                && self
                    .first_batch
                    .checked_add(u64::from(self.batches))
                    .is_some(),
            "its numbers overflow",
        )?;
        let expects =
            |kind, bytes: Option<usize>, may_be_dropped: bool| match (self.section(kind), bytes) {
                (None, None) => true,
                (Some(section), Some(bytes)) => match section.length {
                    Some(length) => length as usize == bytes,
                    None => may_be_dropped,
                },
                _ => false,
            };
        let some = |count: u32, each: usize| (count > 0).then(|| count as usize * each);
        holds(
            expects(SectionKind::Batches, some(self.batches, BATCH_BYTES), false)
                && expects(SectionKind::Leaves, some(self.actions, LEAF_BYTES), true)
                && self.section(SectionKind::Requests).is_some() == (self.actions > 0),
            "its sections do not match its counts",
        )
    }
}

/// SHA-256, with the processor's own instructions if it has them.
pub(crate) fn sha256(bytes: &[u8]) -> Hash {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    Hash(hash)
}

/// The value of [`FrameHeader::previous`] in a log's first frame.
pub fn first_previous(identity: &Hash) -> Hash {
    let mut preimage = b"kedge log begins".to_vec();
    preimage.extend_from_slice(&identity.0);
    sha256(&preimage)
}
