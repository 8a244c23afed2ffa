//! Exports as written by QLDB, in Ion text, Ion binary and JSON, with blocks without changes and revisions without
//! data.

use ion_rs::Element;
use ion_rs::v1_0::Binary;

use super::*;

/// Three blocks: one without `revisions`; two tables; an update; a deletion; a revision that holds only a hash.
const ION: &str = r#"
{blockAddress:{strandId:"s",sequenceNo:0},transactionId:"t0",blockTimestamp:2020-01-01T00:00:00.000Z,
 blockHash:{{AA==}},entriesHash:{{AA==}},transactionInfo:{statements:[{statement:"CREATE TABLE Car"}]}}
{blockAddress:{strandId:"s",sequenceNo:1},transactionId:"t1",blockHash:{{AA==}},entriesHash:{{AA==}},
 transactionInfo:{documents:{D1:{tableName:"Car",tableId:"T1",statements:[0]},D2:{tableName:"Car",tableId:"T1"},P1:{tableName:"Person",tableId:"T2"}}},
 revisions:[
  {blockAddress:{strandId:"s",sequenceNo:1},hash:{{AA==}},data:{VIN:"1",price:12.50},metadata:{id:"D1",version:0,txId:"t1"}},
  {hash:{{AA==}},data:{VIN:"2",mileage:12345678901234567890123},metadata:{id:"D2",version:0,txId:"t1"}},
  {hash:{{AA==}}},
  {hash:{{AA==}},data:{name:"Ann"},metadata:{id:"P1",version:0,txId:"t1"}}]}
{blockAddress:{strandId:"s",sequenceNo:2},transactionId:"t2",blockHash:{{AA==}},entriesHash:{{AA==}},
 transactionInfo:{documents:{D1:{tableName:"Car"},P1:{tableName:"Person"}}},
 revisions:[
  {data:{VIN:"1",price:13.00},metadata:{id:"D1",version:1,txId:"t2"}},
  {metadata:{id:"P1",version:1,txId:"t2"}}]}
"#;

fn json_export() -> String {
    let line = |block: Element| {
        let mut text = String::new();
        ion::write(&block, &mut text);
        text + "\n"
    };
    Element::read_all(ION)
        .unwrap()
        .into_iter()
        .map(line)
        .collect()
}

fn converted(path: &Path, table: Option<&str>) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let mut into = NamedTempFile::new_in(folder.path()).unwrap();
    convert(path, table, &mut into, folder.path())
        .map_err(|failure| failure.message().to_owned())?;
    Ok(std::fs::read_to_string(into.path()).unwrap())
}

fn rows(of: &[(&str, &str, u64, &str)]) -> String {
    let row = |(data, id, version, tx): &(&str, &str, u64, &str)| {
        let metadata = format!(r#"{{"id":"{id}","version":{version},"txId":"{tx}"}}"#);
        format!("{{\"data\":{data},\"metadata\":{metadata}}}\n")
    };
    of.iter().map(row).collect()
}

#[test]
fn the_last_revision_of_each_document_keeps_its_digits() {
    let folder = tempfile::tempdir().unwrap();
    let expected = rows(&[
        (
            r#"{"VIN":"2","mileage":12345678901234567890123}"#,
            "D2",
            0,
            "t1",
        ),
        (r#"{"VIN":"1","price":13.00}"#, "D1", 1, "t2"),
    ]);
    let binary: Vec<u8> = Element::read_all(ION).unwrap().encode_as(Binary).unwrap();
    let exports = [
        ("a.ion", ION.as_bytes().to_vec()),
        ("b.ion", binary),
        ("c.json", json_export().into_bytes()),
    ];
    for (name, bytes) in exports {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(converted(&path, Some("Car")).unwrap(), expected, "{name}");
        // Its only document was deleted.
        assert_eq!(converted(&path, None).unwrap(), expected, "{name}");
        let why = converted(&path, Some("Cat")).unwrap_err();
        assert!(why.contains("\"Cat\"") && why.contains("Car (2)"), "{why}");
    }
}

#[test]
fn the_files_of_a_folder_are_read_in_the_order_of_their_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let block = |version: u64, document: &str| {
        format!(
            r#"{{"transactionId":"t","transactionInfo":{{"documents":{{"{document}":{{"tableName":"{document}s"}}}}}},"revisions":[{{"data":{{"v":{version}}},"metadata":{{"id":"{document}","version":{version}}}}}]}}"#
        )
    };
    for (name, text) in [
        ("s.9-9.json", block(0, "a")),
        ("s.10-12.json", block(1, "a")),
        ("x.started.manifest", "{keys:[]}".to_owned()),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let row = "{\"data\":{\"v\":1},\"metadata\":{\"id\":\"a\",\"version\":1}}\n";
    assert_eq!(converted(folder.path(), None).unwrap(), row);

    std::fs::write(folder.path().join("s.13-13.json"), block(0, "b")).unwrap();
    let why = converted(folder.path(), None).unwrap_err();
    assert!(
        why.contains("--table") && why.contains("as (1), bs (1)"),
        "{why}"
    );
    assert_eq!(converted(folder.path(), Some("as")).unwrap(), row);
}

#[test]
fn rows_of_a_committed_view_need_no_table_and_other_values_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows");
    for text in [
        r#"{data:{a:1},metadata:{id:"x",version:3}}"#,
        "{\"data\":{\"a\":1},\"metadata\":{\"id\":\"x\",\n\"version\":3}}",
    ] {
        std::fs::write(&path, text).unwrap();
        let found = converted(&path, None).unwrap();
        assert!(
            found.starts_with("{\"data\":{\"a\":1},") && found.lines().count() == 1,
            "{found}"
        );
    }
    for text in [
        "{a:1}",
        "{\"a\":1}",
        "3",
        "{\"transactionId\":3,\"revisions\":[{\"metadata\":{}}]}",
    ] {
        std::fs::write(&path, text).unwrap();
        let why = converted(&path, None).unwrap_err();
        assert!(why.contains("value 1: "), "{why}");
    }
    std::fs::write(&path, "").unwrap();
    assert_eq!(converted(&path, None).unwrap(), "");
}
