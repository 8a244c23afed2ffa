//! The actions of the model log on API keys, webhooks and files, and the operator's actions.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kedge_protocol::state::entry::{
    ApiKeyEntry, DisputeEntry, EntryFields, FileEntry, NamedKeyEntry, WebhookEntry,
};
use kedge_protocol::{Address, Hash, Id, KeyActivation, Prefix};

use super::{ModelLog, ModelRequest, SEQUENCER_KEYS};

/// The place of a wallet in the model, if it has one, and the address that signs for it.
type ActingWallet = (Option<usize>, Address);

impl ModelLog {
    pub(super) fn act_on_key(&mut self) {
        let Some((known, organization_id, by)) = self.live_or_new(Prefix::Key) else {
            return;
        };
        let kind = match known {
            None => "key.create",
            Some(_) => ["key.delete", "key.rotate"][self.dice.below(2)],
        };
        let fields = EntryFields::ApiKey(ApiKeyEntry {
            organization_id,
            deleted: kind == "key.delete",
        });
        self.put_or_make(kind, known, by, fields);
    }

    /// An API key or a webhook that is not deleted, or none, for which a new one is made; with its organization, and a
    /// wallet that may act for that.
    fn live_or_new(&mut self, prefix: Prefix) -> Option<(Option<usize>, Id, ActingWallet)> {
        let known = self.any(prefix).filter(|_| self.dice.below(4) > 0);
        let organization = self.any(Prefix::Organization)?;
        let mut organization_id = self.id(organization);
        if let Some(place) = known {
            let deleted;
            (organization_id, deleted) = match &self.resources[place].entry.fields {
                EntryFields::ApiKey(key) => (key.organization_id, key.deleted),
                EntryFields::Webhook(webhook) => (webhook.organization_id, webhook.deleted),
                other => panic!("{other:?}"),
            };
            if deleted {
                return None;
            }
        }
        let (wallet, address) = self.admin(organization_id)?;
        Some((known, organization_id, (Some(wallet), address)))
    }

    /// An action on a known resource, or one that makes it.
    fn put_or_make(
        &mut self,
        kind: &'static str,
        known: Option<usize>,
        by: ActingWallet,
        fields: EntryFields,
    ) {
        let target = known.map_or(String::new(), |place| self.id(place).to_string());
        let request = ModelRequest {
            kind,
            target: &target,
            payload: "{}",
            by,
        };
        if let Some(place) = known {
            self.put(&request, known, None);
            self.resources[place].entry.fields = fields;
        } else {
            self.make(&request, None, fields);
        }
    }

    pub(super) fn act_on_webhook(&mut self) {
        let Some((known, organization_id, mut by)) = self.live_or_new(Prefix::Webhook) else {
            return;
        };
        let was_active = known.is_some_and(|place| {
            let fields = &self.resources[place].entry.fields;
            matches!(fields, EntryFields::Webhook(webhook) if webhook.active)
        });
        let kind = match (known, self.dice.below(5)) {
            (None, _) => "webhook.create",
            (_, 0) => "webhook.delete",
            (_, 1) => "webhook.rotate",
            (_, 2) if was_active => "system.webhook_off",
            _ => "webhook.update",
        };
        if kind == "system.webhook_off" {
            by = (None, self.operator);
        }
        let active = match kind {
            "webhook.create" | "webhook.update" => self.dice.below(3) > 0,
            "webhook.rotate" => was_active,
            _ => false,
        };
        let fields = EntryFields::Webhook(WebhookEntry {
            organization_id,
            active,
            deleted: kind == "webhook.delete",
        });
        self.put_or_make(kind, known, by, fields);
    }

    pub(super) fn create_file(&mut self) {
        let Some((wallet, signer)) = self.signer(|_, _| true) else {
            return;
        };
        // One content may be stored as several files.
        let sha256 = Hash([self.dice.below(3) as u8; 32]);
        let payload = format!("sha-256=:{}:", STANDARD.encode(sha256.0));
        let request = ModelRequest {
            kind: "file.create",
            target: "a name",
            payload: &payload,
            by: (Some(wallet), signer),
        };
        let fields = EntryFields::File(FileEntry {
            organization_id: self.wallet(wallet).organization_id,
            wallet_id: self.id(wallet),
            sha256,
            size_bytes: self.dice.next(),
        });
        self.make(&request, None, fields);
    }

    pub(super) fn act_as_operator(&mut self) {
        let Some(organization) = self.any(Prefix::Organization) else {
            return;
        };
        match self.dice.below(3) {
            0 => {
                let target = self.id(organization).to_string();
                let request = self.operators("system.tier", &target);
                self.put(&request, Some(organization), None);
            }
            1 => self.judge(organization),
            _ => self.name_key(),
        }
    }

    fn operators<'a>(&self, kind: &'static str, target: &'a str) -> ModelRequest<'a> {
        ModelRequest {
            kind,
            target,
            payload: "{}",
            by: (None, self.operator),
        }
    }

    /// The verdict of a dispute.
    fn judge(&mut self, organization: usize) {
        let subject_id = Id::of_hash(Prefix::Batch, &self.dice.word());
        let target = subject_id.to_string();
        let request = self.operators("system.verdict", &target);
        let fields = EntryFields::Dispute(DisputeEntry {
            organization_id: self.id(organization),
            subject_id,
        });
        self.make(&request, None, fields);
    }

    /// Names the sequencer's next key, for a batch that is not open yet.
    fn name_key(&mut self) {
        let Some((_, address)) = SEQUENCER_KEYS.get(self.keys.len()) else {
            return;
        };
        let earlier = self.keys.last().map_or(0, |last| last.from_batch);
        let from_batch = 1 + earlier.max(self.batch) + self.dice.below(3) as u64;
        let target = address.to_string();
        let request = self.operators("system.sequencer_key", &target);
        let fields = EntryFields::SequencerKey(NamedKeyEntry {
            address: *address,
            from_batch,
        });
        self.make(&request, None, fields);
        self.keys.push(KeyActivation {
            key: *address,
            from_batch,
        });
    }
}
