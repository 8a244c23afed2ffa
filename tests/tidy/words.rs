//! The field's own words: what reads as translated is not used.

use crate::sources;

/// Words that read as translated: each with what an engineer writes instead.
const TRANSLATED: &[(&str, &str)] = &[
    (concat!("to", "ld"), "reported, returned, stated"),
    (concat!("bes", "ide"), "next to, in addition to, besides"),
    (concat!("an", "ew"), "again, or rebuilt"),
    (concat!("goes ", "on"), "continues"),
    (concat!("comes ", "again"), "retries, is sent again"),
    (concat!("under ", "way"), "in flight, in progress"),
    (concat!("at the ", "most"), "at most"),
];

#[test]
fn words_are_those_of_the_field() {
    let is_word =
        |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    for (path, text) in sources(&[".rs", ".md", ".sh", ".yml", ".mjs"]) {
        if path.starts_with("bench/results/") {
            continue;
        }
        let text = text.to_lowercase();
        for (word, better) in TRANSLATED {
            for (at, _) in text.match_indices(word) {
                let before = at.checked_sub(1).map(|at| text.as_bytes()[at]);
                let after = text.as_bytes().get(at + word.len()).copied();
                let line = text[..at].lines().count();
                assert!(
                    is_word(before) || is_word(after),
                    "{path}:{line}: \"{word}\": write {better}"
                );
            }
        }
    }
}
