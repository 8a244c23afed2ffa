//! A small workload in two lives of a server, under one fault; and the conditions on each life, and on the next one
//! without a fault.

use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use kedge_client::{Account, BatchMode, Client, ClientError, NewAction, NewObject};
use kedge_protocol::Id;
use kedge_protocol::signature::SigningKey;
use serde_json::json;
use tempfile::TempDir;

use super::cases::Case;
use crate::support::faults::{Faults, Group, OnCall, With};
use crate::support::ledger::{Acknowledged, Ledger};
use crate::support::losses::Losses;
use crate::support::program::kedge;
use crate::support::server::{Server, Setup};
use crate::support::{PASSWORD, Rng, connect, http};

/// Longest time until a process ends after it failed or was asked to, and until a command answers.
const END_LIMIT: Duration = Duration::from_mins(1);
/// The folder below which calls fail: the data, the mark, and the backup.
const FOLDER: &str = "/drill/";
/// Bytes of a text; four of these fill a log's first segment.
const TEXT_BYTES: usize = 100_000;

/// The end of a life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// The fault had no effect outside.
    Unaffected,
    /// It answered a request with 503 and stayed until it was asked to end.
    Refused,
    NotStarted,
    /// It ended with an error, by itself or when it was asked to.
    Failed,
    /// The power was cut.
    Killed,
}

/// A machine with a server and its faults.
pub(crate) struct Machine {
    directory: TempDir,
    setup: Setup,
    faults: Faults,
    losses: Option<Losses>,
    case: Option<Case>,
    key: SigningKey,
    registered: bool,
    template: Option<Id>,
    templates: u32,
    ledger: Ledger,
    backups: u32,
}

impl Machine {
    /// An empty folder, and the fault to come.
    pub(crate) fn new(case: Option<Case>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("drill");
        std::fs::create_dir(&folder).unwrap();
        let faults = Faults::new(directory.path());
        let setup = Setup::development(&folder.join("data"));
        let syncs = case.is_some_and(|case| case.group == Group::Sync);
        let losses = syncs.then(|| Losses::new(directory.path()));
        let setup = match &losses {
            Some(losses) => losses.under(&faults, setup),
            None => faults.under(setup),
        };
        match case {
            Some(case) => faults.fail_one(case.with, case.place - 1, case.group, FOLDER),
            None => faults.count(FOLDER),
        }
        Self {
            setup,
            faults,
            losses,
            case,
            key: Rng::of(1).key(),
            registered: false,
            template: None,
            templates: 0,
            ledger: Ledger::default(),
            backups: 0,
            directory,
        }
    }

    /// A machine whose syncs report success and do nothing, as a server would be that ignores failed syncs.
    pub(crate) fn without_syncs() -> Self {
        let machine = Self::new(Some(Case {
            group: Group::Sync,
            place: 1,
            with: With::Lie,
        }));
        machine
            .faults
            .fail_with(With::Lie, 0, OnCall::Any(Group::Sync), "/data/log/0");
        machine
    }

    /// The number of calls of a group.
    pub(crate) fn counted(&self, group: Group) -> u64 {
        self.faults.counted(group)
    }

    /// Whether a call met the fault.
    pub(crate) fn met(&self) -> bool {
        self.faults.met() > 0
    }

    /// One life of the server, up to its end.
    pub(crate) async fn live(&mut self) -> End {
        let logged = self.setup.log().len();
        let begun = self.setup.try_start();
        let end = match begun {
            Err(status) if self.was_killed(status) => End::Killed,
            Err(status) => {
                assert!(
                    !status.success(),
                    "it ended before it served, without an error"
                );
                self.must_name_the_fault(status, logged);
                End::NotStarted
            }
            Ok(mut server) => self.serve(&mut server, logged).await,
        };
        if let Some(losses) = &self.losses {
            losses.lose(&self.directory.path().join("drill"));
        }
        end
    }

    async fn serve(&mut self, server: &mut Server, logged: usize) -> End {
        let refused = match self.work().await {
            Ok(()) => false,
            Err(error) => self.is_refused(server, &error).await,
        };
        if server.runs() {
            server.terminate();
        }
        let status = server.ended(END_LIMIT).unwrap_or_else(|| {
            panic!(
                "it was asked to end, and stays:\n{}",
                self.log_since(logged)
            )
        });
        if self.was_killed(status) {
            return End::Killed;
        }
        if !status.success() {
            self.must_name_the_fault(status, logged);
            return End::Failed;
        }
        if refused {
            End::Refused
        } else {
            End::Unaffected
        }
    }

    /// Whether a request was refused: with 503, or with 500 by a server that noticed unreadable data and is read-only
    /// from then on. Otherwise the server must end instead of staying silent.
    async fn is_refused(&self, server: &mut Server, error: &ClientError) -> bool {
        match error {
            ClientError::Refused(envelope) if envelope.status == 503 => true,
            ClientError::Refused(envelope) if envelope.status == 500 => {
                let why = server.why_read_only().await;
                assert!(self.names_the_fault(&why), "500, and then {why}");
                true
            }
            ClientError::Transport(_) => {
                let ended = server.ended(END_LIMIT);
                assert!(ended.is_some(), "no answer ({error}), and the server stays");
                false
            }
            error => {
                let ready = http::try_get(self.setup.port(), "/readyz").await;
                let ready = ready.map(|answer| answer.body);
                panic!("neither done nor refused: {error}; /readyz: {ready:?}")
            }
        }
    }

    fn log_since(&self, logged: usize) -> String {
        self.setup.log().split_off(logged)
    }

    fn was_killed(&self, status: ExitStatus) -> bool {
        use std::os::unix::process::ExitStatusExt;
        self.case.is_some_and(|case| case.with == With::Kill) && status.signal() == Some(9)
    }

    fn names_the_fault(&self, text: &str) -> bool {
        let names: &[&str] = match self.case.map(|case| case.with) {
            Some(With::Error) => &["os error 5", "Input/output error", "I/O error"],
            Some(With::NoSpace) => &["os error 28", "No space left", "disk is full"],
            _ => &[],
        };
        // RocksDB does not say why a file that it tries direct I/O with cannot be opened.
        names.iter().any(|name| text.contains(name)) || text.contains("Direct I/O is not supported")
    }

    /// A process that ends with an error must end by itself, with code 1, and log the system's error.
    fn must_name_the_fault(&self, status: ExitStatus, logged: usize) {
        let log = self.log_since(logged);
        assert_eq!(status.code(), Some(1), "{status}:\n{log}");
        assert!(
            self.names_the_fault(&log),
            "nothing names the fault:\n{log}"
        );
    }

    /// Sends requests of each kind, enough for a second segment, and makes a backup.
    async fn work(&mut self) -> Result<(), ClientError> {
        let client = Client::builder(self.setup.url())
            .retry(kedge_client::RetryPolicy::never())
            .timeout_ms(30_000)
            .connect()
            .await?;
        let account = self.account(&client).await?;
        let of = self.template(&account).await?;
        for bytes in [1, TEXT_BYTES, TEXT_BYTES, 1] {
            let properties = json!({ "text": "x".repeat(bytes) });
            let object = NewObject {
                properties: properties.as_object().unwrap().clone(),
                ..NewObject::default()
            };
            let minted = account.mint(of, &object).await?;
            self.ledger.changed(&minted);
            let read = account.object(minted.resource.id).await?;
            assert_eq!(read, minted.resource);
        }
        let mints = vec![NewAction::mint(of, &NewObject::default()).unwrap(); 5];
        self.ledger
            .batch(&account.batch(&mints, BatchMode::Atomic).await?);
        let first = self.ledger.after(0)[0];
        let read = account.action(first.id).await?;
        assert_eq!(Acknowledged::from(&read), first);
        self.back_up();
        account.me().await?;
        Ok(())
    }

    /// The wallet, which an earlier life may have registered without an answer.
    async fn account(&mut self, client: &Client) -> Result<Account, ClientError> {
        let account = client.account(self.key.clone());
        let email = format!("{}@example.com", account.address()).to_lowercase();
        let refused = match account.login(&email, PASSWORD).await {
            Ok(_) => return Ok(account),
            Err(ClientError::Refused(envelope)) if envelope.status == 401 => envelope,
            Err(error) => return Err(error),
        };
        assert!(!self.registered, "the registration is lost: {refused}");
        let registration = kedge_client::Registration {
            email,
            password: PASSWORD.to_owned(),
            nickname: None,
            organization_name: None,
        };
        account.register(&registration).await?;
        self.registered = true;
        Ok(account)
    }

    async fn template(&mut self, account: &Account) -> Result<Id, ClientError> {
        if let Some(known) = self.template {
            return Ok(known);
        }
        self.templates += 1;
        let new = kedge_client::NewTemplate {
            // An earlier life may have made one without an answer.
            name: format!("drill {}", self.templates),
            public_access: true,
            ..kedge_client::NewTemplate::default()
        };
        let made = account.create_template(&new).await?.resource.id;
        self.template = Some(made);
        Ok(made)
    }

    /// Makes a backup: a successful one is whole, as the command checks, and a failed one is reported.
    fn back_up(&mut self) {
        self.backups += 1;
        let to = self
            .setup
            .data()
            .with_file_name(format!("backup-{}", self.backups));
        let mut command = kedge();
        command.args(["backup", "--json", "--socket"]);
        command.arg(self.setup.data().join("admin.sock")).arg(to);
        let (status, error) = within_limit(&mut command);
        assert!(
            status.success() || !error.trim().is_empty(),
            "{status}, and no word about it"
        );
    }

    /// Checks the machine without the fault: the server starts, has everything it acknowledged, and works.
    pub(crate) async fn must_be_whole(&mut self) {
        self.faults.lift();
        let server = self.setup.start();
        let (status, ready) = server.readiness().await;
        assert_eq!(status, 200, "{ready}");
        let client = connect(&self.setup.url()).await;
        let account = self.account(&client).await.unwrap();
        let of = self.template(&account).await.unwrap();
        self.ledger.check_log(std::slice::from_ref(&account)).await;
        let minted = account.mint(of, &NewObject::default()).await.unwrap();
        self.ledger.changed(&minted);
        server.stop();
        let (domain, sequencer) = (client.domain(), client.sequencer());
        kedge_upkeep::verify::store(&self.setup.store(), domain, sequencer, |_| ()).unwrap();
    }
}

/// Runs a command; returns its status and its standard error.
fn within_limit(command: &mut Command) -> (ExitStatus, String) {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > END_LIMIT {
            child.kill().unwrap();
            panic!("{command:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status, error)
}
