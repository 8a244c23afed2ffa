//! Load by several processes. Each reads its share of the organizations, including the nonces it may spend, from
//! standard input, and writes its counts as a line of JSON once a second.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use indicatif::ProgressBar;
use kedge_protocol::Id;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

use crate::checks::receipts::ReceiptTrust;
use crate::error::{LoadtestError, LoadtestResult};
use crate::fleet::LoadOrganization;
use crate::load::interval::LoadInterval;
use crate::load::run::{LoadPhase, PhaseResult, drive, sign_beforehand};
use crate::load::workload::{PresignedHead, Workload};
use crate::options::RunOptions;
use crate::progress;

/// Argument that starts the program as one of a run's processes.
pub(crate) const WORKER: &str = "worker";

/// Parameters of a load process.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct LoadOrder {
    pub(crate) options: RunOptions,
    pub(crate) organizations: Vec<LoadOrganization>,
    /// The object that all connections update.
    pub(crate) hot: Option<Id>,
    pub(crate) trust: ReceiptTrust,
    pub(crate) authority: String,
    pub(crate) phase: LoadPhase,
    /// Number of requests to sign beforehand.
    pub(crate) prepared: usize,
}

/// Observer of a run's progress.
pub(crate) trait ProgressObserver {
    /// Called when the warm-up begins, with the processes that generate the load.
    fn begin(&mut self, generator_pids: &[u32]);
    /// Called after each second.
    fn second(&mut self, interval: LoadInterval);
}

/// A message from a process.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LoadMessage {
    Ready { signed: usize },
    Interval(Box<LoadInterval>),
    Part { part: Box<PhaseResult>, rounds: u64 },
    Failed(String),
}

pub(crate) struct OrderOutcome {
    pub(crate) part: PhaseResult,
    pub(crate) signed_beforehand: usize,
    /// Number of nonces that each organization has advanced by.
    pub(crate) rounds: Vec<u64>,
}

struct LoadWorker {
    order: LoadOrder,
    workload: Arc<Workload>,
    prepared: Vec<PresignedHead>,
}

impl LoadWorker {
    fn new(mut order: LoadOrder, bar: &ProgressBar) -> LoadtestResult<Self> {
        raise_open_files();
        let organizations = std::mem::take(&mut order.organizations);
        let separator = order.trust.domain.separator();
        let workload = Workload::new(
            organizations,
            order.hot,
            separator,
            &order.authority,
            &order.options,
        );
        let prepared = sign_beforehand(&workload, order.prepared, order.phase.threads, bar)?;
        Ok(Self {
            order,
            workload: Arc::new(workload),
            prepared,
        })
    }

    fn run(
        self,
        report: &mut dyn FnMut(LoadInterval) -> LoadtestResult<()>,
    ) -> LoadtestResult<PhaseResult> {
        let LoadOrder {
            trust,
            authority,
            phase,
            ..
        } = self.order;
        drive(
            &self.workload,
            &trust,
            self.prepared,
            &authority,
            phase,
            report,
        )
    }
}

/// Raises the limit of open files as far as the system allows, because each connection needs one.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // If this fails, connecting reports the missing files.
    let _ = setrlimit(Resource::Nofile, most);
}

/// Carries out an order, in this process or in several.
pub(crate) fn carry_out(
    order: LoadOrder,
    processes: usize,
    watch: &mut dyn ProgressObserver,
) -> LoadtestResult<OrderOutcome> {
    if processes > 1 {
        return together(order, processes, watch);
    }
    let bar = progress::bar("requests signed", order.prepared);
    let worker = LoadWorker::new(order, &bar)?;
    let workload = Arc::clone(&worker.workload);
    let signed_beforehand = worker.prepared.len();
    watch.begin(&[std::process::id()]);
    let part = worker.run(&mut |interval| {
        watch.second(interval);
        Ok(())
    })?;
    let rounds = vec![workload.rounds_of(part.slots); workload.organizations.len()];
    Ok(OrderOutcome {
        part,
        signed_beforehand,
        rounds,
    })
}

/// One process's share of an order.
fn share(order: &LoadOrder, process: usize, processes: usize) -> LoadOrder {
    let part = |whole: usize| whole / processes + usize::from(process < whole % processes);
    let organizations = &order.organizations;
    let from: usize = (0..process)
        .map(|before| {
            organizations.len() / processes + usize::from(before < organizations.len() % processes)
        })
        .sum();
    let mut share = order.clone();
    share.organizations = organizations[from..from + part(organizations.len())].to_vec();
    let phase = &mut share.phase;
    phase.connections = part(phase.connections);
    phase.rate = phase.rate.map(|rate| rate / processes as f64);
    phase.slots = phase.slots.map(|slots| part(slots as usize) as u64);
    phase.samples = part(phase.samples as usize) as u32;
    share
}

/// Reports of a run's processes so far.
struct ProcessReports {
    /// Processes that are ready to send.
    ready: usize,
    signed_beforehand: usize,
    /// Seconds that not all processes have reported: the number that have, and the sum.
    seconds: BTreeMap<i64, (usize, LoadInterval)>,
    /// Result of each process, and the number of nonces its organizations have advanced by.
    parts: Vec<Option<(PhaseResult, u64)>>,
}

fn together(
    order: LoadOrder,
    processes: usize,
    watch: &mut dyn ProgressObserver,
) -> LoadtestResult<OrderOutcome> {
    let (sender, messages) = mpsc::channel();
    let (mut children, mut organizations) = (Vec::new(), Vec::new());
    for process in 0..processes {
        let share = share(&order, process, processes);
        organizations.push(share.organizations.len());
        children.push(LoadProcess::start(&share, process, &sender)?);
    }
    drop((sender, order));
    let mut gathered = ProcessReports {
        ready: 0,
        signed_beforehand: 0,
        seconds: BTreeMap::new(),
        parts: vec![None; processes],
    };
    while gathered.parts.iter().any(Option::is_none) {
        let (process, message) = messages
            .recv()
            .map_err(|_| LoadtestError::broken("a process of the run ended too early"))?;
        gathered.add(process, message, &mut children, watch)?;
    }
    // If requests ran out, the processes have reported different seconds.
    for (_, (_, interval)) in gathered.seconds {
        watch.second(interval);
    }
    let mut whole: Option<PhaseResult> = None;
    let mut rounds = Vec::new();
    for ((part, further), organizations) in gathered.parts.into_iter().flatten().zip(organizations)
    {
        rounds.extend(vec![further; organizations]);
        match &mut whole {
            None => whole = Some(part),
            Some(whole) => whole.merge(part),
        }
    }
    Ok(OrderOutcome {
        part: whole.unwrap_or_default(),
        signed_beforehand: gathered.signed_beforehand,
        rounds,
    })
}

impl ProcessReports {
    /// Adds a message. Starts the load when all processes are ready, and passes a second on when all have reported it.
    fn add(
        &mut self,
        process: usize,
        message: LoadMessage,
        children: &mut [LoadProcess],
        watch: &mut dyn ProgressObserver,
    ) -> LoadtestResult<()> {
        match message {
            LoadMessage::Ready { signed } => {
                self.signed_beforehand += signed;
                self.ready += 1;
                if self.ready == children.len() {
                    let pids: Vec<u32> = children.iter().map(|child| child.child.id()).collect();
                    watch.begin(&pids);
                    for child in children {
                        child.write("\n")?;
                    }
                }
            }
            LoadMessage::Interval(interval) => {
                let (reported, sum) = self.seconds.entry(interval.second).or_default();
                *reported += 1;
                sum.second = interval.second;
                sum.merge(&interval);
                let is_whole = |count: usize| count == children.len();
                while let Some(first) = self
                    .seconds
                    .first_entry()
                    .filter(|first| is_whole(first.get().0))
                {
                    watch.second(first.remove().1);
                }
            }
            LoadMessage::Part { part, rounds } => self.parts[process] = Some((*part, rounds)),
            LoadMessage::Failed(error) => return Err(LoadtestError::Broken(error)),
        }
        Ok(())
    }
}

/// A child process of this program, killed on drop.
struct LoadProcess {
    child: Child,
}

impl LoadProcess {
    fn start(
        order: &LoadOrder,
        number: usize,
        to: &mpsc::Sender<(usize, LoadMessage)>,
    ) -> LoadtestResult<Self> {
        let failed = || LoadtestError::io("starting a process of the run");
        let program = std::env::current_exe().map_err(failed())?;
        let mut child = Command::new(program)
            .arg(WORKER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed())?;
        let stdout = child.stdout.take();
        let mut process = Self { child };
        process.write(&to_line(order)?)?;
        let to = to.clone();
        thread::spawn(move || {
            let lines = stdout
                .into_iter()
                .flat_map(|out| BufReader::new(out).lines());
            for line in lines.map_while(Result::ok) {
                let message = serde_json::from_str(&line)
                    .unwrap_or_else(|error| LoadMessage::Failed(error.to_string()));
                if to.send((number, message)).is_err() {
                    return;
                }
            }
        });
        Ok(process)
    }

    fn write(&mut self, text: &str) -> LoadtestResult<()> {
        let Some(stdin) = &mut self.child.stdin else {
            return Ok(());
        };
        let written = stdin
            .write_all(text.as_bytes())
            .and_then(|()| stdin.flush());
        written.map_err(LoadtestError::io("a process of the run"))
    }
}

impl Drop for LoadProcess {
    fn drop(&mut self) {
        let _already_over = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn to_line<T: Serialize>(value: &T) -> LoadtestResult<String> {
    let text = serde_json::to_string(value).map_err(LoadtestError::broken)?;
    Ok(text + "\n")
}

/// Runs as one of a run's processes: reads its order from standard input and writes the result to standard output.
pub(crate) fn worker() -> LoadtestResult<()> {
    let done = obey();
    if let Err(error) = &done {
        say(&LoadMessage::Failed(error.to_string()))?;
    }
    done
}

fn obey() -> LoadtestResult<()> {
    let mut stdin = std::io::stdin().lock();
    let mut line = String::new();
    let mut next = |line: &mut String| {
        line.clear();
        let read = stdin
            .read_line(line)
            .map_err(LoadtestError::io("standard input"))?;
        if read == 0 {
            return Err(LoadtestError::usage(
                "this is for kedge-load itself: see --processes",
            ));
        }
        Ok(())
    };
    next(&mut line)?;
    let order: LoadOrder = serde_json::from_str(&line)
        .map_err(|error| LoadtestError::usage(format_args!("not an order: {error}")))?;
    let worker = LoadWorker::new(order, &ProgressBar::hidden())?;
    say(&LoadMessage::Ready {
        signed: worker.prepared.len(),
    })?;
    next(&mut line)?;
    let workload = Arc::clone(&worker.workload);
    let part = worker.run(&mut |interval| say(&LoadMessage::Interval(Box::new(interval))))?;
    let rounds = workload.rounds_of(part.slots);
    let part = Box::new(part);
    say(&LoadMessage::Part { part, rounds })
}

fn say(message: &LoadMessage) -> LoadtestResult<()> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(to_line(message)?.as_bytes());
    written
        .and_then(|()| stdout.flush())
        .map_err(LoadtestError::io("standard output"))
}
