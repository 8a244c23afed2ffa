//! `kedge import`: records, refusals and output files. The real program against a real server.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use kedge_client::types::ObjectResource;
use kedge_client::{Account, ListQuery, NewTemplate, Properties};
use kedge_protocol::Id;
use kedge_protocol::signature::SigningKey;
use serde_json::{Value, json};

use crate::support::program::kedge;
use crate::support::server::{Server, Setup};
use crate::support::{PASSWORD, connect, register};
use crate::{done, done_json, ran, refused};

pub(crate) const SIGNER: [u8; 32] = [0x21; 32];

/// A server, an importing account, and a folder for the files.
pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) setup: Setup,
    pub(crate) account: Account,
    pub(crate) template: Id,
}

pub(crate) fn properties(value: &Value) -> Properties {
    value.as_object().unwrap().clone()
}

impl Place {
    pub(crate) async fn start(template: NewTemplate) -> (Self, Server) {
        Self::start_with(template, |setup| setup).await
    }

    pub(crate) async fn start_with(
        template: NewTemplate,
        with: impl FnOnce(Setup) -> Setup,
    ) -> (Self, Server) {
        let folder = tempfile::tempdir().unwrap();
        let setup = with(Setup::development(&folder.path().join("data")));
        let server = setup.start();
        let client = connect(&setup.url()).await;
        let account = register(&client, SigningKey::from_bytes(&SIGNER).unwrap()).await;
        let key = folder.path().join("key");
        kedge_config::secrets::write_32(&key, &SIGNER).unwrap();
        let template = account
            .create_template(&template)
            .await
            .unwrap()
            .resource
            .id;
        let place = Self {
            folder,
            setup,
            account,
            template,
        };
        (place, server)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// The command, without a login.
    pub(crate) fn command(&self, file: &Path) -> Command {
        let mut import = kedge();
        import.args(["import", "--yes"]).arg(file);
        import.args(["--url", &self.setup.url()]);
        import.args(["--template", &self.template.to_string()]);
        import.arg("--key-file").arg(self.path("key"));
        import
    }

    pub(crate) fn import(&self, file: &Path, more: &[&str]) -> Command {
        let mut import = self.command(file);
        let email = format!("{}@example.com", self.account.address()).to_lowercase();
        import
            .args(["--email", &email])
            .env("KEDGE_PASSWORD", PASSWORD);
        import.args(more);
        import
    }

    pub(crate) async fn objects(&self) -> Vec<ObjectResource> {
        let query = ListQuery {
            limit: Some(1_000),
            template_id: Some(self.template),
            ..ListQuery::default()
        };
        self.account
            .objects(&query)
            .collect(1_000_000)
            .await
            .unwrap()
    }

    /// The objects by a property that identifies them; no two may have the same.
    pub(crate) async fn objects_by(&self, property: &str) -> BTreeMap<String, ObjectResource> {
        let mut found = BTreeMap::new();
        for object in self.objects().await {
            let key = object.properties[property].as_str().unwrap().to_owned();
            let twice = found.insert(key, object);
            assert!(twice.is_none(), "minted twice: {twice:?}");
        }
        found
    }
}

pub(crate) fn ticket() -> NewTemplate {
    NewTemplate {
        name: "ticket".to_owned(),
        ..NewTemplate::default()
    }
}

/// Records with the keys `sku-0` and so on.
pub(crate) fn records(count: usize) -> String {
    let record = |n| json!({"sku": format!("sku-{n}"), "seat": n}).to_string() + "\n";
    (0..count).map(record).collect()
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let value = |line| serde_json::from_str(line).unwrap();
    text.lines().map(value).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_records_are_minted_once_and_listed() {
    const RECORDS: usize = 10_000;
    let (place, server) = Place::start(ticket()).await;
    let file = place.write("tickets.ndjson", records(RECORDS));
    let listed = place.path("objects.ndjson");
    let saved = place.path("report.json");
    let options = [
        "--key",
        "sku",
        "--json",
        "--objects",
        listed.to_str().unwrap(),
        "--report",
        saved.to_str().unwrap(),
    ];
    let report = done_json(&mut place.import(&file, &options));
    assert_eq!(report, lines_as_one(&saved));
    let count = RECORDS as u64;
    for (member, value) in [
        ("read", count),
        ("minted", count),
        ("minted_before", 0),
        ("rejected", 0),
        ("not_sent", 0),
        ("batches", count / 500),
    ] {
        assert_eq!(report[member], value, "{member}: {report}");
    }
    let last = report["last_sequence"].as_u64().unwrap();
    assert_eq!(last + 1 - report["first_sequence"].as_u64().unwrap(), count);

    let objects = place.objects_by("sku").await;
    assert_eq!(objects.len(), RECORDS);
    let rows = lines(&listed);
    assert_eq!(rows.len(), RECORDS);
    for (n, row) in rows.iter().enumerate() {
        assert_eq!(
            (&row["line"], &row["key"]),
            (&json!(n + 1), &json!(format!("sku-{n}")))
        );
        let object = &objects[row["key"].as_str().unwrap()];
        assert_eq!(row["object_id"], object.id.to_string());
        assert_eq!(row["sequence"], object.sequence);
        assert_eq!(object.properties["seat"], n);
    }

    // A second run has nothing left to do.
    let again = done_json(&mut place.import(&file, &options));
    assert_eq!(
        (&again["minted"], &again["minted_before"]),
        (&json!(count), &json!(count))
    );
    assert_eq!(lines(&listed), rows);
    assert_eq!(place.objects().await.len(), RECORDS);

    // Changed content, options or key are another import.
    let reported = refused(&mut place.import(&file, &["--key", "seat"]), 1);
    assert!(reported.contains("began with other options"), "{reported}");
    place.write("tickets.ndjson", records(RECORDS + 1));
    let reported = refused(&mut place.import(&file, &options), 1);
    assert!(reported.contains("the input has changed"), "{reported}");
    assert!(
        reported.contains("tickets.ndjson.kedge-import"),
        "{reported}"
    );
    assert_eq!(place.objects().await.len(), RECORDS);
    server.stop();
}

fn lines_as_one(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Ten records, of which the third, fifth and last are not valid.
fn faulty() -> (String, [String; 3]) {
    let row = |n: usize| match n {
        3 => format!("sku-{n},many\n"),
        5 => "sku-1,5\n".to_owned(),
        9 => format!("sku-{n},\"9\n"),
        _ => format!("sku-{n},{n}\n"),
    };
    let text = (0..10).map(row).collect::<String>();
    (format!("sku,seat\n{text}"), [row(3), row(5), row(9)])
}

fn numbered() -> NewTemplate {
    let seat = json!({"type": "integer", "maximum": 50});
    let schema = json!({"properties": {"seat": seat}, "additionalProperties": true});
    NewTemplate {
        schema: Some(properties(&schema)),
        ..ticket()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_that_are_not_valid_stop_everything_or_are_left_out() {
    let (place, server) = Place::start(numbered()).await;
    let (text, bad) = faulty();
    let file = place.write("seats.csv", text);
    let reasons = [
        "line 5, column seat: \"many\" is not a number",
        "line 7, column sku: the key \"sku-1\" is that of line 3",
        "line 11",
    ];
    for options in [&["--key", "sku", "--check"][..], &["--key", "sku"]] {
        let (code, printed, error) = ran(&mut place.import(&file, options));
        assert_eq!(code, Some(1), "{printed}{error}");
        for reason in reasons {
            assert!(error.contains(reason), "{error}");
        }
        assert!(place.objects().await.is_empty());
    }
    let left = place.path("left.csv");
    let options = ["--key", "sku", "--json", "--on-error", "skip"];
    let reported = refused(&mut place.import(&file, &options), 2);
    assert!(reported.contains("--rejected"), "{reported}");
    for output in ["--rejected", "--objects", "--report", "--progress"] {
        let mut over = place.import(&file, &options);
        let reported = refused(over.arg(output).arg(&file), 2);
        assert!(reported.contains("names the input"), "{reported}");
    }
    let mut skip = place.import(&file, &options);
    let (code, printed, error) = ran(skip.arg("--rejected").arg(&left));
    assert_eq!(code, Some(1), "a record is missing: {error}");
    let report: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(
        (&report["minted"], &report["rejected"]),
        (&json!(7), &json!(3)),
        "{report}"
    );
    let written = std::fs::read_to_string(&left).unwrap();
    let expected = format!("sku,seat\n{}{}sku-9,\"9\n\"\n", bad[0], bad[1]);
    assert_eq!(written, expected);
    let why = lines(&place.path("left.csv.reasons"));
    assert_eq!(why, *report["rejected_records"].as_array().unwrap());
    let place_of = |row: &Value| (row["line"].clone(), row["column"].clone());
    assert_eq!(
        why.iter().map(place_of).collect::<Vec<_>>()[0],
        (json!(5), json!("seat"))
    );

    // Once corrected, the rejected records are a separate input.
    let mended = "sku,seat\nsku-3,3\nsku-5,5\nsku-9,9\n";
    let mended = place.write("mended.csv", mended);
    done(&mut place.import(&mended, &["--key", "sku"]));
    let objects = place.objects_by("sku").await;
    assert_eq!(objects.len(), 10);
    assert!((0..10).all(|n| objects[&format!("sku-{n}")].properties["seat"] == n));
    server.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_ndjson_may_not_be_is_named_by_its_line() {
    let (place, server) = Place::start(numbered()).await;
    let text = "{\"sku\":\"a\",\"seat\":1}\n\n[1]\n{\"sku\":\"b\",\"sku\":\"c\"}\n{\"seat\":51}\n{\n\
                {\"a\":1}\n{\"seat\":\"x\"}\n\u{feff}{}\n";
    let file = place.write("seats", [text.as_bytes(), b"{\"a\":\"\xff\"}"].concat());
    let unnamed = refused(&mut place.import(&file, &["--check"]), 2);
    assert!(unnamed.contains("--format"), "{unnamed}");
    let (code, _, error) = ran(&mut place.import(&file, &["--check", "--format", "ndjson"]));
    assert_eq!(code, Some(1));
    for reason in [
        "line 3: is a JSON array",
        "line 4: is not acceptable JSON: key \"sku\" appears twice",
        "line 5, column seat: seat ",
        "line 6: is not acceptable JSON",
        "line 8, column seat: seat ",
        "line 9: is not acceptable JSON",
        "line 10: is not UTF-8",
        "7 of 9 records are not valid",
    ] {
        assert!(error.contains(reason), "{reason}: {error}");
    }

    // QLDB's committed view: data and metadata in one record.
    let view = json!({"data": {"seat": 7, "note": null}, "metadata": {"id": "q1"}, "hash": "x"});
    let mut import = place.import(
        Path::new("-"),
        &["--format", "ndjson", "--properties", "/data"],
    );
    import.args([
        "--map",
        "source_id=/metadata/id",
        "--key",
        "/metadata/id",
        "--progress",
    ]);
    import.arg(place.path("from-pipe"));
    let (code, _, error) = ran_with(&mut import, view.to_string().as_bytes());
    assert_eq!(code, Some(0), "{error}");
    let objects = place.objects().await;
    let expected = json!({"seat": 7, "source_id": "q1"});
    assert_eq!(Value::Object(objects[0].properties.clone()), expected);
    let (code, _, error) = ran_with(&mut import, b"{\"metadata\":{\"id\":1}}");
    assert_eq!(code, Some(1));
    assert!(error.contains("column /data: is not there"), "{error}");
    server.stop();
}

fn ran_with(command: &mut Command, input: &[u8]) -> (Option<i32>, String, String) {
    use std::process::Stdio;
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_server_refuses_is_reported_and_tried_again_by_the_next_run() {
    let template = NewTemplate {
        max_supply: Some(30),
        ..ticket()
    };
    let (place, server) = Place::start(template).await;
    let file = place.write("tickets.ndjson", records(50));
    let small = ["--batch-size", "10", "--in-flight", "1", "--json"];
    let (code, printed, error) = ran(&mut place.import(&file, &small));
    assert_eq!(code, Some(1));
    assert!(error.contains("the server refused records"), "{error}");
    let report: Value = serde_json::from_str(&printed).unwrap();
    let counts =
        |report: &Value| ["minted", "rejected", "not_sent"].map(|name| report[name].clone());
    assert_eq!(counts(&report), [30, 10, 10].map(Value::from), "{report}");

    let left = place.path("left.ndjson");
    let mut skip = place.import(&file, &small);
    skip.args(["--on-error", "skip", "--rejected"]).arg(&left);
    let (code, printed, _) = ran(&mut skip);
    assert_eq!(code, Some(1));
    let report: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(counts(&report), [30, 20, 0].map(Value::from), "{report}");
    let last: String = records(50).split_inclusive('\n').skip(30).collect();
    assert_eq!(std::fs::read_to_string(&left).unwrap(), last);
    assert_eq!(place.objects_by("sku").await.len(), 30);
    server.stop();
}
