//! The cost of every endpoint as its inputs grow: each time an input doubles, twice in a row, the server's processor
//! time must not more than triple both times. Every member of every body, every query parameter and every header of the
//! server's document is an input; costs of stored data are in `stored.rs`.

mod forms;
mod inputs;
mod making;
mod searching;
mod stored;

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::ask::Ask;
use crate::row::Row;
use crate::table::{find, table};
use crate::world::World;

/// Processor time that is harmless with any growth: below it, differences are noise.
const HARMLESS: Duration = Duration::from_millis(100);
/// Growth per doubling that is more than proportional, with the noise of a shared machine.
const TOO_MUCH: f64 = 3.0;
/// Number of measurements of a cost; the least counts.
const TIMES: usize = 3;

type Asked = Pin<Box<dyn Future<Output = Ask> + Send>>;

/// One input of one endpoint.
pub(crate) struct Dimension {
    method: &'static str,
    path: &'static str,
    name: String,
    /// Its largest size.
    most: usize,
    /// Whether the request is refused for other reasons than its size.
    is_refused: bool,
    /// Makes the request at this size.
    ask: Box<dyn Fn(Arc<World>, usize) -> Asked + Send>,
}

impl Dimension {
    fn of(row: &Row, name: String, most: usize, ask: AskOf) -> Self {
        Self {
            method: row.method,
            path: row.path,
            name,
            most,
            is_refused: true,
            ask,
        }
    }

    fn name(&self) -> String {
        format!("{} {}: {}", self.method, self.path, self.name)
    }

    /// The least processor time of the request at this size.
    async fn cost(&self, world: &Arc<World>, size: usize, times: usize) -> Duration {
        let row = find(self.method, self.path);
        let mut least = Duration::MAX;
        for _ in 0..times {
            let ask = (self.ask)(Arc::clone(world), size).await;
            let before = world.server.processor_time();
            let got = world.by_ann(&row, &ask).await;
            least = least.min(world.server.processor_time().saturating_sub(before));
            assert!(got.status < 500, "{}: {}", self.name(), got.reported());
            let is_done = got.status < 300;
            assert!(
                is_done || self.is_refused,
                "{} of {size}: {}",
                self.name(),
                got.reported()
            );
        }
        least
    }

    /// The fault in its cost, if any.
    async fn fault(&self, world: &Arc<World>) -> Option<String> {
        if self.cost(world, self.most, 1).await < HARMLESS {
            return None;
        }
        let mut costs = Vec::new();
        for size in [self.most / 4, self.most / 2, self.most] {
            costs.push(self.cost(world, size, TIMES).await);
        }
        let grows = |pair: &[Duration]| pair[1].as_secs_f64() > TOO_MUCH * pair[0].as_secs_f64();
        let is_wrong = costs[2] >= HARMLESS && costs.windows(2).all(grows);
        is_wrong.then(|| format!("{} of {}: {costs:?}", self.name(), self.most))
    }
}

type AskOf = Box<dyn Fn(Arc<World>, usize) -> Asked + Send>;

/// Checks the costs one after the other, so that each has the server for itself.
async fn check(world: &Arc<World>, dimensions: Vec<Dimension>) {
    let mut faults = Vec::new();
    for dimension in &dimensions {
        faults.extend(dimension.fault(world).await);
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

async fn world() -> Arc<World> {
    // Comparing groups is extra work of test builds.
    let world = World::new(&["compare_groups_every=1000000"]).await;
    crate::coverage::leave_out(&world.server);
    world
}

// Holds invariant 220.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_input_of_every_endpoint_doubled() {
    let world = world().await;
    let document = world.server.get("/openapi.json", None).await;
    let document = document.expect(200).body;
    let mut dimensions = Vec::new();
    for row in table() {
        let of_row = inputs::of(&row, (row.ask)(&world).await, &document);
        assert!(!of_row.is_empty(), "{}: nothing grows", row.name());
        dimensions.extend(of_row);
    }
    check(&world, dimensions).await;
}

// Holds invariant 220.
/// Endpoints whose cost depends on stored data, or on more than one input.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_stored_doubled() {
    let world = world().await;
    let dimensions = stored::dimensions();
    let named = dimensions.iter().map(|of| (of.method, of.path));
    let named: BTreeSet<(&str, &str)> = named.collect();
    for row in table() {
        let is_named = named.contains(&(row.method, row.path));
        let is_known = is_named || stored::is_of_bounded_state(&row);
        assert!(
            is_known,
            "{}: what it reads has no bound or no dimension",
            row.name()
        );
    }
    check(&world, dimensions).await;
}
