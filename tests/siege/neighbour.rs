//! The well-behaved client: signed writes and reads at a fixed modest rate, whatever the earlier ones' outcome. A
//! latency counts from the time at which its request was due, so that one slow answer does not hide the next ones.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use kedge_client::{Account, NewAction, NewObject};
use kedge_protocol::Id;
use parking_lot::Mutex;
use serde_json::json;
use tokio::runtime::Builder;
use tokio::task::JoinSet;

use crate::support::{Rng, connect, register, template};

/// Requests a second; every second one is a signed write.
const RATE: u32 = 40;

/// The documented refusal of an overloaded server; it counts as an infinite latency.
const OVERLOADED: &str = "UNAVAILABLE (503)";

/// The results of the requests due in a period.
#[derive(Clone, Default, Debug)]
pub(crate) struct Figures {
    /// Sorted. A request refused for overload has the longest of all.
    pub(crate) latencies: Vec<Duration>,
    pub(crate) refused: usize,
    pub(crate) failures: Vec<String>,
}

impl Figures {
    /// The latency that this share of requests does not exceed.
    pub(crate) fn at(&self, share: f64) -> Duration {
        let place = (self.latencies.len() as f64 * share).ceil() as usize;
        self.latencies[place.clamp(1, self.latencies.len()) - 1]
    }

    /// The highest latency of an accepted request.
    pub(crate) fn worst(&self) -> Duration {
        let answered = self.latencies.len() - self.refused;
        self.latencies[answered.max(1) - 1]
    }

    /// Adds the results of another period.
    pub(crate) fn add(&mut self, other: Self) {
        self.latencies.extend(other.latencies);
        self.latencies.sort_unstable();
        self.refused += other.refused;
        self.failures.extend(other.failures);
    }

    fn count(&mut self, done: &Done) {
        let is_refused = |failure: &String| failure.starts_with(OVERLOADED);
        match &done.failure {
            Some(failure) if is_refused(failure) => {
                self.refused += 1;
                self.latencies.push(Duration::MAX);
            }
            failure => {
                self.latencies.push(done.took);
                self.failures.extend(failure.clone());
            }
        }
    }
}

/// The result of one request.
struct Done {
    due: Instant,
    took: Duration,
    failure: Option<String>,
}

/// The client, on a separate thread: an attack's effect on this process must not count as the server's.
pub(crate) struct Neighbour {
    done: Arc<Mutex<Vec<Done>>>,
    stop: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

async fn one(account: Account, object: Id, number: u64, due: Instant) -> Done {
    let failure = if number.is_multiple_of(2) {
        let patch = json!({ "number": number });
        let update = NewAction::update(object, patch.as_object().unwrap()).unwrap();
        account.act(&update).await.err()
    } else {
        account.object(object).await.err()
    };
    Done {
        due,
        took: due.elapsed(),
        failure: failure.map(|error| error.to_string()),
    }
}

async fn visit(
    url: String,
    done: Arc<Mutex<Vec<Done>>>,
    stop: mpsc::Receiver<()>,
    ready: mpsc::Sender<()>,
) {
    let client = connect(&url).await;
    let account = register(&client, Rng::of(1).key()).await;
    let template = template(&account, "neighbour's").await;
    let made = account.mint(template, &NewObject::default()).await.unwrap();
    let object = made.resource.id;
    // After a failed test there is no receiver.
    let _ = ready.send(());
    let (begun, mut number) = (Instant::now(), 0);
    let mut requests = JoinSet::new();
    while stop.try_recv() == Err(mpsc::TryRecvError::Empty) {
        let due = begun + Duration::from_secs(number) / RATE;
        tokio::time::sleep_until(due.into()).await;
        let (account, done) = (account.clone(), Arc::clone(&done));
        requests.spawn(async move {
            let ended = one(account, object, number, due).await;
            done.lock().push(ended);
        });
        while requests.try_join_next().is_some() {}
        number += 1;
    }
    requests.join_all().await;
}

impl Neighbour {
    /// Registers and begins.
    pub(crate) fn begin(url: String) -> Self {
        let done = Arc::new(Mutex::default());
        let (stop, stopped) = mpsc::channel();
        let (ready, begun) = mpsc::channel();
        let results = Arc::clone(&done);
        let thread = std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(visit(url, results, stopped, ready));
        });
        begun.recv().expect("the well-behaved client registers");
        Self { done, stop, thread }
    }

    /// The results of the requests due from `begun` to `ended`. Waits for the last of them, as long as one may take.
    pub(crate) fn figures(&self, begun: Instant, ended: Instant) -> Figures {
        let expected = (ended - begun).as_millis() as usize * RATE as usize / 1_000;
        let patience = Instant::now() + Duration::from_secs(25);
        loop {
            let mut figures = Figures::default();
            for done in self
                .done
                .lock()
                .iter()
                .filter(|done| (begun..ended).contains(&done.due))
            {
                figures.count(done);
            }
            // One may be due just outside.
            if figures.latencies.len() + 1 >= expected {
                figures.latencies.sort_unstable();
                return figures;
            }
            assert!(
                Instant::now() < patience,
                "{} of {expected} requests have ended",
                figures.latencies.len()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends the client.
    pub(crate) fn end(self) {
        // It may have ended by a panic, which the next line shows.
        let _ = self.stop.send(());
        self.thread.join().expect("the well-behaved client ends");
    }
}
