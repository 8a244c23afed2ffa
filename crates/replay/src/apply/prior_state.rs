//! The state before the applied records: empty, or a snapshot of a store.

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use kedge_protocol::ids::IdMap;
use kedge_protocol::nonce::NonceWindow;
use kedge_protocol::resource::{Object, Variation, Wallet};
use kedge_protocol::{Address, Hash, Id};
use kedge_rules::fold::FoldSource;
use kedge_rules::resource_state::ResourceState;
use kedge_rules::{CountedResource, ResourceCount, StateUnavailable, TemplateRules};
use kedge_storage::{StoreReadError, StoreSnapshot};

use crate::held;
use crate::resource_rows::read_image;

/// The state before the records.
pub(super) enum PriorState {
    /// Empty: the log's first action comes next.
    Nothing,
    Stored(Box<PriorStore>),
}

/// A snapshot, with a cache of repeated reads.
pub(super) struct PriorStore {
    snapshot: StoreSnapshot,
    templates: RefCell<IdMap<Id, Arc<TemplateRules>>>,
    variations: RefCell<IdMap<Id, Arc<Variation>>>,
    wallets: RefCell<IdMap<Id, Wallet>>,
    /// The first read that failed.
    error: OnceLock<StoreReadError>,
}

impl PriorState {
    pub(super) fn stored(snapshot: StoreSnapshot) -> Self {
        Self::Stored(Box::new(PriorStore {
            snapshot,
            templates: RefCell::default(),
            variations: RefCell::default(),
            wallets: RefCell::default(),
            error: OnceLock::new(),
        }))
    }

    pub(super) fn error(&self) -> Option<StoreReadError> {
        match self {
            Self::Nothing => None,
            Self::Stored(stored) => stored.error.get().cloned(),
        }
    }

    /// Number of cached resources.
    pub(super) fn remembered(&self) -> usize {
        let Self::Stored(stored) = self else {
            return 0;
        };
        stored.templates.borrow().len()
            + stored.variations.borrow().len()
            + stored.wallets.borrow().len()
    }

    /// Bytes that an organization's requests have added.
    pub(super) fn log_bytes(&self, organization: Id) -> Result<u64, StateUnavailable> {
        match self {
            Self::Nothing => Ok(0),
            Self::Stored(stored) => stored.read(|snapshot| snapshot.log_bytes(organization)),
        }
    }

    /// Reads from the store, if there is one.
    fn find<T: Default>(
        &self,
        read: impl FnOnce(&StoreSnapshot) -> Result<T, StoreReadError>,
    ) -> Result<T, StateUnavailable> {
        match self {
            Self::Nothing => Ok(T::default()),
            Self::Stored(stored) => stored.read(read),
        }
    }

    fn find_once<T: Clone>(
        &self,
        id: Id,
        kept: impl FnOnce(&PriorStore) -> &RefCell<IdMap<Id, T>>,
        read: impl FnOnce(&StoreSnapshot) -> Result<Option<T>, StoreReadError>,
    ) -> Result<Option<T>, StateUnavailable> {
        let Self::Stored(stored) = self else {
            return Ok(None);
        };
        let kept = kept(stored);
        if let Some(known) = kept.borrow().get(&id) {
            return Ok(Some(known.clone()));
        }
        let found = stored.read(read)?;
        if let Some(found) = &found {
            kept.borrow_mut().insert(id, found.clone());
        }
        Ok(found)
    }
}

impl PriorStore {
    fn read<T>(
        &self,
        read: impl FnOnce(&StoreSnapshot) -> Result<T, StoreReadError>,
    ) -> Result<T, StateUnavailable> {
        read(&self.snapshot).map_err(|error| {
            // Only the first error matters: the apply stops after it.
            let _ = self.error.set(error);
            StateUnavailable
        })
    }
}

impl FoldSource for PriorState {
    fn wallet(&self, id: Id) -> Result<Option<Wallet>, StateUnavailable> {
        self.find_once(id, |stored| &stored.wallets, |snapshot| snapshot.wallet(id))
    }

    fn wallet_of_address(&self, address: Address) -> Result<Option<Id>, StateUnavailable> {
        let wallet = self.find(|snapshot| snapshot.wallet_by_address(address))?;
        Ok(wallet.map(|wallet| wallet.id))
    }

    fn email_taken(&self, email: &str) -> Result<bool, StateUnavailable> {
        let wallet = self.find(|snapshot| snapshot.wallet_by_email(email))?;
        Ok(wallet.is_some())
    }

    fn template(&self, id: Id) -> Result<Option<Arc<TemplateRules>>, StateUnavailable> {
        self.find_once(
            id,
            |stored| &stored.templates,
            |snapshot| {
                let template = snapshot.template(id)?;
                Ok(template.map(|template| Arc::new(TemplateRules::from(template))))
            },
        )
    }

    fn template_name_taken(&self, organization: Id, name: &str) -> Result<bool, StateUnavailable> {
        let template = self.find(|snapshot| snapshot.template_by_name(organization, name))?;
        Ok(template.is_some())
    }

    fn variation(&self, id: Id) -> Result<Option<Arc<Variation>>, StateUnavailable> {
        self.find_once(
            id,
            |stored| &stored.variations,
            |snapshot| Ok(snapshot.variation(id)?.map(Arc::new)),
        )
    }

    fn object(&self, id: Id) -> Result<Option<Object>, StateUnavailable> {
        self.find(|snapshot| snapshot.object(id))
    }

    fn other(&self, id: Id) -> Result<Option<ResourceState>, StateUnavailable> {
        self.find(|snapshot| read_image(snapshot, id))
    }

    fn claim_context_used(&self, context: &Hash) -> Result<bool, StateUnavailable> {
        let dispute = self.find(|snapshot| snapshot.dispute_of_claim(context))?;
        Ok(dispute.is_some())
    }

    fn minted(&self, template: Id) -> Result<u64, StateUnavailable> {
        self.find(|snapshot| snapshot.minted(template))
    }

    fn burned(&self, template: Id) -> Result<u64, StateUnavailable> {
        self.find(|snapshot| snapshot.burned(template))
    }

    fn held(
        &self,
        organization: Id,
        of: CountedResource,
    ) -> Result<ResourceCount, StateUnavailable> {
        self.find(|snapshot| held(snapshot, organization, of))
    }

    fn nonces(&self, signer: Address) -> Result<NonceWindow, StateUnavailable> {
        self.find(|snapshot| snapshot.nonces(signer))
    }
}
