//! State of the watched contracts.

use kedge_chain::contract::AnchorContract;
use kedge_chain::contract::bond::{BondContract, BondTerms};
use kedge_chain::rpc::{BlockTag, RpcClient, RpcEndpoint, RpcOptions};
use kedge_protocol::Address;
use kedge_protocol::eip712::Domain;
use kedge_protocol::evidence::ContractView;
use kedge_protocol::merkle::empty_root;

use crate::anchored_log::AnchoredLog;
use crate::report::WatchError;

pub(crate) struct WatchedContracts {
    pub(crate) domain: Domain,
    pub(crate) anchor: AnchorContract,
    pub(crate) bond: Option<(BondContract, BondTerms)>,
}

impl WatchedContracts {
    pub(crate) async fn open(
        endpoint: RpcEndpoint,
        contract: Address,
        domain: Option<Domain>,
    ) -> Result<Self, WatchError> {
        let rpc = RpcClient::new(endpoint, RpcOptions::default());
        let anchor = AnchorContract::new(rpc.clone(), contract);
        let domain = match domain {
            Some(domain) => domain,
            None => Domain {
                chain_id: rpc.chain_id().await.map_err(WatchError::failed)?,
                verifying_contract: contract,
            },
        };
        if anchor
            .domain_separator()
            .await
            .map_err(WatchError::contract)?
            != domain.separator()
        {
            return Err(WatchError::usage(
                "the contract anchors a log of another domain; name it with --domain",
            ));
        }
        let named = anchor.bond().await.map_err(WatchError::contract)?;
        let bond = if named == Address::ZERO {
            None
        } else {
            let bond = BondContract::new(rpc, named);
            let terms = bond.terms().await.map_err(WatchError::contract)?;
            Some((bond, terms))
        };
        Ok(Self {
            domain,
            anchor,
            bond,
        })
    }

    /// Time of the newest block, Unix seconds.
    pub(crate) async fn now_s(&self) -> Result<u64, WatchError> {
        let head = self.anchor.rpc().block(BlockTag::Latest).await;
        let head = head.map_err(WatchError::failed)?;
        Ok(head.map_or(0, |head| head.timestamp.low_u64()))
    }

    /// Inputs for checking evidence: the keys, and every known anchored checkpoint.
    pub(crate) async fn trust(&self, anchored: &AnchoredLog) -> Result<ContractView, WatchError> {
        let latest = self
            .anchor
            .latest(BlockTag::Latest)
            .await
            .map_err(WatchError::contract)?;
        let mut histories = anchored.histories();
        // A successor contract may begin with a first checkpoint that it did not anchor.
        histories.insert(0, empty_root());
        histories.insert(latest.batches, latest.history);
        Ok(ContractView {
            domain: self.domain,
            keys: self
                .anchor
                .key_terms()
                .await
                .map_err(WatchError::contract)?,
            coverage: self.anchor.coverage().await.map_err(WatchError::contract)?,
            anchored: histories,
            // Without a bond, evidence counts forever.
            evidence_age_s: self
                .bond
                .as_ref()
                .map_or(u64::MAX, |(_, terms)| terms.withdrawal_delay_s),
            now_s: self.now_s().await?,
        })
    }
}
