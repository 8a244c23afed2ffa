//! Answers to cases of the bond on a real node: sent once, across restarts, stuck anchors and reorganisations.

use std::path::PathBuf;

use kedge_chain::contract::bond::{
    CaseState, answer_inclusion_calldata, answer_leaves_calldata, demand_inclusion_calldata,
    demand_leaves_calldata, deposit_calldata, inclusion_case_id, leaves_case_id,
};
use kedge_chain::responder::{
    AnswerObstacle, AnswerStore, NonceTurn, Responder, ResponderOptions, StoredAnswer,
};
use kedge_chain::rpc::BlockTag;
use kedge_chain::sender::StoreError;
use kedge_chain::transaction::{FeePolicy, Fees};
use kedge_protocol::Hash;
use kedge_protocol::batch::BatchHeader;
use serde_json::json;

use super::bond::{Bonded, TERMS};
use super::sender_errors::send;
use super::sender_life::payer_nonce;
use super::support::*;

const LEAF: Hash = Hash([5; 32]);

/// Answers in files, durable enough for a test.
#[derive(Clone)]
struct Files(PathBuf);

impl Files {
    fn path(&self, case: Hash) -> PathBuf {
        self.0.join(format!("{case}.json"))
    }

    fn read(&self, case: Hash) -> Option<StoredAnswer> {
        let bytes = std::fs::read(self.path(case)).ok()?;
        Some(serde_json::from_slice(&bytes).unwrap())
    }
}

impl AnswerStore for Files {
    async fn save(&self, answer: &StoredAnswer) -> Result<(), StoreError> {
        let bytes = serde_json::to_vec(answer).unwrap();
        std::fs::write(self.path(answer.case), bytes).unwrap();
        Ok(())
    }

    async fn remove(&self, case: Hash) -> Result<(), StoreError> {
        let _was_not_there = std::fs::remove_file(self.path(case));
        Ok(())
    }

    async fn load(&self) -> Result<Vec<StoredAnswer>, StoreError> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let read = |entry: std::io::Result<std::fs::DirEntry>| {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            serde_json::from_slice(&bytes).unwrap()
        };
        Ok(entries.map(read).collect())
    }
}

/// A bonded log of one batch, and a demand for its leaves.
struct Asked {
    bonded: Bonded,
    header: BatchHeader,
    files: Files,
    case: Hash,
    _directory: tempfile::TempDir,
}

impl Asked {
    async fn new() -> Self {
        let bonded = Bonded::new().await;
        bonded
            .send(&owner(), deposit_calldata(), 900)
            .await
            .unwrap();
        let header = bonded.anchor_one(LEAF).await;
        let salt = Hash([9; 32]);
        let case = leaves_case_id(0);
        bonded.commit(&owner(), case, salt).await;
        let demand = demand_leaves_calldata(1, 0, salt);
        bonded.send(&owner(), demand, 1_000).await.unwrap();
        // Blocks are mined by hand from here on.
        bonded.anvil.raw("evm_setAutomine", json!([false])).await;
        let directory = tempfile::tempdir().unwrap();
        Self {
            bonded,
            header,
            files: Files(directory.path().to_owned()),
            case,
            _directory: directory,
        }
    }

    async fn responder(&self) -> Responder<Files> {
        let options = ResponderOptions {
            chain_id: CHAIN_ID,
            bond: self.bonded.bond.address(),
            anchor: self.bonded.anchor.address(),
            fee_policy: FeePolicy::default(),
            bump_after_ms: 10_000,
            finality_fallback_depth: 10,
            look_ms: 0,
            backoff_ms_max: 1_000,
        };
        let rpc = self.bonded.rpc.clone();
        Responder::open(options, payer(), rpc, self.files.clone())
            .await
            .unwrap()
    }

    /// Reads the bond and prepares each missing answer; returns how many were missing.
    async fn look(&self, responder: &mut Responder<Files>) -> usize {
        responder.look_again();
        self.look_at(responder, now_ms()).await
    }

    /// The same at monotonic time `passed_ms`.
    async fn look_at(&self, responder: &mut Responder<Files>, passed_ms: u64) -> usize {
        let missing = responder.look(passed_ms).await.unwrap();
        for open in &missing {
            assert_eq!(open.asked.id, self.case);
            let answer = answer_leaves_calldata(1, &self.header, &[], &[LEAF]);
            responder.prepare(self.case, answer);
        }
        missing.len()
    }

    async fn state(&self) -> CaseState {
        let case = self.bonded.bond.case(self.case, BlockTag::Latest).await;
        case.unwrap().state
    }

    fn attempts(&self) -> Vec<(u64, Fees)> {
        let stored = self.files.read(self.case);
        let attempts = stored.map_or_else(Vec::new, |stored| stored.attempts);
        let own = attempts.iter().map(|attempt| attempt.own.unwrap());
        own.map(|own| (own.nonce, own.fees)).collect()
    }
}

#[tokio::test]
async fn a_restart_goes_on_with_the_answer_that_was_sent() {
    let asked = Asked::new().await;
    let mut responder = asked.responder().await;
    assert_eq!(asked.look(&mut responder).await, 1);
    assert!(!responder.may_hold_nonce(), "nothing was sent");
    responder.step(now_ms(), NonceTurn::Free).await.unwrap();
    let sent = asked.attempts();
    assert_eq!(sent.len(), 1);
    assert!(responder.holds_nonce(sent[0].0) && !responder.holds_nonce(sent[0].0 + 1));

    let mut responder = asked.responder().await;
    assert!(responder.may_hold_nonce() && responder.holds_nonce(sent[0].0));
    assert_eq!(asked.look(&mut responder).await, 0, "the answer is known");
    responder.step(now_ms(), NonceTurn::Free).await.unwrap();
    assert_eq!(asked.attempts(), sent);
    asked.bonded.anvil.mine(1).await;
    assert_eq!(asked.state().await, CaseState::Answered);
    // Not final, so the answer is kept without any action.
    asked.look(&mut responder).await;
    assert!(responder.is_busy() && asked.files.read(asked.case).is_some());
    assert!(!responder.may_hold_nonce());
    asked.bonded.anvil.mine(5).await;
    asked.look(&mut responder).await;
    assert!(!responder.is_busy() && asked.files.read(asked.case).is_none());
    let mut responder = asked.responder().await;
    assert_eq!(asked.look(&mut responder).await, 0, "nothing is open");
    assert!(!responder.is_busy());
}

// Holds invariant 68.
#[tokio::test]
async fn an_answer_takes_the_nonce_of_an_anchor_that_is_stuck() {
    let asked = Asked::new().await;
    let mut responder = asked.responder().await;
    asked.look(&mut responder).await;
    let offered = Fees {
        max_fee_per_gas_wei: 30_000_000_000,
        max_priority_fee_per_gas_wei: 2_000_000_000,
    };
    responder
        .step(now_ms(), NonceTurn::Anchor(offered))
        .await
        .unwrap();
    assert_eq!(asked.attempts(), [], "the anchor goes first");

    asked.bonded.pass(TERMS.response_time_s / 2 + 60).await;
    asked.look(&mut responder).await;
    responder
        .step(now_ms(), NonceTurn::Anchor(offered))
        .await
        .unwrap();
    let next = asked
        .bonded
        .rpc
        .transaction_count(payer().address(), BlockTag::Latest)
        .await
        .unwrap();
    let [(nonce, fees)] = asked.attempts()[..] else {
        panic!("{:?}", asked.attempts());
    };
    assert_eq!(nonce, next);
    // Nodes accept a replacement only if both caps grow by a tenth.
    assert!(fees.max_fee_per_gas_wei >= offered.max_fee_per_gas_wei * 11 / 10);
    assert!(fees.max_priority_fee_per_gas_wei >= offered.max_priority_fee_per_gas_wei * 11 / 10);
    asked.bonded.anvil.mine(1).await;
    assert_eq!(asked.state().await, CaseState::Answered);
}

// Holds invariant 67.
#[tokio::test]
async fn a_wall_clock_that_is_set_back_does_not_keep_an_answer_from_a_higher_offer() {
    let asked = Asked::new().await;
    let mut responder = asked.responder().await;
    let sent_ms = now_ms();
    assert_eq!(asked.look_at(&mut responder, 1_000).await, 1);
    responder.step(sent_ms, NonceTurn::Free).await.unwrap();
    for (passed_ms, attempts) in [(10_999, 1), (11_000, 2)] {
        asked.look_at(&mut responder, passed_ms).await;
        let hour_before_ms = sent_ms - 3_600_000;
        responder
            .step(hour_before_ms, NonceTurn::Free)
            .await
            .unwrap();
        assert_eq!(asked.attempts().len(), attempts);
    }
}

// Holds invariant 68.
#[tokio::test]
async fn a_reorganisation_brings_a_case_back() {
    let asked = Asked::new().await;
    let mut responder = asked.responder().await;
    asked.look(&mut responder).await;
    let before = asked.bonded.anvil.raw("evm_snapshot", json!([])).await;
    responder.step(now_ms(), NonceTurn::Free).await.unwrap();
    asked.bonded.anvil.mine(1).await;
    asked.look(&mut responder).await;
    assert_eq!(asked.state().await, CaseState::Answered);
    assert!(responder.is_busy());

    asked.bonded.anvil.raw("evm_revert", json!([before])).await;
    asked.bonded.anvil.mine(1).await;
    assert_eq!(asked.state().await, CaseState::Open);
    assert_eq!(asked.look(&mut responder).await, 0, "the answer is kept");
    responder.step(now_ms(), NonceTurn::Free).await.unwrap();
    asked.bonded.anvil.mine(6).await;
    assert_eq!(asked.state().await, CaseState::Answered);
    asked.look(&mut responder).await;
    assert!(!responder.is_busy());
    assert_eq!(asked.files.read(asked.case), None);
}

#[tokio::test]
async fn what_the_bond_would_refuse_is_not_sent() {
    let asked = Asked::new().await;
    let mut responder = asked.responder().await;
    responder.look(now_ms()).await.unwrap();
    let wrong = answer_leaves_calldata(1, &asked.header, &[], &[Hash([6; 32])]);
    responder.prepare(asked.case, wrong);
    responder.step(now_ms(), NonceTurn::Free).await.unwrap();
    assert_eq!(asked.attempts(), []);
    // The next read requests it again, but not past its deadline.
    assert_eq!(asked.look(&mut responder).await, 1);
    asked.bonded.pass(TERMS.response_time_s).await;
    asked.look(&mut responder).await;
    assert!(!responder.is_busy());
    assert_eq!(asked.state().await, CaseState::Open);
}

/// Opens a second case with a later deadline: it demands the header's inclusion.
async fn demand_inclusion(asked: &Asked) -> Hash {
    let (anvil, salt) = (&asked.bonded.anvil, Hash([10; 32]));
    anvil.raw("evm_setAutomine", json!([true])).await;
    let separator = separator(asked.bonded.anchor.address());
    let signed = asked.header.sign(&separator, &sequencer_key());
    let case = inclusion_case_id(asked.header.hash());
    asked.bonded.commit(&owner(), case, salt).await;
    let demand = demand_inclusion_calldata(&signed, 0, salt);
    asked.bonded.send(&owner(), demand, 2_000).await.unwrap();
    anvil.raw("evm_setAutomine", json!([false])).await;
    case
}

// Holds invariant 239.
#[tokio::test]
async fn a_case_without_an_answer_keeps_no_other_one_waiting() {
    let asked = Asked::new().await;
    let later = demand_inclusion(&asked).await;
    let mut responder = asked.responder().await;
    let passed_ms = now_ms();
    let missing = responder.look(passed_ms).await.unwrap();
    let ids: Vec<Hash> = missing.iter().map(|open| open.asked.id).collect();
    assert_eq!(ids, [asked.case, later], "the nearest deadline first");
    responder.failed(
        asked.case,
        AnswerObstacle::Archived,
        "it is archived".into(),
    );
    responder.prepare(later, answer_inclusion_calldata(&asked.header, 1, &[]));
    responder.step(now_ms(), NonceTurn::Free).await.unwrap();
    let sent = asked.files.read(later).unwrap().attempts;
    assert_eq!(sent.len(), 1);

    // The failed case is tried again after its own pause.
    responder.look_again();
    assert_eq!(responder.look(passed_ms).await.unwrap(), []);
    assert_eq!(asked.look_at(&mut responder, passed_ms + 1_000).await, 1);

    // The other answer is stuck and late, and this one is urgent: it takes the nonce.
    asked
        .bonded
        .anvil
        .raw("anvil_dropAllTransactions", json!([]))
        .await;
    asked.bonded.pass(TERMS.response_time_s / 2).await;
    let late_ms = passed_ms + 20_000;
    responder.look_again();
    responder.look(late_ms).await.unwrap();
    responder.step(now_ms(), NonceTurn::Free).await.unwrap();
    let (nonce, fees) = asked.attempts()[0];
    let stuck = sent[0].own.unwrap();
    assert_eq!(nonce, stuck.nonce);
    assert!(
        fees.max_fee_per_gas_wei > stuck.fees.max_fee_per_gas_wei,
        "{fees:?}"
    );
    asked.bonded.anvil.mine(1).await;
    assert_eq!(asked.state().await, CaseState::Answered);
}

// Holds invariant 68.
#[tokio::test]
async fn an_answer_whose_nonce_was_used_keeps_none_in_flight_waiting() {
    let asked = Asked::new().await;
    let later = demand_inclusion(&asked).await;
    let (anvil, rpc) = (&asked.bonded.anvil, &asked.bonded.rpc);
    let used = payer_nonce(rpc).await;
    let mut responder = asked.responder().await;
    responder.look(now_ms()).await.unwrap();
    let calldata = answer_leaves_calldata(1, &asked.header, &[], &[LEAF]);
    responder.prepare(asked.case, calldata);
    responder.step(now_ms(), NonceTurn::Free).await.unwrap();
    let dead = asked.files.read(asked.case).unwrap();

    // Another transaction uses its nonce, and the other answer gets the next one.
    anvil.raw("anvil_dropAllTransactions", json!([])).await;
    send(rpc, &payer(), used, owner().address(), Vec::new()).await;
    anvil.mine(1).await;
    asked.files.remove(asked.case).await.unwrap();
    let mut responder = asked.responder().await;
    responder.look(now_ms()).await.unwrap();
    responder.prepare(later, answer_inclusion_calldata(&asked.header, 1, &[]));
    responder.step(now_ms(), NonceTurn::Free).await.unwrap();
    anvil.raw("anvil_dropAllTransactions", json!([])).await;

    // A store that holds both, and an anchor that holds back what is not sent yet.
    asked.files.save(&dead).await.unwrap();
    let mut responder = asked.responder().await;
    responder.look(now_ms()).await.unwrap();
    assert!(responder.holds_nonce(used + 1), "no anchor may begin");
    let offered = Fees {
        max_fee_per_gas_wei: 30_000_000_000,
        max_priority_fee_per_gas_wei: 2_000_000_000,
    };
    let anchor = NonceTurn::Anchor(offered);
    responder.step(now_ms(), anchor).await.unwrap();
    anvil.mine(1).await;
    let case = asked.bonded.bond.case(later, BlockTag::Latest).await;
    assert_eq!(case.unwrap().state, CaseState::Answered);

    // The anchor continues, and then the other answer has its turn.
    responder.look_again();
    responder.look(now_ms()).await.unwrap();
    assert!(!responder.holds_nonce(used + 2));
    for _ in 0..3 {
        responder.step(now_ms(), NonceTurn::Free).await.unwrap();
    }
    anvil.mine(1).await;
    assert_eq!(asked.state().await, CaseState::Answered);
}
