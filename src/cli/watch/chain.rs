//! What the contracts hold.

use kedge_chain::contract::AnchorContract;
use kedge_chain::contract::bond::{BondContract, BondTerms};
use kedge_chain::rpc::{At, Endpoint, Options, RpcClient};
use kedge_protocol::Address;
use kedge_protocol::eip712::Domain;
use kedge_protocol::evidence::Trust;
use kedge_protocol::merkle::empty_root;

use super::super::output::Failure;
use super::super::trust::read_failure;
use super::anchored::AnchoredLog;

/// The anchor contract, and its bond if it has one.
pub(super) struct Contracts {
    pub(super) domain: Domain,
    pub(super) anchor: AnchorContract,
    pub(super) bond: Option<(BondContract, BondTerms)>,
}

impl Contracts {
    pub(super) async fn open(
        endpoint: Endpoint,
        contract: Address,
        domain: Option<Domain>,
    ) -> Result<Self, Failure> {
        let rpc = RpcClient::new(endpoint, Options::default());
        let anchor = AnchorContract::new(rpc.clone(), contract);
        let domain = match domain {
            Some(domain) => domain,
            None => Domain {
                chain_id: rpc.chain_id().await.map_err(Failure::refused)?,
                verifying_contract: contract,
            },
        };
        if anchor.domain_separator().await.map_err(read_failure)? != domain.separator() {
            return Err(Failure::usage(
                "the contract anchors a log of another domain; name it with --domain",
            ));
        }
        let named = anchor.bond().await.map_err(read_failure)?;
        let bond = if named == Address::ZERO {
            None
        } else {
            let bond = BondContract::new(rpc, named);
            let terms = bond.terms().await.map_err(read_failure)?;
            Some((bond, terms))
        };
        Ok(Self {
            domain,
            anchor,
            bond,
        })
    }

    /// The newest block's time, Unix seconds.
    pub(super) async fn now_s(&self) -> Result<u64, Failure> {
        let head = self.anchor.rpc().block(At::Latest).await;
        let head = head.map_err(Failure::refused)?;
        Ok(head.map_or(0, |head| head.timestamp.low_u64()))
    }

    /// What evidence is checked against: keys, and every checkpoint known to be anchored.
    pub(super) async fn trust(&self, anchored: &AnchoredLog) -> Result<Trust, Failure> {
        let latest = self.anchor.latest(At::Latest).await.map_err(read_failure)?;
        let mut histories = anchored.histories();
        // A successor contract may begin with a first checkpoint that it never anchored itself.
        histories.insert(0, empty_root());
        histories.insert(latest.batches, latest.history);
        Ok(Trust {
            domain: self.domain,
            keys: self.anchor.key_terms().await.map_err(read_failure)?,
            coverage: self.anchor.coverage().await.map_err(read_failure)?,
            anchored: histories,
            // Without a bond, evidence counts for ever.
            evidence_age_s: self
                .bond
                .as_ref()
                .map_or(u64::MAX, |(_, terms)| terms.withdrawal_delay_s),
            now_s: self.now_s().await?,
        })
    }
}
