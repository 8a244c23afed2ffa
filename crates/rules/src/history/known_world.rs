//! The world of a replayed history: it answers from proofs, and takes for granted what the log checked when it placed an
//! action, such as free names and rights.

use std::cell::RefCell;
use std::sync::Arc;

use kedge_protocol::resource::{
    Invitation, Organization, ResourceTrace, Role, Template, Variation, Wallet,
};
use kedge_protocol::{Address, Hash, Id};

use super::nearby_resources::NearbyResources;
use crate::template_rules::TemplateRules;
use crate::world::{
    CountedResource, KeyPosition, OPERATOR, RecipientWallet, ResourceCount, StateUnavailable, World,
};

/// Stands for a wallet that no proof shows. Its address stands for one that is unknown.
pub(super) const STRANGER: RecipientWallet = RecipientWallet {
    wallet_id: OPERATOR,
    address: Address::ZERO,
};

/// What the rules may look up during a replay.
pub(super) struct KnownWorld<'a> {
    pub(super) known: &'a NearbyResources<'a>,
    /// The template of a mint, as it was then.
    pub(super) template: Option<Arc<TemplateRules>>,
    /// The variation of a mint.
    pub(super) variation: Option<Arc<Variation>>,
    /// The organization of the resource.
    pub(super) organization: Id,
    /// The wallet of an address that no proof shows.
    pub(super) stranger: Option<RecipientWallet>,
    /// Number of the batch of the action that is replayed.
    pub(super) batch: u64,
    /// Resources that a rule looked up in vain.
    pub(super) missing: RefCell<Vec<Id>>,
}

impl<'a> KnownWorld<'a> {
    pub(super) fn new(known: &'a NearbyResources<'a>, organization: Id) -> Self {
        Self {
            known,
            template: None,
            variation: None,
            organization,
            stranger: None,
            batch: 0,
            missing: RefCell::default(),
        }
    }

    /// Sets the template of a mint.
    pub(super) fn minting(self, template: Template) -> Self {
        Self {
            template: Some(Arc::new(template.into())),
            stranger: Some(STRANGER),
            ..self
        }
    }
}

impl World for KnownWorld<'_> {
    fn wallet(&self, id: Id) -> Result<Option<RecipientWallet>, StateUnavailable> {
        let mut wallets = self.known.wallets();
        let known = wallets.find(|(wallet_id, _)| *wallet_id == id);
        Ok(Some(RecipientWallet {
            wallet_id: id,
            address: known.map_or(STRANGER.address, |(_, wallet)| wallet.address),
        }))
    }

    fn wallet_by_address(
        &self,
        address: Address,
    ) -> Result<Option<RecipientWallet>, StateUnavailable> {
        let known = self.known.wallet_of(address);
        let known = known.map(|(wallet_id, wallet)| RecipientWallet {
            wallet_id,
            address: wallet.address,
        });
        Ok(known.or(self.stranger))
    }

    fn member(&self, id: Id) -> Result<Option<Wallet>, StateUnavailable> {
        Ok(Some(Wallet {
            id,
            organization_id: self.organization,
            role: Role::Owner,
            nickname: None,
            email: String::new(),
            address: Address::ZERO,
            keys: vec![Address::ZERO],
            trace: ResourceTrace::NEW,
        }))
    }

    fn organization(&self, _: Id) -> Result<Option<Organization>, StateUnavailable> {
        Err(StateUnavailable)
    }

    fn invitation(&self, _: Id) -> Result<Option<Invitation>, StateUnavailable> {
        Err(StateUnavailable)
    }

    fn minted(&self, _: Id) -> Result<u64, StateUnavailable> {
        Ok(0)
    }

    fn burned(&self, _: Id) -> Result<u64, StateUnavailable> {
        Ok(0)
    }

    fn template(&self, id: Id) -> Result<Option<Arc<TemplateRules>>, StateUnavailable> {
        let template = self.template.as_ref().filter(|template| template.id == id);
        Ok(Some(Arc::clone(template.ok_or(StateUnavailable)?)))
    }

    fn variation(&self, id: Id) -> Result<Option<Arc<Variation>>, StateUnavailable> {
        let known = self.variation.as_ref().filter(|known| known.id == id);
        let known = known.ok_or_else(|| {
            self.missing.borrow_mut().push(id);
            StateUnavailable
        })?;
        Ok(Some(Arc::clone(known)))
    }

    fn email_taken(&self, _: &str) -> Result<bool, StateUnavailable> {
        Ok(false)
    }

    fn address_taken(&self, _: Address) -> Result<bool, StateUnavailable> {
        Ok(false)
    }

    fn held(&self, _: Id, _: CountedResource) -> Result<ResourceCount, StateUnavailable> {
        Ok(ResourceCount::default())
    }

    fn template_name_taken(&self, _: Id, _: &str) -> Result<bool, StateUnavailable> {
        Ok(false)
    }

    fn key_place(&self) -> Result<KeyPosition, StateUnavailable> {
        Ok(KeyPosition {
            batch: self.batch,
            ..KeyPosition::default()
        })
    }

    fn claim_context_used(&self, _: &Hash) -> Result<bool, StateUnavailable> {
        Ok(false)
    }
}
