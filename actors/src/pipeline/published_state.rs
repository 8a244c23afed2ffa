//! State that decisions look up, read from the published snapshot. A proposal that waits for a commit waits without
//! bound (`PublishProgress::reach`): an earlier decision would follow old rules, and stand in the log after the new
//! ones. The callers' patience is bounded instead.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use kedge_protocol::resource::{Invitation, Organization, Variation, Wallet};
use kedge_protocol::{Address, Hash, Id};
use kedge_rules::{
    CountedResource, KeyPosition, RecipientWallet, ResourceCount, StateUnavailable, TemplateRules,
    World,
};
use kedge_runtime::executor::StepScheduler;
use kedge_storage::{LogHead, StoreReadError, StoreSnapshot};
use tokio::sync::watch;

use super::catalog::{RecentTemplate, TemplateCatalog};
use crate::api::SubmissionError;

/// The newest committed state, for every read outside the actors.
pub struct PublishedState {
    /// The log's head.
    pub head: LogHead,
    /// A sequence after which no API key has changed and no wallet was removed from its organization: what was read
    /// about one there still holds.
    pub keys_changed_at: u64,
    /// The store at that moment.
    pub snapshot: StoreSnapshot,
}

/// The visible sequence, with a way to wait for more.
#[derive(Clone)]
pub(crate) struct PublishProgress {
    visible: watch::Receiver<u64>,
    turns: StepScheduler,
}

impl PublishProgress {
    pub(crate) fn new(visible: watch::Receiver<u64>, turns: StepScheduler) -> Self {
        Self { visible, turns }
    }

    /// Waits until everything up to `sequence` can be read, however long that takes, for callers that must not decide
    /// earlier. False if it never will be, because the engine has failed or is ending.
    pub(crate) async fn reach(&self, sequence: u64) -> bool {
        let mut visible = self.visible.clone();
        if self.turns.are_chosen() {
            return self.turns.reach(&visible, sequence).await;
        }
        visible.wait_for(|seen| *seen >= sequence).await.is_ok()
    }

    /// Waits until everything up to `sequence` can be read; false after `timeout`.
    pub(crate) async fn wait_for(&self, sequence: u64, timeout: Duration) -> bool {
        let mut visible = self.visible.clone();
        let reached = visible.wait_for(|seen| *seen >= sequence);
        matches!(tokio::time::timeout(timeout, reached).await, Ok(Ok(_)))
    }
}

/// Reader for decisions: the published snapshot, with the catalog in front of it.
#[derive(Clone)]
pub(crate) struct StateReader {
    published: Arc<ArcSwap<PublishedState>>,
    catalog: Arc<TemplateCatalog>,
    /// The catalog's generation when a fixed reader took its state.
    generation: Option<u64>,
}

/// Logs a failed read. The action's caller learns only that it could not be decided.
pub(crate) fn unavailable(error: impl Display) -> StateUnavailable {
    tracing::error!(%error, "the store could not be read for a decision");
    StateUnavailable
}

/// Logs a failed read, for a request that cannot be admitted because of it.
pub(crate) fn gone(error: impl Display) -> SubmissionError {
    unavailable(error);
    SubmissionError::Unavailable
}

impl StateReader {
    pub(crate) fn new(
        published: Arc<ArcSwap<PublishedState>>,
        catalog: Arc<TemplateCatalog>,
    ) -> Self {
        Self {
            published,
            catalog,
            generation: None,
        }
    }

    /// The cache of the committed state.
    pub(crate) fn catalog(&self) -> Arc<TemplateCatalog> {
        Arc::clone(&self.catalog)
    }

    /// A reader that stays at the state published now.
    pub(crate) fn fixed(&self) -> (Self, Arc<PublishedState>) {
        // Read before the state, so that the state is never older than its generation.
        let generation = Some(self.catalog.generation());
        let published = self.published();
        let reader = Self {
            published: Arc::new(ArcSwap::new(Arc::clone(&published))),
            catalog: Arc::clone(&self.catalog),
            generation,
        };
        (reader, published)
    }

    pub(crate) fn published(&self) -> Arc<PublishedState> {
        self.published.load_full()
    }

    fn read<T>(
        &self,
        read: impl FnOnce(&StoreSnapshot) -> Result<T, StoreReadError>,
    ) -> Result<T, StateUnavailable> {
        read(&self.published.load().snapshot).map_err(unavailable)
    }

    fn generation(&self) -> u64 {
        let fixed = self.generation;
        fixed.unwrap_or_else(|| self.catalog.generation())
    }

    /// A template; `recent` then holds it, so the next call needs no look-up.
    pub(crate) fn template_again(
        &self,
        id: Id,
        recent: &mut RecentTemplate,
    ) -> Result<Option<Arc<TemplateRules>>, StateUnavailable> {
        let generation = self.generation();
        if let Some((of, known, template)) = recent
            && (*of, *known) == (generation, id)
        {
            return Ok(Some(Arc::clone(template)));
        }
        let template = self.template(id)?;
        *recent = template
            .as_ref()
            .map(|template| (generation, id, Arc::clone(template)));
        Ok(template)
    }
}

impl World for StateReader {
    fn wallet(&self, id: Id) -> Result<Option<RecipientWallet>, StateUnavailable> {
        if let Some(recipient) = self.catalog.recipient(id) {
            return Ok(Some(recipient));
        }
        let wallet = self.read(|snapshot| snapshot.wallet(id))?;
        Ok(wallet.map(|wallet| {
            let recipient = RecipientWallet {
                wallet_id: wallet.id,
                address: wallet.address,
            };
            self.catalog.keep_recipient(recipient);
            recipient
        }))
    }

    fn wallet_by_address(
        &self,
        address: Address,
    ) -> Result<Option<RecipientWallet>, StateUnavailable> {
        let wallet = self.read(|snapshot| snapshot.wallet_by_address(address))?;
        Ok(wallet.map(|wallet| RecipientWallet {
            wallet_id: wallet.id,
            address: wallet.address,
        }))
    }

    fn member(&self, id: Id) -> Result<Option<Wallet>, StateUnavailable> {
        self.read(|snapshot| snapshot.wallet(id))
    }

    fn organization(&self, id: Id) -> Result<Option<Organization>, StateUnavailable> {
        self.read(|snapshot| snapshot.organization(id))
    }

    fn invitation(&self, id: Id) -> Result<Option<Invitation>, StateUnavailable> {
        self.read(|snapshot| snapshot.resource(id))
    }

    fn minted(&self, template: Id) -> Result<u64, StateUnavailable> {
        self.read(|snapshot| snapshot.minted(template))
    }

    fn burned(&self, template: Id) -> Result<u64, StateUnavailable> {
        self.read(|snapshot| snapshot.burned(template))
    }

    fn template(&self, id: Id) -> Result<Option<Arc<TemplateRules>>, StateUnavailable> {
        let generation = self.generation();
        if let Some(template) = self.catalog.template(generation, id) {
            return Ok(Some(template));
        }
        let template = self.read(|snapshot| snapshot.template(id))?;
        Ok(template.map(|template| self.catalog.keep_template(generation, template)))
    }

    fn variation(&self, id: Id) -> Result<Option<Arc<Variation>>, StateUnavailable> {
        if let Some(variation) = self.catalog.variation(id) {
            return Ok(Some(variation));
        }
        let variation = self.read(|snapshot| snapshot.variation(id))?.map(Arc::new);
        if let Some(variation) = &variation {
            self.catalog.keep_variation(variation);
        }
        Ok(variation)
    }

    fn held(
        &self,
        organization: Id,
        of: CountedResource,
    ) -> Result<ResourceCount, StateUnavailable> {
        self.read(|snapshot| kedge_replay::held(snapshot, organization, of))
    }

    fn email_taken(&self, email: &str) -> Result<bool, StateUnavailable> {
        let wallet = self.read(|snapshot| snapshot.wallet_by_email(email))?;
        Ok(wallet.is_some())
    }

    fn address_taken(&self, address: Address) -> Result<bool, StateUnavailable> {
        Ok(self.wallet_by_address(address)?.is_some())
    }

    fn template_name_taken(&self, organization: Id, name: &str) -> Result<bool, StateUnavailable> {
        let template = self.read(|snapshot| snapshot.template_by_name(organization, name))?;
        Ok(template.is_some())
    }

    fn key_place(&self) -> Result<KeyPosition, StateUnavailable> {
        let published = self.published.load();
        let named = published.snapshot.named_sequencer_keys();
        let named = named.map_err(unavailable)?;
        Ok(KeyPosition {
            batch: published.head.batches,
            last_from_batch: named.last().map_or(0, |key| key.entry.from_batch),
            named: named.len(),
        })
    }

    fn claim_context_used(&self, context: &Hash) -> Result<bool, StateUnavailable> {
        let dispute = self.read(|snapshot| snapshot.dispute_of_claim(context))?;
        Ok(dispute.is_some())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use kedge_protocol::Prefix;
    use kedge_protocol::eip712::Domain;
    use kedge_protocol::resource::{ResourceTrace, Template};
    use kedge_storage::{Store, WriteGroup};

    use super::*;

    const ID: Id = Id {
        prefix: Prefix::Template,
        bytes: [3; 16],
    };

    fn store(path: &Path) -> Store {
        Store::open(kedge_storage::StoreOptions {
            side_keys: kedge_storage::SideKeys::one(1, [1; 32]),
            ..kedge_storage::StoreOptions::of_store(
                &path.join("store"),
                Domain {
                    chain_id: 31_337,
                    verifying_contract: Address([7; 20]),
                },
                Address::ZERO,
            )
        })
        .unwrap()
    }

    /// Commits the template with at most this many objects.
    fn commit(store: &Store, max_supply: u64) -> PublishedState {
        let template = Template {
            id: ID,
            organization_id: Id {
                prefix: Prefix::Organization,
                bytes: [4; 16],
            },
            name: "rules".to_owned(),
            description: String::new(),
            properties: "{}".to_owned(),
            schema: None,
            max_supply: Some(max_supply),
            actions: Vec::new(),
            public_access: true,
            variation_count: 0,
            trace: ResourceTrace::NEW,
        };
        let mut group = WriteGroup::default();
        group.put_template(&template, None);
        let snapshot = store.commit(&group).unwrap();
        PublishedState {
            head: snapshot.head().unwrap(),
            keys_changed_at: 0,
            snapshot,
        }
    }

    // Holds invariant 93.
    #[test]
    fn a_reader_of_old_rules_leaves_none_behind() {
        let directory = tempfile::tempdir().unwrap();
        let store = store(directory.path());
        let published = Arc::new(ArcSwap::from_pointee(commit(&store, 1)));
        let reader = StateReader::new(
            Arc::clone(&published),
            Arc::new(TemplateCatalog::new(1 << 20, 10)),
        );
        let supply = |reader: &StateReader| reader.template(ID).unwrap().unwrap().max_supply;
        // A slow reader keeps the present state for longer than the rules hold.
        let (slow, _) = reader.fixed();
        published.store(Arc::new(commit(&store, 2)));
        reader.catalog().forget_templates();
        assert_eq!(supply(&slow), Some(1));
        assert_eq!(supply(&reader), Some(2));
        assert_eq!(supply(&slow), Some(1));
    }

    // Holds invariant 215.
    #[test]
    fn a_recent_template_is_forgotten_with_the_others() {
        let directory = tempfile::tempdir().unwrap();
        let store = store(directory.path());
        let published = Arc::new(ArcSwap::from_pointee(commit(&store, 1)));
        let catalog = Arc::new(TemplateCatalog::new(1 << 20, 10));
        let reader = StateReader::new(Arc::clone(&published), catalog);
        let mut recent = None;
        let mut supply = || {
            let template = reader.template_again(ID, &mut recent).unwrap();
            template.unwrap().max_supply
        };
        assert_eq!(supply(), Some(1));
        published.store(Arc::new(commit(&store, 2)));
        assert_eq!(supply(), Some(1), "its rules have not changed yet");
        reader.catalog().forget_templates();
        assert_eq!(supply(), Some(2));
    }
}
