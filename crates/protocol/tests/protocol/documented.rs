//! Compares docs/PROTOCOL.md with the code.

use kedge_protocol::action::Kind;

/// The table of kinds lists every one, in a separate row or with others of the same form.
#[test]
fn every_kind_of_action_is_in_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/PROTOCOL.md");
    let text = std::fs::read_to_string(path).unwrap();
    let begin = text.find("| endpoint | kind | target |").unwrap();
    let table = text[begin..].split("\n\n").next().unwrap();
    let missing: Vec<&str> = Kind::BUILT_IN
        .iter()
        .map(Kind::text)
        .filter(|kind| !table.contains(&format!("`{kind}`")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
