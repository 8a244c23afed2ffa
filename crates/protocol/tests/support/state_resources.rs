//! The actions of the model log on API keys, webhooks and files, and the operator's actions.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kedge_protocol::state::entry::{
    ApiKeyEntry, DisputeEntry, EntryFields, FileEntry, NamedKeyEntry, WebhookEntry,
};
use kedge_protocol::{Address, Id, Prefix};

use super::{ModelLog, ModelRequest};

impl ModelLog {
    pub(super) fn act_on_key(&mut self) {
        let Some((known, organization_id, signer)) = self.live_or_new(Prefix::Key, 2) else {
            return;
        };
        let deletes = self.dice.below(2) == 0;
        let request = ModelRequest {
            kind: match known {
                None => "key.create",
                Some(_) if deletes => "key.delete",
                Some(_) => "key.rotate",
            },
            target: known.map_or(String::new(), |id| id.to_string()),
            payload: "{}".into(),
            signer,
        };
        let content = self.place(&request, known, None);
        let fields = EntryFields::ApiKey(ApiKeyEntry {
            organization_id,
            deleted: known.is_some() && deletes,
        });
        match known {
            Some(id) => self.state.get_mut(&id).unwrap().fields = fields,
            None => self.enter(Id::made_by(Prefix::Key, &content, 0), &content, 0, fields),
        }
    }

    /// An API key or a webhook that is not deleted, or none one time in `turns`, for which a new one is made; with its
    /// organization, and an address that may act for that.
    fn live_or_new(&mut self, prefix: Prefix, turns: usize) -> Option<(Option<Id>, Id, Address)> {
        let mut live = self.ids(prefix);
        live.retain(|id| self.is_live(id));
        let is_new = self.dice.below(turns) == 0;
        let known = if is_new { None } else { self.pick(&live) };
        let organizations = self.ids(Prefix::Organization);
        let organization_id = known
            .map(|id| self.organization_of(&id))
            .or_else(|| self.pick(&organizations))?;
        let (_, address) = self.admin(organization_id)?;
        Some((known, organization_id, address))
    }

    /// Whether an API key or a webhook is not deleted.
    fn is_live(&self, id: &Id) -> bool {
        match &self.state[id].fields {
            EntryFields::ApiKey(key) => !key.deleted,
            EntryFields::Webhook(webhook) => !webhook.deleted,
            _ => false,
        }
    }

    pub(super) fn act_on_webhook(&mut self) {
        let Some((known, organization_id, admin)) = self.live_or_new(Prefix::Webhook, 3) else {
            return;
        };
        let kinds = [
            "webhook.update",
            "webhook.delete",
            "webhook.rotate",
            "system.webhook_off",
        ];
        let kind = known.map_or("webhook.create", |_| kinds[self.dice.below(4)]);
        let signer = if kind.starts_with("system.") {
            self.operator
        } else {
            admin
        };
        let request = ModelRequest {
            kind,
            target: known.map_or(String::new(), |id| id.to_string()),
            payload: "{}".into(),
            signer,
        };
        let was_active = known.is_some_and(
            |id| matches!(&self.state[&id].fields, EntryFields::Webhook(webhook) if webhook.active),
        );
        let content = self.place(&request, known, None);
        let active = match kind {
            "webhook.create" => true,
            "webhook.update" => self.dice.below(2) == 0,
            "webhook.rotate" => was_active,
            _ => false,
        };
        let fields = EntryFields::Webhook(WebhookEntry {
            organization_id,
            active,
            deleted: kind == "webhook.delete",
        });
        match known {
            Some(id) => self.state.get_mut(&id).unwrap().fields = fields,
            None => self.enter(
                Id::made_by(Prefix::Webhook, &content, 0),
                &content,
                0,
                fields,
            ),
        }
    }

    pub(super) fn create_file(&mut self) {
        let Some((wallet_id, signer)) = self.signer(|_, _| true) else {
            return;
        };
        let sha256 = self.dice.hash();
        let digest = STANDARD.encode(sha256.0);
        let request = ModelRequest {
            kind: "file.create",
            target: "a name".into(),
            payload: format!("sha-256=:{digest}:"),
            signer,
        };
        let content = self.place(&request, None, None);
        let fields = FileEntry {
            organization_id: self.organization_of(&wallet_id),
            wallet_id,
            sha256,
            size_bytes: self.dice.next(),
        };
        let id = Id::made_by(Prefix::File, &content, 0);
        self.enter(id, &content, 0, EntryFields::File(fields));
    }

    pub(super) fn act_as_operator(&mut self) {
        let organizations = self.ids(Prefix::Organization);
        let Some(organization) = self.pick(&organizations) else {
            return;
        };
        let signer = self.operator;
        let request = |kind, target: String| ModelRequest {
            kind,
            target,
            payload: "{}".into(),
            signer,
        };
        match self.dice.below(3) {
            0 => {
                self.place(
                    &request("system.tier", organization.to_string()),
                    Some(organization),
                    None,
                );
            }
            1 => {
                let subject_id = Id::of_hash(Prefix::Batch, &self.dice.hash());
                let content = self.place(
                    &request("system.verdict", subject_id.to_string()),
                    None,
                    None,
                );
                let fields = EntryFields::Dispute(DisputeEntry {
                    organization_id: organization,
                    subject_id,
                });
                self.enter(
                    Id::made_by(Prefix::Dispute, &content, 0),
                    &content,
                    0,
                    fields,
                );
            }
            _ => {
                let address = self.address();
                let content = self.place(
                    &request("system.sequencer_key", address.to_string()),
                    None,
                    None,
                );
                let fields = EntryFields::SequencerKey(NamedKeyEntry {
                    address,
                    from_batch: self.dice.next() >> 1,
                });
                self.enter(Id::of_hash(Prefix::Action, &content), &content, 0, fields);
            }
        }
    }
}
