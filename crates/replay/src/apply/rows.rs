//! The rows of applied records. A row that changes often is written once, in its final state.

use std::collections::hash_map::Entry;

use kedge_protocol::Id;
use kedge_protocol::ids::IdMap;
use kedge_protocol::limits::OBJECT_HISTORY_MAX;
use kedge_protocol::record::RequestRecord;
use kedge_protocol::resource::{Object, ObjectStatus};
use kedge_rules::StateUnavailable;
use kedge_rules::World as _;
use kedge_rules::fold::FoldState;
use kedge_rules::resource_state::ResourceState;
use kedge_storage::WriteGroup;

use super::prior_state::PriorState;
use crate::log_bytes;
use crate::resource_rows::put_image;

pub(super) struct ReplayRows {
    pub(super) group: WriteGroup,
    /// Objects whose rows lag behind their state, with the version in the rows. Only the last state is written.
    lagging: IdMap<Id, ObjectBaseline>,
    /// Approximate bytes of texts in remembered resources.
    pub(super) texts_bytes: usize,
}

/// An object's state when its rows were last written.
pub(super) struct ObjectBaseline {
    owner_id: Id,
    /// Kept only if they are indexed.
    properties: Option<String>,
}

impl ObjectBaseline {
    fn of(state: &FoldState<PriorState>, object: &Object) -> Self {
        let rules = state.templates.get(&object.template_id);
        let is_indexed = rules.is_some_and(|rules| rules.indexed().is_some());
        Self {
            owner_id: object.owner_id,
            properties: is_indexed.then(|| object.properties.clone()),
        }
    }
}

impl Default for ReplayRows {
    fn default() -> Self {
        Self {
            group: WriteGroup::of_rows(),
            lagging: IdMap::default(),
            texts_bytes: 0,
        }
    }
}

impl ReplayRows {
    /// Adds an action's rows; `state` is the state before it. Returns the bytes that it adds to its organization's
    /// count.
    pub(super) fn action(
        &mut self,
        record: &RequestRecord<'_>,
        payload: &str,
        state: &mut FoldState<PriorState>,
        images: &[ResourceState],
    ) -> Result<i64, StateUnavailable> {
        if let [ResourceState::Object(object)] = images {
            // Loads the state that the rows depend on; it stays in memory until they are written.
            state.recall_object(object.id)?;
            state.recall_template(object.template_id)?;
            let added = self.changed(state, object)?;
            if object.organization_id != record.organization_id {
                let sequence = object.trace.sequence;
                self.group
                    .put_foreign_action(object.organization_id, sequence);
            }
            return Ok(added);
        }
        let before = match images.first() {
            Some(first) => state.image(first.id())?,
            None => None,
        };
        self.texts_bytes += payload.len();
        for image in images {
            put_image(&mut self.group, image, before.as_ref());
        }
        Ok(log_bytes::of_resources(before.is_none(), images, payload))
    }

    /// Adds the next version of an object. The first version and every milestone have permanent rows. Of the others
    /// only the last one is written, later.
    fn changed(
        &mut self,
        state: &FoldState<PriorState>,
        object: &Object,
    ) -> Result<i64, StateUnavailable> {
        if object.status == ObjectStatus::Burned {
            let burned = state.burned(object.template_id)? + 1;
            self.group.put_burned(object.template_id, burned);
        }
        if !self.lagging.contains_key(&object.id) {
            // Its text, and the one in its rows.
            self.texts_bytes += 2 * object.properties.len();
        }
        let Some(known) = state.objects.get(&object.id) else {
            let serial = state.minted(object.template_id)? + 1;
            self.group.put_mint(object, &object.trace, serial);
            let index_bytes = self.index(state, object, None);
            return Ok(log_bytes::of_new_object(object, index_bytes));
        };
        let added = log_bytes::of_change(&known.properties, &object.properties);
        let stays = object.trace.version.is_multiple_of(OBJECT_HISTORY_MAX);
        let written = match self.lagging.entry(object.id) {
            Entry::Vacant(free) if !stays => {
                free.insert(ObjectBaseline::of(state, known));
                return Ok(added);
            }
            Entry::Vacant(_) => ObjectBaseline::of(state, known),
            Entry::Occupied(_) if !stays => return Ok(added),
            Entry::Occupied(lagging) => lagging.remove(),
        };
        self.object(state, object, &written);
        Ok(added)
    }

    /// Writes an object's rows, replacing those of `written`.
    fn object(&mut self, state: &FoldState<PriorState>, object: &Object, written: &ObjectBaseline) {
        self.group
            .put_object(object, &object.trace, Some(written.owner_id));
        self.index(state, object, written.properties.as_deref());
    }

    /// Replaces an object's entries in the index of properties by those of its present ones. Returns the bytes of new
    /// entries.
    fn index(
        &mut self,
        state: &FoldState<PriorState>,
        object: &Object,
        properties: Option<&str>,
    ) -> usize {
        let rules = state.templates.get(&object.template_id);
        let Some(indexed) = rules.and_then(|rules| rules.indexed()) else {
            return 0;
        };
        let changes = indexed.changes(properties, &object.properties);
        for change in &changes {
            let value_before = change.before.as_deref();
            self.group
                .change_property(object, change.path, value_before, &change.after);
        }
        log_bytes::of_index(&changes)
    }

    /// Takes the objects whose rows lag, in the order of their ids.
    pub(super) fn take_lagging(&mut self) -> Vec<(Id, ObjectBaseline)> {
        let mut lagging: Vec<_> = std::mem::take(&mut self.lagging).into_iter().collect();
        lagging.sort_unstable_by_key(|(id, _)| *id);
        lagging
    }

    /// Writes the rows of a lagging object, in its current state.
    pub(super) fn catch_up(
        &mut self,
        state: &FoldState<PriorState>,
        id: Id,
        written: &ObjectBaseline,
    ) {
        if let Some(object) = state.objects.get(&id) {
            self.object(state, object, written);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.group.is_empty() && self.lagging.is_empty()
    }
}
