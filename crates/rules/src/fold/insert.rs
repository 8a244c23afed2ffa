//! Applies an action's resource states to the fold's memory.

use std::sync::Arc;

use kedge_protocol::Id;
use kedge_protocol::resource::{DisputeMatter, Object, ObjectStatus, Template, Wallet};

use super::{FoldSource, FoldState};
use crate::resource_state::ResourceState;
use crate::world::{CountedResource, StateUnavailable, World};

impl<S: FoldSource> FoldState<S> {
    pub(super) fn insert(&mut self, image: ResourceState) -> Result<(), StateUnavailable> {
        match image {
            ResourceState::Object(object) => self.insert_object(object)?,
            ResourceState::Wallet(wallet) => self.insert_wallet(wallet)?,
            ResourceState::Template(template) => self.insert_template(template)?,
            ResourceState::Variation(variation) => {
                self.variations.insert(variation.id, Arc::new(variation));
            }
            ResourceState::SequencerKey(key) => self.sequencer_keys.push(key),
            other => {
                if let Some((organization, of, is_live)) = other.counted() {
                    let before = self.recall_other(other.id())?;
                    let before = before.and_then(ResourceState::counted);
                    let before = before.map(|(.., is_live)| is_live);
                    self.count((organization, of), before, is_live)?;
                }
                if let ResourceState::Dispute(dispute) = &other
                    && let DisputeMatter::Claim { context } = dispute.matter
                {
                    self.claim_contexts.insert(context);
                }
                self.others.insert(other.id(), other);
            }
        }
        Ok(())
    }

    fn insert_object(&mut self, object: Object) -> Result<(), StateUnavailable> {
        let template = object.template_id;
        if object.trace.version == 1 {
            let minted = self.minted(template)?;
            self.minted.insert(template, minted + 1);
        }
        // No action changes an object once it is burned.
        if object.status == ObjectStatus::Burned {
            let burned = self.burned(template)?;
            self.burned.insert(template, burned + 1);
        }
        self.objects.insert(object.id, object);
        Ok(())
    }

    fn insert_wallet(&mut self, wallet: Wallet) -> Result<(), StateUnavailable> {
        if let Some(before) = self.recall_wallet(wallet.id)? {
            let email = before.email.clone();
            self.emails.insert(email, false);
        }
        if !wallet.is_removed() {
            self.emails.insert(wallet.email.clone(), true);
        }
        for address in &wallet.keys {
            self.wallet_of_address.insert(*address, wallet.id);
        }
        self.wallets.insert(wallet.id, wallet);
        Ok(())
    }

    fn insert_template(&mut self, template: Template) -> Result<(), StateUnavailable> {
        if let Some(before) = self.recall_template(template.id)? {
            let name = (before.organization_id, before.name.clone());
            self.template_names.insert(name, false);
        }
        let name = (template.organization_id, template.name.clone());
        self.template_names.insert(name, true);
        self.templates
            .insert(template.id, Arc::new(template.into()));
        Ok(())
    }

    /// Updates the counts for one resource: `before` is `None` for a new one, else whether it was live.
    fn count(
        &mut self,
        (organization, of): (Id, CountedResource),
        before: Option<bool>,
        is_live: bool,
    ) -> Result<(), StateUnavailable> {
        let mut held = self.held(organization, of)?;
        held.made += u64::from(before.is_none());
        held.live += usize::from(is_live);
        held.live -= usize::from(before == Some(true));
        self.held.insert((organization, of), held);
        Ok(())
    }
}
