//! The packed form of a [`RequestRecord`]. Kinds are numbers, targets that are ids take no text, salts come from the
//! seed. A table of offsets precedes the actions, so one of 500 is read without the others. Every record has exactly
//! one form.

mod leaves;
mod packing;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;

use kedge_protocol::action::{Kind, RequestHead};
use kedge_protocol::possession;
use kedge_protocol::record::{ActionRecord, FailedAction, RequestRecord};
use kedge_protocol::signature::Signature;
use kedge_protocol::{Address, Hash, Id, Prefix};

pub(crate) use self::leaves::{groups, leaves_of};
use self::packing::{ByteReader, push_varint};
use crate::codec::{self, CodecError};

/// Flags of an action. The two lowest bits state how the target is written.
mod flag {
    pub(super) const TARGET_EMPTY: u8 = 0;
    pub(super) const TARGET_RESOURCE: u8 = 1;
    pub(super) const TARGET_ID: u8 = 2;
    pub(super) const TARGET_TEXT: u8 = 3;
    pub(super) const TARGET_MASK: u8 = 3;
    pub(super) const DISCLOSED: u8 = 4;
    /// The integrity before the action is not zero, so it is written.
    pub(super) const PREVIOUS: u8 = 8;
    pub(super) const KNOWN: u8 = TARGET_MASK | DISCLOSED | PREVIOUS;
}

const CUSTOM_KIND: u8 = 0;
/// Offset of an action's kind: after its index.
const KIND_AT: usize = 2;
const ID_TEXT_BYTES: usize = 30;

/// Buffer for an id's text on the stack: a batch compares 500 targets with their resources.
struct IdTextBuffer {
    bytes: [u8; ID_TEXT_BYTES],
    used: usize,
}

impl Write for IdTextBuffer {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.used + text.len();
        let place = self.bytes.get_mut(self.used..end).ok_or(std::fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.used = end;
        Ok(())
    }
}

fn is_text_of(text: &str, id: &Id) -> bool {
    let mut written = IdTextBuffer {
        bytes: [0; ID_TEXT_BYTES],
        used: 0,
    };
    text.len() == ID_TEXT_BYTES
        && write!(written, "{id}").is_ok()
        && written.bytes == text.as_bytes()
}

/// Packs records. Remembers the last target id, because the mints of one request mostly name one template.
#[derive(Default)]
struct RecordPacker<'a> {
    last_target: Option<(&'a str, Id)>,
}

impl<'a> RecordPacker<'a> {
    fn target_id(&mut self, target: &'a str) -> Option<Id> {
        if let Some((text, id)) = self.last_target
            && text == target
        {
            return Some(id);
        }
        let id = target.parse().ok()?;
        self.last_target = Some((target, id));
        Some(id)
    }

    fn push_action(&mut self, out: &mut Vec<u8>, action: &'a ActionRecord<'_>) {
        out.extend_from_slice(&action.index.to_be_bytes());
        if let Some(number) = action.kind.number() {
            out.push(number);
        } else {
            out.push(CUSTOM_KIND);
            push_text(out, action.kind.text());
        }
        let flags_at = out.len();
        out.push(0);
        push_id(out, &action.resource);
        push_varint(out, action.version);
        push_varint(out, action.previous_sequence);
        let mut flags = self.push_target(out, action);
        if action.previous_integrity != Hash::ZERO {
            flags |= flag::PREVIOUS;
            out.extend_from_slice(&action.previous_integrity.0);
        }
        if let Some(disclosed) = &action.disclosed {
            flags |= flag::DISCLOSED;
            push_text(out, disclosed);
        }
        out[flags_at] = flags;
        out.extend_from_slice(action.payload.as_bytes());
    }

    fn push_target(&mut self, out: &mut Vec<u8>, action: &'a ActionRecord<'_>) -> u8 {
        if action.target.is_empty() {
            flag::TARGET_EMPTY
        } else if is_text_of(&action.target, &action.resource) {
            flag::TARGET_RESOURCE
        } else if let Some(target) = self.target_id(&action.target) {
            push_id(out, &target);
            flag::TARGET_ID
        } else {
            push_text(out, &action.target);
            flag::TARGET_TEXT
        }
    }
}

/// An id whose prefix follows from its position in the record.
fn id(prefix: Prefix, bytes: [u8; 16]) -> Id {
    Id { prefix, bytes }
}

fn push_id(out: &mut Vec<u8>, id: &Id) {
    out.push(id.prefix as u8);
    out.extend_from_slice(&id.bytes);
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    push_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

fn count(length: usize) -> u16 {
    u16::try_from(length).expect("a request has at most 500 actions (limits)")
}

pub fn pack(out: &mut Vec<u8>, record: &RequestRecord<'_>) {
    out.push(codec::FORMAT);
    out.extend_from_slice(&record.batch_number.to_be_bytes());
    out.extend_from_slice(&record.first_sequence.to_be_bytes());
    out.extend_from_slice(&record.first_leaf_index.to_be_bytes());
    out.extend_from_slice(&record.timestamp_ms.to_be_bytes());
    out.extend_from_slice(&record.organization_id.bytes);
    out.extend_from_slice(&record.wallet_id.bytes);
    out.extend_from_slice(&record.head.signer.0);
    out.extend_from_slice(&record.head.nonce.to_be_bytes());
    out.extend_from_slice(&record.head.deadline_s.to_be_bytes());
    out.push(u8::from(record.head.atomic));
    out.extend_from_slice(&record.signature.0);
    out.extend_from_slice(&record.salt_seed.0);
    out.extend_from_slice(&count(record.actions.len()).to_be_bytes());
    out.extend_from_slice(&count(record.failed.len()).to_be_bytes());
    for failed in &record.failed {
        out.extend_from_slice(&failed.index.to_be_bytes());
        out.extend_from_slice(&failed.action_hash.0);
    }
    let ends_at = out.len();
    out.resize(ends_at + record.actions.len() * 4, 0);
    let actions_at = out.len();
    let mut packer = RecordPacker::default();
    for (i, action) in record.actions.iter().enumerate() {
        packer.push_action(out, action);
        let end = u32::try_from(out.len() - actions_at)
            .expect("a request's payloads fit its body, far below 4 GiB (limits)");
        out[ends_at + i * 4..][..4].copy_from_slice(&end.to_be_bytes());
    }
}

/// Size of a request's fixed-length fields, which precede the counts of actions.
const FIXED_BYTES: usize = 195;

/// Head and table of offsets of a packed record, which precede its actions.
pub(crate) struct RecordOutline<'a> {
    /// The record without its actions.
    pub(crate) head: RequestRecord<'static>,
    ends: &'a [[u8; 4]],
}

impl<'a> RecordOutline<'a> {
    /// Size of head and table, from a record's first bytes; `None` if these are too few.
    pub(crate) fn bytes(first: &[u8]) -> Option<usize> {
        let [done_high, done_low, failed_high, failed_low] =
            *first.get(FIXED_BYTES..)?.first_chunk::<4>()?;
        let done = usize::from(u16::from_be_bytes([done_high, done_low]));
        let failed = usize::from(u16::from_be_bytes([failed_high, failed_low]));
        Some(FIXED_BYTES + 4 + failed * (2 + 32) + done * 4)
    }

    /// Reads head and table; returns them and the bytes after them.
    ///
    /// # Errors
    /// [`CodecError`] if the bytes do not begin with them.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), CodecError> {
        let mut reader = ByteReader(codec::body(bytes)?);
        let mut head = RequestRecord {
            batch_number: reader.u64()?,
            first_sequence: reader.u64()?,
            first_leaf_index: reader.u32()?,
            timestamp_ms: reader.u64()?,
            organization_id: id(Prefix::Organization, reader.array()?),
            wallet_id: id(Prefix::Wallet, reader.array()?),
            head: RequestHead {
                signer: Address(reader.array()?),
                nonce: reader.u64()?,
                deadline_s: reader.u64()?,
                atomic: match reader.u8()? {
                    0 => false,
                    1 => true,
                    other => return Err(CodecError::Number(other, "yes or no")),
                },
            },
            signature: Signature(reader.array()?),
            salt_seed: Hash(reader.array()?),
            actions: Vec::new(),
            failed: Vec::new(),
        };
        let done_count = usize::from(reader.u16()?);
        let failed_count = usize::from(reader.u16()?);
        if done_count == 0 {
            return Err(CodecError::bytes("a record without an action"));
        }
        if head.first_sequence.checked_add(done_count as u64).is_none() {
            return Err(CodecError::bytes("the record's sequences overflow"));
        }
        for _ in 0..failed_count {
            head.failed.push(FailedAction {
                index: reader.u16()?,
                action_hash: Hash(reader.array()?),
            });
        }
        let (ends, _) = reader.take(done_count * 4)?.as_chunks::<4>();
        Ok((Self { head, ends }, reader.0))
    }

    pub(crate) fn count(&self) -> usize {
        self.ends.len()
    }

    fn end(&self, position: usize) -> usize {
        u32::from_be_bytes(self.ends[position]) as usize
    }

    /// Byte range of the action at `position`, relative to the first action; `None` if the table is damaged or has no
    /// such position.
    pub(crate) fn range(&self, position: usize) -> Option<Range<usize>> {
        let end = u32::from_be_bytes(*self.ends.get(position)?) as usize;
        let start = position.checked_sub(1).map_or(0, |before| self.end(before));
        (start <= end).then_some(start..end)
    }
}

/// A packed record whose head was read, but not its actions.
pub struct PackedRequest<'a> {
    outline: RecordOutline<'a>,
    actions: &'a [u8],
}

impl<'a> PackedRequest<'a> {
    /// Reads the head of a packed record.
    ///
    /// # Errors
    /// [`CodecError`] if the bytes are not exactly one packed record.
    pub fn read(bytes: &'a [u8]) -> Result<Self, CodecError> {
        let (outline, actions) = RecordOutline::read(bytes)?;
        if outline.end(outline.count() - 1) == actions.len() {
            Ok(Self { outline, actions })
        } else {
            Err(CodecError::bytes("the last action does not end the record"))
        }
    }

    /// Number of actions that were done.
    pub fn count(&self) -> usize {
        self.outline.count()
    }

    /// The record, without its actions.
    pub fn head(&self) -> &RequestRecord<'static> {
        &self.outline.head
    }

    /// Reads the action at `position` among the done ones.
    ///
    /// # Errors
    /// [`CodecError`] if the action's bytes are damaged, or there is no such position.
    pub fn action(&self, position: usize) -> Result<ActionRecord<'a>, CodecError> {
        self.packed_action(position).map(ActionRecord::from)
    }

    fn packed_action(&self, position: usize) -> Result<PackedAction<'a>, CodecError> {
        let range = self.outline.range(position);
        let bytes = range.and_then(|range| self.actions.get(range));
        let bytes =
            bytes.ok_or_else(|| CodecError::bytes("the offsets of the actions do not increase"))?;
        read_action(ByteReader(bytes))
    }

    /// Reads all actions, borrowed from the packed bytes.
    ///
    /// # Errors
    /// [`CodecError`] if an action's bytes are damaged.
    pub fn into_record(self) -> Result<RequestRecord<'a>, CodecError> {
        Ok(RequestRecord {
            actions: self.actions()?,
            ..self.outline.head
        })
    }

    /// Whether the request adds keys to wallets; reads only the numbers of kinds.
    pub(crate) fn adds_keys(&self) -> bool {
        let number = Kind::WalletKeyAdd.number();
        (0..self.count()).any(|position| {
            let range = self.outline.range(position);
            let action = range.and_then(|range| self.actions.get(range));
            action.and_then(|action| action.get(KIND_AT)).copied() == number
        })
    }

    /// Whether the request states a key's consent to join a wallet.
    pub(crate) fn states_consent(&self) -> bool {
        self.adds_keys()
            && self
                .actions()
                .is_ok_and(|actions| possession::is_stated_in(&actions))
    }

    /// Like [`Self::into_record`], but keeps the packed request.
    pub(crate) fn record(&self) -> Result<RequestRecord<'a>, CodecError> {
        Ok(RequestRecord {
            actions: self.actions()?,
            ..self.outline.head.clone()
        })
    }

    fn actions(&self) -> Result<Vec<ActionRecord<'a>>, CodecError> {
        (0..self.count())
            .map(|position| self.action(position))
            .collect()
    }
}

#[derive(Clone, Copy)]
enum PackedTarget<'a> {
    Text(&'a str),
    Id(Id),
}

/// An action as written; variable-length fields borrow the record's bytes.
struct PackedAction<'a> {
    index: u16,
    kind: Kind,
    target: PackedTarget<'a>,
    payload: &'a str,
    disclosed: Option<&'a str>,
    resource: Id,
    version: u64,
    previous_integrity: Hash,
    previous_sequence: u64,
}

impl<'a> From<PackedAction<'a>> for ActionRecord<'a> {
    fn from(action: PackedAction<'a>) -> Self {
        Self {
            index: action.index,
            kind: action.kind,
            target: match action.target {
                PackedTarget::Text(text) => Cow::Borrowed(text),
                PackedTarget::Id(id) => Cow::Owned(id.to_string()),
            },
            payload: Cow::Borrowed(action.payload),
            disclosed: action.disclosed.map(Cow::Borrowed),
            resource: action.resource,
            version: action.version,
            previous_integrity: action.previous_integrity,
            previous_sequence: action.previous_sequence,
        }
    }
}

/// Reads an action from exactly its bytes.
pub(crate) fn action_of(bytes: &[u8]) -> Result<ActionRecord<'_>, CodecError> {
    read_action(ByteReader(bytes)).map(ActionRecord::from)
}

fn read_action(mut reader: ByteReader<'_>) -> Result<PackedAction<'_>, CodecError> {
    let index = reader.u16()?;
    let kind = read_kind(&mut reader)?;
    let flags = reader.u8()?;
    if flags & !flag::KNOWN != 0 {
        return Err(CodecError::Number(flags, "set of an action's flags"));
    }
    let resource = read_id(&mut reader)?;
    let version = reader.varint()?;
    let previous_sequence = reader.varint()?;
    let target = read_target(&mut reader, flags & flag::TARGET_MASK, &resource)?;
    let previous_integrity = if flags & flag::PREVIOUS == 0 {
        Hash::ZERO
    } else {
        Hash(reader.array()?)
    };
    if flags & flag::PREVIOUS != 0 && previous_integrity == Hash::ZERO {
        return Err(CodecError::bytes("a zero integrity must be left out"));
    }
    let disclosed = if flags & flag::DISCLOSED == 0 {
        None
    } else {
        Some(read_text(&mut reader)?)
    };
    let payload = reader.text(reader.0.len())?;
    Ok(PackedAction {
        index,
        kind,
        target,
        payload,
        disclosed,
        resource,
        version,
        previous_integrity,
        previous_sequence,
    })
}

fn read_kind(reader: &mut ByteReader<'_>) -> Result<Kind, CodecError> {
    let number = reader.u8()?;
    if number != CUSTOM_KIND {
        return Kind::of_number(number).ok_or(CodecError::Number(number, "kind of action"));
    }
    match Kind::of_text(read_text(reader)?) {
        Some(kind @ Kind::Custom(_)) => Ok(kind),
        _ => Err(CodecError::bytes("a kind's text is not a custom kind")),
    }
}

fn read_target<'a>(
    reader: &mut ByteReader<'a>,
    form: u8,
    resource: &Id,
) -> Result<PackedTarget<'a>, CodecError> {
    let longer = || Err(CodecError::bytes("a target is not in its shortest form"));
    match form {
        flag::TARGET_EMPTY => Ok(PackedTarget::Text("")),
        flag::TARGET_RESOURCE => Ok(PackedTarget::Id(*resource)),
        flag::TARGET_ID => match read_id(reader)? {
            target if target == *resource => longer(),
            target => Ok(PackedTarget::Id(target)),
        },
        _ => match read_text(reader)? {
            text if text.is_empty() || text.parse::<Id>().is_ok() => longer(),
            text => Ok(PackedTarget::Text(text)),
        },
    }
}

fn read_id(reader: &mut ByteReader<'_>) -> Result<Id, CodecError> {
    let number = reader.u8()?;
    let prefix =
        Prefix::of_number(number).ok_or(CodecError::Number(number, "prefix of an identifier"))?;
    Ok(id(prefix, reader.array()?))
}

fn read_text<'a>(reader: &mut ByteReader<'a>) -> Result<&'a str, CodecError> {
    let bytes = usize::try_from(reader.varint()?)
        .map_err(|_| CodecError::bytes("a text's length is too large"))?;
    reader.text(bytes)
}

pub fn owned_action(action: ActionRecord<'_>) -> ActionRecord<'static> {
    ActionRecord {
        index: action.index,
        kind: action.kind,
        target: Cow::Owned(action.target.into_owned()),
        payload: Cow::Owned(action.payload.into_owned()),
        disclosed: action.disclosed.map(|text| Cow::Owned(text.into_owned())),
        resource: action.resource,
        version: action.version,
        previous_integrity: action.previous_integrity,
        previous_sequence: action.previous_sequence,
    }
}

pub fn owned_record(record: RequestRecord<'_>) -> RequestRecord<'static> {
    RequestRecord {
        batch_number: record.batch_number,
        first_sequence: record.first_sequence,
        first_leaf_index: record.first_leaf_index,
        timestamp_ms: record.timestamp_ms,
        organization_id: record.organization_id,
        wallet_id: record.wallet_id,
        head: record.head,
        signature: record.signature,
        salt_seed: record.salt_seed,
        actions: record.actions.into_iter().map(owned_action).collect(),
        failed: record.failed,
    }
}
