//! Commit groups. A group is a frame of the log and the rows that follow from this frame; they become durable, and then
//! visible, together.

mod compare;
mod counts;
mod objects;
mod sequencer_keys;
mod side_writes;
mod writes;

use kedge_log::{Frame, FrameRejection};
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::event::EventPosition;
use kedge_protocol::log_tree::NewNode;
use kedge_protocol::record::RequestRecord;
use kedge_protocol::resource::{Dispute, DisputeMatter, Template, Variation, Wallet};
use kedge_protocol::{Address, Hash, Id};

use crate::codec::encode_into;
use crate::tables::batches::node_key;
use crate::tables::events::{EventRow, event_key, position_bytes};
use crate::tables::meta::{self, LogHead};
use crate::tables::row::{BincodeRow, StoredResource};
use crate::tables::{self, Table, claim_key, evidence_key, list_key, lookup, name_key};

pub use side_writes::SideWrite;
use writes::WriteBuffer;

/// All writes of one commit. Building it needs no store and does no I/O.
pub struct WriteGroup {
    writes: WriteBuffer,
    /// The log's frame; `None` if the log already has the source of the rows.
    frame: Option<Box<Frame>>,
    /// Why the frame cannot go to the log.
    refused: Option<FrameRejection>,
    /// Ids of its actions, with their sequences.
    pub(crate) action_ids: Vec<([u8; 16], u64)>,
    /// The time of the log's last batch, if the group has a head.
    pub(crate) sealed_at_ms: Option<u64>,
    /// Whether a root of the state after the group is due.
    is_root_due: bool,
}

impl Default for WriteGroup {
    fn default() -> Self {
        Self::new()
    }
}

impl WriteGroup {
    /// An empty group for the log and the store.
    pub fn new() -> Self {
        Self::with_capacity_bytes(0)
    }

    /// An empty group for rows alone: the log already has their source.
    pub fn of_rows() -> Self {
        Self {
            writes: WriteBuffer::default(),
            frame: None,
            refused: None,
            action_ids: Vec::new(),
            sealed_at_ms: None,
            is_root_due: false,
        }
    }

    /// An empty group, with room for keys and values of this many bytes.
    pub fn with_capacity_bytes(capacity_bytes: usize) -> Self {
        Self {
            writes: WriteBuffer::with_capacity_bytes(capacity_bytes),
            frame: Some(Box::default()),
            ..Self::of_rows()
        }
    }

    /// Drops the contents and keeps the memory: fresh pages for every group cost a tenth of the processor's time.
    pub fn clear(&mut self) {
        self.writes.clear();
        if let Some(frame) = &mut self.frame {
            frame.clear();
        }
        self.refused = None;
        self.action_ids.clear();
        self.sealed_at_ms = None;
        self.is_root_due = false;
    }

    /// The frame for the log.
    pub(crate) fn frame(&self) -> Result<&Frame, FrameRejection> {
        match (&self.frame, &self.refused) {
            (_, Some(refused)) => Err(refused.clone()),
            (Some(frame), None) => Ok(frame),
            (None, None) => Err(FrameRejection("the group has only rows")),
        }
    }

    fn in_frame(&mut self, push: impl FnOnce(&mut Frame) -> Result<(), FrameRejection>) {
        if let Some(frame) = &mut self.frame
            && let Err(refused) = push(frame)
        {
            self.refused.get_or_insert(refused);
        }
    }

    /// Bytes of keys and values so far.
    pub fn len_bytes(&self) -> usize {
        self.writes.len_bytes()
    }

    /// Number of writes, counting repeated writes to one row.
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// Takes the ids of the group's actions with their sequences, for [`Store::index`].
    ///
    /// [`Store::index`]: crate::Store::index
    pub fn take_action_ids(&mut self) -> Vec<([u8; 16], u64)> {
        std::mem::take(&mut self.action_ids)
    }

    /// True if there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Each row's last write, in the order of tables and keys; a value of `None` deletes.
    pub(crate) fn writes(&self) -> impl Iterator<Item = (Table, &[u8], Option<&[u8]>)> {
        self.writes.in_order()
    }

    fn put_with(&mut self, table: Table, key: &[u8], value: impl FnOnce(&mut Vec<u8>)) {
        self.writes.put_with(table, key, value);
        self.note_side(table, key);
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) {
        self.put_with(table, key, |out| out.extend_from_slice(value));
    }

    fn delete(&mut self, table: Table, key: &[u8]) {
        self.writes.delete(table, key);
        self.note_side(table, key);
    }

    /// Adds a request's record, with the contents of its actions (in order), which determine their ids.
    pub fn put_request(&mut self, record: &RequestRecord<'_>, contents: &[Hash]) {
        assert_eq!(
            record.actions.len(),
            contents.len(),
            "one content for each action"
        );
        let first = record.first_sequence;
        self.in_frame(|frame| frame.push_request(record));
        let ids = contents.iter().map(Hash::first_16);
        self.action_ids.extend(ids.zip(first..));
        let mut key = [0; 24];
        key[..16].copy_from_slice(&record.organization_id.bytes);
        key[16..].copy_from_slice(&first.to_be_bytes());
        self.put(
            Table::RequestsByOrganization,
            &key,
            &(contents.len() as u64).to_be_bytes(),
        );
    }

    /// Adds a sealed batch and its leaf hashes.
    pub fn put_batch(&mut self, batch: &SignedBatch, leaves: &[Hash]) {
        assert_eq!(
            batch.header.count as usize,
            leaves.len(),
            "one leaf for each action"
        );
        let key = batch.header.number.to_be_bytes();
        self.in_frame(|frame| frame.push_batch(batch, leaves));
        self.put(Table::BatchIds, &batch.id().bytes, &key);
    }

    /// As [`Self::put_batch`], for a group whose batches all have leaves computed from its requests.
    pub fn put_placed_batch(&mut self, batch: &SignedBatch, leaves: &[Hash]) {
        self.put_batch(batch, leaves);
        if let Some(frame) = &mut self.frame {
            frame.set_leaves_follow();
        }
    }

    /// Adds a node of the log tree.
    pub fn put_node(&mut self, node: &NewNode) {
        self.put(Table::Tree, &node_key(node.level, node.index), &node.hash.0);
    }

    /// Writes a wallet, its e-mail address and its signing addresses. A signing address stays the wallet's for ever.
    /// `before` is its earlier state, whose e-mail address is released if it changed. A removed wallet releases its
    /// e-mail address too.
    pub fn put_wallet(&mut self, wallet: &Wallet, before: Option<&Wallet>) {
        if let Some(before) = before.filter(|before| before.email != wallet.email) {
            let email = tables::kind_key(lookup::WALLET_EMAIL, before.email.as_bytes());
            self.delete(Table::Lookup, &email);
        }
        self.put_resource(wallet);
        let email = tables::kind_key(lookup::WALLET_EMAIL, wallet.email.as_bytes());
        if wallet.is_removed() {
            self.delete(Table::Lookup, &email);
        } else {
            self.put(Table::Lookup, &email, &wallet.id.bytes);
        }
        for address in wallet.keys.iter().chain([&wallet.address]) {
            let key = tables::kind_key(lookup::WALLET_ADDRESS, &address.0);
            self.put(Table::Lookup, &key, &wallet.id.bytes);
        }
    }

    /// Writes a template, and its name in its organization. `before` is its earlier state: its name is released if it
    /// changed.
    pub fn put_template(&mut self, template: &Template, before: Option<&Template>) {
        if let Some(before) = before.filter(|before| before.name != template.name) {
            let within = &template.organization_id;
            let name = name_key(lookup::TEMPLATE_NAME, within, &before.name);
            self.delete(Table::Lookup, &name);
        }
        self.put_resource(template);
        let within = &template.organization_id;
        let name = name_key(lookup::TEMPLATE_NAME, within, &template.name);
        self.put(Table::Lookup, &name, &template.id.bytes);
    }

    /// Writes a variation, and its name in its template.
    pub fn put_variation(&mut self, variation: &Variation) {
        self.put_resource(variation);
        let within = &variation.template_id;
        let name = name_key(lookup::VARIATION_NAME, within, &variation.name);
        self.put(Table::Lookup, &name, &variation.id.bytes);
    }

    /// Writes a dispute, its entry in its organization's list, and the evidence or context that leads to it.
    pub fn put_dispute(&mut self, dispute: &Dispute) {
        self.put_resource(dispute);
        let organization = &dispute.organization_id;
        let key = match &dispute.matter {
            DisputeMatter::Fault { evidence_digest } => evidence_key(organization, evidence_digest),
            DisputeMatter::Claim { context } => claim_key(context),
        };
        self.put(Table::Lookup, &key, &dispute.id.bytes);
    }

    /// Writes a resource, and its entry in its list.
    pub fn put_resource<T: StoredResource>(&mut self, resource: &T) {
        let id = resource.id().bytes;
        self.put_with(T::TABLE, &id, |out| resource.write(out));
        if let (Some(list), Some((of, number))) = (T::LIST, resource.list_place()) {
            self.put(Table::Lookup, &list_key(list, &of, number), &id);
        }
    }

    /// Notes that another organization's wallet acted on an object of `issuer`.
    pub fn put_foreign_action(&mut self, issuer: Id, sequence: u64) {
        let mut key = [0; 24];
        key[..16].copy_from_slice(&issuer.bytes);
        key[16..].copy_from_slice(&sequence.to_be_bytes());
        self.put(Table::ForeignActions, &key, &[]);
    }

    /// Adds an event outside the log; `number` counts the events of the same organization.
    pub fn put_event(&mut self, position: EventPosition, number: u64, event: &EventRow) {
        let key = event_key(event.organization_id, position);
        self.put_with(Table::Events, &key, |out| {
            encode_into(out, &(number, BincodeRow(event)));
        });
    }

    /// Sets the position of the last event outside the log.
    pub fn put_last_event(&mut self, position: EventPosition) {
        let place = position_bytes(position);
        self.put(Table::Meta, meta::EVENTS_KEY, &place);
    }

    /// Deletes an event outside the log.
    pub fn delete_event(&mut self, organization: Option<Id>, position: EventPosition) {
        self.delete(Table::Events, &event_key(organization, position));
    }

    /// Sets the log's first key.
    pub(crate) fn put_first_key(&mut self, key: Address) {
        self.put(Table::Meta, meta::FIRST_KEY_KEY, &key.0);
    }

    /// Begins a log: its first key, and that all its checkpoints have a root of the state.
    pub(crate) fn put_beginning(&mut self, key: Address) {
        self.put_first_key(key);
        self.put_roots_from(0);
    }

    /// Sets the number of batches from which on checkpoints have a root of the state. It raises the log's format.
    pub fn put_roots_from(&mut self, batches: u64) {
        self.in_frame(|frame| {
            frame.names_roots();
            Ok(())
        });
        self.put(Table::Meta, meta::ROOTS_FROM_KEY, &batches.to_be_bytes());
    }

    /// Notes that a root of the state after this group, which ends with this number of batches, is due on every node.
    pub fn put_root_due(&mut self, batches: u64) {
        self.is_root_due = true;
        self.put(Table::Meta, meta::ROOT_DUE_KEY, &batches.to_be_bytes());
    }

    /// Whether a root of the state after this group is due.
    pub fn is_root_due(&self) -> bool {
        self.is_root_due
    }

    /// Sets the log's head after this group.
    pub fn put_head(&mut self, head: &LogHead) {
        self.sealed_at_ms = Some(head.last_sealed_at_ms);
        self.put_with(Table::Meta, meta::HEAD_KEY, |out| {
            encode_into(out, &BincodeRow(head));
        });
    }
}

/// A resource that more than its id and its list leads to, such as a name.
pub trait NamedResource: Sized {
    /// Writes its row and all that leads to it. `before` is its earlier state, whose names become free.
    fn put_into(&self, group: &mut WriteGroup, before: Option<&Self>);
}

impl NamedResource for Wallet {
    fn put_into(&self, group: &mut WriteGroup, before: Option<&Self>) {
        group.put_wallet(self, before);
    }
}

impl NamedResource for Template {
    fn put_into(&self, group: &mut WriteGroup, before: Option<&Self>) {
        group.put_template(self, before);
    }
}

impl NamedResource for Variation {
    fn put_into(&self, group: &mut WriteGroup, _: Option<&Self>) {
        group.put_variation(self);
    }
}

impl NamedResource for Dispute {
    fn put_into(&self, group: &mut WriteGroup, _: Option<&Self>) {
        group.put_dispute(self);
    }
}
