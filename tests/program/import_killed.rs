//! `kedge import` is killed, its server is killed, and answers are lost: every record is minted once.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kedge_client::{BatchMode, NewAction, NewObject, NewTemplate};
use kedge_protocol::Id;
use serde_json::{Value, json};

use crate::import::{Place, records, ticket};
use crate::support::Rng;
use crate::support::server::Setup;
use crate::{done, done_json, ran};

/// Longest time of one of these imports.
const IMPORT_LIMIT: Duration = Duration::from_mins(5);

/// Runs an import without reading its output.
fn quiet(command: &mut Command) -> &mut Command {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
}

/// The ids that an import lists, by their records' keys.
fn listed(path: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(path).unwrap();
    let row = |line| {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| row[name].as_str().unwrap().to_owned();
        (text("key"), text("object_id"))
    };
    text.lines().map(row).collect()
}

/// Checks that every record is one object, and that the list leads from each key to it.
async fn is_complete(place: &Place, records: usize, list: &Path) {
    let objects = place.objects_by("sku").await;
    assert_eq!(objects.len(), records);
    let listed = listed(list);
    assert_eq!(listed.len(), records);
    for (key, id) in listed {
        assert_eq!(objects[&key].id.to_string(), id);
    }
}

// Holds invariant 194.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_moment_it_mints_every_record_once() {
    const RECORDS: usize = 4_000;
    let mut rng = Rng::seeded("an import that is killed");
    let (place, server) = Place::start(ticket()).await;
    let file = place.write("tickets.ndjson", records(RECORDS));
    let list = place.path("objects.ndjson");
    let options = [
        "--key",
        "sku",
        "--batch-size",
        "40",
        "--objects",
        list.to_str().unwrap(),
    ];
    let (mut kills, mut lost) = (0, 0);
    let begun = Instant::now();
    loop {
        assert!(begun.elapsed() < IMPORT_LIMIT, "after {kills} kills");
        // Killed by progress and not by time, so that the test means the same on fast and slow machines.
        let enough = done_batches(&place) + 1 + rng.below(20);
        let mut child = quiet(&mut place.import(&file, &options)).spawn().unwrap();
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break Some(status),
                None if done_batches(&place) >= enough => break None,
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        if let Some(status) = status {
            assert!(status.success(), "{status}");
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        lost += open_batches(&place);
    }
    eprintln!("{kills} kills, {lost} batches in flight at a kill");
    assert!(kills > 1, "{kills}");
    is_complete(&place, RECORDS, &list).await;
    server.stop();
}

/// The number of batches that an import has noted as done; 0 while it has no notes.
fn done_batches(place: &Place) -> u64 {
    let text = std::fs::read_to_string(place.path("tickets.ndjson.kedge-import"));
    text.map_or(0, |text| text.matches("{\"done\"").count() as u64)
}

/// Waits until an import has finished some batches.
fn wait_for_batches(place: &Place) {
    let begun = Instant::now();
    while done_batches(place) <= 20 {
        assert!(begun.elapsed() < IMPORT_LIMIT, "no batch is done");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupted_it_ends_with_what_is_in_flight() {
    const RECORDS: usize = 6_000;
    let (place, server) = Place::start(ticket()).await;
    let file = place.write("tickets.ndjson", records(RECORDS));
    let list = place.path("objects.ndjson");
    let options = [
        "--key",
        "sku",
        "--batch-size",
        "20",
        "--objects",
        list.to_str().unwrap(),
    ];
    let mut import = place.import(&file, &options);
    let mut child = quiet(&mut import).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_batches(&place);
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    let mut error = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut error)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{error}");
    assert!(error.contains("interrupted"), "{error}");
    assert_eq!(open_batches(&place), 0);
    let minted = listed(&list).len();
    assert!(minted < RECORDS && minted == place.objects_by("sku").await.len());
    done(&mut place.import(&file, &options));
    is_complete(&place, RECORDS, &list).await;
    server.stop();
}

/// How many batches of the progress file have no end.
fn open_batches(place: &Place) -> usize {
    let text = std::fs::read_to_string(place.path("tickets.ndjson.kedge-import"));
    let text = text.unwrap_or_default();
    let begin = |member: &str| format!("{{\"{member}\":");
    let count = |member: &str| text.matches(&begin(member)).count();
    count("batch").saturating_sub(count("done"))
}

// Holds invariant 194.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_is_killed_and_starts_again_in_the_middle() {
    const RECORDS: usize = 6_000;
    let (place, server) = Place::start(ticket()).await;
    let file = place.write("tickets.ndjson", records(RECORDS));
    let list = place.path("objects.ndjson");
    let options = [
        "--key",
        "sku",
        "--batch-size",
        "20",
        "--objects",
        list.to_str().unwrap(),
    ];
    let mut child = quiet(&mut place.import(&file, &options)).spawn().unwrap();
    wait_for_batches(&place);
    server.kill();
    assert!(
        child.try_wait().unwrap().is_none(),
        "it was too fast to be interrupted"
    );
    std::thread::sleep(Duration::from_secs(1));
    let server = place.setup.start();
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}");
    is_complete(&place, RECORDS, &list).await;

    // A server that stays away is given up after a while; the next run continues.
    let more = place.write("more.ndjson", records(10).replace("sku-", "more-"));
    server.stop();
    let (code, _, error) = ran(&mut place.import(&more, &["--patience", "1"]));
    assert_eq!(code, Some(1), "{error}");
    let server = place.setup.start();
    done(&mut place.import(&more, &[]));
    assert_eq!(place.objects().await.len(), RECORDS + 10);
    server.stop();
}

/// An import of 120 records in 6 batches, with the progress file reset to before any answer.
struct Lost {
    place: Place,
    options: Vec<&'static str>,
}

const LOST_RECORDS: usize = 120;

impl Lost {
    async fn start(
        template: NewTemplate,
        with: impl FnOnce(Setup) -> Setup,
        deadline: &'static str,
    ) -> (Self, crate::support::server::Server) {
        let (place, server) = Place::start_with(template, with).await;
        let file = place.write("tickets.ndjson", records(LOST_RECORDS));
        let options = vec![
            "--key",
            "sku",
            "--json",
            "--batch-size",
            "20",
            "--deadline",
            deadline,
        ];
        done(&mut place.import(&file, &options));
        let lost = Self { place, options };
        lost.edit(|line| (!line.starts_with("{\"done\"")).then(|| line.to_owned()));
        (lost, server)
    }

    /// Changes the progress file line by line.
    fn edit(&self, change: impl Fn(&str) -> Option<String>) {
        let path = self.place.path("tickets.ndjson.kedge-import");
        let text = std::fs::read_to_string(&path).unwrap();
        let lines = text.lines().filter_map(change).map(|line| line + "\n");
        let changed: String = lines.collect();
        assert_ne!(changed, text);
        std::fs::write(path, changed).unwrap();
    }

    /// Runs the import again: it must find what was minted and mint nothing.
    async fn finds_everything(&self) {
        let list = self.place.path("objects.ndjson");
        let file = self.place.path("tickets.ndjson");
        let mut again = self.place.import(&file, &self.options);
        let report = done_json(again.arg("--objects").arg(&list));
        assert_eq!(report["minted"], LOST_RECORDS, "{report}");
        is_complete(&self.place, LOST_RECORDS, &list).await;
    }
}

fn forgets_keys(setup: Setup) -> Setup {
    setup.set("idempotency_key_s", 1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_were_lost_are_given_again() {
    let (lost, server) = Lost::start(ticket(), |setup| setup, "3600").await;
    lost.finds_everything().await;
    server.stop();
}

// Holds invariant 194.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_server_has_forgotten_its_answers_the_log_still_has_them() {
    let (lost, server) = Lost::start(ticket(), forgets_keys, "3600").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    lost.finds_everything().await;
    server.stop();
}

// Holds invariant 194.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_whose_deadline_has_passed_is_not_done_a_second_time() {
    let (lost, server) = Lost::start(ticket(), forgets_keys, "10").await;
    // 10 s minus the 5 s that a signature must have left.
    tokio::time::sleep(Duration::from_secs(7)).await;
    lost.finds_everything().await;
    let progress = lost.place.path("tickets.ndjson.kedge-import");
    let text = std::fs::read_to_string(progress).unwrap();
    assert!(
        text.contains("{\"attempt\""),
        "nothing was signed again: {text}"
    );
    server.stop();
}

/// Emits once for each nonce, with the importer's own key.
async fn spend_nonces(place: &Place, count: usize) {
    let payload = NewObject::default();
    let mint = NewAction::mint(other_template(place).await, &payload).unwrap();
    for _ in 0..count {
        let outcome = place
            .account
            .batch(std::slice::from_ref(&mint), BatchMode::Independent);
        assert_eq!(outcome.await.unwrap().done().count(), 1);
    }
}

async fn other_template(place: &Place) -> Id {
    let other = NewTemplate {
        name: "other".to_owned(),
        ..NewTemplate::default()
    };
    place
        .account
        .create_template(&other)
        .await
        .unwrap()
        .resource
        .id
}

// Holds invariant 194.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nonces_that_have_left_the_window_are_found_by_the_ids_of_their_actions() {
    let (lost, server) = Lost::start(ticket(), forgets_keys, "3600").await;
    spend_nonces(&lost.place, 1_040).await;
    lost.finds_everything().await;
    server.stop();
}

// Holds invariant 194.
/// After a lost answer to a batch with refused records, the minted ones are found and the others refused again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_with_refusals_is_found_whole() {
    let template = NewTemplate {
        max_supply: Some(50),
        ..ticket()
    };
    let (place, server) = Place::start_with(template, forgets_keys).await;
    let file = place.write("tickets.ndjson", records(80));
    let left = place.path("left");
    let mut options = vec![
        "--key",
        "sku",
        "--json",
        "--batch-size",
        "40",
        "--in-flight",
        "1",
    ];
    options.extend(["--on-error", "skip", "--rejected", left.to_str().unwrap()]);
    for _ in 0..2 {
        let (code, printed, error) = ran(&mut place.import(&file, &options));
        assert_eq!(code, Some(1), "{error}");
        let report: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(
            (&report["minted"], &report["rejected"]),
            (&json!(50), &json!(30))
        );
        let refused: String = records(80).split_inclusive('\n').skip(50).collect();
        assert_eq!(std::fs::read_to_string(&left).unwrap(), refused);
        assert_eq!(place.objects_by("sku").await.len(), 50);
        let progress = place.path("tickets.ndjson.kedge-import");
        let text = std::fs::read_to_string(&progress).unwrap();
        let kept = text.lines().filter(|line| !line.starts_with("{\"done\""));
        let kept: String = kept.flat_map(|line| [line, "\n"]).collect();
        std::fs::write(progress, kept).unwrap();
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    server.stop();
}

/// These attempts' nonces are spent, but by other requests: the log has other seeds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_nonce_that_another_request_spent_is_replaced() {
    let (lost, server) = Lost::start(ticket(), forgets_keys, "3600").await;
    lost.edit(|line| {
        let seed = line.find("\"seed\":\"0x").map(|at| at + 10);
        Some(match seed {
            None => line.to_owned(),
            Some(at) => format!("{}{}{}", &line[..at], "77".repeat(32), &line[at + 64..]),
        })
    });
    tokio::time::sleep(Duration::from_secs(2)).await;
    let file = lost.place.path("tickets.ndjson");
    let report = done_json(&mut lost.place.import(&file, &lost.options));
    assert_eq!(report["minted"], LOST_RECORDS, "{report}");
    assert_eq!(lost.place.objects().await.len(), 2 * LOST_RECORDS);
    server.stop();
}
