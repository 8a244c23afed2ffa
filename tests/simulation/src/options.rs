//! Engine options of the simulation.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kedge_actors::timekeeper::{TimeBounds, Timekeeper};
use kedge_actors::{EngineOptions, HeldKeys, RootOptions, passing_clock, wall_clock};
use kedge_runtime::env::Env;
use kedge_runtime::executor::EngineRuntime;

use crate::client::{self, DOMAIN};
use crate::directory::SEQUENCER;
use crate::machine::SimulatedMachine;
use crate::plan::Violation;
use crate::random::SimulationRandom;

/// Options of an engine that is alone on its log. Varying ones are drawn, among them up to `shards_max` shards.
pub(crate) fn options(
    random: &mut SimulationRandom,
    machine: &SimulatedMachine,
    running: EngineRuntime,
    shards_max: u64,
) -> Result<EngineOptions, Violation> {
    let env: Arc<dyn Env> = Arc::new(machine.clone());
    let bounds = TimeBounds {
        step_max_ms: 5_000,
        gap_max_ms: 60_000,
        empty_gap_max_ms: 60_000,
        alone: None,
    };
    let time = Timekeeper::new(wall_clock(&env), passing_clock(&env), bounds);
    Ok(EngineOptions {
        domain: DOMAIN,
        keys: HeldKeys::new(client::key(SEQUENCER)?, []),
        contract: None,
        time: Arc::new(time),
        running,
        shards: 1 + random.below(shards_max) as usize,
        objects_live_max: 1 << random.below(8),
        organizations_live_max: 1 + random.below(4) as usize,
        requests_max: 256,
        requests_min: 256,
        wait_target: Duration::from_secs(1),
        actions_max: 2_000,
        decided_bytes_max: 512 << 20,
        compare_groups_every: random.below(4),
        organization_share_percent: 100,
        recent_keys_max: 1 << random.below(12),
        catalog_bytes_max: 1_024 << random.below(6),
        recipients_max: 8,
        data_path: Path::new("/").to_owned(),
        disk_reserve_bytes: 0,
        replicated: false,
        group_bytes_max: 32 << 20,
        roots: Some(RootOptions {
            interval: Duration::from_secs(2),
            kept: Duration::from_mins(10),
            kept_bytes: u64::MAX,
        }),
        env,
    })
}
