//! The state before a fold: empty, or a snapshot of an earlier state of the log.

use std::sync::Arc;

use kedge_protocol::nonce::NonceWindow;
use kedge_protocol::resource::{Object, Variation, Wallet};
use kedge_protocol::{Address, Hash, Id};

use crate::compiled::TemplateRules;
use crate::image::Image;
use crate::world::{Counted, Held, Unavailable};

/// The state of the log up to one sequence, from which a fold continues. It must not change while a fold uses it.
pub trait Source {
    fn wallet(&self, id: Id) -> Result<Option<Wallet>, Unavailable>;
    /// The wallet with this address among its present or former keys.
    fn wallet_of_address(&self, address: Address) -> Result<Option<Id>, Unavailable>;
    /// Whether a wallet has the e-mail address.
    fn email_taken(&self, email: &str) -> Result<bool, Unavailable>;
    /// A template, with its schemas ready for use.
    fn template(&self, id: Id) -> Result<Option<Arc<TemplateRules>>, Unavailable>;
    /// Whether the organization has a template with this name.
    fn template_name_taken(&self, organization: Id, name: &str) -> Result<bool, Unavailable>;
    fn variation(&self, id: Id) -> Result<Option<Arc<Variation>>, Unavailable>;
    fn object(&self, id: Id) -> Result<Option<Object>, Unavailable>;
    /// A resource of another type, even if it was ended or used.
    fn other(&self, id: Id) -> Result<Option<Image>, Unavailable>;
    /// Whether the log holds a verdict on a claim with this context.
    fn claim_context_used(&self, context: &Hash) -> Result<bool, Unavailable>;
    /// Number of objects minted from a template.
    fn minted(&self, template: Id) -> Result<u64, Unavailable>;
    /// Number of objects burned of a template.
    fn burned(&self, template: Id) -> Result<u64, Unavailable>;
    /// Number of resources of a type that an organization has.
    fn held(&self, organization: Id, of: Counted) -> Result<Held, Unavailable>;
    /// Nonces that a signer has spent.
    fn nonces(&self, signer: Address) -> Result<NonceWindow, Unavailable>;
}

/// The empty source, for a fold from the log's first action.
#[derive(Clone, Copy, Default, Debug)]
pub struct Nothing;

impl Source for Nothing {
    fn wallet(&self, _: Id) -> Result<Option<Wallet>, Unavailable> {
        Ok(None)
    }

    fn wallet_of_address(&self, _: Address) -> Result<Option<Id>, Unavailable> {
        Ok(None)
    }

    fn email_taken(&self, _: &str) -> Result<bool, Unavailable> {
        Ok(false)
    }

    fn template(&self, _: Id) -> Result<Option<Arc<TemplateRules>>, Unavailable> {
        Ok(None)
    }

    fn template_name_taken(&self, _: Id, _: &str) -> Result<bool, Unavailable> {
        Ok(false)
    }

    fn variation(&self, _: Id) -> Result<Option<Arc<Variation>>, Unavailable> {
        Ok(None)
    }

    fn object(&self, _: Id) -> Result<Option<Object>, Unavailable> {
        Ok(None)
    }

    fn other(&self, _: Id) -> Result<Option<Image>, Unavailable> {
        Ok(None)
    }

    fn claim_context_used(&self, _: &Hash) -> Result<bool, Unavailable> {
        Ok(false)
    }

    fn minted(&self, _: Id) -> Result<u64, Unavailable> {
        Ok(0)
    }

    fn burned(&self, _: Id) -> Result<u64, Unavailable> {
        Ok(0)
    }

    fn held(&self, _: Id, _: Counted) -> Result<Held, Unavailable> {
        Ok(Held::default())
    }

    fn nonces(&self, _: Address) -> Result<NonceWindow, Unavailable> {
        Ok(NonceWindow::default())
    }
}
