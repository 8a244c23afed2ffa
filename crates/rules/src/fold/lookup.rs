//! Lookups of the rules during a fold: in memory first, then in the source.

use std::sync::Arc;

use kedge_protocol::resource::{Invitation, Organization, Variation, Wallet};
use kedge_protocol::{Address, Hash, Id};

use super::{FoldSource, FoldState};
use crate::resource_state::ResourceState;
use crate::template_rules::TemplateRules;
use crate::world::{
    CountedResource, KeyPosition, RecipientWallet, ResourceCount, StateUnavailable, World,
};

impl<S: FoldSource> FoldState<S> {
    /// A resource of the type that its caller expects.
    fn other<T: TryFrom<ResourceState>>(&self, id: Id) -> Result<Option<T>, StateUnavailable> {
        let image = match self.others.get(&id) {
            Some(image) => Some(image.clone()),
            None => self.source.other(id)?,
        };
        Ok(image.and_then(|image| image.try_into().ok()))
    }
}

impl<S: FoldSource> World for FoldState<S> {
    fn wallet(&self, id: Id) -> Result<Option<RecipientWallet>, StateUnavailable> {
        let recipient = |wallet: &Wallet| RecipientWallet {
            wallet_id: wallet.id,
            address: wallet.address,
        };
        match self.wallets.get(&id) {
            Some(wallet) => Ok(Some(recipient(wallet))),
            None => Ok(self.source.wallet(id)?.as_ref().map(recipient)),
        }
    }

    fn wallet_by_address(
        &self,
        address: Address,
    ) -> Result<Option<RecipientWallet>, StateUnavailable> {
        let id = match self.wallet_of_address.get(&address) {
            Some(id) => Some(*id),
            None => self.source.wallet_of_address(address)?,
        };
        id.map_or(Ok(None), |id| self.wallet(id))
    }

    fn member(&self, id: Id) -> Result<Option<Wallet>, StateUnavailable> {
        match self.wallets.get(&id) {
            Some(wallet) => Ok(Some(wallet.clone())),
            None => self.source.wallet(id),
        }
    }

    fn organization(&self, id: Id) -> Result<Option<Organization>, StateUnavailable> {
        self.other(id)
    }

    fn invitation(&self, id: Id) -> Result<Option<Invitation>, StateUnavailable> {
        self.other(id)
    }

    fn minted(&self, template: Id) -> Result<u64, StateUnavailable> {
        match self.minted.get(&template) {
            Some(minted) => Ok(*minted),
            None => self.source.minted(template),
        }
    }

    fn burned(&self, template: Id) -> Result<u64, StateUnavailable> {
        match self.burned.get(&template) {
            Some(burned) => Ok(*burned),
            None => self.source.burned(template),
        }
    }

    fn template(&self, id: Id) -> Result<Option<Arc<TemplateRules>>, StateUnavailable> {
        match self.templates.get(&id) {
            Some(template) => Ok(Some(Arc::clone(template))),
            None => self.source.template(id),
        }
    }

    fn variation(&self, id: Id) -> Result<Option<Arc<Variation>>, StateUnavailable> {
        match self.variations.get(&id) {
            Some(variation) => Ok(Some(Arc::clone(variation))),
            None => self.source.variation(id),
        }
    }

    fn email_taken(&self, email: &str) -> Result<bool, StateUnavailable> {
        match self.emails.get(email) {
            Some(taken) => Ok(*taken),
            None => self.source.email_taken(email),
        }
    }

    fn address_taken(&self, address: Address) -> Result<bool, StateUnavailable> {
        Ok(self.wallet_of_address.contains_key(&address)
            || self.source.wallet_of_address(address)?.is_some())
    }

    fn held(
        &self,
        organization: Id,
        of: CountedResource,
    ) -> Result<ResourceCount, StateUnavailable> {
        match self.held.get(&(organization, of)) {
            Some(held) => Ok(*held),
            None => self.source.held(organization, of),
        }
    }

    fn template_name_taken(&self, organization: Id, name: &str) -> Result<bool, StateUnavailable> {
        match self.template_names.get(&(organization, name.to_owned())) {
            Some(taken) => Ok(*taken),
            None => self.source.template_name_taken(organization, name),
        }
    }

    fn key_place(&self) -> Result<KeyPosition, StateUnavailable> {
        let last = self.sequencer_keys.last();
        Ok(KeyPosition {
            batch: self.batch,
            last_from_batch: last.map_or(0, |key| key.entry.from_batch),
            named: self.sequencer_keys.len(),
        })
    }

    fn claim_context_used(&self, context: &Hash) -> Result<bool, StateUnavailable> {
        Ok(self.claim_contexts.contains(context) || self.source.claim_context_used(context)?)
    }
}
