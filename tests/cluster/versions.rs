//! Linearizability of one object's versions: clients of all nodes read and change the same objects and record each
//! request and answer. A checker looks for one order of all of them that explains every answer and respects real time:
//! what ended before another began comes first.
//!
//! The checker is `todc-utils`: the algorithm of Wing and Gong with Lowe's memory of states. A change whose outcome is
//! unknown stays open until the end of the history. A final read of the object's actions shows whether it was carried
//! out, and as which version.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use todc_utils::linearizability::WGLChecker;
use todc_utils::linearizability::history::{Action, History};
use todc_utils::specifications::Specification;
use tokio::task::JoinSet;

use crate::nodes::Cluster;
use crate::signed::Signer;
use crate::support::http::{self, Answer};
use crate::support::{Rng, eventually};

/// Objects that are changed at the same time, each by a client of every node.
const OBJECTS: usize = 3;
/// Begins and ends of operations on an object before another object replaces it.
const EVENTS_MAX: usize = 600;
const PAUSE: Duration = Duration::from_millis(20);
/// Longest time of mints and reads of new objects while nodes are away.
const PATIENCE: Duration = Duration::from_mins(1);

/// An object as a reader sees it: its version, and the number that the last change set.
type Shown = (u64, u64);

/// An operation with its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operation {
    Read(Shown),
    /// Sets the number, if the object has the expected version.
    Update {
        expected: Option<u64>,
        number: u64,
        outcome: Outcome,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    /// The change made this version.
    Made(u64),
    /// The object had another version.
    Refused,
}

/// The specification of an object, as a sequence of operations.
struct Versioned;

impl Specification for Versioned {
    type State = Shown;
    type Operation = Operation;

    /// An object as it is minted.
    fn init() -> Shown {
        (1, 0)
    }

    fn apply(operation: &Operation, state: &Shown) -> (bool, Shown) {
        match *operation {
            Operation::Read(shown) => (shown == *state, *state),
            Operation::Update {
                expected,
                number,
                outcome,
            } => {
                let matches = expected.is_none_or(|version| version == state.0);
                let made = (state.0 + 1, number);
                match outcome {
                    Outcome::Made(version) => (matches && version == made.0, made),
                    Outcome::Refused => (!matches, *state),
                }
            }
        }
    }
}

/// Requests and answers in the order in which the clients saw them.
#[derive(Default)]
struct Recorded(Mutex<Vec<Event>>);

#[derive(Clone, Copy, Debug)]
enum Event {
    /// An operation begins. One that never ends had no effect: a read without an answer, or a change that was certainly
    /// not carried out.
    Begun(usize),
    Ended(usize, Operation),
    /// It is unknown whether this change was carried out, or will be.
    Unknown {
        of: usize,
        expected: Option<u64>,
        number: u64,
    },
}

impl Recorded {
    fn begin(&self) -> usize {
        let mut events = self.0.lock().unwrap();
        let number = events.len();
        events.push(Event::Begun(number));
        number
    }

    fn end(&self, number: usize, operation: Operation) {
        self.0.lock().unwrap().push(Event::Ended(number, operation));
    }

    fn unknown(&self, of: usize, expected: Option<u64>, number: u64) {
        let unknown = Event::Unknown {
            of,
            expected,
            number,
        };
        self.0.lock().unwrap().push(unknown);
    }

    fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap().clone()
    }

    /// Whether one order explains everything; `made` has the version that each number turned out to make.
    fn is_linearizable(&self, made: &BTreeMap<u64, u64>) -> bool {
        let events = self.events();
        let mut operations = HashMap::new();
        let mut open = Vec::new();
        for event in &events {
            match *event {
                Event::Begun(_) => {}
                Event::Ended(of, operation) => drop(operations.insert(of, operation)),
                Event::Unknown {
                    of,
                    expected,
                    number,
                } => {
                    if let Some(version) = made.get(&number) {
                        let operation = Operation::Update {
                            expected,
                            number,
                            outcome: Outcome::Made(*version),
                        };
                        operations.insert(of, operation);
                        open.push((of, Action::Response(operation)));
                    }
                }
            }
        }
        let actions = events.iter().filter_map(|event| match event {
            Event::Begun(of) => Some((*of, Action::Call(*operations.get(of)?))),
            Event::Ended(of, operation) => Some((*of, Action::Response(*operation))),
            Event::Unknown { .. } => None,
        });
        let actions: Vec<_> = actions.chain(open).collect();
        actions.is_empty()
            || WGLChecker::<Versioned>::is_linearizable(History::from_actions(actions))
    }
}

/// An object under change, and its history.
struct Subject {
    id: String,
    recorded: Recorded,
    /// The newest version that a client saw, with its entity tag.
    newest: Mutex<(u64, String)>,
}

/// Clients that read and change the same objects through all nodes.
pub(crate) struct Versions {
    shared: Arc<Shared>,
    workers: JoinSet<()>,
}

struct Shared {
    ports: Vec<u16>,
    signer: Mutex<Signer>,
    token: String,
    subjects: Mutex<Vec<Arc<Subject>>>,
    /// Objects whose history is long enough.
    ended: Mutex<Vec<Arc<Subject>>>,
    /// The newest sequence that a client saw; readers wait for it.
    seen: AtomicU64,
    number: AtomicU64,
    is_over: AtomicBool,
}

impl Versions {
    /// Starts the clients, which sign as `signer`; its wallet may act elsewhere with lower nonces.
    pub(crate) async fn start(cluster: &Cluster, signer: Signer, rng: &mut Rng) -> Self {
        let ports: Vec<u16> = cluster.nodes.iter().map(|node| node.setup.port()).collect();
        let shared = Arc::new(Shared {
            token: signer.token.clone(),
            signer: Mutex::new(signer),
            subjects: Mutex::default(),
            ended: Mutex::default(),
            seen: AtomicU64::default(),
            number: AtomicU64::default(),
            is_over: AtomicBool::default(),
            ports,
        });
        for _ in 0..OBJECTS {
            let subject = shared.subject().await;
            shared.subjects.lock().unwrap().push(subject);
        }
        let mut workers = JoinSet::new();
        for object in 0..OBJECTS {
            for node in 0..shared.ports.len() {
                let (shared, rng) = (Arc::clone(&shared), rng.fork());
                workers.spawn(async move { shared.work(object, node, rng).await });
            }
        }
        Self { shared, workers }
    }

    /// Ends the clients and checks every object's history.
    pub(crate) async fn check(mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        while let Some(ended) = self.workers.join_next().await {
            ended.unwrap();
        }
        let mut subjects = self.shared.ended.lock().unwrap().clone();
        subjects.extend(self.shared.subjects.lock().unwrap().iter().cloned());
        let (mut all, mut open) = (0, 0);
        for subject in subjects {
            let made = self.shared.made(&subject.id).await;
            let events = subject.recorded.events();
            open += events.iter().filter(|event| event.is_unknown()).count();
            all += events.len() / 2;
            // It may not terminate on a history that it cannot explain.
            let (sender, checked) = tokio::sync::oneshot::channel();
            let checking = Arc::clone(&subject);
            let history = made.clone();
            std::thread::spawn(move || {
                // The receiver may have timed out.
                let _ = sender.send(checking.recorded.is_linearizable(&history));
            });
            let begun = Instant::now();
            let is_linearizable = tokio::time::timeout(PATIENCE, checked).await;
            let took = begun.elapsed();
            let count = events.len();
            assert!(
                matches!(is_linearizable, Ok(Ok(true))),
                "{}: {is_linearizable:?} after {took:?}: {made:?}\n{events:?}",
                subject.id
            );
            eprintln!("{}: {count} events are linearizable ({took:?})", subject.id);
        }
        eprintln!("{all} operations, {open} with an unknown outcome");
        assert!(all > 50, "{all} operations");
    }
}

impl Event {
    fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown { .. })
    }
}

impl Shared {
    /// The version that each number made, according to the log.
    async fn made(&self, id: &str) -> BTreeMap<u64, u64> {
        let seen = self.seen.load(Ordering::SeqCst);
        let path = format!("/objects/{id}/history?limit=1000&min_sequence={seen}");
        let bearer = format!("Authorization: Bearer {}", self.token);
        let read = || async {
            let answer = http::try_get_with(self.ports[0], &path, &bearer).await?;
            (answer.status == 200).then(|| answer.json())
        };
        let history = eventually("the object's history is read", PATIENCE, read).await;
        let actions = history["items"].as_array().unwrap().iter();
        let updates = actions.filter(|action| action["action_type"] == "update");
        let made = updates.map(|action| {
            let number = action["payload"]["properties"]["n"].as_u64().unwrap();
            (number, action["object_version"].as_u64().unwrap())
        });
        made.collect()
    }

    fn note(&self, answer: &Answer) {
        let sequence = answer.header("x-sequence");
        let sequence = sequence.and_then(|text| text.parse().ok()).unwrap_or(0);
        self.seen.fetch_max(sequence, Ordering::SeqCst);
    }

    /// A new object, once all nodes can read it.
    async fn subject(&self) -> Arc<Subject> {
        let minted = || async {
            for port in &self.ports {
                let request = self.signer.lock().unwrap().mint();
                let answer = request.try_send(*port).await;
                if let Some(answer) = answer.filter(|answer| answer.status == 201) {
                    self.note(&answer);
                    return Some(answer.json()["id"].as_str().unwrap().to_owned());
                }
            }
            None
        };
        let id = eventually("an object is minted", PATIENCE, minted).await;
        let known = || async {
            for port in &self.ports {
                let read = self.read(*port, &id).await;
                if let Some((_, tag)) = read {
                    return Some(tag);
                }
            }
            None
        };
        let tag = eventually("the object is read", PATIENCE, known).await;
        Arc::new(Subject {
            id,
            recorded: Recorded::default(),
            newest: Mutex::new((1, tag)),
        })
    }

    /// Reads an object at the newest sequence that any client has seen; `None` without a usable answer.
    async fn read(&self, port: u16, id: &str) -> Option<(Shown, String)> {
        let seen = self.seen.load(Ordering::SeqCst);
        let path = format!("/objects/{id}?min_sequence={seen}");
        let bearer = format!("Authorization: Bearer {}", self.token);
        let answer = http::try_get_with(port, &path, &bearer).await?;
        match answer.status {
            200 => {
                self.note(&answer);
                Some((shown(&answer), answer.header("etag")?.to_owned()))
            }
            // Not there yet, or no service at the moment.
            409 | 429 | 503 => None,
            _ => panic!("{}: {}", answer.status, answer.body),
        }
    }

    async fn work(&self, object: usize, node: usize, mut rng: Rng) {
        while !self.is_over.load(Ordering::SeqCst) {
            let subject = Arc::clone(&self.subjects.lock().unwrap()[object]);
            let port = self.ports[node];
            match rng.below(10) {
                0..5 => self.read_once(&subject, port).await,
                5..8 => self.update(&subject, port, true).await,
                _ => self.update(&subject, port, false).await,
            }
            // One client replaces an object with a long history.
            if node == 0 && subject.recorded.events().len() >= EVENTS_MAX {
                let next = self.subject().await;
                self.subjects.lock().unwrap()[object] = next;
                self.ended.lock().unwrap().push(subject);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn read_once(&self, subject: &Subject, port: u16) {
        let number = subject.recorded.begin();
        if let Some((shown, tag)) = self.read(port, &subject.id).await {
            subject.recorded.end(number, Operation::Read(shown));
            subject.saw(shown.0, tag);
        }
    }

    async fn update(&self, subject: &Subject, port: u16, is_conditional: bool) {
        let number = self.number.fetch_add(1, Ordering::SeqCst) + 1;
        let mut request = self.signer.lock().unwrap().update(&subject.id, number);
        let mut expected = None;
        if is_conditional {
            let (version, tag) = subject.newest.lock().unwrap().clone();
            expected = Some(version);
            request = request.if_match(&tag);
        }
        let begun = subject.recorded.begin();
        let answer = request.try_send(port).await;
        let Some(answer) = answer else {
            subject.recorded.unknown(begun, expected, number);
            return;
        };
        let outcome = match answer.status {
            200 => Outcome::Made(shown(&answer).0),
            412 => Outcome::Refused,
            503 if answer.json()["body"]["outcome"] == "unknown" => {
                subject.recorded.unknown(begun, expected, number);
                return;
            }
            // Not carried out.
            503 => return,
            _ => panic!("{}: {}", answer.status, answer.body),
        };
        let update = Operation::Update {
            expected,
            number,
            outcome,
        };
        subject.recorded.end(begun, update);
        if let Outcome::Made(version) = outcome {
            self.note(&answer);
            if let Some(tag) = answer.header("etag") {
                subject.saw(version, tag.to_owned());
            }
        }
    }
}

impl Subject {
    fn saw(&self, version: u64, tag: String) {
        let mut newest = self.newest.lock().unwrap();
        if newest.0 < version {
            *newest = (version, tag);
        }
    }
}

/// The version and the number in an answer with the object. The first version has a number that no change sets.
fn shown(answer: &Answer) -> Shown {
    let object = answer.json();
    let version = object["version"].as_u64().unwrap();
    let number = object["properties"]["n"].as_u64().unwrap();
    (version, if version == 1 { 0 } else { number })
}

// Holds invariant 190.
#[test]
fn the_checker_finds_what_is_not_linearizable() {
    use Outcome::{Made, Refused};
    let update = |expected, number, outcome| Operation::Update {
        expected,
        number,
        outcome,
    };
    // Operations in sequence.
    let history = |operations: &[Operation]| {
        let recorded = Recorded::default();
        for operation in operations {
            let number = recorded.begin();
            recorded.end(number, *operation);
        }
        recorded.is_linearizable(&BTreeMap::new())
    };
    let good = [
        update(None, 7, Made(2)),
        Operation::Read((2, 7)),
        update(Some(1), 8, Refused),
        update(Some(2), 10, Made(3)),
    ];
    assert!(history(&good));
    let bad: [&[Operation]; 6] = [
        // A stale read.
        &[update(None, 7, Made(2)), Operation::Read((1, 0))],
        // A lost change.
        &[update(None, 7, Made(2)), update(None, 8, Made(2))],
        // A skipped version.
        &[update(None, 7, Made(3))],
        // Two changes of one version.
        &[update(Some(1), 7, Made(2)), update(Some(1), 8, Made(2))],
        // A refusal without a reason.
        &[update(Some(1), 7, Refused), Operation::Read((1, 0))],
        // A number that was never set.
        &[update(None, 7, Made(2)), Operation::Read((2, 8))],
    ];
    for operations in bad {
        assert!(!history(operations), "{operations:?}");
    }
    // Concurrent with a change, a read may see either state.
    let recorded = Recorded::default();
    let (change, read) = (recorded.begin(), recorded.begin());
    recorded.end(read, Operation::Read((2, 7)));
    recorded.end(change, update(None, 7, Made(2)));
    assert!(recorded.is_linearizable(&BTreeMap::new()));

    // A change with an unknown outcome may be carried out late, but not undone.
    let recorded = Recorded::default();
    let change = recorded.begin();
    recorded.unknown(change, Some(1), 7);
    for shown in [(1, 0), (1, 0), (2, 7)] {
        let read = recorded.begin();
        recorded.end(read, Operation::Read(shown));
    }
    let made = BTreeMap::from([(7, 2)]);
    assert!(recorded.is_linearizable(&made));
    assert!(
        !recorded.is_linearizable(&BTreeMap::new()),
        "seen, but not in the log"
    );
    let read = recorded.begin();
    recorded.end(read, Operation::Read((1, 0)));
    assert!(!recorded.is_linearizable(&made));
}
