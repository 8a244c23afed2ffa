//! The bond's binding against contracts on a real node: values round-trip.

use kedge_chain::contract::bond::{
    BondCase, BondContract, BondEvent, BondTerms, CaseOpened, CaseState, CaseSubject, FaultJudges,
    action_case_id, answer_leaves_calldata, commit_calldata, commitment, demand_leaves_calldata,
    deploy_bond, deposit_calldata, inclusion_case_id, leaves_case_id, request_withdrawal_calldata,
    settle_calldata, withdraw_calldata,
};
use kedge_chain::contract::{
    AnchorContract, AnchorContractState, anchor_calldata, transact, transact_paying,
};
use kedge_chain::rpc::{BlockTag, RpcClient};
use kedge_chain::transaction::FeePolicy;
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::evidence::ContractCoverage;
use kedge_protocol::hash::keccak;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash, log_tree};
use serde_json::json;

use super::support::*;

pub(crate) const TERMS: BondTerms = BondTerms {
    withdrawal_delay_s: 10_000,
    challenge_window_s: 3_000,
    response_time_s: 2_000,
    reveal_delay_s: 60,
    case_deposit_wei: 1_000,
    open_cases_max: 3,
};

/// An anchor contract with its bond on a separate node.
pub(crate) struct Bonded {
    pub(crate) anvil: Anvil,
    pub(crate) rpc: RpcClient,
    pub(crate) anchor: AnchorContract,
    pub(crate) bond: BondContract,
    pub(crate) judges: FaultJudges,
}

impl Bonded {
    pub(crate) async fn new() -> Self {
        let anvil = Anvil::start(&[]).await;
        let rpc = anvil.rpc();
        let anchor = deploy_anchor(&rpc).await.address;
        let fees = FeePolicy::default();
        let made = deploy_bond(&rpc, &owner(), anchor, &TERMS, &fees, 10_000)
            .await
            .unwrap();
        let bond = BondContract::new(rpc.clone(), made.bond);
        assert_eq!(bond.judge().await.unwrap(), made.judges.log);
        Self {
            anchor: AnchorContract::new(rpc.clone(), anchor),
            bond,
            judges: made.judges,
            anvil,
            rpc,
        }
    }

    pub(crate) async fn send(
        &self,
        key: &SigningKey,
        data: Vec<u8>,
        value_wei: u128,
    ) -> Result<(), String> {
        let to = Some(self.bond.address());
        let fees = FeePolicy::default();
        transact_paying(&self.rpc, key, to, data, value_wei, &fees, 10_000)
            .await
            .map(|_| ())
            .map_err(|error| error.to_string())
    }

    /// Commits to a subject and lets the reveal delay pass.
    pub(crate) async fn commit(&self, key: &SigningKey, subject: Hash, salt: Hash) {
        let word = commitment(CHAIN_ID, self.bond.address(), key.address(), subject, salt);
        self.send(key, commit_calldata(word), 0).await.unwrap();
        assert!(self.bond.committed_at_s(word).await.unwrap() > 0);
        self.pass(TERMS.reveal_delay_s).await;
    }

    pub(crate) async fn pass(&self, seconds: u64) {
        self.anvil
            .raw("evm_increaseTime", json!([seconds + 1]))
            .await;
        self.anvil.mine(1).await;
    }

    /// Anchors a log of one batch of one leaf.
    pub(crate) async fn anchor_one(&self, leaf: Hash) -> BatchHeader {
        let separator = separator(self.anchor.address());
        let header = BatchHeader {
            number: 0,
            first_sequence: 1,
            count: 1,
            previous_head: separator,
            head: keccak(&[separator.0, leaf.0].concat()),
            root: leaf,
            history: keccak(b""),
            state: Hash::ZERO,
            sealed_at_ms: 1,
        };
        let checkpoint = Checkpoint {
            batches: 1,
            sequence: 1,
            head: header.head,
            history: log_tree::leaf(&header.hash()),
            state: Hash::ZERO,
            issued_at_ms: now_ms(),
        };
        let signed = checkpoint.sign(&separator, &sequencer_key());
        let data = anchor_calldata(&signed, &[]);
        let to = Some(self.anchor.address());
        transact(&self.rpc, &payer(), to, data, &FeePolicy::default(), 10_000)
            .await
            .unwrap();
        header
    }

    pub(crate) async fn events(&self) -> Vec<BondEvent> {
        let head = self.rpc.block(BlockTag::Latest).await.unwrap().unwrap();
        self.bond.events(0, head.number.as_u64()).await.unwrap()
    }

    pub(crate) async fn case(&self, id: Hash) -> BondCase {
        self.bond.case(id, BlockTag::Latest).await.unwrap()
    }
}

#[tokio::test]
async fn a_bond_is_made_filled_and_taken_out() {
    let bonded = Bonded::new().await;
    let (bond, anchor) = (&bonded.bond, &bonded.anchor);
    assert_eq!(bond.terms().await.unwrap(), TERMS);
    assert_eq!(bond.anchor_contract().await.unwrap(), anchor.address());
    assert_eq!(anchor.bond().await.unwrap(), bond.address());
    assert_eq!(anchor.state().await.unwrap(), AnchorContractState::Open);
    assert_eq!(anchor.coverage().await.unwrap(), ContractCoverage::ALL);
    let keys = anchor.key_terms().await.unwrap();
    assert_eq!(keys.len(), 1);
    assert_eq!(
        (keys[0].key, keys[0].from_batch, keys[0].until_batch),
        (sequencer_key().address(), 0, u64::MAX)
    );

    bonded
        .send(&payer(), deposit_calldata(), 900)
        .await
        .unwrap();
    let asked = request_withdrawal_calldata(300);
    let refused = bonded.send(&payer(), asked.clone(), 0).await.unwrap_err();
    assert!(refused.contains("NotTheOwner"), "{refused}");
    bonded.send(&owner(), asked, 0).await.unwrap();
    let state = bond.state().await.unwrap();
    assert_eq!((state.bond_wei, state.secured_wei), (900, 600));
    assert_eq!(state.withdrawal.amount_wei, 300);
    let delay_s = state.withdrawal.ready_at_s - state.withdrawal.requested_at_s;
    assert_eq!(delay_s, TERMS.withdrawal_delay_s);
    bonded.pass(TERMS.withdrawal_delay_s).await;
    let to = withdraw_calldata(Address([7; 20]));
    bonded.send(&owner(), to, 0).await.unwrap();
    let paid = bonded
        .rpc
        .balance_wei(Address([7; 20]), BlockTag::Latest)
        .await;
    assert_eq!(paid.unwrap(), 300);
    assert_eq!(bond.state().await.unwrap().bond_wei, 600);
}

#[tokio::test]
async fn a_demand_is_opened_seen_and_answered_or_settled() {
    let bonded = Bonded::new().await;
    bonded
        .send(&payer(), deposit_calldata(), 900)
        .await
        .unwrap();
    let header = bonded.anchor_one(Hash([5; 32])).await;
    let salt = Hash([9; 32]);
    let id = leaves_case_id(0);
    let opener = kedge_devchain::insecure_development_keys()[3].clone();
    let demand = demand_leaves_calldata(1, 0, salt);
    let refused = bonded.send(&opener, demand.clone(), 1_000).await;
    assert!(refused.unwrap_err().contains("NotCommitted"));
    bonded.commit(&opener, id, salt).await;
    bonded.send(&opener, demand, 1_000).await.unwrap();

    let case = bonded.case(id).await;
    assert_eq!(case.state, CaseState::Open);
    assert_eq!((case.opener, case.deposit_wei), (opener.address(), 1_000));
    assert_eq!(case.deadline_s, case.opened_at_s + TERMS.response_time_s);
    let state = bonded.bond.state().await.unwrap();
    assert_eq!((state.open_cases, state.case_deposit_wei), (1, 2_000));
    let opened = CaseOpened {
        id,
        opener: opener.address(),
        subject: CaseSubject::Leaves { number: 0 },
        deadline_s: case.deadline_s,
    };
    assert_eq!(bonded.events().await, [BondEvent::CaseOpened(opened)]);

    let answer = |leaf| answer_leaves_calldata(1, &header, &[], &[leaf]);
    let wrong = bonded.send(&payer(), answer(Hash([6; 32])), 0).await;
    assert!(
        wrong
            .unwrap_err()
            .contains("LeavesOfAnotherBatch(number: 0)")
    );
    bonded
        .send(&payer(), answer(Hash([5; 32])), 0)
        .await
        .unwrap();
    assert_eq!(bonded.case(id).await.state, CaseState::Answered);
    assert_eq!(
        bonded.events().await.last(),
        Some(&BondEvent::CaseAnswered(id))
    );
    let owner = owner().address();
    assert_eq!(bonded.bond.owed_wei(owner).await.unwrap(), 500);
    // An answered case is final: it cannot be opened again or settled.
    let again = bonded.send(&payer(), settle_calldata(id), 0).await;
    assert!(again.unwrap_err().contains("CaseNotOpen"));
    assert_eq!(
        bonded.case(inclusion_case_id(header.hash())).await.state,
        CaseState::None
    );
    assert_ne!(action_case_id(header.hash(), Hash([5; 32])), id);
}
