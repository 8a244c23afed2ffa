//! A frame read from a segment: checked, and parsed on demand.

use std::borrow::Borrow;

use kedge_protocol::Hash;
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::lanes::sha256_each;

use super::header::{BATCH_BYTES, FrameHeader, HeaderError, SectionKind, sha256};
use super::read_batch;
use super::requests::RequestTable;
use super::side::{KeyId, SideEntry, SideError, SideKeys, keys_of};
use crate::codec::CodecError;
use crate::packed::{PackedRequest, groups, leaves_of};

/// Why bytes are not a whole frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The bytes end within the body.
    #[error("the frame is cut off")]
    Short,
    /// The checksum of the body does not match.
    #[error("the checksum of the frame's body does not match")]
    Crc,
    /// A section does not match its digest.
    #[error("the section of {0:?} does not match the digest in the header")]
    Digest(SectionKind),
    /// A section cannot be parsed, though its checksum and digest match.
    #[error("the section of {0:?} cannot be read: {1}")]
    Section(SectionKind, CodecError),
}

/// A frame that was read; the checksums of header and body hold.
#[derive(Clone, Debug)]
pub struct StoredFrame {
    header: FrameHeader,
    bytes: Vec<u8>,
}

impl StoredFrame {
    /// Reads the frame that `bytes` hold.
    ///
    /// # Errors
    /// [`FrameError`] if they are not a whole frame, or a checksum does not hold.
    pub fn read(bytes: Vec<u8>) -> Result<Self, FrameError> {
        let header = FrameHeader::read(&bytes)?;
        if bytes.len() != header.frame_bytes() {
            return Err(FrameError::Short);
        }
        if crc32c::crc32c(&bytes[header.header_bytes()..]) != header.body_crc {
            return Err(FrameError::Crc);
        }
        Ok(Self { header, bytes })
    }

    pub fn header(&self) -> &FrameHeader {
        &self.header
    }

    /// The frame's bytes as stored: followers receive them unchanged.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The frame's bytes for another node: without the statement about this node's disk. The hash does not change.
    pub fn for_others(&self) -> Vec<u8> {
        let mut header = self.header.clone();
        header.durable = 0;
        let mut bytes = Vec::with_capacity(self.bytes.len());
        header.write(&mut bytes);
        bytes.extend_from_slice(&self.bytes[header.header_bytes()..]);
        bytes
    }

    /// The buffer of the bytes, for reuse.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The bytes of a section; `None` if the frame has none of its kind or they were dropped.
    pub fn section(&self, kind: SectionKind) -> Option<&[u8]> {
        Some(&self.bytes[self.header.section_range(kind)?])
    }

    /// Checks every present section against its digest, which the chain of frames covers.
    ///
    /// # Errors
    /// [`FrameError::Digest`] names the first mismatch.
    pub fn check_digests(&self) -> Result<(), FrameError> {
        let mut checked = Self::check_digests_of(std::slice::from_ref(self));
        checked.pop().unwrap_or(Ok(()))
    }

    /// [`Self::check_digests`] for several frames in parallel; returns the result for each.
    pub(crate) fn check_digests_of<F: Borrow<Self>>(frames: &[F]) -> Vec<Result<(), FrameError>> {
        let frames: Vec<&Self> = frames.iter().map(Borrow::borrow).collect();
        let mut checked = vec![Ok(()); frames.len()];
        for kind in SectionKind::ALL {
            let present = frames.iter().enumerate();
            let present: Vec<_> = present
                .filter_map(|(index, frame)| Some((index, frame.section(kind)?)))
                .collect();
            let sections: Vec<&[u8]> = present.iter().map(|(_, bytes)| *bytes).collect();
            for ((index, _), digest) in present.iter().zip(sha256_each(&sections)) {
                let named = frames[*index].header.section(kind);
                let holds = named.is_some_and(|section| section.digest == digest);
                if !holds && checked[*index].is_ok() {
                    checked[*index] = Err(FrameError::Digest(kind));
                }
            }
        }
        checked
    }

    /// The batches, in order.
    ///
    /// # Errors
    /// [`FrameError::Section`] if the section is damaged.
    pub fn batches(&self) -> Result<Vec<SignedBatch>, FrameError> {
        batches(self.section(SectionKind::Batches).unwrap_or_default())
            .map_err(|error| FrameError::Section(SectionKind::Batches, error))
    }

    /// The leaves of all actions, in order; recomputed from the requests if they were dropped.
    ///
    /// # Errors
    /// [`FrameError`] if a section is damaged, or the recomputed leaves differ from the dropped ones.
    pub fn leaves(&self) -> Result<Vec<Hash>, FrameError> {
        if let Some(bytes) = self.section(SectionKind::Leaves) {
            return Ok(hashes(bytes));
        }
        let Some(section) = self.header.section(SectionKind::Leaves) else {
            return Ok(Vec::new());
        };
        let leaves = self.computed_leaves()?;
        if digest_of(&leaves) == section.digest {
            Ok(leaves)
        } else {
            Err(FrameError::Digest(SectionKind::Leaves))
        }
    }

    fn computed_leaves(&self) -> Result<Vec<Hash>, FrameError> {
        // The requests limit the count: the header alone could ask for any amount of memory.
        let requests = self.requests()?;
        let mut leaves = Vec::with_capacity(self.header.actions as usize);
        for group in groups(&requests) {
            let found = leaves_of(group);
            let found =
                found.map_err(|(_, error)| FrameError::Section(SectionKind::Requests, error));
            leaves.extend(found?);
        }
        Ok(leaves)
    }

    /// Whether the chain of frames covers these leaves, stored or dropped.
    pub(crate) fn names_leaves(&self, leaves: &[Hash]) -> bool {
        match self.header.section(SectionKind::Leaves) {
            Some(section) => digest_of(leaves) == section.digest,
            None => leaves.is_empty(),
        }
    }

    /// The bytes of each packed request, in order.
    ///
    /// # Errors
    /// [`FrameError::Section`] if the section is damaged.
    pub fn packed(&self) -> Result<Vec<&[u8]>, FrameError> {
        let damaged = |error| FrameError::Section(SectionKind::Requests, error);
        let Some(section) = self.section(SectionKind::Requests) else {
            return Ok(Vec::new());
        };
        let table = RequestTable::read(section, section.len(), self.header.actions);
        let table = table.map_err(damaged)?;
        let mut found = Vec::with_capacity(table.count());
        for index in 0..table.count() {
            let place = table.place(index);
            let bytes = &section[place.range.clone()];
            if !place.is_of(bytes) {
                return Err(damaged(CodecError::bytes(
                    "a request's checksum does not match",
                )));
            }
            found.push(bytes);
        }
        Ok(found)
    }

    /// The requests, in order, with consecutive sequences.
    ///
    /// # Errors
    /// [`FrameError::Section`] if the section is damaged.
    pub fn requests(&self) -> Result<Vec<PackedRequest<'_>>, FrameError> {
        let damaged = |error| FrameError::Section(SectionKind::Requests, error);
        let mut next = self.header.first_sequence;
        let mut requests = Vec::new();
        for bytes in self.packed()? {
            let request = PackedRequest::read(bytes).map_err(damaged)?;
            if request.head().first_sequence != next {
                return Err(damaged(CodecError::bytes(
                    "the requests' sequences have a gap",
                )));
            }
            next += request.count() as u64;
            requests.push(request);
        }
        if next == self.header.next_sequence() {
            Ok(requests)
        } else {
            Err(damaged(CodecError::bytes(
                "the requests' sequences have a gap",
            )))
        }
    }

    /// The side entries, decrypted; none if they were dropped.
    ///
    /// # Errors
    /// [`SideError`] if a key is missing, or the entries do not open.
    pub fn side(&self, identity: &Hash, keys: &SideKeys) -> Result<Vec<SideEntry>, SideError> {
        match self.section(SectionKind::Side) {
            None => Ok(Vec::new()),
            Some(section) => keys.open(identity, self.header.number, section),
        }
    }

    /// Ids of the keys that seal the side entries; none without entries.
    ///
    /// # Errors
    /// [`SideError::Damaged`] if the section is damaged.
    pub fn side_keys(&self) -> Result<Vec<KeyId>, SideError> {
        self.section(SectionKind::Side)
            .map_or(Ok(Vec::new()), keys_of)
    }

    /// The header of the same frame without the bytes of a section, and the remaining sections. The hash does not
    /// change.
    pub(crate) fn without(&self, dropped: SectionKind) -> (FrameHeader, Vec<&[u8]>) {
        let mut header = self.header.clone();
        header.drop_section(dropped);
        let kept = SectionKind::ALL.into_iter().filter(|kind| *kind != dropped);
        let parts: Vec<&[u8]> = kept.filter_map(|kind| self.section(kind)).collect();
        header.body_crc = parts
            .iter()
            .fold(0, |crc, part| crc32c::crc32c_append(crc, part));
        (header, parts)
    }

    /// Whether the leaves are stored, and the requests produce exactly the same ones.
    pub(crate) fn leaves_follow(&self) -> bool {
        self.section(SectionKind::Leaves).is_some_and(|stored| {
            let computed = self.computed_leaves();
            computed.is_ok_and(|computed| computed == hashes(stored))
        })
    }
}

pub(crate) fn batches(section: &[u8]) -> Result<Vec<SignedBatch>, CodecError> {
    let (batches, rest) = section.as_chunks::<BATCH_BYTES>();
    if rest.is_empty() {
        batches.iter().map(read_batch).collect()
    } else {
        Err(CodecError::bytes("the batches are incomplete"))
    }
}

pub(crate) fn hashes(section: &[u8]) -> Vec<Hash> {
    let (hashes, _) = section.as_chunks::<32>();
    hashes.iter().copied().map(Hash).collect()
}

fn digest_of(hashes: &[Hash]) -> Hash {
    let mut bytes = Vec::with_capacity(hashes.len() * 32);
    for hash in hashes {
        bytes.extend_from_slice(&hash.0);
    }
    sha256(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::simulated::SimulatedEnv;
    use crate::tests::sample::{Writer, open};
    use crate::{Log, ReleaseMark};

    #[test]
    fn each_frame_learns_of_its_own_first_section_that_does_not_hold() {
        let env = SimulatedEnv::new();
        let (mut log, _) = open(&env, ReleaseMark::default()).unwrap();
        let mut writer = Writer::new();
        for actions in [3, 40, 1, 9] {
            log.append(&writer.frame(1, actions, 1)).unwrap();
        }
        log.durability().sync().unwrap();
        let frames = log.reader().frames(1).collect::<Result<Vec<_>, _>>();
        let mut frames = frames.unwrap();
        let kinds = [SectionKind::Requests, SectionKind::Side];
        for (index, kind) in [(1, kinds[0]), (3, kinds[0]), (3, kinds[1])] {
            let range = frames[index].header.section_range(kind).unwrap();
            frames[index].bytes[range.end - 1] ^= 1;
        }
        let [of_two, of_four] = kinds.map(|kind| Err(FrameError::Digest(kind)));
        let expected = [Ok(()), of_two, Ok(()), of_four];
        assert_eq!(StoredFrame::check_digests_of(&frames), expected);
        let alone: Vec<_> = frames.iter().map(StoredFrame::check_digests).collect();
        assert_eq!(alone, expected);
    }
}
