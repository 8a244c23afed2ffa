//! Writes of objects: their rows, lists and property index, and an organization's counts.

use kedge_protocol::Id;
use kedge_protocol::limits::OBJECT_HISTORY_MAX;
use kedge_protocol::resource::{Object, ResourceTrace};

use super::{NamedResource, WriteGroup};
use crate::codec::encode_into;
use crate::tables::objects::{ObjectIndex, milestone_key, object_row, serial_row};
use crate::tables::{Table, properties};

impl WriteGroup {
    /// Sets how many bytes an organization's requests have added.
    pub fn put_log_bytes(&mut self, organization: Id, bytes: u64) {
        self.put(Table::LogBytes, &organization.bytes, &bytes.to_be_bytes());
    }

    /// Writes an object that an action of the group minted, and that its template has minted `serial` objects with this
    /// one. `trace` is the object's place in the log.
    pub fn put_mint(&mut self, object: &Object, trace: &ResourceTrace, serial: u64) {
        self.put_object_row(object, trace);
        let (id, created) = (object.id.bytes, trace.created_sequence);
        for list in [
            ObjectIndex::Organization(object.organization_id),
            ObjectIndex::Owner(object.owner_id),
        ] {
            self.put(Table::ObjectIndex, &list.key(created), &id);
        }
        let template = ObjectIndex::Template(object.template_id).key(created);
        self.put(Table::ObjectIndex, &template, &serial_row(&id, serial));
        self.put_minted(object.template_id, serial);
    }

    /// Writes the next version of an object, or a later one if no milestone lies between. `trace` is the object's place
    /// in the log; `previous_owner` is the owner before, if it changed.
    pub fn put_object(
        &mut self,
        object: &Object,
        trace: &ResourceTrace,
        previous_owner: Option<Id>,
    ) {
        self.put_object_row(object, trace);
        if let Some(previous) = previous_owner.filter(|id| *id != object.owner_id) {
            let created = trace.created_sequence;
            let owner = ObjectIndex::Owner(object.owner_id).key(created);
            let previous = ObjectIndex::Owner(previous).key(created);
            self.delete(Table::ObjectIndex, &previous);
            self.put(Table::ObjectIndex, &owner, &object.id.bytes);
        }
    }

    fn put_object_row(&mut self, object: &Object, trace: &ResourceTrace) {
        self.put_with(Table::Objects, &object.id.bytes, |out| {
            encode_into(out, &object_row(object, trace));
        });
        if trace.version.is_multiple_of(OBJECT_HISTORY_MAX) {
            let key = milestone_key(&object.id, trace.version);
            self.put_with(Table::Milestones, &key, |out| {
                encode_into(out, &object_row(object, trace));
            });
        }
    }

    /// Changes an object's entry for one indexed property from the ordered value `before`, if it had one, to `after`.
    pub fn change_property(
        &mut self,
        object: &Object,
        path: u8,
        before: Option<&[u8]>,
        after: &[u8],
    ) {
        let created = object.trace.created_sequence;
        let key = |value| properties::key(&object.template_id, path, value, created);
        if let Some(before) = before {
            self.delete(Table::PropertyIndex, &key(before));
        }
        self.put(Table::PropertyIndex, &key(after), &object.id.bytes);
    }
}

impl NamedResource for Object {
    fn put_into(&self, group: &mut WriteGroup, before: Option<&Self>) {
        group.put_object(self, &self.trace, before.map(|before| before.owner_id));
    }
}
