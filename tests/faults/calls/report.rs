//! The report of a long run: one line for each case, so that a stopped run can continue.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::cases::Case;

pub(crate) struct Report {
    file: Option<Mutex<File>>,
    /// Cases that passed in earlier runs.
    passed: HashSet<String>,
    /// Time after which no case begins.
    limit: Duration,
    /// The number of cases that run in parallel.
    at_once: usize,
    /// The prefix of the names of cases to run.
    only: String,
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable)
        .ok()
        .map(|text| text.parse().unwrap())
}

impl Report {
    /// `KEDGE_CALLS_REPORT` names the file, `KEDGE_CALLS_SECONDS` the time, `KEDGE_CALLS_AT_ONCE` the number of cases
    /// in parallel, and `KEDGE_CALLS_ONLY` the prefix of the cases' names.
    pub(crate) fn open() -> Self {
        let path = std::env::var_os("KEDGE_CALLS_REPORT");
        let before = path.as_ref().map(std::fs::read_to_string);
        let before = before.and_then(Result::ok).unwrap_or_default();
        let passed = before
            .lines()
            .filter_map(|line| line.strip_prefix("passed ")?.split_once(": "));
        let open = |path| {
            File::options()
                .create(true)
                .append(true)
                .open(path)
                .unwrap()
        };
        Self {
            passed: passed.map(|(case, _)| case.to_owned()).collect(),
            file: path.map(|path| Mutex::new(open(path))),
            limit: Duration::from_secs(number("KEDGE_CALLS_SECONDS").unwrap_or(u64::MAX)),
            at_once: number("KEDGE_CALLS_AT_ONCE").unwrap_or(2) as usize,
            only: std::env::var("KEDGE_CALLS_ONLY").unwrap_or_default(),
        }
    }

    fn note(&self, line: &str) {
        eprintln!("{line}");
        if let Some(file) = &self.file {
            writeln!(file.lock().unwrap(), "{line}").unwrap();
        }
    }

    /// Runs the cases that have not passed before. Returns the failed ones.
    pub(crate) async fn run<F>(self, cases: Vec<Case>, outcome: impl Fn(Case) -> F) -> Vec<String>
    where
        F: Future<Output = String> + Send + 'static,
    {
        let begun = Instant::now();
        let turns = Arc::new(Semaphore::new(self.at_once));
        let report = Arc::new(self);
        let failed = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = tokio::task::JoinSet::new();
        for case in cases {
            let name = case.to_string();
            if report.passed.contains(&name) || !name.starts_with(&report.only) {
                continue;
            }
            let turn = Arc::clone(&turns).acquire_owned().await.unwrap();
            if begun.elapsed() > report.limit {
                break;
            }
            let (report, failed) = (Arc::clone(&report), Arc::clone(&failed));
            let outcome = outcome(case);
            tasks.spawn(async move {
                match tokio::spawn(outcome).await {
                    Ok(line) => report.note(&format!("passed {name}: {line}")),
                    Err(panicked) => {
                        report.note(&format!("FAILED {name}: {}", first_line(panicked)));
                        failed.lock().unwrap().push(name);
                    }
                }
                drop(turn);
            });
        }
        tasks.join_all().await;
        let failed = failed.lock().unwrap();
        failed.clone()
    }
}

fn first_line(panicked: tokio::task::JoinError) -> String {
    let payload = panicked.into_panic();
    let text = payload.downcast_ref::<String>().cloned().or_else(|| {
        payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
    });
    let text = text.unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}
