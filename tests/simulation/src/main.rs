//! Command line of the simulator.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use kedge_sim::SimulationPlan;

/// Runs the core under a seeded simulator, and checks it after each crash.
#[derive(Parser)]
struct SimulationArgs {
    /// The seed. The same one takes the same steps.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Steps until faults stop and the end is checked.
    #[arg(long, default_value_t = kedge_sim::STEPS)]
    steps: u64,
    /// How many seeds to run, from the first one up.
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// Runs several nodes that share a log.
    #[arg(long)]
    nodes: bool,
    /// Prints what happens in each process of the run.
    #[arg(long)]
    tell: bool,
}

fn main() -> ExitCode {
    let args = SimulationArgs::parse();
    let mut out = std::io::stdout();
    for seed in args.seed..args.seed + args.seeds {
        let plan = SimulationPlan {
            seed,
            steps: args.steps,
            tell: args.tell,
        };
        let ran = if args.nodes {
            kedge_sim::run_nodes(&plan).map(|report| report.to_string())
        } else {
            kedge_sim::run(&plan).map(|report| report.to_string())
        };
        let said = match ran {
            Ok(report) => writeln!(out, "{report}"),
            Err(violation) => {
                let _ = writeln!(out, "seed {seed}: {violation}");
                return ExitCode::FAILURE;
            }
        };
        if said.is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
