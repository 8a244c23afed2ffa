//! A server under attack: a calm phase, then the same attack twice while the well-behaved client is measured, and after
//! each the time until its resources are released.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::process::{Resource, Rlimit, getrlimit, setpriority_process, setrlimit};
use tokio::runtime::{Builder, Runtime};

use crate::field::{Field, Stock};
use crate::neighbour::{Figures, Neighbour};
use crate::report::Row;
use crate::support::http;
use crate::support::server::{Server, Setup};
use crate::vitals::{Peak, Vitals, memory_kib};

/// Bound on a well-behaved client's p99.
pub(crate) const P99_MAX: Duration = Duration::from_millis(250);
/// Length of the calm phase, and of each attack unless `KEDGE_SIEGE_SECONDS` sets another.
const CALM: Duration = Duration::from_secs(5);
const ATTACK_S: u64 = 10;
/// Longest time until all resources of an attack are released: the server ends unread answers after `write_timeout_s`,
/// 30, and idle connections after `idle_timeout_s`, 75.
const LEAVES: Duration = Duration::from_mins(2);
/// Sockets, threads and files allowed in addition: connections of the well-behaved client, threads for blocking work
/// (they end after ten idle seconds, and the client keeps some busy), tables of the store.
const MORE_SOCKETS: u64 = 16;
const MORE_THREADS: u64 = 24;
const MORE_FILES: u64 = 64;
/// Memory that the second attack may add to what the first one left.
const LEFT_MIB: u64 = 48;
/// Longest time until freed memory is returned to the system on a busy machine.
const MEMORY_RETURNS: Duration = Duration::from_secs(20);
/// Niceness of the attackers, which share the server's cores here and would be other machines.
const NICE: i32 = 10;

/// Runs one siege at a time, because they measure.
static TURN: Mutex<()> = Mutex::new(());

/// An attack, and its permitted cost.
pub(crate) struct Siege {
    name: &'static str,
    options: Vec<(&'static str, String)>,
    bound_mib: u64,
    left_mib: u64,
    calm: Duration,
    attack: Duration,
}

/// The attackers' threads.
fn attackers() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .on_thread_start(|| {
            // Without it the figures are worse, not wrong.
            let _ = setpriority_process(None, NICE);
        })
        .enable_all()
        .build()
        .unwrap()
}

/// Raises the limit of open files as far as the system allows; returns it.
fn many_files() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, all).unwrap();
    limit.maximum.unwrap_or(u64::MAX)
}

/// The number of these connections that fit into the process's limit of open files.
pub(crate) fn possible(wanted: usize) -> usize {
    const OTHERS: u64 = 500;
    let files = many_files().saturating_sub(OTHERS);
    let count = wanted.min(usize::try_from(files).unwrap_or(usize::MAX));
    if count < wanted {
        eprintln!(
            "only {count} of {wanted} connections: raise the limit of open files (ulimit -Hn)"
        );
    }
    count
}

impl Siege {
    /// An attack during which memory grows by at most `bound_mib`.
    pub(crate) fn new(name: &'static str, bound_mib: u64) -> Self {
        let given = std::env::var("KEDGE_SIEGE_SECONDS").ok();
        let seconds = given.map_or(ATTACK_S, |text| text.parse().unwrap());
        Self {
            name,
            options: Vec::new(),
            bound_mib,
            left_mib: LEFT_MIB,
            calm: CALM,
            attack: Duration::from_secs(seconds),
        }
    }

    /// Sets an option of the server.
    pub(crate) fn set(mut self, option: &'static str, value: impl Into<String>) -> Self {
        self.options.push((option, value.into()));
        self
    }

    /// Memory that the attack's writes may leave: in the store's tables and in memory, up to their bounds.
    pub(crate) fn leaves_mib(mut self, left_mib: u64) -> Self {
        self.left_mib = left_mib;
        self
    }

    /// Sets a shorter attack.
    pub(crate) fn lasts(mut self, attack: Duration) -> Self {
        self.attack = attack;
        self
    }

    /// Sets the length of the calm phase.
    pub(crate) fn after_calm(mut self, calm: Duration) -> Self {
        self.calm = calm;
        self
    }

    fn setup(&self, directory: &tempfile::TempDir) -> Setup {
        // As in production, except for the rate limits: without them only scarce resources hold attackers back.
        let mut setup = Setup::development(&directory.path().join("data"))
            .set("compare_groups_every", 0)
            .set("memtable_bytes", 64 << 20)
            .set("block_cache_bytes", 64 << 20);
        for (option, value) in &self.options {
            setup = setup.set(option, value);
        }
        setup
    }

    /// Runs, measures and checks the attack.
    pub(crate) fn run<F: Future<Output = ()>>(self, attack: impl Fn(Arc<Field>) -> F) {
        let _turn = TURN.lock();
        many_files();
        let directory = tempfile::tempdir().unwrap();
        let setup = self.setup(&directory);
        let server = setup.start();
        let runtime = attackers();
        let stock = runtime.block_on(Stock::of(&setup.url()));
        let neighbour = Neighbour::begin(setup.url());
        let place = Place {
            setup: &setup,
            server: &server,
            runtime: &runtime,
        };
        // The first requests are slower, because everything is cold.
        std::thread::sleep(Duration::from_secs(1));
        let calm = Place::measured(&neighbour, || std::thread::sleep(self.calm));
        let before = Vitals::of(server.id());
        let mut under_attack = Figures::default();
        let mut rounds = Vec::new();
        for _ in 0..2 {
            let first: Option<&Round> = rounds.first();
            let warm = first.map(|first| first.warm_kib(&before) + (self.left_mib << 10));
            let leaving = place.round(&self, &stock, &neighbour, &attack, &mut under_attack);
            rounds.push(place.at_rest(leaving, warm));
            let left = rounds.last().map(|round| &round.after);
            place.must_leave(&before, left.unwrap());
        }
        neighbour.end();
        drop(runtime);
        let row = Row {
            name: self.name,
            bound_mib: self.bound_mib,
            left_mib: self.left_mib,
            calm,
            under_attack,
            before,
            rounds,
        };
        row.write();
        server.stop();
        row.check();
    }
}

/// One attack and its remains.
pub(crate) struct Round {
    /// The number of the attack's operations.
    pub(crate) done: u64,
    pub(crate) peak_kib: u64,
    pub(crate) after: Vitals,
    /// Time until its resources were released.
    pub(crate) left_after: Duration,
}

impl Round {
    /// The memory of a server after a first round: caches, and the allocator's reserve. A leak grows beyond it.
    pub(crate) fn warm_kib(&self, before: &Vitals) -> u64 {
        self.after.memory_kib.max(before.memory_kib)
    }
}

struct Place<'a> {
    setup: &'a Setup,
    server: &'a Server,
    runtime: &'a Runtime,
}

impl Place<'_> {
    fn measured(neighbour: &Neighbour, what: impl FnOnce()) -> Figures {
        let begun = Instant::now();
        what();
        neighbour.figures(begun, Instant::now())
    }

    fn round<F: Future<Output = ()>>(
        &self,
        siege: &Siege,
        stock: &Stock,
        neighbour: &Neighbour,
        attack: impl Fn(Arc<Field>) -> F,
        figures: &mut Figures,
    ) -> Round {
        let before = Vitals::of(self.server.id());
        let peak = Peak::watch(self.server.id());
        let field = stock.field(self.setup.port(), Instant::now() + siege.attack);
        let doing = Arc::clone(&field);
        figures.add(Self::measured(neighbour, || {
            self.runtime.block_on(attack(doing));
        }));
        let ended = Instant::now();
        eprintln!(
            "{}: {} times, answers {:?}",
            siege.name,
            field.done(),
            field.answers()
        );
        let peak_kib = peak.kib();
        let after = self.left(&before);
        Round {
            done: field.done(),
            peak_kib,
            after,
            left_after: ended.elapsed(),
        }
    }

    /// Waits until memory above `most_kib` is returned to the system, if it ever is.
    fn at_rest(&self, mut round: Round, most_kib: Option<u64>) -> Round {
        let patience = Instant::now() + MEMORY_RETURNS;
        while most_kib.is_some_and(|most_kib| round.after.memory_kib > most_kib)
            && Instant::now() < patience
        {
            std::thread::sleep(Duration::from_millis(500));
            round.after.memory_kib = memory_kib(self.server.id());
        }
        round
    }

    /// Waits until the attack's resources are released; returns the state then, or at the time-out.
    fn left(&self, before: &Vitals) -> Vitals {
        let patience = Instant::now() + LEAVES;
        loop {
            let now = Vitals::of(self.server.id());
            if is_left(before, &now) && self.connections() <= MORE_SOCKETS as f64
                || Instant::now() > patience
            {
                // Freed memory returns to the system with a delay.
                std::thread::sleep(Duration::from_secs(2));
                return Vitals {
                    memory_kib: memory_kib(self.server.id()),
                    ..now
                };
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn connections(&self) -> f64 {
        let port = self.setup.metrics_port();
        self.runtime
            .block_on(http::metric(port, "kedge_http_connections", &[]))
    }

    fn must_leave(&self, before: &Vitals, after: &Vitals) {
        let connections = self.connections();
        assert!(
            is_left(before, after) && connections <= MORE_SOCKETS as f64,
            "something is left after {LEAVES:?}: {after:?} after {before:?}, {connections} connections"
        );
    }
}

fn is_left(before: &Vitals, now: &Vitals) -> bool {
    now.sockets <= before.sockets + MORE_SOCKETS
        && now.threads <= before.threads + MORE_THREADS
        && now.files <= before.files + MORE_FILES
}
