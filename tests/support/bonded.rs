//! A bonded log on Anvil, and a party that makes demands on its operator.

use kedge_chain::contract::bond::{
    BondContract, BondTerms, CaseState, commit_calldata, commitment, deploy_bond, deposit_calldata,
};
use kedge_chain::contract::transact_paying;
use kedge_chain::rpc::{BlockTag, RpcClient};
use kedge_chain::transaction::FeePolicy;
use kedge_devchain::insecure_development_keys;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash};
use serde_json::{Value, json};

use super::anvil::{CHAIN_ID, deploy_anchor};

/// Terms for a test: minutes instead of days.
pub(crate) const TERMS: BondTerms = BondTerms {
    withdrawal_delay_s: 20_000,
    challenge_window_s: 6_000,
    response_time_s: 3_000,
    reveal_delay_s: 60,
    case_deposit_wei: 1_000,
    open_cases_max: 4,
};

pub(crate) const BOND_WEI: u128 = 1_000_000;

/// An anchor contract with its bond, on any node.
pub(crate) struct Bonded {
    pub(crate) rpc: RpcClient,
    pub(crate) anchor: Address,
    pub(crate) bond: BondContract,
}

impl Bonded {
    /// Deploys everything; the first development key pays and owns.
    pub(crate) async fn new(rpc: &RpcClient, sequencer: Address) -> Self {
        let owner = insecure_development_keys()[0].clone();
        let anchor = deploy_anchor(rpc, sequencer).await;
        let fees = FeePolicy::default();
        let made = deploy_bond(rpc, &owner, anchor, &TERMS, &fees, 20_000)
            .await
            .unwrap();
        let bonded = Self {
            rpc: rpc.clone(),
            anchor,
            bond: BondContract::new(rpc.clone(), made.bond),
        };
        bonded.send(&owner, deposit_calldata(), BOND_WEI).await;
        bonded
    }

    /// Sends to the bond and waits for inclusion in a block.
    pub(crate) async fn send(&self, key: &SigningKey, data: Vec<u8>, value_wei: u128) {
        let to = Some(self.bond.address());
        let fees = FeePolicy::default();
        transact_paying(&self.rpc, key, to, data, value_wei, &fees, 20_000)
            .await
            .unwrap();
    }

    /// Commits to a case, lets the reveal delay pass, and opens it; passes its salt to `open`.
    pub(crate) async fn open_case(&self, case: Hash, open: impl FnOnce(Hash) -> Vec<u8>) {
        let key = insecure_development_keys()[3].clone();
        let salt = Hash([7; 32]);
        let word = commitment(CHAIN_ID, self.bond.address(), key.address(), case, salt);
        self.send(&key, commit_calldata(word), 0).await;
        self.pass(TERMS.reveal_delay_s).await;
        let deposit_wei = self.bond.case_deposit_wei().await.unwrap();
        self.send(&key, open(salt), deposit_wei).await;
        assert_ne!(self.state(case).await, CaseState::None);
    }

    pub(crate) async fn state(&self, case: Hash) -> CaseState {
        self.bond.case(case, BlockTag::Latest).await.unwrap().state
    }

    /// Lets time pass on the chain.
    pub(crate) async fn pass(&self, seconds: u64) {
        self.raw("evm_increaseTime", json!([seconds + 1])).await;
        self.raw("evm_mine", json!([])).await;
    }

    /// Sets the seconds between blocks; 0 stops making blocks.
    pub(crate) async fn block_time(&self, seconds: u64) {
        if seconds == 0 {
            self.raw("evm_setAutomine", json!([false])).await;
        }
        self.raw("evm_setIntervalMining", json!([seconds])).await;
    }

    pub(crate) async fn raw(&self, method: &'static str, params: Value) -> Value {
        self.rpc.request(method, params).await.unwrap()
    }

    /// The first four bytes of the last answer sent to the bond, in hex.
    pub(crate) async fn last_answer_selector(&self) -> String {
        let topic = kedge_protocol::hash::keccak(b"CaseAnswered(bytes32)");
        let filter = json!([{
            "address": self.bond.address(), "topics": [topic], "fromBlock": "0x0",
        }]);
        let logs = self.raw("eth_getLogs", filter).await;
        let last = logs.as_array().unwrap().last().unwrap()["transactionHash"].clone();
        let sent = self.raw("eth_getTransactionByHash", json!([last])).await;
        sent["input"].as_str().unwrap()[..10].to_owned()
    }
}
