//! Runs of the simulator: kept seeds with past findings, and new seeds within a time limit.

use kedge_sim::{SimulationPlan, run};

use crate::fresh::run_new;

/// Seeds of every run: those that found a fault, and some that together have every kind of fault.
const KEPT: &[u64] = &[
    1,
    2,
    3,
    4,
    5,
    6,
    8,
    10,
    16,
    33,
    5012,
    157_276_658_785_098,
    114_841_572_568_351,
    221_606_831_833_494,
    235_229_805_606_550,
    274_317_707_463_451,
    1_795_509_481_331,
    1_795_509_700_033,
    1_795_509_710_667,
    1_795_700_000_065,
    1_795_800_000_099,
    1_796_100_000_111,
    212_579_495_176_483,
    121_366_026_318_922,
];

/// Seconds for new seeds; `SIM_SECONDS` overrides it.
const SECONDS: u64 = 150;

#[test]
fn a_seed_takes_the_same_steps_twice() {
    let traces = [11, 12].map(|seed| {
        let plan = SimulationPlan::of(seed);
        let (one, other) = (run(&plan).unwrap(), run(&plan).unwrap());
        assert_eq!(one, other);
        one.trace
    });
    assert_ne!(traces[0], traces[1], "the trace shows what was done");
}

// Holds invariants 1, 39, 67, 68.
#[test]
fn kept_seeds_find_nothing() {
    let (mut ends, mut anchors, mut messages, mut answers) = ([0; 4], 0, 0, 0);
    for &seed in KEPT {
        let once = || {
            run(&SimulationPlan::of(seed)).unwrap_or_else(|found| panic!("seed {seed}: {found}"))
        };
        let report = once();
        eprintln!("{report}");
        assert_eq!(
            report,
            once(),
            "seed {seed} took other steps the second time"
        );
        for (all, of_run) in ends.iter_mut().zip(report.ends) {
            *all += of_run;
        }
        anchors += report.anchors[0];
        messages += report.messages[0];
        answers += report.cases[1];
    }
    assert!(
        ends.iter().all(|count| *count > 0),
        "some trouble never came: {ends:?}"
    );
    let left = [anchors, messages, answers];
    assert!(
        left.iter().all(|count| *count > 0),
        "nothing left the server: {left:?}"
    );
}

#[test]
fn new_seeds_find_nothing() {
    run_new(SECONDS, run);
}
