//! Reads of objects, templates, variations and counters.

use kedge_protocol::limits::OBJECT_HISTORY_MAX;
use kedge_protocol::nonce::NonceWindow;
use kedge_protocol::resource::{Object, Template, Variation};
use kedge_protocol::{Address, Id, Prefix};

use super::RowPage;
use crate::codec::{self, CodecError};
use crate::snapshot::{StoreReadError, StoreSnapshot};
use crate::tables::objects::{ObjectIndex, milestone_key, serial_of_row};
use crate::tables::row::StoredResource as _;
use crate::tables::{Table, burned_key, lookup, name_key, spent_key};

impl StoreSnapshot {
    /// A row by id; an id with another prefix names no row of the table.
    pub(super) fn by_id<T>(
        &self,
        table: Table,
        prefix: Prefix,
        id: Id,
        read: impl FnOnce([u8; 16], &[u8]) -> Result<T, CodecError>,
    ) -> Result<Option<T>, StoreReadError> {
        if id.prefix != prefix {
            return Ok(None);
        }
        self.get(table, &id.bytes, |bytes| read(id.bytes, bytes))
    }

    pub fn object(&self, id: Id) -> Result<Option<Object>, StoreReadError> {
        self.resource(id)
    }

    /// An object at its last milestone at or before `version`, one that its history lists; `None` before the first
    /// milestone.
    pub fn milestone(&self, id: Id, version: u64) -> Result<Option<Object>, StoreReadError> {
        let at = version - version % OBJECT_HISTORY_MAX;
        if at == 0 {
            return Ok(None);
        }
        let key = milestone_key(&id, at);
        let found = self.get(Table::Milestones, &key, |bytes| {
            Object::read(id.bytes, bytes)
        })?;
        let found = found.filter(|found| found.trace.version == at);
        found.map(Some).ok_or_else(|| StoreReadError::Missing {
            table: Table::Milestones,
            what: format!("{id} at its version {at}"),
        })
    }

    /// An object's stored bytes.
    pub fn object_bytes(&self, id: Id) -> Result<Option<Vec<u8>>, StoreReadError> {
        self.by_id(Table::Objects, Prefix::Object, id, |_, bytes| {
            Ok(bytes.to_vec())
        })
    }

    /// Many objects, in the order of `ids`; `None` for absent ones.
    pub fn multi_objects(&self, ids: &[Id]) -> Result<Vec<Option<Object>>, StoreReadError> {
        let keys: Vec<_> = ids.iter().map(|id| id.bytes).collect();
        let rows = self.get_many(Table::Objects, &keys).into_iter().zip(ids);
        rows.map(|(value, id)| match value? {
            Some(value) if id.prefix == Prefix::Object => Object::read(id.bytes, &value)
                .map(Some)
                .map_err(StoreReadError::row(Table::Objects, &id.bytes)),
            _ => Ok(None),
        })
        .collect()
    }

    /// A page of a list of objects; the cursor is the creation sequence.
    pub fn objects(
        &self,
        index: ObjectIndex,
        page: RowPage,
    ) -> Result<Vec<Object>, StoreReadError> {
        let (kind, of) = index.place();
        let ids = self.list_ids(Table::ObjectIndex, kind, of, page)?;
        self.rows_of(Table::Objects, &ids, Object::read)
    }

    pub fn template(&self, id: Id) -> Result<Option<Template>, StoreReadError> {
        self.resource(id)
    }

    /// The id of the template with this name in the organization.
    pub fn template_id_by_name(
        &self,
        organization: Id,
        name: &str,
    ) -> Result<Option<Id>, StoreReadError> {
        let key = name_key(lookup::TEMPLATE_NAME, &organization, name);
        let found = self.lookup(&key)?;
        Ok(found.map(|bytes| crate::tables::id(Prefix::Template, bytes)))
    }

    /// The template with this name in the organization.
    pub fn template_by_name(
        &self,
        organization: Id,
        name: &str,
    ) -> Result<Option<Template>, StoreReadError> {
        match self.template_id_by_name(organization, name)? {
            Some(id) => self.template(id),
            None => Ok(None),
        }
    }

    /// A page of an organization's templates; the cursor is the creation sequence.
    pub fn templates(
        &self,
        organization: Id,
        page: RowPage,
    ) -> Result<Vec<Template>, StoreReadError> {
        self.listed(organization, page)
    }

    pub fn variation(&self, id: Id) -> Result<Option<Variation>, StoreReadError> {
        self.resource(id)
    }

    /// The id of the variation with this name in the template.
    pub fn variation_id_by_name(
        &self,
        template: Id,
        name: &str,
    ) -> Result<Option<Id>, StoreReadError> {
        let key = name_key(lookup::VARIATION_NAME, &template, name);
        let found = self.lookup(&key)?;
        Ok(found.map(|bytes| crate::tables::id(Prefix::Variation, bytes)))
    }

    /// A page of a template's variations; the cursor is the index.
    pub fn variations(
        &self,
        template: Id,
        page: RowPage,
    ) -> Result<Vec<Variation>, StoreReadError> {
        self.listed(template, page)
    }

    /// An object's serial: how many objects its template had minted with this one.
    pub fn serial(&self, object: &Object) -> Result<u64, StoreReadError> {
        let key = ObjectIndex::Template(object.template_id).key(object.trace.created_sequence);
        let serial = self.get(Table::ObjectIndex, &key, serial_of_row)?;
        serial.ok_or_else(|| StoreReadError::Missing {
            table: Table::ObjectIndex,
            what: format!("{} in its template's list", object.id),
        })
    }

    /// How many objects of a template were minted.
    pub fn minted(&self, template: Id) -> Result<u64, StoreReadError> {
        let count = self.by_id(Table::Counters, Prefix::Template, template, |_, bytes| {
            codec::number(bytes)
        })?;
        Ok(count.unwrap_or(0))
    }

    /// How many objects of a template were burned.
    pub fn burned(&self, template: Id) -> Result<u64, StoreReadError> {
        let count = self.get(Table::Counters, &burned_key(&template), codec::number)?;
        Ok(count.unwrap_or(0))
    }

    /// Bytes that an organization's requests have added to the log and to their resources.
    pub fn log_bytes(&self, organization: Id) -> Result<u64, StoreReadError> {
        let (table, prefix) = (Table::LogBytes, Prefix::Organization);
        let bytes = self.by_id(table, prefix, organization, |_, bytes| codec::number(bytes))?;
        Ok(bytes.unwrap_or(0))
    }

    /// A signer's spent nonces.
    pub fn nonces(&self, signer: Address) -> Result<NonceWindow, StoreReadError> {
        let window = self.get(Table::Nonces, &signer.0, |bytes| {
            NonceWindow::from_bytes(bytes)
                .ok_or_else(|| CodecError::bytes("a nonce window has the wrong length"))
        })?;
        Ok(window.unwrap_or_default())
    }

    /// First sequence of the request that spent a signer's nonce, while the window reaches it.
    pub fn spent_at(&self, signer: Address, nonce: u64) -> Result<Option<u64>, StoreReadError> {
        let place = self.get(Table::Nonces, &spent_key(&signer, nonce), |bytes| {
            let (chunks, rest) = bytes.as_chunks::<8>();
            match (chunks, rest) {
                ([spent, sequence], []) => {
                    Ok((u64::from_be_bytes(*spent), u64::from_be_bytes(*sequence)))
                }
                _ => Err(CodecError::bytes(
                    "a spent nonce's place has the wrong length",
                )),
            }
        })?;
        let place = place.filter(|(spent, _)| *spent == nonce);
        Ok(place.map(|(_, sequence)| sequence))
    }
}
