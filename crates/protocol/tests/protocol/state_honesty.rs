//! Honest logs are never convicted: small random histories of every kind of action, and evidence of every fault drawn
//! from them; every entry's challenge and every demand has its answer.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Instant;

use kedge_protocol::action::Kind;
use kedge_protocol::chain::first_integrity;
use kedge_protocol::evidence::{NoStateFault, StateFault, judge_state};
use kedge_protocol::limits::VARIATIONS_MAX;
use kedge_protocol::state::faults::{self, HeldEntry, ShownEntry};
use kedge_protocol::state::state_path;
use kedge_protocol::state::trie::breaks_trie;
use kedge_protocol::{Hash, Prefix};

use crate::state_draw::EvidenceDraw;
use crate::state_model::{ModelLog, ModelPoint};
use crate::state_proofs::{PointProofs, SignedHistory};
use crate::state_trie::Dice;

/// Histories of a run that says nothing else.
const HISTORIES: u64 = 20_000;
/// Draws of each fault from one history.
const DRAWS: usize = 40;
/// One history in so many has tries, for demands of the state and broken tries.
const WITH_TRIES: u64 = 16;
/// One in so many has tries, batches and signatures, and its evidence goes through the judge.
const WITH_SIGNATURES: u64 = 512;

/// Pieces of evidence that were judged, each found to show nothing.
#[derive(Default)]
struct JudgedEvidence {
    by_fault: BTreeMap<StateFault, u64>,
    /// Those that went through the judge, with signatures, proofs and places.
    signed: BTreeMap<StateFault, u64>,
    challenges: u64,
    demands: u64,
}

impl JudgedEvidence {
    /// Draws evidence of every fault from one history.
    fn draw(&mut self, seed: u64, log: &ModelLog) {
        let mut draw = EvidenceDraw {
            log,
            dice: Dice(!seed),
        };
        for fault in StateFault::ALL {
            for _ in 0..DRAWS {
                let drawn = draw.records(*fault);
                assert!(
                    !draw.convicts(&drawn),
                    "{fault} convicts the honest log of seed {seed}: {}",
                    draw.described(&drawn)
                );
            }
            if *fault != StateFault::BrokenTrie {
                *self.by_fault.entry(*fault).or_default() += DRAWS as u64;
            }
        }
    }

    /// Every entry of a checkpoint reads back from its bytes, and has the leaf that answers its challenge.
    fn challenge(&mut self, seed: u64, log: &ModelLog, point: &ModelPoint) {
        let mut bytes = Vec::new();
        for shown in &point.shown {
            let HeldEntry::Entry(entry) = &shown.held else {
                continue;
            };
            entry.encode(&mut bytes);
            let read = ShownEntry::read(shown.point, shown.id, &bytes);
            assert!(
                !faults::malformed_state(&read),
                "seed {seed}: {}: {entry:?}",
                shown.id
            );
            assert_eq!(read.held, shown.held, "seed {seed}");
            let leaf = &log.actions[entry.sequence as usize - 1].leaf.leaf;
            let is_first = shown.id.prefix == Prefix::Organization && entry.version == 1;
            let made = |place: u32| first_integrity(&leaf.content, place) == entry.integrity;
            let answers = match shown.id.prefix {
                Prefix::Variation => (1..=VARIATIONS_MAX as u32).any(made),
                _ if is_first => made(1),
                _ => leaf.integrity == entry.integrity,
            };
            assert!(
                answers,
                "seed {seed}: no leaf answers for {}: {entry:?}",
                shown.id
            );
            self.challenges += 1;
        }
    }

    /// Every id has the proof that answers a demand; and no part of a proof, along any path, is a broken trie.
    fn demand(&mut self, seed: u64, point: &ModelPoint) {
        let state = PointProofs::of(point);
        let mut broken = 0;
        for (place, proof) in state.proofs.iter().enumerate() {
            let held = proof.verify(&state.root);
            assert_eq!(
                held,
                Ok(()),
                "seed {seed}: no proof answers for {}",
                proof.key
            );
            self.demands += 1;
            let other = &state.proofs[(7 * place + 3) % state.proofs.len()];
            for path in [&proof.key, &other.key].map(state_path) {
                for count in 0..=proof.nodes.len() {
                    let nodes = &proof.nodes[..count];
                    let is_broken = [state.root, Hash::ZERO]
                        .iter()
                        .any(|root| breaks_trie(root, &path, nodes));
                    assert!(!is_broken, "seed {seed}: {} is broken", proof.key);
                    broken += 2;
                }
            }
        }
        *self.by_fault.entry(StateFault::BrokenTrie).or_default() += broken;
    }

    /// Evidence of every fault with its records, through the judge.
    fn judge(&mut self, seed: u64, log: &ModelLog) {
        let history = SignedHistory::of(log);
        let mut draw = EvidenceDraw {
            log,
            dice: Dice(seed),
        };
        for fault in StateFault::ALL {
            for _ in 0..4 {
                let drawn = draw.records(*fault);
                let Some(evidence) = history.evidence(&drawn) else {
                    continue;
                };
                assert_eq!(
                    judge_state(&evidence, &history.trust),
                    Err(NoStateFault::NoContradiction),
                    "{fault} of seed {seed}: {}",
                    draw.described(&drawn)
                );
                *self.signed.entry(*fault).or_default() += 1;
            }
        }
    }

    fn print(&self) {
        let evidence: u64 = self.by_fault.values().sum();
        let signed: u64 = self.signed.values().sum();
        eprintln!(
            "{evidence} pieces of evidence, {signed} more with signatures, {} challenges, {} demands",
            self.challenges, self.demands
        );
        for (fault, count) in &self.by_fault {
            let signed = self.signed.get(fault).copied().unwrap_or_default();
            eprintln!("  {fault}: {count}, with signatures {signed}");
        }
    }
}

fn number_of<T: FromStr>(variable: &str, by_default: T) -> T {
    let Ok(text) = std::env::var(variable) else {
        return by_default;
    };
    let number = text.parse();
    number.unwrap_or_else(|_| panic!("{variable} is no number: {text}"))
}

// Holds invariant 254.
#[test]
fn honest_logs_are_never_convicted() {
    let begun = Instant::now();
    let first: u64 = number_of("KEDGE_HONESTY_SEED", 0);
    let histories = number_of("KEDGE_HONESTY_HISTORIES", HISTORIES);
    let mut judged = JudgedEvidence::default();
    let mut kinds = BTreeMap::<&str, u64>::new();
    let (mut actions, mut points) = (0, 0);
    for number in 0..histories {
        let seed = first.wrapping_add(number);
        let log = ModelLog::random(seed);
        judged.draw(seed, &log);
        let point = &log.points[seed as usize % log.points.len()];
        judged.challenge(seed, &log, point);
        if number.is_multiple_of(WITH_TRIES) {
            judged.demand(seed, point);
        }
        if number.is_multiple_of(WITH_SIGNATURES) {
            judged.judge(seed, &log);
        }
        for action in &log.actions {
            *kinds.entry(action.kind).or_default() += 1;
        }
        actions += log.actions.len();
        points += log.points.len();
    }
    eprintln!(
        "{histories} histories from seed {first} on in {:.1} s: {actions} actions, {points} checkpoints",
        begun.elapsed().as_secs_f64()
    );
    eprintln!("{kinds:?}");
    judged.print();
    if histories < HISTORIES {
        return;
    }
    for kind in Kind::BUILT_IN {
        assert!(kinds.contains_key(kind.text()), "no history has {kind:?}");
    }
    assert!(kinds.contains_key("x.scan") && kinds.contains_key("x.weigh"));
    for fault in StateFault::ALL {
        assert!(judged.by_fault[fault] >= histories, "{fault}");
        assert!(judged.signed[fault] >= histories / 512, "{fault}");
    }
}
