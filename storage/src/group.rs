//! Commit groups: everything that becomes durable, and visible, at once.

mod compare;
mod counts;
mod objects;
mod sequencer_keys;
mod writes;

use kedge_log::packed;
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::event::Position;
use kedge_protocol::log_tree::NewNode;
use kedge_protocol::record::RequestRecord;
use kedge_protocol::resource::{
    ApiKey, Dispute, DisputeMatter, File, Invitation, Organization, Template, Variation, Wallet,
    Webhook,
};
use kedge_protocol::{Address, Hash, Id, Prefix};

use crate::codec::encode_into;
use crate::tables::accounts::{
    OrganizationRow, SessionRow, StoredSession, Usage, WalletRow, family_key, session_key,
};
use crate::tables::anchors::{self, AnchorRow, StoredAnchor};
use crate::tables::batches::{BatchRow, node_key};
use crate::tables::deliveries::{
    DeliveryRow, OutboxRow, StoredDelivery, StoredOutbox, delivery_key, number_key, outbox_key,
};
use crate::tables::events::{EventRow, StoredEvent, event_key, position_bytes};
use crate::tables::meta::{self, HeadRow, LogHead};
use crate::tables::records::{
    ApiKeyRow, DisputeRow, FileRow, IdempotencyRow, InvitationRow, SecretRow, WebhookRow,
    secret_key,
};
use crate::tables::templates::{TemplateRow, VariationRow};
use crate::tables::{self, Table, claim_key, evidence_key, list_key, lookup, name_key};

use writes::Writes;

/// A write that is not part of the chain: it travels in a group and is durable with it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "side writes are few and are moved once; a box would only be in the way"
)]
pub enum SideWrite {
    /// Sets a wallet's password hash.
    Password {
        /// The wallet.
        wallet: Id,
        /// The hash, in PHC form.
        phc: String,
    },
    /// Notes a refresh token, or that it was used.
    Session {
        /// The token's hash.
        token_hash: [u8; 32],
        /// What is known of it.
        row: SessionRow,
    },
    /// Ends all sessions of a login.
    RevokeFamily {
        /// The login.
        family: [u8; 16],
        /// Until when that must be known: when its last token ends, Unix seconds.
        until_s: u64,
    },
    /// Remembers what a request with an idempotency key did.
    Idempotency {
        /// Hash of caller, endpoint and key.
        key: [u8; 32],
        /// What it did.
        row: IdempotencyRow,
    },
    /// Remembers a request that failed whole.
    Refused {
        /// The digest that was signed.
        digest: Hash,
        /// Until when it must be remembered, Unix seconds.
        deadline_s: u64,
    },
    /// Sets the secret of an API key or of a webhook.
    Secret {
        /// The key or webhook.
        of: Id,
        /// Its secret, and the one before.
        row: SecretRow,
    },
    /// Notes when an API key was used last.
    KeyUsed {
        /// The key.
        key: Id,
        /// Unix milliseconds.
        at_ms: u64,
    },
    /// Notes how far a webhook has read.
    Outbox {
        /// The webhook.
        webhook: Id,
        /// How far.
        row: OutboxRow,
    },
    /// Stores a delivery as it stands.
    Delivery(DeliveryRow),
    /// Forgets a delivery.
    DeliveryGone {
        /// The webhook.
        webhook: Id,
        /// The delivery's number.
        number: u64,
        /// The delivery.
        delivery: Id,
    },
    /// Forgets how far a webhook has read.
    OutboxGone {
        /// The webhook.
        webhook: Id,
    },
    /// Sets the addresses whose keys sign for the operator.
    Operators(Vec<Address>),
    /// Stores an anchor as it stands.
    Anchor(AnchorRow),
    /// Stores what was sent to answer a case of the bond, or forgets it.
    BondAnswer {
        /// The case.
        case: Hash,
        /// The responder's own format; `None` forgets it.
        sent: Option<Vec<u8>>,
    },
    /// Sets how many requests an organization has sent today.
    Usage {
        /// The organization.
        organization: Id,
        /// The day and the count; they take the place of the day before.
        usage: Usage,
    },
}

/// Everything that one commit writes. Building it needs no store and does no I/O.
#[derive(Default)]
pub struct Group {
    writes: Writes,
    /// The ids of its actions, with their sequences.
    pub(crate) action_ids: Vec<([u8; 16], u64)>,
    /// Of the group's first request: what was made since is new to the store.
    first_sequence: Option<u64>,
    /// The time of the log's last batch, where the group says where the log ends.
    pub(crate) sealed_at_ms: Option<u64>,
}

impl Group {
    /// An empty group.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty group, with room for keys and values of so many bytes.
    pub fn with_capacity_bytes(capacity_bytes: usize) -> Self {
        Self {
            writes: Writes::with_capacity_bytes(capacity_bytes),
            ..Self::default()
        }
    }

    /// Bytes of keys and values so far.
    pub fn len_bytes(&self) -> usize {
        self.writes.len_bytes()
    }

    /// How many writes there are, counting each of those to the same row.
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// The ids of the group's actions with their sequences, for [`Store::index`]; they are not in the
    /// group any more.
    ///
    /// [`Store::index`]: crate::Store::index
    pub fn take_action_ids(&mut self) -> Vec<([u8; 16], u64)> {
        std::mem::take(&mut self.action_ids)
    }

    /// True if nothing is to be written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Each row's last write, in the order of tables and keys; a value of `None` deletes.
    pub(crate) fn writes(&self) -> impl Iterator<Item = (Table, &[u8], Option<&[u8]>)> {
        self.writes.in_order()
    }

    fn put_with(&mut self, table: Table, key: &[u8], value: impl FnOnce(&mut Vec<u8>)) {
        self.writes.put_with(table, key, value);
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) {
        self.put_with(table, key, |out| out.extend_from_slice(value));
    }

    fn delete(&mut self, table: Table, key: &[u8]) {
        self.writes.delete(table, key);
    }

    /// A request's record, with the contents of its actions (in order), whose ids they give.
    pub fn put_request(&mut self, record: &RequestRecord<'_>, contents: &[Hash]) {
        assert_eq!(
            record.actions.len(),
            contents.len(),
            "one content for each action"
        );
        let first = record.first_sequence;
        self.first_sequence.get_or_insert(first);
        self.put_with(Table::Log, &first.to_be_bytes(), |out| {
            packed::pack(out, record);
        });
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

    /// A sealed batch and its leaf hashes.
    pub fn put_batch(&mut self, batch: &SignedBatch, leaves: &[Hash]) {
        assert_eq!(
            batch.header.count as usize,
            leaves.len(),
            "one leaf for each action"
        );
        let key = batch.header.number.to_be_bytes();
        self.put_with(Table::Batches, &key, |out| {
            encode_into(out, &BatchRow::from(batch));
        });
        self.put(Table::BatchIds, &batch.id().bytes, &key);
        self.put_with(Table::Leaves, &key, |out| {
            for leaf in leaves {
                out.extend_from_slice(&leaf.0);
            }
        });
    }

    /// A node of the log tree.
    pub fn put_node(&mut self, node: &NewNode) {
        self.put(Table::Tree, &node_key(node.level, node.index), &node.hash.0);
    }

    /// A wallet's state, its e-mail address and its signing addresses. An address once written
    /// stays the wallet's for ever; `previous_email` is what it gives up, where it changed. A removed
    /// wallet gives its e-mail address up too.
    pub fn put_wallet(&mut self, wallet: &Wallet, previous_email: Option<&str>) {
        if let Some(previous) = previous_email.filter(|email| *email != wallet.email) {
            let email = tables::kind_key(lookup::WALLET_EMAIL, previous.as_bytes());
            self.delete(Table::Lookup, &email);
        }
        self.put_with(Table::Wallets, &wallet.id.bytes, |out| {
            encode_into(out, &WalletRow::from(wallet));
        });
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
        let list = list_key(
            lookup::WALLETS_OF_ORGANIZATION,
            &wallet.organization_id,
            wallet.trace.created_sequence,
        );
        self.put(Table::Lookup, &list, &wallet.id.bytes);
    }

    /// An organization's state.
    pub fn put_organization(&mut self, organization: &Organization) {
        self.put_with(Table::Organizations, &organization.id.bytes, |out| {
            encode_into(out, &OrganizationRow::from(organization));
        });
    }

    /// A template's state, and its name in its organization; `previous_name` is what it gives up,
    /// where it changed.
    pub fn put_template(&mut self, template: &Template, previous_name: Option<&str>) {
        if let Some(previous) = previous_name.filter(|name| *name != template.name) {
            let within = &template.organization_id;
            let name = name_key(lookup::TEMPLATE_NAME, within, previous);
            self.delete(Table::Lookup, &name);
        }
        self.put_with(Table::Templates, &template.id.bytes, |out| {
            encode_into(out, &TemplateRow::from(template));
        });
        let within = &template.organization_id;
        let name = name_key(lookup::TEMPLATE_NAME, within, &template.name);
        self.put(Table::Lookup, &name, &template.id.bytes);
        let created = template.trace.created_sequence;
        let list = list_key(lookup::TEMPLATES_OF_ORGANIZATION, within, created);
        self.put(Table::Lookup, &list, &template.id.bytes);
    }

    /// A variation, and its name in its template.
    pub fn put_variation(&mut self, variation: &Variation) {
        self.put_with(Table::Variations, &variation.id.bytes, |out| {
            encode_into(out, &VariationRow::from(variation));
        });
        let within = &variation.template_id;
        let name = name_key(lookup::VARIATION_NAME, within, &variation.name);
        self.put(Table::Lookup, &name, &variation.id.bytes);
        let list = list_key(lookup::VARIATIONS_OF_TEMPLATE, within, variation.index);
        self.put(Table::Lookup, &list, &variation.id.bytes);
    }

    /// An API key's state, and its place in its organization's list.
    pub fn put_api_key(&mut self, key: &ApiKey) {
        self.put_with(Table::ApiKeys, &key.id.bytes, |out| {
            encode_into(out, &ApiKeyRow::from(key));
        });
        let (kind, created) = (lookup::KEYS_OF_ORGANIZATION, key.trace.created_sequence);
        self.put_listed(kind, &key.organization_id, created, &key.id);
    }

    /// A webhook's state, and its place in its organization's list.
    pub fn put_webhook(&mut self, webhook: &Webhook) {
        self.put_with(Table::Webhooks, &webhook.id.bytes, |out| {
            encode_into(out, &WebhookRow::from(webhook));
        });
        let created = webhook.trace.created_sequence;
        let kind = lookup::WEBHOOKS_OF_ORGANIZATION;
        self.put_listed(kind, &webhook.organization_id, created, &webhook.id);
    }

    /// A file's description, and its place in its organization's list.
    pub fn put_file(&mut self, file: &File) {
        self.put_with(Table::Files, &file.id.bytes, |out| {
            encode_into(out, &FileRow::from(file));
        });
        let (kind, created) = (lookup::FILES_OF_ORGANIZATION, file.trace.created_sequence);
        self.put_listed(kind, &file.organization_id, created, &file.id);
    }

    /// A dispute, its place in its organization's list, and by which evidence or context it is found again.
    pub fn put_dispute(&mut self, dispute: &Dispute) {
        let subject_id = dispute.subject_id.to_string();
        self.put_with(Table::Disputes, &dispute.id.bytes, |out| {
            encode_into(out, &DisputeRow::of(dispute, &subject_id));
        });
        let organization = &dispute.organization_id;
        let created = dispute.trace.created_sequence;
        let kind = lookup::DISPUTES_OF_ORGANIZATION;
        self.put_listed(kind, organization, created, &dispute.id);
        let key = match &dispute.matter {
            DisputeMatter::Fault { evidence_digest } => evidence_key(organization, evidence_digest),
            DisputeMatter::Claim { context } => claim_key(context),
        };
        self.put(Table::Lookup, &key, &dispute.id.bytes);
    }

    /// An invitation, and its place in its organization's list.
    pub fn put_invitation(&mut self, invitation: &Invitation) {
        self.put_with(Table::Invitations, &invitation.id.bytes, |out| {
            encode_into(out, &InvitationRow::from(invitation));
        });
        let created = invitation.created_sequence;
        let kind = lookup::INVITATIONS_OF_ORGANIZATION;
        self.put_listed(kind, &invitation.organization_id, created, &invitation.id);
    }

    fn put_listed(&mut self, kind: u8, of: &Id, created: u64, id: &Id) {
        self.put(Table::Lookup, &list_key(kind, of, created), &id.bytes);
    }

    /// That an action was done to an object of `issuer` by another organization's wallet.
    pub fn put_foreign_action(&mut self, issuer: Id, sequence: u64) {
        let mut key = [0; 24];
        key[..16].copy_from_slice(&issuer.bytes);
        key[16..].copy_from_slice(&sequence.to_be_bytes());
        self.put(Table::ForeignActions, &key, &[]);
    }

    /// An event besides the log; `number` counts those of the same organization.
    pub fn put_event(&mut self, position: Position, number: u64, event: &EventRow) {
        let key = event_key(event.organization_id, position);
        self.put_with(Table::Events, &key, |out| {
            encode_into(out, &StoredEvent::of(event, number));
        });
    }

    /// The place of the last event besides the log.
    pub fn put_last_event(&mut self, position: Position) {
        let place = position_bytes(position);
        self.put(Table::Meta, meta::EVENTS_KEY, &place);
    }

    /// Forgets an event besides the log.
    pub fn delete_event(&mut self, organization: Option<Id>, position: Position) {
        self.delete(Table::Events, &event_key(organization, position));
    }

    /// Where the log ends with this group.
    pub fn put_head(&mut self, head: &LogHead) {
        self.sealed_at_ms = Some(head.last_sealed_at_ms);
        self.put_with(Table::Meta, meta::HEAD_KEY, |out| {
            encode_into(out, &HeadRow::from(head));
        });
    }

    /// A write outside the chain.
    pub fn put_side(&mut self, write: SideWrite) {
        match write {
            SideWrite::Password { wallet, phc } => {
                assert_eq!(wallet.prefix, Prefix::Wallet, "a password is a wallet's");
                self.put(Table::Credentials, &wallet.bytes, phc.as_bytes());
            }
            SideWrite::Session { token_hash, row } => {
                self.put_with(Table::Sessions, &session_key(&token_hash), |out| {
                    out.extend_from_slice(&row.expires_at_s.to_be_bytes());
                    encode_into(out, &StoredSession::from(&row));
                });
            }
            SideWrite::RevokeFamily { family, until_s } => {
                let key = family_key(&family);
                self.put(Table::Sessions, &key, &until_s.to_be_bytes());
            }
            SideWrite::Idempotency { key, row } => {
                self.put_with(Table::Idempotency, &key, |out| {
                    out.extend_from_slice(&row.until_s.to_be_bytes());
                    encode_into(out, &row);
                });
            }
            SideWrite::Refused { digest, deadline_s } => {
                self.put(Table::Refused, &digest.0, &deadline_s.to_be_bytes());
            }
            SideWrite::Secret { of, row } => {
                self.put_with(Table::Secrets, &secret_key(&of), |out| {
                    encode_into(out, &row);
                });
            }
            SideWrite::KeyUsed { key, at_ms } => {
                assert_eq!(key.prefix, Prefix::Key, "uses are an API key's");
                self.put(Table::KeyUses, &key.bytes, &at_ms.to_be_bytes());
            }
            SideWrite::Outbox { webhook, row } => {
                self.put_with(Table::Deliveries, &outbox_key(&webhook), |out| {
                    encode_into(out, &StoredOutbox::from(&row));
                });
            }
            SideWrite::Delivery(row) => {
                let key = delivery_key(&row.webhook_id, row.number);
                self.put_with(Table::Deliveries, &key, |out| {
                    encode_into(out, &StoredDelivery::from(&row));
                });
                let by_id = number_key(&row.webhook_id, &row.id);
                self.put(Table::Deliveries, &by_id, &row.number.to_be_bytes());
            }
            SideWrite::DeliveryGone {
                webhook,
                number,
                delivery,
            } => {
                self.delete(Table::Deliveries, &delivery_key(&webhook, number));
                self.delete(Table::Deliveries, &number_key(&webhook, &delivery));
            }
            SideWrite::OutboxGone { webhook } => {
                self.delete(Table::Deliveries, &outbox_key(&webhook));
            }
            SideWrite::Operators(addresses) => {
                let bytes: Vec<u8> = addresses.iter().flat_map(|address| address.0).collect();
                self.put(Table::Meta, meta::OPERATORS_KEY, &bytes);
            }
            SideWrite::Anchor(row) => {
                self.put_with(Table::Anchors, &anchors::row_key(row.number), |out| {
                    encode_into(out, &StoredAnchor::from(&row));
                });
                let number = row.number.to_be_bytes();
                self.put(Table::Anchors, &anchors::id_key(&row.id), &number);
                let covered = anchors::batches_key(row.checkpoint.checkpoint.batches, row.number);
                self.put(Table::Anchors, &covered, &number);
            }
            SideWrite::BondAnswer {
                case,
                sent: Some(sent),
            } => self.put(Table::BondAnswers, &case.0, &sent),
            SideWrite::BondAnswer { case, sent: None } => self.delete(Table::BondAnswers, &case.0),
            SideWrite::Usage {
                organization,
                usage,
            } => {
                assert_eq!(
                    organization.prefix,
                    Prefix::Organization,
                    "requests are an organization's"
                );
                self.put_with(Table::Usage, &organization.bytes, |out| {
                    encode_into(out, &usage);
                });
            }
        }
    }
}
