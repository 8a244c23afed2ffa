//! `kedge import` before it mints: it checks the form of the whole input, shows the first objects and asks.

use std::process::Command;

use kedge_client::NewTemplate;
use serde_json::{Value, json};

use crate::import::{Place, properties, ticket};
use crate::{done, done_json, ran, refused};

fn with_schema() -> NewTemplate {
    let schema = json!({"properties": {"sku": {"type": "string"}, "qty": {"type": "integer"}}});
    NewTemplate {
        schema: Some(properties(&schema)),
        ..ticket()
    }
}

// Holds invariant 247.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_input_of_another_form_is_refused_before_anything_is_minted() {
    let (place, server) = Place::start(ticket()).await;
    let cases: [(&str, &[u8], &str); 9] = [
        (
            "semicolons.csv",
            b"sku;name;qty\n0001;a;3\n0002;b;4\n",
            "--delimiter ';'",
        ),
        ("tabs.csv", b"sku\tqty\n0001\t3\n", "--delimiter '\\t'"),
        ("commas.tsv", b"sku,qty\n0001,3\n", "--delimiter ','"),
        ("excel.csv", b"sep=;\nsku;qty\n1;2\n", "sep=;"),
        ("book.csv", b"PK\x03\x04\x14\0", "Excel workbook"),
        ("wide.csv", b"s\0k\0u\0\n\0", "UTF-16"),
        ("objects.csv", b"{\"sku\":1}\n", "--format ndjson"),
        ("table.ndjson", b"sku,qty\n1,2\n", "--format csv"),
        ("pretty.json", b"{\n  \"sku\": 1\n}\n", "over several lines"),
    ];
    for (name, bytes, word) in cases {
        let file = place.write(name, bytes);
        let reported = refused(&mut place.import(&file, &[]), 2);
        assert!(
            reported.contains(word) && reported.contains(name),
            "{name}: {reported}"
        );
    }
    assert!(place.objects().await.is_empty());
    // A single column is allowed if the options say so.
    let file = place.write("one.csv", "note\na;b\nc;d\n");
    done(&mut place.import(&file, &["--delimiter", ","]));
    assert_eq!(place.objects_by("note").await.len(), 2);
    server.stop();
}

// Holds invariant 247.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn empty_rows_are_skipped_and_named() {
    let (place, server) = Place::start(with_schema()).await;
    let file = place.write("excel.csv", "sku,qty\n0001,3\n,\n\"\", \n0002,4\n,\n");
    let report = done_json(&mut place.import(&file, &["--key", "sku", "--json"]));
    assert_eq!(report["read"], 2, "{report}");
    assert_eq!(report["minted"], 2, "{report}");
    assert_eq!(report["empty_rows"], 3, "{report}");
    assert_eq!(report["empty_row_lines"], json!([3, 4, 6]), "{report}");
    let (_, printed, _) = ran(&mut place.import(&file, &["--key", "sku"]));
    assert!(
        printed.contains("empty rows  3 skipped, in lines 3, 4, 6"),
        "{printed}"
    );
    assert_eq!(place.objects_by("sku").await.len(), 2);
    server.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_schema_does_not_name_is_refused_unless_it_is_allowed() {
    let (place, server) = Place::start(with_schema()).await;
    let csv = place.write("a.csv", "sku,quantity\n0001,3\n");
    let reported = refused(&mut place.import(&csv, &[]), 2);
    for word in ["\"quantity\"", "--omit quantity", "--allow-extra"] {
        assert!(reported.contains(word), "{reported}");
    }
    let lines = place.write("a.ndjson", "{\"sku\":\"0002\",\"quantity\":3}\n");
    let (code, _, error) = ran(&mut place.import(&lines, &["--check"]));
    assert_eq!(code, Some(1));
    assert!(error.contains("line 1, column quantity: "), "{error}");
    assert!(place.objects().await.is_empty());
    done(&mut place.import(&csv, &["--map", "qty=quantity"]));
    done(&mut place.import(&lines, &["--allow-extra"]));
    let objects = place.objects_by("sku").await;
    assert_eq!(objects["0001"].properties["qty"], 3);
    assert_eq!(objects["0002"].properties["quantity"], 3);
    server.stop();
}

// Holds invariant 247.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_objects_are_shown_and_nothing_is_minted_without_a_yes() {
    let template = NewTemplate {
        properties: properties(&json!({"hall": "north"})),
        ..with_schema()
    };
    let (place, server) = Place::start(template).await;
    let file = place.write("a.csv", "sku,qty\n0001,3\n0002,4\n0003,5\n0004,6\n");
    let asked = without_yes(&place.import(&file, &[]));
    let reported = refused(&mut { asked }, 2);
    for word in [
        "4 objects",
        "{\"hall\":\"north\",\"sku\":\"0001\",\"qty\":3}",
        "0003",
        "--yes",
    ] {
        assert!(reported.contains(word), "{word}: {reported}");
    }
    assert!(!reported.contains("0004"), "{reported}");
    assert!(place.objects().await.is_empty());

    // A check shows them too, and asks nothing.
    let (code, printed, shown) = ran(&mut without_yes(&place.import(&file, &["--check"])));
    assert_eq!(code, Some(0), "{shown}");
    assert!(
        printed.contains("valid") && shown.contains("0001"),
        "{printed}{shown}"
    );

    // An import that was confirmed once continues without a question.
    done(&mut place.import(&file, &[]));
    done(&mut without_yes(&place.import(&file, &[])));
    assert_eq!(place.objects_by("sku").await.len(), 4);
    server.stop();
}

/// The same command without `--yes`, so that it asks.
fn without_yes(of: &Command) -> Command {
    let mut command = Command::new(of.get_program());
    command.args(of.get_args().filter(|argument| *argument != "--yes"));
    for (name, value) in of.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.stdin(std::process::Stdio::null());
    command
}

/// Blocks of a QLDB journal: one without `revisions`, two revisions of a document, and a deleted one.
const JOURNAL: &str = r#"
{blockAddress:{strandId:"s",sequenceNo:0},transactionId:"t0",blockHash:{{AA==}},entriesHash:{{AA==}}}
{blockAddress:{strandId:"s",sequenceNo:1},transactionId:"t1",blockHash:{{AA==}},entriesHash:{{AA==}},
 transactionInfo:{documents:{D1:{tableName:"Car"},D2:{tableName:"Car"},P1:{tableName:"Person"}}},
 revisions:[{data:{VIN:"1",price:1.0},metadata:{id:"D1",version:0}},
  {data:{VIN:"2"},metadata:{id:"D2",version:0}},{data:{name:"Ann"},metadata:{id:"P1",version:0}}]}
{blockAddress:{strandId:"s",sequenceNo:2},transactionId:"t2",blockHash:{{AA==}},entriesHash:{{AA==}},
 revisions:[{data:{VIN:"1",price:12345678901234567890123.50},metadata:{id:"D1",version:1}},{metadata:{id:"D2",version:1}}]}
"#;

// Holds invariant 247.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_qldb_export_becomes_the_last_revision_of_each_document() {
    let (place, server) = Place::start(ticket()).await;
    let folder = place.path("export");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("s.0-2.ion"), JOURNAL).unwrap();
    std::fs::write(folder.join("e.started.manifest"), "{}").unwrap();
    let progress = place.path("progress");
    let options = [
        "--format",
        "qldb",
        "--key",
        "VIN",
        "--map",
        "qldb_id=/metadata/id",
    ];
    let command = |more: &[&str]| {
        let mut command = place.import(&folder, &options);
        command.args(more).arg("--progress").arg(&progress);
        command
    };
    let reported = refused(&mut command(&[]), 2);
    assert!(
        reported.contains("--table") && reported.contains("Car (1), Person (1)"),
        "{reported}"
    );
    let report = done_json(&mut command(&["--table", "Car", "--json"]));
    assert_eq!(
        (&report["read"], &report["minted"]),
        (&json!(1), &json!(1)),
        "{report}"
    );
    let object = place.objects_by("VIN").await.remove("1").unwrap();
    assert_eq!(object.properties["qldb_id"], Value::from("D1"));

    // The log has every digit.
    let history = place
        .account
        .history(object.id, &kedge_client::ListQuery::default());
    let mint = history.collect(10).await.unwrap().pop().unwrap();
    let proof = place
        .account
        .proof(mint.id, kedge_client::ProofForm::Inclusion);
    let payload = serde_json::to_string(&proof.await.unwrap()).unwrap();
    assert!(payload.contains("12345678901234567890123.50"), "{payload}");

    // The same file is not valid NDJSON.
    let file = place.write(
        "blocks.ndjson",
        r#"{"blockAddress":{},"transactionId":"t","blockHash":"","entriesHash":""}"#,
    );
    let reported = refused(&mut place.import(&file, &[]), 2);
    assert!(reported.contains("--format qldb"), "{reported}");
    server.stop();
}
