//! The state before the fold begins: nothing, or a snapshot of any state that the log has made.

use std::sync::Arc;

use kedge_protocol::nonce::NonceWindow;
use kedge_protocol::resource::{Object, Variation, Wallet};
use kedge_protocol::{Address, Hash, Id};

use crate::compiled::TemplateRules;
use crate::image::Image;
use crate::world::{Counted, Held, Unavailable};

/// The state that a fold begins with, as the log made it up to one sequence. It never changes while a fold rests on it.
pub trait Source {
    /// A wallet.
    fn wallet(&self, id: Id) -> Result<Option<Wallet>, Unavailable>;
    /// The wallet that an address belongs to: one of its present or former keys.
    fn wallet_of_address(&self, address: Address) -> Result<Option<Id>, Unavailable>;
    /// True if a wallet has the e-mail address.
    fn email_taken(&self, email: &str) -> Result<bool, Unavailable>;
    /// A template, with its schemas ready for use.
    fn template(&self, id: Id) -> Result<Option<Arc<TemplateRules>>, Unavailable>;
    /// True if the organization has a template with this name.
    fn template_name_taken(&self, organization: Id, name: &str) -> Result<bool, Unavailable>;
    /// A variation.
    fn variation(&self, id: Id) -> Result<Option<Arc<Variation>>, Unavailable>;
    /// An object.
    fn object(&self, id: Id) -> Result<Option<Object>, Unavailable>;
    /// A resource of another kind, even if it was ended or used.
    fn other(&self, id: Id) -> Result<Option<Image>, Unavailable>;
    /// True if a verdict on a claim with this context is in the log.
    fn claim_context_used(&self, context: &Hash) -> Result<bool, Unavailable>;
    /// How many objects of a template were minted.
    fn minted(&self, template: Id) -> Result<u64, Unavailable>;
    /// How many of them were burned.
    fn burned(&self, template: Id) -> Result<u64, Unavailable>;
    /// How many things of a kind an organization has.
    fn held(&self, organization: Id, of: Counted) -> Result<Held, Unavailable>;
    /// The nonces that a signer has spent.
    fn nonces(&self, signer: Address) -> Result<NonceWindow, Unavailable>;
}

/// The source of a fold that begins with the log's first action.
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
