//! A frame: everything that one commit group makes durable. A [`Frame`] is filled, appended and cleared for the next
//! group; a [`StoredFrame`] is one that was read back.

pub mod header;
pub(crate) mod requests;
mod side;
pub(crate) mod stored_frame;

use kedge_protocol::Hash;
use kedge_protocol::batch::{BatchHeader, SignedBatch};
use kedge_protocol::possession;
use kedge_protocol::record::RequestRecord;
use kedge_protocol::signature::Signature;

use self::header::{BATCH_BYTES, CONSENT_FORMAT, FIRST_FORMAT, ROOTS_FORMAT};
pub use self::header::{FrameHeader, FrameSection, HeaderError, SectionKind};
use self::requests::RequestsWriter;
pub(crate) use self::side::SideSealer;
pub use self::side::{KeyId, SideEntry, SideError, SideKeys};
pub use self::stored_frame::{FrameError, StoredFrame};
use crate::bytes::FieldReader;
use crate::codec::CodecError;
use crate::packed::{self, PackedRequest};
use crate::position::LogPosition;

/// A commit group to be appended to the log. Its buffers keep their capacity when it is cleared.
#[derive(Default)]
pub struct Frame {
    term: u64,
    opens_term: bool,
    /// The highest format that a part needs.
    needed_format: u16,
    requests: RequestsWriter,
    batches: Vec<u8>,
    batch_bounds: Option<FrameBounds>,
    leaves: Vec<u8>,
    leaves_follow: bool,
    side: Vec<SideEntry>,
}

/// Range of batches and sequences in a frame.
#[derive(Clone, Copy)]
struct FrameBounds {
    first_batch: u64,
    next_batch: u64,
    first_sequence: u64,
    next_sequence: u64,
}

/// Why a frame cannot be appended: its parts contradict each other or the log before it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the frame is refused: {0}")]
pub struct FrameRejection(pub &'static str);

impl Frame {
    /// An empty frame of term 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty frame that opens a term. `term` must exceed that of the frame before, and 0.
    pub fn opens_term(term: u64) -> Self {
        Self {
            term,
            opens_term: true,
            ..Self::default()
        }
    }

    /// Clears the contents; the buffers keep their capacity.
    pub fn clear(&mut self) {
        self.term = 0;
        self.opens_term = false;
        self.needed_format = FIRST_FORMAT;
        self.requests.clear();
        self.batches.clear();
        self.batch_bounds = None;
        self.leaves.clear();
        self.leaves_follow = false;
        self.side.clear();
    }

    /// Sets the term. With 0 the frame takes the term of the one before it.
    pub fn set_term(&mut self, term: u64) {
        self.term = term;
    }

    pub fn term(&self) -> u64 {
        self.term
    }

    /// Notes that a side entry says from which number of batches on checkpoints have a root of the state.
    pub fn names_roots(&mut self) {
        self.need_format(ROOTS_FORMAT);
    }

    fn need_format(&mut self, format: u16) {
        self.needed_format = self.needed_format.max(format);
    }

    /// Lowest format that allows the frame's contents.
    pub fn format(&self) -> u16 {
        self.needed_format.max(FIRST_FORMAT)
    }

    /// Adds a request.
    ///
    /// # Errors
    /// [`FrameRejection`] if its sequences do not continue those of the frame.
    pub fn push_request(&mut self, record: &RequestRecord<'_>) -> Result<(), FrameRejection> {
        let first = record.first_sequence;
        if possession::is_stated_in(&record.actions) {
            self.need_format(CONSENT_FORMAT);
        }
        let count = record.actions.len();
        self.requests
            .push(first, count, |out| packed::pack(out, record))
    }

    /// Adds an already packed request.
    ///
    /// # Errors
    /// [`FrameRejection`] if the bytes are not a packed request, or its sequences do not continue those of the frame.
    pub fn push_packed(&mut self, bytes: &[u8]) -> Result<(), FrameRejection> {
        let request = PackedRequest::read(bytes);
        let request =
            request.map_err(|_| FrameRejection("these bytes are not a packed request"))?;
        let first = request.head().first_sequence;
        if request.states_consent() {
            self.need_format(CONSENT_FORMAT);
        }
        self.requests
            .push(first, request.count(), |out| out.extend_from_slice(bytes))
    }

    /// Adds a batch and its leaves.
    ///
    /// # Errors
    /// [`FrameRejection`] if its numbers do not continue those of the frame, or the number of leaves is not that
    /// of its actions.
    pub fn push_batch(
        &mut self,
        batch: &SignedBatch,
        leaves: &[Hash],
    ) -> Result<(), FrameRejection> {
        let header = &batch.header;
        if leaves.len() != header.count as usize || leaves.is_empty() {
            return Err(FrameRejection(
                "a batch has a different number of leaves than of actions",
            ));
        }
        let ends = header.first_sequence.checked_add(u64::from(header.count));
        let (Some(next_sequence), Some(next_batch)) = (ends, header.number.checked_add(1)) else {
            return Err(FrameRejection("a batch's numbers overflow"));
        };
        let mut bounds = self.batch_bounds.unwrap_or(FrameBounds {
            first_batch: header.number,
            next_batch: header.number,
            first_sequence: header.first_sequence,
            next_sequence: header.first_sequence,
        });
        if (bounds.next_batch, bounds.next_sequence) != (header.number, header.first_sequence) {
            return Err(FrameRejection("a batch does not continue the previous one"));
        }
        (bounds.next_batch, bounds.next_sequence) = (next_batch, next_sequence);
        self.batch_bounds = Some(bounds);
        write_batch(&mut self.batches, batch);
        self.leaves.extend(leaves.iter().flat_map(|leaf| leaf.0));
        Ok(())
    }

    /// States that this process computed all leaves from the frame's requests, so that they need not be recomputed for
    /// each frame before they are dropped.
    pub fn set_leaves_follow(&mut self) {
        self.leaves_follow = true;
    }

    pub(crate) fn leaves_follow(&self) -> bool {
        self.leaves_follow
    }

    /// Adds a write that the hash chain does not cover.
    pub fn push_side(&mut self, entry: SideEntry) {
        self.side.push(entry);
    }

    /// Whether the frame is empty. An empty frame cannot be appended, unless it opens a term.
    pub fn is_empty(&self) -> bool {
        self.side.is_empty() && self.batch_bounds.is_none() && self.requests.bounds().is_none()
    }

    /// Upper bound of the frame's size in the log.
    pub fn bytes_max(&self) -> usize {
        header::HEADER_BYTES_MAX
            + self.requests.bytes()
            + self.batches.len()
            + self.leaves.len()
            + side::sealed_bytes_max(&self.side)
    }

    /// Encodes the frame for its place in the log; returns its header.
    pub(crate) fn encode(
        &self,
        place: &NextFrame,
        sealer: Option<&mut SideSealer>,
        out: &mut Vec<u8>,
    ) -> Result<FrameHeader, EncodeError> {
        let mut header = self.placed(place)?;
        out.clear();
        let mut side = Vec::new();
        if !self.side.is_empty() {
            let sealer = sealer.ok_or(EncodeError::NoKey)?;
            sealer.seal(place.number, &self.side, &mut side)?;
        }
        let mut requests = Vec::new();
        self.requests.write_table(&mut requests);
        let bodies: [&[&[u8]]; SectionKind::ALL.len()] = [
            &[&self.batches],
            &[&self.leaves],
            &[&side],
            &[&requests, self.requests.packed()],
        ];
        for (kind, parts) in SectionKind::ALL.into_iter().zip(bodies) {
            let length: usize = parts.iter().map(|part| part.len()).sum();
            // A table without requests is not stored.
            if length == 0 || (kind == SectionKind::Requests && header.actions == 0) {
                continue;
            }
            let length =
                u32::try_from(length).map_err(|_| FrameRejection("the frame is too long"))?;
            let mut digest = aws_lc_rs::digest::Context::new(&aws_lc_rs::digest::SHA256);
            for part in parts {
                digest.update(part);
            }
            let mut hash = [0; 32];
            hash.copy_from_slice(digest.finish().as_ref());
            let (length, digest) = (Some(length), Hash(hash));
            header.set_section(kind, FrameSection { length, digest });
            for part in parts {
                header.body_crc = crc32c::crc32c_append(header.body_crc, part);
            }
        }
        if header.frame_bytes() > header::FRAME_BYTES_MAX {
            return Err(FrameRejection("the frame is too long").into());
        }
        out.reserve(header.frame_bytes());
        header.write(out);
        for (kind, parts) in SectionKind::ALL.into_iter().zip(bodies) {
            if header.section(kind).is_some() {
                for part in parts {
                    out.extend_from_slice(part);
                }
            }
        }
        Ok(header)
    }

    /// Checks that the parts agree; returns the header without its sections.
    fn placed(&self, place: &NextFrame) -> Result<FrameHeader, FrameRejection> {
        let mut header = FrameHeader::new(
            place.number,
            place.term,
            place.first_sequence,
            place.first_batch,
        );
        (header.durable, header.previous) = (place.durable, place.previous);
        header.format = place.format;
        if place.term < place.last_term {
            return Err(FrameRejection(
                "its term is below that of the frame before it",
            ));
        }
        let of_requests = self.requests.bounds();
        match self.batch_bounds {
            None if of_requests.is_some() => {
                return Err(FrameRejection("it has requests without a batch"));
            }
            None if self.side.is_empty() && !self.opens_term => {
                return Err(FrameRejection("it is empty"));
            }
            None if self.opens_term && place.term == place.last_term => {
                return Err(FrameRejection("its term was opened before"));
            }
            None => {}
            Some(bounds) => {
                if of_requests != Some((bounds.first_sequence, bounds.next_sequence)) {
                    return Err(FrameRejection(
                        "its batches and its requests do not hold the same actions",
                    ));
                }
                if (bounds.first_sequence, bounds.first_batch)
                    != (place.first_sequence, place.first_batch)
                {
                    return Err(FrameRejection("it does not continue the log"));
                }
                let count = |first: u64, next: u64| {
                    u32::try_from(next - first).map_err(|_| FrameRejection("the frame is too long"))
                };
                header.actions = count(bounds.first_sequence, bounds.next_sequence)?;
                header.batches = count(bounds.first_batch, bounds.next_batch)?;
            }
        }
        Ok(header)
    }
}

/// Position and fields that the log's next frame must have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NextFrame {
    pub(crate) format: u16,
    pub(crate) number: u64,
    pub(crate) term: u64,
    /// Term of the frame before, or a lower bound of it.
    pub(crate) last_term: u64,
    pub(crate) first_sequence: u64,
    pub(crate) first_batch: u64,
    pub(crate) previous: Hash,
    pub(crate) durable: u64,
}

impl NextFrame {
    /// The next frame after a position, in a log that has reached `format`.
    pub(crate) fn after(
        position: &LogPosition,
        format: u16,
        (term, last_term): (u64, u64),
        durable: u64,
    ) -> Self {
        Self {
            format,
            number: position.frame + 1,
            term,
            last_term,
            first_sequence: position.next_sequence,
            first_batch: position.next_batch,
            previous: position.hash,
            durable,
        }
    }
}

/// Why a frame could not be encoded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EncodeError {
    #[error(transparent)]
    Refused(#[from] FrameRejection),
    #[error("the frame has side entries, but there is no key to seal them")]
    NoKey,
    #[error(transparent)]
    Side(#[from] SideError),
}

/// Appends a batch in the form of its section.
fn write_batch(out: &mut Vec<u8>, batch: &SignedBatch) {
    let header = &batch.header;
    out.extend_from_slice(&header.number.to_be_bytes());
    out.extend_from_slice(&header.first_sequence.to_be_bytes());
    out.extend_from_slice(&header.count.to_be_bytes());
    for hash in [
        header.previous_head,
        header.head,
        header.root,
        header.history,
        header.state,
    ] {
        out.extend_from_slice(&hash.0);
    }
    out.extend_from_slice(&header.sealed_at_ms.to_be_bytes());
    out.extend_from_slice(&batch.signature.0);
}

/// Reads a batch as [`write_batch`] wrote it.
fn read_batch(bytes: &[u8; BATCH_BYTES]) -> Result<SignedBatch, CodecError> {
    let mut fields = FieldReader(bytes);
    let mut read = || {
        let (number, first_sequence, count) = (fields.u64()?, fields.u64()?, fields.u32()?);
        let mut hash = || fields.array().map(Hash);
        let header = BatchHeader {
            number,
            first_sequence,
            count,
            previous_head: hash()?,
            head: hash()?,
            root: hash()?,
            history: hash()?,
            state: hash()?,
            sealed_at_ms: fields.u64()?,
        };
        let signature = Signature(fields.array()?);
        Some(SignedBatch { header, signature })
    };
    read().ok_or_else(|| CodecError::bytes("the batch ends too early"))
}
