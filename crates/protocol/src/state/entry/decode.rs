//! Reading entries. An entry has one form: whatever differs from it is malformed, and a checkpoint that holds a
//! malformed entry is a fault.

use alloy_rlp::{Decodable, Header};

use super::{
    ApiKeyEntry, DisputeEntry, ENTRY_FORMAT, EntryFields, EntryRule, FileEntry, NamedKeyEntry,
    ObjectEntry, StateEntry, TemplateEntry, VariationEntry, WalletEntry, WebhookEntry,
};
use crate::ids::IdError;
use crate::resource::{ObjectStatus, Role, Who};
use crate::{Address, Hash, Id, Prefix};

/// Why bytes are not the entry of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the entry's {field}: {problem}")]
pub struct EntryError {
    /// The field, by its name in [`StateEntry`]; `list` for the entry as a whole.
    pub field: &'static str,
    /// What is wrong with it.
    pub problem: EntryProblem,
}

/// What is wrong with a field of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EntryProblem {
    /// Not canonical RLP, or an item of another type.
    #[error("{0}")]
    Rlp(#[from] alloy_rlp::Error),
    /// Bytes or items are left over.
    #[error("bytes or members are left over")]
    LeftOver,
    /// A number outside its range.
    #[error("the number is out of range")]
    Range,
    /// A text of bytes with another length.
    #[error("has {found} bytes, not {expected}")]
    Length {
        /// The length that the field has.
        expected: usize,
        /// The length that was found.
        found: usize,
    },
    /// Not UTF-8.
    #[error("is not UTF-8")]
    Text,
    /// Not an id of the field's prefix.
    #[error("{0}")]
    Id(#[from] IdError),
    /// Keys that do not rise strictly.
    #[error("the keys do not ascend strictly")]
    Order,
    /// Ids with this prefix have no entries.
    #[error("ids that begin with {0}_ have no entries")]
    NoEntries(&'static str),
}

impl StateEntry {
    /// Reads the entry of the resource `key` that a checkpoint over this many sequences holds.
    ///
    /// # Errors
    /// The entry is malformed: it is not its prefix's list in canonical RLP, or a member is out of its range.
    pub fn decode(key: &Id, bytes: &[u8], checkpoint_sequence: u64) -> Result<Self, EntryError> {
        let mut whole = EntryReader { rest: bytes };
        let mut reader = whole.list("list")?;
        whole.end("list")?;
        if reader.number("format")? != ENTRY_FORMAT {
            return Err(at("format", EntryProblem::Range));
        }
        let version = reader.number("version")?;
        let sequence = reader.number("sequence")?;
        if sequence == 0 || sequence > checkpoint_sequence {
            return Err(at("sequence", EntryProblem::Range));
        }
        if version == 0 || version > sequence {
            return Err(at("version", EntryProblem::Range));
        }
        let integrity = reader.hash("integrity")?;
        if integrity == Hash::ZERO {
            return Err(at("integrity", EntryProblem::Range));
        }
        let fields = reader.fields(key.prefix)?;
        reader.end("list")?;
        if key.prefix == Prefix::Variation && version != 1 {
            return Err(at("version", EntryProblem::Range));
        }
        Ok(Self {
            version,
            sequence,
            integrity,
            fields,
        })
    }
}

fn at(field: &'static str, problem: impl Into<EntryProblem>) -> EntryError {
    EntryError {
        field,
        problem: problem.into(),
    }
}

/// The items of a list that are not read yet.
struct EntryReader<'a> {
    rest: &'a [u8],
}

impl<'a> EntryReader<'a> {
    fn fields(&mut self, prefix: Prefix) -> Result<EntryFields, EntryError> {
        Ok(match prefix {
            Prefix::Object => EntryFields::Object(self.object()?),
            Prefix::Wallet => EntryFields::Wallet(self.wallet()?),
            Prefix::Organization => EntryFields::Organization {},
            Prefix::Template => EntryFields::Template(self.template()?),
            Prefix::Variation => EntryFields::Variation(VariationEntry {
                organization_id: self.organization()?,
                template_id: self.id("template_id", Prefix::Template)?,
                index: self.number("index")?,
                name_hash: self.hash("name_hash")?,
                properties_hash: self.hash("properties_hash")?,
            }),
            Prefix::Key => EntryFields::ApiKey(ApiKeyEntry {
                organization_id: self.organization()?,
                deleted: self.flag("deleted")?,
            }),
            Prefix::Webhook => EntryFields::Webhook(WebhookEntry {
                organization_id: self.organization()?,
                active: self.flag("active")?,
                deleted: self.flag("deleted")?,
            }),
            Prefix::File => EntryFields::File(FileEntry {
                organization_id: self.organization()?,
                wallet_id: self.id("wallet_id", Prefix::Wallet)?,
                sha256: self.hash("sha256")?,
                size_bytes: self.number("size_bytes")?,
            }),
            Prefix::Dispute => EntryFields::Dispute(DisputeEntry {
                organization_id: self.organization()?,
                subject_id: self.any_id("subject_id")?,
            }),
            Prefix::Action => EntryFields::SequencerKey(NamedKeyEntry {
                address: self.address("address")?,
                from_batch: self.number("from_batch")?,
            }),
            Prefix::Batch | Prefix::Anchor | Prefix::Event | Prefix::Delivery => {
                return Err(at("list", EntryProblem::NoEntries(prefix.text())));
            }
        })
    }

    fn object(&mut self) -> Result<ObjectEntry, EntryError> {
        let organization_id = self.organization()?;
        let template_id = self.id("template_id", Prefix::Template)?;
        let variation = self.bytes("variation_id")?;
        let variation_id = if variation.is_empty() {
            None
        } else {
            Some(parsed_as("variation_id", Prefix::Variation, variation)?)
        };
        let serial = self.number("serial")?;
        if serial == 0 {
            return Err(at("serial", EntryProblem::Range));
        }
        Ok(ObjectEntry {
            organization_id,
            template_id,
            variation_id,
            serial,
            owner_id: self.id("owner_id", Prefix::Wallet)?,
            owner_address: self.address("owner_address")?,
            status: match self.number("status")? {
                0 => ObjectStatus::Active,
                1 => ObjectStatus::Locked,
                2 => ObjectStatus::Burned,
                _ => return Err(at("status", EntryProblem::Range)),
            },
            properties_hash: self.hash("properties_hash")?,
        })
    }

    fn wallet(&mut self) -> Result<WalletEntry, EntryError> {
        let organization_id = self.organization()?;
        let address = self.address("address")?;
        let role = match self.number("role")? {
            0 => Role::Owner,
            1 => Role::Admin,
            2 => Role::Member,
            _ => return Err(at("role", EntryProblem::Range)),
        };
        let mut listed = self.list("keys")?;
        let mut keys = Vec::new();
        while !listed.rest.is_empty() {
            let key = listed.address("keys")?;
            if keys.last().is_some_and(|last| *last >= key) {
                return Err(at("keys", EntryProblem::Order));
            }
            keys.push(key);
        }
        Ok(WalletEntry {
            organization_id,
            address,
            role,
            keys,
        })
    }

    fn template(&mut self) -> Result<TemplateEntry, EntryError> {
        let template = TemplateEntry {
            organization_id: self.organization()?,
            public_access: self.flag("public_access")?,
            max_supply: self.optional("max_supply")?,
            minted_count: self.number("minted_count")?,
            burned_count: self.number("burned_count")?,
            variation_count: self.number("variation_count")?,
            properties_hash: self.hash("properties_hash")?,
            schema_hash: self.hash("schema_hash")?,
            rules: self.rules()?,
        };
        if template.burned_count > template.minted_count {
            return Err(at("burned_count", EntryProblem::Range));
        }
        if template
            .max_supply
            .is_some_and(|most| template.minted_count > most)
        {
            return Err(at("minted_count", EntryProblem::Range));
        }
        Ok(template)
    }

    fn rules(&mut self) -> Result<Vec<EntryRule>, EntryError> {
        let mut listed = self.list("rules")?;
        let mut rules = Vec::new();
        while !listed.rest.is_empty() {
            let mut rule = listed.list("rules")?;
            let kind = std::str::from_utf8(rule.bytes("rules")?);
            let kind = kind.map_err(|_| at("rules", EntryProblem::Text))?;
            let who = match rule.number("rules")? {
                0 => Who::Owner,
                1 => Who::Issuer,
                2 => Who::Anyone,
                _ => return Err(at("rules", EntryProblem::Range)),
            };
            let schema_hash = rule.hash("rules")?;
            rule.end("rules")?;
            rules.push(EntryRule {
                kind: kind.to_owned(),
                who,
                schema_hash,
            });
        }
        Ok(rules)
    }

    /// Advances over a list, and returns its items.
    fn list(&mut self, field: &'static str) -> Result<Self, EntryError> {
        let rest = Header::decode_bytes(&mut self.rest, true).map_err(|error| at(field, error))?;
        Ok(Self { rest })
    }

    fn bytes(&mut self, field: &'static str) -> Result<&'a [u8], EntryError> {
        Header::decode_bytes(&mut self.rest, false).map_err(|error| at(field, error))
    }

    fn fixed<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], EntryError> {
        let bytes = self.bytes(field)?;
        let problem = EntryProblem::Length {
            expected: N,
            found: bytes.len(),
        };
        bytes.try_into().map_err(|_| at(field, problem))
    }

    fn hash(&mut self, field: &'static str) -> Result<Hash, EntryError> {
        self.fixed(field).map(Hash)
    }

    fn address(&mut self, field: &'static str) -> Result<Address, EntryError> {
        self.fixed(field).map(Address)
    }

    /// A number in minimal big-endian form.
    fn number(&mut self, field: &'static str) -> Result<u64, EntryError> {
        u64::decode(&mut self.rest).map_err(|error| at(field, error))
    }

    fn flag(&mut self, field: &'static str) -> Result<bool, EntryError> {
        match self.number(field)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(at(field, EntryProblem::Range)),
        }
    }

    fn optional(&mut self, field: &'static str) -> Result<Option<u64>, EntryError> {
        let mut listed = self.list(field)?;
        if listed.rest.is_empty() {
            return Ok(None);
        }
        let number = listed.number(field)?;
        listed.end(field)?;
        Ok(Some(number))
    }

    fn organization(&mut self) -> Result<Id, EntryError> {
        self.id("organization_id", Prefix::Organization)
    }

    fn id(&mut self, field: &'static str, prefix: Prefix) -> Result<Id, EntryError> {
        let bytes = self.bytes(field)?;
        parsed_as(field, prefix, bytes)
    }

    fn any_id(&mut self, field: &'static str) -> Result<Id, EntryError> {
        text(field, self.bytes(field)?)?
            .parse()
            .map_err(|error: IdError| at(field, error))
    }

    fn end(&self, field: &'static str) -> Result<(), EntryError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(at(field, EntryProblem::LeftOver))
        }
    }
}

fn parsed_as(field: &'static str, prefix: Prefix, bytes: &[u8]) -> Result<Id, EntryError> {
    Id::parse_as(prefix, text(field, bytes)?).map_err(|error| at(field, error))
}

fn text<'a>(field: &'static str, bytes: &'a [u8]) -> Result<&'a str, EntryError> {
    std::str::from_utf8(bytes).map_err(|_| at(field, EntryProblem::Text))
}
