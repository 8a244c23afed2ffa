//! A fold over a source: after a cut it continues like the whole fold, and any failed read of the source is an error.

use std::cell::Cell;
use std::sync::Arc;

use kedge_protocol::nonce::NonceWindow;
use kedge_protocol::record::RequestRecord;
use kedge_protocol::resource::{Object, Variation, Wallet};
use kedge_protocol::{Address, Hash, Id};
use kedge_rules::TemplateRules;
use kedge_rules::fold::{FoldError, FoldSource, FoldState};
use kedge_rules::resource_state::ResourceState;
use kedge_rules::world::{CountedResource, ResourceCount, StateUnavailable, World};

/// A state as a source that allows a limited number of reads.
struct Shown<'s> {
    state: &'s FoldState,
    reads_left: Cell<u32>,
}

impl<'s> Shown<'s> {
    fn read(&self) -> Result<&'s FoldState, StateUnavailable> {
        let left = self
            .reads_left
            .get()
            .checked_sub(1)
            .ok_or(StateUnavailable)?;
        self.reads_left.set(left);
        Ok(self.state)
    }
}

impl FoldSource for Shown<'_> {
    fn wallet(&self, id: Id) -> Result<Option<Wallet>, StateUnavailable> {
        self.read()?.member(id)
    }

    fn wallet_of_address(&self, address: Address) -> Result<Option<Id>, StateUnavailable> {
        let wallet = self.read()?.wallet_by_address(address)?;
        Ok(wallet.map(|wallet| wallet.wallet_id))
    }

    fn email_taken(&self, email: &str) -> Result<bool, StateUnavailable> {
        self.read()?.email_taken(email)
    }

    fn template(&self, id: Id) -> Result<Option<Arc<TemplateRules>>, StateUnavailable> {
        self.read()?.template(id)
    }

    fn template_name_taken(&self, organization: Id, name: &str) -> Result<bool, StateUnavailable> {
        self.read()?.template_name_taken(organization, name)
    }

    fn variation(&self, id: Id) -> Result<Option<Arc<Variation>>, StateUnavailable> {
        self.read()?.variation(id)
    }

    fn object(&self, id: Id) -> Result<Option<Object>, StateUnavailable> {
        Ok(self.read()?.objects.get(&id).cloned())
    }

    fn other(&self, id: Id) -> Result<Option<ResourceState>, StateUnavailable> {
        Ok(self.read()?.others.get(&id).cloned())
    }

    fn claim_context_used(&self, context: &Hash) -> Result<bool, StateUnavailable> {
        self.read()?.claim_context_used(context)
    }

    fn minted(&self, template: Id) -> Result<u64, StateUnavailable> {
        self.read()?.minted(template)
    }

    fn burned(&self, template: Id) -> Result<u64, StateUnavailable> {
        self.read()?.burned(template)
    }

    fn held(
        &self,
        organization: Id,
        of: CountedResource,
    ) -> Result<ResourceCount, StateUnavailable> {
        self.read()?.held(organization, of)
    }

    fn nonces(&self, signer: Address) -> Result<NonceWindow, StateUnavailable> {
        let nonces = &self.read()?.nonces;
        Ok(nonces.get(&signer).cloned().unwrap_or_default())
    }
}

fn over(state: &FoldState, reads: u32) -> FoldState<Shown<'_>> {
    let source = Shown {
        state,
        reads_left: Cell::new(reads),
    };
    FoldState::over(source, Vec::new(), state.sequencer_keys.clone())
}

/// Cuts a history before one of its records and continues from the earlier state. Returns the number of reads for the
/// record at the cut.
pub(crate) fn check(
    records: &[RequestRecord<'_>],
    images: &[Vec<Vec<ResourceState>>],
    cut: usize,
) -> u32 {
    let mut before = FoldState::default();
    for record in &records[..cut] {
        before.apply(record).unwrap();
    }
    let mut after = over(&before, u32::MAX);
    for (record, images) in records[cut..].iter().zip(&images[cut..]) {
        assert_eq!(after.apply(record).as_ref(), Ok(images), "cut at {cut}");
    }
    for reads in 0.. {
        match over(&before, reads).apply(&records[cut]) {
            Ok(done) => {
                assert_eq!(done, images[cut]);
                return reads;
            }
            Err(FoldError::Unavailable { .. }) => {}
            Err(error) => panic!("after {reads} reads: {error}"),
        }
    }
    unreachable!("some number of reads is enough")
}
