//! The actions of the model log on templates, variations and objects.

use kedge_protocol::hash::keccak;
use kedge_protocol::resource::{ObjectStatus, Who};
use kedge_protocol::state::entry::{
    EntryFields, EntryRule, ObjectEntry, TemplateEntry, VariationEntry,
};
use kedge_protocol::{Address, Id, Prefix};

use super::{ModelLog, ModelRequest};

/// What may be done with an active object, and two kinds of templates. Owners change more often than the rest.
const OBJECT_KINDS: [&str; 11] = [
    "update",
    "set_attributes",
    "delete_attributes",
    "transfer",
    "transfer",
    "transfer",
    "lock",
    "burn",
    "emit",
    "x.scan",
    "x.weigh",
];
/// The kinds for which a template may have a rule.
const RULED_KINDS: [&str; 11] = [
    "update",
    "set_attributes",
    "delete_attributes",
    "transfer",
    "lock",
    "unlock",
    "burn",
    "emit",
    "mint",
    "x.scan",
    "x.weigh",
];

impl ModelLog {
    fn rules(&mut self) -> Vec<EntryRule> {
        let odds = 1 + self.dice.below(4);
        let mut rules = Vec::new();
        for kind in RULED_KINDS {
            if self.dice.below(odds) == 0 && self.dice.below(2) == 0 {
                rules.push(EntryRule {
                    kind: kind.to_owned(),
                    who: [Who::Owner, Who::Issuer, Who::Anyone][self.dice.below(3)],
                    schema_hash: self.dice.word(),
                });
            }
        }
        rules
    }

    pub(super) fn create_template(&mut self) {
        let Some(organization) = self.any(Prefix::Organization) else {
            return;
        };
        let organization_id = self.id(organization);
        let Some((wallet, signer)) = self.admin(organization_id) else {
            return;
        };
        let fields = TemplateEntry {
            organization_id,
            public_access: self.dice.below(2) == 0,
            max_supply: (self.dice.below(3) == 0).then(|| self.dice.below(4) as u64),
            minted_count: 0,
            burned_count: 0,
            variation_count: 0,
            properties_hash: self.dice.word(),
            schema_hash: keccak(b""),
            rules: self.rules(),
        };
        let request = ModelRequest {
            kind: "template.create",
            target: "",
            payload: "{}",
            by: (Some(wallet), signer),
        };
        self.make(&request, None, EntryFields::Template(fields));
    }

    /// A template and a key of a wallet that may administer it.
    fn template_and_admin(&mut self) -> Option<(usize, usize, Address)> {
        let place = self.any(Prefix::Template)?;
        let (wallet, signer) = self.admin(self.template(place).organization_id)?;
        Some((place, wallet, signer))
    }

    /// Changes a template without live objects; each of its members, or none.
    pub(super) fn update_template(&mut self) {
        let Some((place, wallet, signer)) = self.template_and_admin() else {
            return;
        };
        let template = self.template(place);
        if template.minted_count > template.burned_count {
            return self.end_object();
        }
        let target = self.id(place).to_string();
        let request = ModelRequest {
            kind: "template.update",
            target: &target,
            payload: "{}",
            by: (Some(wallet), signer),
        };
        self.put(&request, Some(place), None);
        let (rules, hash) = (self.rules(), self.dice.word());
        let changed = self.dice.below(16);
        let template = self.template_mut(place);
        if changed & 1 != 0 {
            template.rules = rules;
        }
        if changed & 2 != 0 {
            template.properties_hash = hash;
        }
        if changed & 4 != 0 {
            template.schema_hash = hash;
        }
        if changed & 8 != 0 {
            template.public_access = !template.public_access;
        }
    }

    pub(super) fn add_variations(&mut self) {
        let Some((place, wallet, signer)) = self.template_and_admin() else {
            return;
        };
        let target = self.id(place).to_string();
        let request = ModelRequest {
            kind: "template.variations",
            target: &target,
            payload: "{}",
            by: (Some(wallet), signer),
        };
        let content = self.put(&request, Some(place), None);
        for i in 0..=self.dice.below(3) as u32 {
            let template = self.template_mut(place);
            let index = template.variation_count;
            template.variation_count += 1;
            let fields = VariationEntry {
                organization_id: template.organization_id,
                template_id: self.id(place),
                index,
                name_hash: self.dice.word(),
                properties_hash: self.dice.word(),
            };
            let own = Id::made_by(Prefix::Variation, &content, i);
            self.enter(own, &content, i + 1, EntryFields::Variation(fields));
        }
    }

    /// A wallet that the template's rule for a kind allows; `owner` for what is left to it.
    fn allowed(
        &mut self,
        template: usize,
        kind: &str,
        owner: Option<usize>,
    ) -> Option<(usize, Address)> {
        let entry = self.template(template);
        let organization = entry.organization_id;
        let rule = entry.rules.iter().find(|rule| rule.kind == kind);
        let who = match rule {
            Some(rule) => rule.who,
            None if kind.starts_with("x.") => return None,
            None if owner.is_none() => Who::Issuer,
            None => Who::Owner,
        };
        match (who, owner) {
            (Who::Owner, Some(owner)) => self.signer(|place, _| place == owner),
            (Who::Owner, None) => None,
            (Who::Issuer, _) => self.admin(organization),
            (Who::Anyone, _) => self.signer(|_, _| true),
        }
    }

    /// A wallet to receive an object, and the payload's member that names it; the wallet's id if the payload is exact. A
    /// removed wallet receives objects, too.
    fn recipient(&mut self) -> (usize, String, Option<Id>) {
        let wallets = &self.of_prefix[Prefix::Wallet as usize];
        let place = wallets[self.dice.below(wallets.len())];
        let id = self.id(place);
        let addresses = &self.resources[place].addresses;
        let address = addresses[self.dice.below(addresses.len())];
        match self.dice.below(5) {
            0 => (place, format!("{{\"to\":\"{address}\"}}"), None),
            1 => (place, format!("{{ \"to\":\"{id}\"}}"), None),
            _ => (place, format!("{{\"to\":\"{id}\"}}"), Some(id)),
        }
    }

    pub(super) fn mint(&mut self) {
        let Some(place) = self.any(Prefix::Template) else {
            return;
        };
        let template = self.template(place);
        if template.max_supply == Some(template.minted_count) {
            return;
        }
        let Some((wallet, signer)) = self.allowed(place, "mint", None) else {
            return;
        };
        let (owner, payload, to) = match self.dice.below(5) {
            0 | 1 => (wallet, "{}".to_owned(), None),
            2 => (wallet, "{\"properties\":{}}".to_owned(), None),
            _ => self.recipient(),
        };
        let target = self.id(place).to_string();
        let request = ModelRequest {
            kind: "mint",
            target: &target,
            payload: &payload,
            by: (Some(wallet), signer),
        };
        let template_id = self.id(place);
        let variation_id = self.variation_of(&template_id);
        let template = self.template_mut(place);
        template.minted_count += 1;
        let (organization_id, serial) = (template.organization_id, template.minted_count);
        let fields = ObjectEntry {
            organization_id,
            template_id,
            variation_id,
            serial,
            owner_id: self.id(owner),
            owner_address: self.wallet(owner).address,
            status: ObjectStatus::Active,
            properties_hash: self.dice.word(),
        };
        self.make(&request, to, EntryFields::Object(fields));
    }

    /// A variation of the template, or none.
    fn variation_of(&mut self, template: &Id) -> Option<Id> {
        let place = self.any(Prefix::Variation)?;
        let variation = &self.resources[place];
        let is_own = matches!(
            &variation.entry.fields,
            EntryFields::Variation(fields) if fields.template_id == *template
        );
        is_own.then_some(variation.id)
    }

    pub(super) fn act_on_object(&mut self) {
        let mut place = self.any(Prefix::Object);
        // Another one, if it is burned.
        for _ in 0..2 {
            if place.is_some_and(|place| self.object(place).status == ObjectStatus::Burned) {
                place = self.any(Prefix::Object);
            }
        }
        let Some(place) = place else {
            return self.mint();
        };
        let kind = match self.object(place).status {
            ObjectStatus::Burned => return self.mint(),
            ObjectStatus::Locked => "unlock",
            ObjectStatus::Active => OBJECT_KINDS[self.dice.below(OBJECT_KINDS.len())],
        };
        self.do_with_object(place, kind);
    }

    /// Burns an object, so that its template may change.
    pub(super) fn end_object(&mut self) {
        if let Some(place) = self.any(Prefix::Object)
            && self.object(place).status == ObjectStatus::Active
        {
            self.do_with_object(place, "burn");
        }
    }

    fn do_with_object(&mut self, place: usize, kind: &'static str) {
        let mut object = self.object(place);
        let template = self.place_of(&object.template_id);
        let owner = self.place_of(&object.owner_id);
        let Some((wallet, signer)) = self.allowed(template, kind, Some(owner)) else {
            return;
        };
        let (mut payload, mut to) = ("{}".to_owned(), None);
        match kind {
            "transfer" => {
                let other;
                (other, payload, to) = self.recipient();
                object.owner_id = self.id(other);
                object.owner_address = self.wallet(other).address;
            }
            "lock" => object.status = ObjectStatus::Locked,
            "unlock" => object.status = ObjectStatus::Active,
            "burn" => object.status = ObjectStatus::Burned,
            // Without properties, an update changes nothing.
            "update" | "set_attributes" | "delete_attributes" if self.dice.below(4) > 0 => {
                object.properties_hash = self.dice.word();
            }
            _ => {}
        }
        let target = self.id(place).to_string();
        let request = ModelRequest {
            kind,
            target: &target,
            payload: &payload,
            by: (Some(wallet), signer),
        };
        self.put(&request, Some(place), to);
        if kind == "burn" {
            self.template_mut(template).burned_count += 1;
        }
        self.resources[place].entry.fields = EntryFields::Object(object);
    }
}
