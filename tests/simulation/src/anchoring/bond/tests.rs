//! The simulated bond against the deployed one, on the embedded chain.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use kedge_chain::contract::anchor_calldata;
use kedge_chain::contract::bond::{
    AnchoredAction, answer_inclusion_calldata, answer_leaves_calldata, answer_stale_calldata,
    challenge_action_calldata, commit_calldata, demand_inclusion_calldata, demand_leaves_calldata,
    deploy_bond, settle_calldata,
};
use kedge_chain::rpc::BlockTag;
use kedge_chain::transaction::FeePolicy;
use kedge_devchain::insecure_development_keys;
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::log_tree;
use kedge_protocol::signature::SigningKey;

use self::batches::Batch;
use super::super::contract::tests::{Both, Log};
use super::*;
use crate::random::SimulationRandom;

mod batches;

const BATCHES: u64 = 260;
const TRIES: u64 = 3_000;
const TERMS: BondTerms = BondTerms {
    withdrawal_delay_s: 20_000,
    challenge_window_s: 60,
    response_time_s: 50,
    reveal_delay_s: 3,
    case_deposit_wei: 1_000,
    open_cases_max: 8,
};

/// A case to open.
#[derive(Clone, Copy)]
struct Wanted {
    subject: DemandSubject,
    id: Hash,
    salt: Hash,
}

/// A call of the anchor contract or the bond, with a value.
struct Attempt {
    is_anchor: bool,
    data: Vec<u8>,
    value_wei: u128,
}

struct Bonded {
    both: Both,
    address: Address,
    bond: SimulatedBond,
    sequencer: SigningKey,
    batches: Vec<Batch>,
    log: Log,
    wanted: Vec<Wanted>,
    random: SimulationRandom,
}

impl Bonded {
    async fn start() -> Self {
        let sequencer = SigningKey::from_bytes(&[0x5e; 32]).unwrap();
        let mut both = Both::start(&sequencer).await;
        let owner = &insecure_development_keys()[0];
        let (rpc, anchor) = (&both.deployed.rpc, both.deployed.address);
        let fees = FeePolicy::default();
        let made = deploy_bond(rpc, owner, anchor, &TERMS, &fees, 10_000).await;
        let address = made.unwrap().bond;
        both.model.bond = address;
        let domain = both.model.trusts().1;
        let batches: Vec<Batch> = (0..BATCHES)
            .map(|number| Batch::new(number, &domain))
            .collect();
        let log = Log::of(batches.iter().map(|batch| batch.header.hash()));
        Self {
            both,
            address,
            bond: SimulatedBond::new(address, crate::client::DOMAIN.chain_id, TERMS),
            sequencer,
            batches,
            log,
            wanted: Vec::new(),
            random: SimulationRandom::new(1, 31),
        }
    }

    fn payer(&self) -> Address {
        self.both.deployed.payer.address()
    }

    /// The next checkpoint, one or two batches further.
    fn anchor(&mut self, now_s: u64) -> Attempt {
        let from = self.both.model.latest().0;
        let to = (from + 1 + self.random.below(2)).min(BATCHES);
        let checkpoint = Checkpoint {
            batches: to,
            sequence: to * 10,
            head: keccak(&to.to_be_bytes()),
            history: self.log.roots[to as usize],
            state: Hash::ZERO,
            issued_at_ms: now_s * 1_000,
        };
        let proof = match from {
            0 => Vec::new(),
            from if from < to => log_tree::consistency_path(&self.log, from, to).unwrap(),
            _ => Vec::new(),
        };
        let (_, domain) = self.both.model.trusts();
        Attempt {
            is_anchor: true,
            data: anchor_calldata(&checkpoint.sign(&domain, &self.sequencer), &proof),
            value_wei: 0,
        }
    }

    fn of_bond(data: Vec<u8>) -> Attempt {
        Attempt {
            is_anchor: false,
            data,
            value_wei: 0,
        }
    }

    fn commit(&mut self) -> Attempt {
        let anchored = self.both.model.latest().0;
        let below = (anchored + 2).min(BATCHES);
        // Old and new batches.
        let number = match self.random.below(2) {
            0 => self.random.below(below),
            _ => below - 1 - self.random.below(below.min(12)),
        };
        let header = &self.batches[number as usize].header;
        let subject = match self.random.below(4) {
            0 => DemandSubject::leaves(number),
            1 => DemandSubject::inclusion(header),
            _ => {
                let index = self.random.below(header.count.into());
                let leaf = self.batches[number as usize].leaves[index as usize];
                DemandSubject::action(header, leaf, header.first_sequence + index)
            }
        };
        let wanted = Wanted {
            subject,
            id: subject.id(),
            salt: keccak(&self.random.next().to_be_bytes()),
        };
        self.wanted.push(wanted);
        let commitment = self.bond.commitment(self.payer(), wanted.id, wanted.salt);
        Self::of_bond(commit_calldata(commitment))
    }

    /// Path of a batch to a checkpoint; empty if there is none.
    fn path(&self, number: u64, anchored: u64) -> Vec<Hash> {
        let is_held = number < anchored;
        let path = is_held.then(|| log_tree::inclusion_path(&self.log, number, anchored));
        path.map(Result::unwrap).unwrap_or_default()
    }

    /// The path, or an invalid one.
    fn or_wrong(way: u64, mut path: Vec<Hash>) -> Vec<Hash> {
        match way {
            2 => path.push(Hash::ZERO),
            3 => path.truncate(path.len().saturating_sub(1)),
            4 => path.reverse(),
            _ => {}
        }
        path
    }

    /// Opens a case, or tries to in an invalid way.
    fn open(&mut self, wanted: Wanted) -> Attempt {
        let way = self.random.below(12);
        let salt = if way == 0 { Hash::ZERO } else { wanted.salt };
        let anchored = match way {
            1 => self.random.below(BATCHES),
            _ => self.both.model.latest().0,
        };
        let number = wanted.subject.number;
        let mut data = match wanted.subject.kind {
            DemandKind::Leaves => demand_leaves_calldata(anchored, number, salt),
            DemandKind::Inclusion => {
                let (_, domain) = self.both.model.trusts();
                let other = SigningKey::from_bytes(&[0x11; 32]).unwrap();
                let key = if way == 2 { &other } else { &self.sequencer };
                let header = self.batches[number as usize].header;
                demand_inclusion_calldata(&header.sign(&domain, key), 0, salt)
            }
            DemandKind::Action => self.challenge(wanted.subject, anchored, salt),
        };
        // Once the bond is seized, the order of checks is up to the compiler.
        if way == 3 && !self.both.model.is_frozen {
            data.truncate(data.len() - 32);
        }
        let needed_wei = self.bond.deposit_wei();
        let value_wei = if way == 4 { needed_wei - 1 } else { needed_wei };
        Attempt {
            value_wei,
            ..Self::of_bond(data)
        }
    }

    /// Challenges an action, or a foreign one, or by an invalid path.
    fn challenge(&mut self, subject: DemandSubject, anchored: u64, salt: Hash) -> Vec<u8> {
        let way = self.random.below(16);
        let batch = &self.batches[subject.number as usize];
        let index = (subject.sequence - batch.header.first_sequence) as usize;
        let mut leaf = batch.actions[index].leaf;
        match way {
            5 => leaf.sequence += 1,
            6 => leaf.sequence = 0,
            7 => leaf.timestamp_ms += 1,
            _ => {}
        }
        let mut leaf_path = BatchTree::new(&batch.leaves).proof(&[index]);
        let mut batch_path = self.path(subject.number, anchored);
        if way.is_multiple_of(2) {
            leaf_path = Self::or_wrong(way, leaf_path);
        } else {
            batch_path = Self::or_wrong(way, batch_path);
        }
        let action = AnchoredAction {
            anchored_batches: anchored,
            header: &batch.header,
            leaf: &leaf,
            leaf_path: &leaf_path,
            batch_path: &batch_path,
        };
        challenge_action_calldata(&action, salt)
    }

    /// Answers a case, or tries to in an invalid way.
    fn answer(&mut self, wanted: Wanted) -> Attempt {
        let way = self.random.below(16);
        let number = match way {
            0 => self.random.below(BATCHES),
            _ => wanted.subject.number,
        };
        let mut data = match wanted.subject.kind {
            DemandKind::Action if self.random.below(2) == 0 => {
                let batch = &self.batches[number as usize];
                let sequence = wanted.subject.sequence;
                let index = sequence.saturating_sub(batch.header.first_sequence);
                let index = index.min(u64::from(batch.header.count) - 1);
                batch.answer(index as usize, self.random.below(14))
            }
            kind => self.answer_by_path(kind, wanted, number, way),
        };
        match way {
            9 => data[0] ^= 1,
            10 if !self.both.model.is_frozen => data.truncate(data.len() - 32),
            _ => {}
        }
        Self::of_bond(data)
    }

    fn answer_by_path(
        &mut self,
        kind: DemandKind,
        wanted: Wanted,
        number: u64,
        way: u64,
    ) -> Vec<u8> {
        let mut taken = self.both.model.taken.iter();
        let first = taken.find(|taken| taken.checkpoint.batches > number);
        let anchored = match (way, kind, first) {
            (1, ..) => self.random.below(BATCHES),
            (11 | 12, DemandKind::Action, _) | (_, _, None) => self.both.model.latest().0,
            (_, _, Some(first)) => first.checkpoint.batches,
        };
        let path = Self::or_wrong(way, self.path(number, anchored));
        let batch = &self.batches[number as usize];
        let (mut header, mut leaves) = (batch.header, batch.leaves.clone());
        match way {
            5 => header.sealed_at_ms += 1,
            6 => leaves.truncate(leaves.len() - 1),
            7 => leaves.push(Hash::ZERO),
            8 => leaves.reverse(),
            _ => {}
        }
        match kind {
            DemandKind::Action => {
                let leaf = if way == 6 {
                    Hash::ZERO
                } else {
                    wanted.subject.leaf
                };
                answer_stale_calldata(&header, leaf, anchored, &path)
            }
            DemandKind::Leaves => answer_leaves_calldata(anchored, &header, &path, &leaves),
            DemandKind::Inclusion => answer_inclusion_calldata(&header, anchored, &path),
        }
    }

    fn attempt(&mut self, now_s: u64, round: u64) -> Attempt {
        let way = self.random.below(20);
        // So that most opened cases are answered, and some late.
        let recent = self.wanted.len().saturating_sub(8);
        let wanted = self.random.pick(&self.wanted[recent..]).copied();
        match (way, wanted) {
            (0, _) => self.anchor(now_s),
            (1..=2, _) | (_, None) => self.commit(),
            (3..=11, Some(wanted)) => self.open(wanted),
            (12..=18, Some(wanted)) => {
                let is_open = |wanted: &&Wanted| {
                    let case = self.bond.cases.get(&wanted.id);
                    case.is_some_and(|case| case.state == DemandState::Open)
                };
                let open: Vec<Wanted> = self.wanted.iter().filter(is_open).copied().collect();
                let wanted = match way {
                    12..16 => self.random.pick(&open).copied().unwrap_or(wanted),
                    _ => wanted,
                };
                self.answer(wanted)
            }
            (_, Some(_)) => {
                let open = self.bond.cases.iter();
                let mut open = open.filter(|(_, case)| case.state == DemandState::Open);
                // A seized bond leaves nothing to compare, so it is seized only at the end.
                let can_be = |case: &DemandCase| round > TRIES - 100 || now_s < case.deadline_s;
                let found = open.find(|(_, case)| can_be(case));
                Self::of_bond(settle_calldata(found.map_or(Hash::ZERO, |(id, _)| *id)))
            }
        }
    }

    /// Executes an attempt on the models.
    fn carry_out(
        (anchor, bond): (&mut SimulatedContract, &mut SimulatedBond),
        attempt: &Attempt,
        from: Address,
        (block, timestamp_s): (u64, u64),
    ) -> Result<Option<BondEffect>, RevertBytes> {
        if attempt.is_anchor {
            anchor.carry_out(&attempt.data, block, timestamp_s)?;
            return Ok(None);
        }
        let sending = BondCallContext {
            from,
            value_wei: attempt.value_wei,
            timestamp_s,
        };
        bond.carry_out(&attempt.data, sending, anchor).map(Some)
    }

    /// Compares the answers to all view calls of server and challenger.
    async fn compare(&mut self, round: u64) {
        let id = self.random.pick(&self.wanted).map(|wanted| wanted.id);
        let questions = [
            selector("anchorContract()").to_vec(),
            selector("terms()").to_vec(),
            selector("openCases()").to_vec(),
            selector("caseDeposit()").to_vec(),
            [
                &selector("caseOf(bytes32)")[..],
                &id.unwrap_or(Hash::ZERO).0,
            ]
            .concat(),
        ];
        for question in questions {
            let made_up = self.bond.view(&question, self.both.deployed.address);
            let real = self.both.deployed.call_of(self.address, &question, 0).await;
            assert_eq!(made_up, real, "round {round}, {question:02x?}");
        }
        let asked = self.random.below(BATCHES + 2);
        self.both.compare(asked, round).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deployed_bond_decides_and_answers_the_same() {
    let mut bonded = Bonded::start().await;
    let (mut done, mut refused) = ([0; 4], BTreeSet::new());
    let mut answered = BTreeSet::new();
    for round in 0..TRIES {
        let head = bonded.both.deployed.rpc.block(BlockTag::Latest).await;
        let now_s = head.unwrap().unwrap().timestamp.as_u64();
        let next_s = now_s + 1 + bonded.random.below(3) * bonded.random.below(2);
        bonded.both.seconds.store(next_s, Ordering::SeqCst);
        let attempt = bonded.attempt(now_s, round);
        let (anchor, from) = (bonded.both.deployed.address, bonded.payer());
        let to = if attempt.is_anchor {
            anchor
        } else {
            bonded.address
        };
        // A call runs at the head's time.
        let (mut contract, mut bond) = (bonded.both.model.clone(), bonded.bond.clone());
        let made_up = Bonded::carry_out((&mut contract, &mut bond), &attempt, from, (0, now_s));
        let deployed = &mut bonded.both.deployed;
        let real = deployed.call_of(to, &attempt.data, attempt.value_wei).await;
        match (made_up, real) {
            (Ok(_), Ok(_)) => {}
            (Err(made_up), Err(real)) => {
                assert_eq!(made_up, real, "round {round}");
                refused.insert(real.get(..4).map(<[u8]>::to_vec));
                continue;
            }
            (made_up, real) => panic!("round {round}: {made_up:?} and {real:02x?}"),
        }
        // A transaction runs in the next block.
        let data = attempt.data.clone();
        let receipt = deployed.send_to(to, data, attempt.value_wei).await;
        let block = receipt.block_number.unwrap().as_u64();
        let models = (&mut bonded.both.model, &mut bonded.bond);
        let made_up = Bonded::carry_out(models, &attempt, from, (block, next_s));
        assert_eq!(receipt.status, Some(u64::from(made_up.is_ok()).into()));
        if let Ok(Some(event)) = made_up {
            if let BondEffect::Answered(_) = event {
                answered.extend(attempt.data.get(..4).map(<[u8]>::to_vec));
            }
            let of_bond = |log: &&ethers_core::types::Log| log.address.0 == to.0;
            let logs: Vec<_> = receipt.logs.iter().filter(of_bond).collect();
            let (topics, data) = event.log();
            let real = logs.iter().find(|log| log.data.as_ref() == data);
            let real = real.unwrap_or_else(|| panic!("round {round}: {logs:?}"));
            let real: Vec<Hash> = real.topics.iter().map(|topic| Hash(topic.0)).collect();
            assert_eq!(real, topics, "round {round}");
            done[match event {
                BondEffect::Committed(..) => 0,
                BondEffect::Opened(..) => 1,
                BondEffect::Answered(_) => 2,
                BondEffect::Closed(_) => 3,
            }] += 1;
        }
        bonded.compare(round).await;
    }
    assert!(done.iter().all(|count| *count > 0), "{done:?}");
    assert!(done[1] > 20 && done[2] > 10, "{done:?}");
    assert_eq!(answered.len(), 4, "each kind of answer was taken");
    // All errors of the models, except late settlement, and unknown functions.
    assert!(refused.len() >= 20, "{} {refused:02x?}", refused.len());
}
