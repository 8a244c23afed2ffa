//! The state before a fold: empty, or a snapshot of an earlier state of the log.

use std::sync::Arc;

use kedge_protocol::nonce::NonceWindow;
use kedge_protocol::resource::{Object, Variation, Wallet};
use kedge_protocol::{Address, Hash, Id};

use crate::resource_state::ResourceState;
use crate::template_rules::TemplateRules;
use crate::world::{CountedResource, ResourceCount, StateUnavailable};

/// The state of the log up to one sequence, from which a fold continues. It must not change while a fold uses it.
pub trait FoldSource {
    fn wallet(&self, id: Id) -> Result<Option<Wallet>, StateUnavailable>;
    /// The wallet with this address among its present or former keys.
    fn wallet_of_address(&self, address: Address) -> Result<Option<Id>, StateUnavailable>;
    /// Whether a wallet has the e-mail address.
    fn email_taken(&self, email: &str) -> Result<bool, StateUnavailable>;
    /// A template, with its schemas ready for use.
    fn template(&self, id: Id) -> Result<Option<Arc<TemplateRules>>, StateUnavailable>;
    /// Whether the organization has a template with this name.
    fn template_name_taken(&self, organization: Id, name: &str) -> Result<bool, StateUnavailable>;
    fn variation(&self, id: Id) -> Result<Option<Arc<Variation>>, StateUnavailable>;
    fn object(&self, id: Id) -> Result<Option<Object>, StateUnavailable>;
    /// A resource of another type, even if it was ended or used.
    fn other(&self, id: Id) -> Result<Option<ResourceState>, StateUnavailable>;
    /// Whether the log holds a verdict on a claim with this context.
    fn claim_context_used(&self, context: &Hash) -> Result<bool, StateUnavailable>;
    /// Number of objects minted from a template.
    fn minted(&self, template: Id) -> Result<u64, StateUnavailable>;
    /// Number of objects burned of a template.
    fn burned(&self, template: Id) -> Result<u64, StateUnavailable>;
    /// Number of resources of a type that an organization has.
    fn held(
        &self,
        organization: Id,
        of: CountedResource,
    ) -> Result<ResourceCount, StateUnavailable>;
    /// Nonces that a signer has spent.
    fn nonces(&self, signer: Address) -> Result<NonceWindow, StateUnavailable>;
}

/// The empty source, for a fold from the log's first action.
#[derive(Clone, Copy, Default, Debug)]
pub struct EmptySource;

impl FoldSource for EmptySource {
    fn wallet(&self, _: Id) -> Result<Option<Wallet>, StateUnavailable> {
        Ok(None)
    }

    fn wallet_of_address(&self, _: Address) -> Result<Option<Id>, StateUnavailable> {
        Ok(None)
    }

    fn email_taken(&self, _: &str) -> Result<bool, StateUnavailable> {
        Ok(false)
    }

    fn template(&self, _: Id) -> Result<Option<Arc<TemplateRules>>, StateUnavailable> {
        Ok(None)
    }

    fn template_name_taken(&self, _: Id, _: &str) -> Result<bool, StateUnavailable> {
        Ok(false)
    }

    fn variation(&self, _: Id) -> Result<Option<Arc<Variation>>, StateUnavailable> {
        Ok(None)
    }

    fn object(&self, _: Id) -> Result<Option<Object>, StateUnavailable> {
        Ok(None)
    }

    fn other(&self, _: Id) -> Result<Option<ResourceState>, StateUnavailable> {
        Ok(None)
    }

    fn claim_context_used(&self, _: &Hash) -> Result<bool, StateUnavailable> {
        Ok(false)
    }

    fn minted(&self, _: Id) -> Result<u64, StateUnavailable> {
        Ok(0)
    }

    fn burned(&self, _: Id) -> Result<u64, StateUnavailable> {
        Ok(0)
    }

    fn held(&self, _: Id, _: CountedResource) -> Result<ResourceCount, StateUnavailable> {
        Ok(ResourceCount::default())
    }

    fn nonces(&self, _: Address) -> Result<NonceWindow, StateUnavailable> {
        Ok(NonceWindow::default())
    }
}
