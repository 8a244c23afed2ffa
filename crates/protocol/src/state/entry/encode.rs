//! Writing entries. The fields are listed once, for two sinks: one measures the list, one writes it.

use alloy_rlp::{Encodable, Header};

use super::{ENTRY_FORMAT, EntryFields, EntryRule, StateEntry};
use crate::resource::{ObjectStatus, Role, Who};
use crate::{Address, Hash, Id};

/// Receives the items of an RLP list in order.
trait EntrySink {
    fn number(&mut self, number: u64);
    fn bytes(&mut self, bytes: &[u8]);
    /// Begins a list whose items, which follow, have this many bytes.
    fn list(&mut self, payload_bytes: usize);

    fn id(&mut self, id: &Id) {
        self.bytes(&id.text_bytes());
    }

    fn flag(&mut self, flag: bool) {
        self.number(u64::from(flag));
    }

    fn hash(&mut self, hash: &Hash) {
        self.bytes(&hash.0);
    }

    fn address(&mut self, address: &Address) {
        self.bytes(&address.0);
    }
}

/// Counts bytes.
#[derive(Default)]
struct LengthSink(usize);

impl EntrySink for LengthSink {
    fn number(&mut self, number: u64) {
        self.0 += number.length();
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0 += bytes.length();
    }

    fn list(&mut self, payload_bytes: usize) {
        self.0 += header(payload_bytes).length();
    }
}

struct ByteSink<'a>(&'a mut Vec<u8>);

impl EntrySink for ByteSink<'_> {
    fn number(&mut self, number: u64) {
        number.encode(self.0);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        bytes.encode(self.0);
    }

    fn list(&mut self, payload_bytes: usize) {
        header(payload_bytes).encode(self.0);
    }
}

fn header(payload_length: usize) -> Header {
    Header {
        list: true,
        payload_length,
    }
}

impl StateEntry {
    /// Replaces the content of `buffer` with the entry's RLP. A buffer that is used again allocates nothing.
    pub fn encode(&self, buffer: &mut Vec<u8>) {
        buffer.clear();
        let mut length = LengthSink::default();
        self.items(&mut length);
        let mut sink = ByteSink(buffer);
        sink.list(length.0);
        self.items(&mut sink);
    }

    /// The entry's RLP in a buffer that the caller keeps.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut buffer = Vec::new();
        self.encode(&mut buffer);
        buffer
    }

    fn items<S: EntrySink>(&self, sink: &mut S) {
        sink.number(ENTRY_FORMAT);
        sink.number(self.version);
        sink.number(self.sequence);
        sink.hash(&self.integrity);
        self.fields.items(sink);
    }
}

impl EntryFields {
    fn items<S: EntrySink>(&self, sink: &mut S) {
        match self {
            Self::Object(object) => {
                sink.id(&object.organization_id);
                sink.id(&object.template_id);
                match &object.variation_id {
                    Some(variation) => sink.id(variation),
                    None => sink.bytes(&[]),
                }
                sink.number(object.serial);
                sink.id(&object.owner_id);
                sink.address(&object.owner_address);
                sink.number(status_number(object.status));
                sink.hash(&object.properties_hash);
            }
            Self::Wallet(wallet) => {
                sink.id(&wallet.organization_id);
                sink.address(&wallet.address);
                sink.number(role_number(wallet.role));
                let mut length = LengthSink::default();
                wallet.keys.iter().for_each(|key| length.address(key));
                sink.list(length.0);
                wallet.keys.iter().for_each(|key| sink.address(key));
            }
            Self::Organization {} => {}
            Self::Template(template) => {
                sink.id(&template.organization_id);
                sink.flag(template.public_access);
                optional(sink, template.max_supply);
                sink.number(template.minted_count);
                sink.number(template.burned_count);
                sink.number(template.variation_count);
                sink.hash(&template.properties_hash);
                sink.hash(&template.schema_hash);
                rules(sink, &template.rules);
            }
            Self::Variation(variation) => {
                sink.id(&variation.organization_id);
                sink.id(&variation.template_id);
                sink.number(variation.index);
                sink.hash(&variation.name_hash);
                sink.hash(&variation.properties_hash);
            }
            Self::ApiKey(key) => {
                sink.id(&key.organization_id);
                sink.flag(key.deleted);
            }
            Self::Webhook(webhook) => {
                sink.id(&webhook.organization_id);
                sink.flag(webhook.active);
                sink.flag(webhook.deleted);
            }
            Self::File(file) => {
                sink.id(&file.organization_id);
                sink.id(&file.wallet_id);
                sink.hash(&file.sha256);
                sink.number(file.size_bytes);
            }
            Self::Dispute(dispute) => {
                sink.id(&dispute.organization_id);
                sink.id(&dispute.subject_id);
            }
            Self::SequencerKey(key) => {
                sink.address(&key.address);
                sink.number(key.from_batch);
            }
        }
    }
}

/// An empty list, or a list of one number.
fn optional<S: EntrySink>(sink: &mut S, number: Option<u64>) {
    sink.list(number.map_or(0, |number| number.length()));
    if let Some(number) = number {
        sink.number(number);
    }
}

fn rules<S: EntrySink>(sink: &mut S, rules: &[EntryRule]) {
    let length_of = |rule: &EntryRule| {
        let mut length = LengthSink::default();
        rule_items(&mut length, rule);
        length.0
    };
    let mut all = LengthSink::default();
    for rule in rules {
        let length = length_of(rule);
        all.list(length);
        all.0 += length;
    }
    sink.list(all.0);
    for rule in rules {
        sink.list(length_of(rule));
        rule_items(sink, rule);
    }
}

fn rule_items<S: EntrySink>(sink: &mut S, rule: &EntryRule) {
    sink.bytes(rule.kind.as_bytes());
    sink.number(who_number(rule.who));
    sink.hash(&rule.schema_hash);
}

fn status_number(status: ObjectStatus) -> u64 {
    match status {
        ObjectStatus::Active => 0,
        ObjectStatus::Locked => 1,
        ObjectStatus::Burned => 2,
    }
}

fn role_number(role: Role) -> u64 {
    match role {
        Role::Owner => 0,
        Role::Admin => 1,
        Role::Member => 2,
    }
}

fn who_number(who: Who) -> u64 {
    match who {
        Who::Owner => 0,
        Who::Issuer => 1,
        Who::Anyone => 2,
    }
}
