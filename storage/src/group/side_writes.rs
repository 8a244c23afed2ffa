//! Side writes: rows that the hash chain does not cover, stored as side entries of the log.

use kedge_log::SideEntry;
use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::{Address, Hash, Id, Prefix};

use super::WriteGroup;
use crate::codec::{CodecError, decode, encode_into};
use crate::tables::accounts::{SessionRow, UsageRow, family_key, session_key};
use crate::tables::anchors::{self, AnchorRow};
use crate::tables::checkpoints::checkpoint_key;
use crate::tables::deliveries::{DeliveryRow, OutboxRow, delivery_key, number_key, outbox_key};
use crate::tables::records::{IdempotencyRow, SecretRow, secret_key};
use crate::tables::row::BincodeRow;
use crate::tables::{Table, meta};

/// Write outside the hash chain: it is part of a group and durable with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SideWrite {
    /// Sets a wallet's password hash.
    Password {
        wallet: Id,
        /// The hash, in PHC form.
        phc: String,
    },
    /// Stores a refresh token, or marks it as used.
    Session {
        token_hash: [u8; 32],
        row: SessionRow,
    },
    /// Ends all sessions of a login.
    RevokeFamily {
        family: [u8; 16],
        /// End of the record, when the login's last token expires, Unix seconds.
        until_s: u64,
    },
    /// Stores the outcome of a request with an idempotency key.
    Idempotency { key: [u8; 32], row: IdempotencyRow },
    /// Stores that a request failed as a whole.
    Refused {
        digest: Hash,
        /// End of the record, Unix seconds.
        deadline_s: u64,
    },
    /// Sets the secret of an API key or of a webhook.
    Secret {
        of: Id,
        /// The present secret and the previous one.
        row: SecretRow,
    },
    /// Sets the time at which an API key was last used.
    KeyUsed {
        key: Id,
        /// Unix milliseconds.
        at_ms: u64,
    },
    /// Sets a webhook's position and pause.
    Outbox { webhook: Id, row: OutboxRow },
    /// Stores a delivery.
    Delivery(DeliveryRow),
    /// Deletes a delivery.
    DeliveryGone {
        webhook: Id,
        number: u64,
        delivery: Id,
    },
    /// Deletes a webhook's position.
    OutboxGone { webhook: Id },
    /// Sets the addresses that sign for the operator.
    Operators(Vec<Address>),
    /// Stores an anchor.
    Anchor(AnchorRow),
    /// Stores a signed checkpoint with a root of the state.
    Checkpoint(SignedCheckpoint),
    /// Deletes the checkpoint over this number of batches.
    CheckpointGone { batches: u64 },
    /// Stores the answer to a case of the bond, or deletes it.
    BondAnswer {
        case: Hash,
        /// The responder's format; `None` deletes it.
        sent: Option<Vec<u8>>,
    },
    /// Sets an organization's number of requests today.
    Usage {
        organization: Id,
        /// Day and count; they replace the previous day's.
        usage: UsageRow,
    },
}

impl WriteGroup {
    /// Adds a side entry to the log if the last write was to a row that the chain does not explain.
    pub(super) fn note_side(&mut self, table: Table, key: &[u8]) {
        let is_side = table
            .side_number()
            .filter(|_| table != Table::Meta || meta::SIDE_KEYS.contains(&key));
        if let (Some(number), Some(frame)) = (is_side, &mut self.frame) {
            frame.push_side(SideEntry {
                table: number,
                key: key.to_vec(),
                value: self.writes.last_value().map(<[u8]>::to_vec),
            });
        }
    }

    /// Writes the rows of side entries that the log already holds.
    pub fn put_side_entries(&mut self, entries: &[SideEntry]) -> Result<(), CodecError> {
        for entry in entries {
            let table = Table::of_side_number(entry.table)
                .filter(|_| !entry.key.is_empty())
                .ok_or_else(|| {
                    CodecError::Bytes(format!("no table has the number {}", entry.table))
                })?;
            match &entry.value {
                Some(value) => self.put(table, &entry.key, value),
                None => self.delete(table, &entry.key),
            }
        }
        Ok(())
    }

    /// Whether the side entries say that a root of the state after their frame is due.
    pub fn root_due_in(entries: &[SideEntry]) -> bool {
        let is_due = |entry: &SideEntry| {
            Table::of_side_number(entry.table) == Some(Table::Meta)
                && entry.key == meta::ROOT_DUE_KEY
        };
        entries.iter().any(is_due)
    }

    /// The operator's addresses, if the side entries set them.
    pub fn operators_in(entries: &[SideEntry]) -> Result<Option<Vec<Address>>, CodecError> {
        let is_operators = |entry: &&SideEntry| {
            Table::of_side_number(entry.table) == Some(Table::Meta)
                && entry.key == meta::OPERATORS_KEY
        };
        let found = entries.iter().rev().find(is_operators);
        let value = found.and_then(|entry| entry.value.as_deref());
        value.map(meta::read_operators).transpose()
    }

    /// The signed checkpoints with a root of the state that side entries store, alone or in an anchor.
    ///
    /// # Errors
    /// An entry's bytes are not its table's.
    pub fn rooted_checkpoints_in(
        entries: &[SideEntry],
    ) -> Result<Vec<SignedCheckpoint>, CodecError> {
        let mut found = Vec::new();
        for entry in entries {
            let Some(value) = &entry.value else { continue };
            let table = Table::of_side_number(entry.table);
            let signed = match table {
                Some(Table::Checkpoints) => {
                    let BincodeRow(signed) = decode::<BincodeRow<SignedCheckpoint>>(value)?;
                    signed
                }
                Some(Table::Anchors) if entry.key.starts_with(anchors::ROWS) => {
                    let BincodeRow(anchor) = decode::<BincodeRow<AnchorRow>>(value)?;
                    anchor.checkpoint
                }
                _ => continue,
            };
            if signed.checkpoint.state != Hash::ZERO {
                found.push(signed);
            }
        }
        Ok(found)
    }

    /// Adds a write outside the chain.
    pub fn put_side(&mut self, write: SideWrite) {
        match write {
            SideWrite::Password { wallet, phc } => {
                assert_eq!(wallet.prefix, Prefix::Wallet, "a password is a wallet's");
                self.put(Table::Credentials, &wallet.bytes, phc.as_bytes());
            }
            SideWrite::Session { token_hash, row } => {
                self.put_with(Table::Sessions, &session_key(&token_hash), |out| {
                    out.extend_from_slice(&row.expires_at_s.to_be_bytes());
                    encode_into(out, &BincodeRow(&row));
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
                    encode_into(out, &BincodeRow(&row));
                });
            }
            SideWrite::Delivery(row) => self.put_delivery(&row),
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
            SideWrite::Anchor(row) => self.put_anchor(&row),
            SideWrite::Checkpoint(signed) => self.put_checkpoint(&signed),
            SideWrite::CheckpointGone { batches } => self.forget_checkpoint(batches),
            SideWrite::BondAnswer {
                case,
                sent: Some(sent),
            } => self.put(Table::BondAnswers, &case.0, &sent),
            SideWrite::BondAnswer { case, sent: None } => self.delete(Table::BondAnswers, &case.0),
            SideWrite::Usage {
                organization,
                usage,
            } => self.put_usage(&organization, &usage),
        }
    }

    fn put_checkpoint(&mut self, signed: &SignedCheckpoint) {
        let key = checkpoint_key(signed.checkpoint.batches);
        self.put_with(Table::Checkpoints, &key, |out| {
            encode_into(out, &BincodeRow(signed));
        });
    }

    fn forget_checkpoint(&mut self, batches: u64) {
        self.delete(Table::Checkpoints, &checkpoint_key(batches));
    }

    fn put_usage(&mut self, organization: &Id, usage: &UsageRow) {
        assert_eq!(
            organization.prefix,
            Prefix::Organization,
            "requests are an organization's"
        );
        self.put_with(Table::Usage, &organization.bytes, |out| {
            encode_into(out, usage);
        });
    }

    fn put_delivery(&mut self, row: &DeliveryRow) {
        let key = delivery_key(&row.webhook_id, row.number);
        self.put_with(Table::Deliveries, &key, |out| {
            encode_into(out, &BincodeRow(row));
        });
        let by_id = number_key(&row.webhook_id, &row.id);
        self.put(Table::Deliveries, &by_id, &row.number.to_be_bytes());
    }

    fn put_anchor(&mut self, row: &AnchorRow) {
        self.put_with(Table::Anchors, &anchors::row_key(row.number), |out| {
            encode_into(out, &BincodeRow(row));
        });
        let number = row.number.to_be_bytes();
        self.put(Table::Anchors, &anchors::id_key(&row.id), &number);
        let covered = anchors::batches_key(row.checkpoint.checkpoint.batches, row.number);
        self.put(Table::Anchors, &covered, &number);
    }
}
