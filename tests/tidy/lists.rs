//! What other languages and the documents list of the project is complete.

use kedge_protocol::Prefix;

use super::{ARROWS, SEES_ALL, root};

/// Lists of all prefixes in the order of their numbers: a file, and how it writes one.
const LISTS: &[(&str, &str)] = &[
    ("crates/protocol/vectors/generate/chain.py", " "),
    ("sdk/python/src/kedge/protocol/ids.py", "\", \""),
    ("sdk/typescript/src/protocol/chain.ts", " "),
    ("tests/js/protocol.mjs", " "),
];

#[test]
fn every_reader_of_ids_knows_every_prefix() {
    let read = |file: &str| std::fs::read_to_string(root().join(file)).unwrap();
    let texts: Vec<&str> = Prefix::ALL.iter().map(|prefix| prefix.text()).collect();
    for (file, between) in LISTS {
        let list = texts.join(between);
        assert!(read(file).contains(&list), "{file} has not: {list}");
    }
    let page = read("docs/PROTOCOL.md");
    let (_, table) = page
        .split_once("| id of | 16 bytes are the first of |")
        .unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    for text in texts {
        let is_word = |word: &str| word.trim_matches(['(', ')', '`']) == text;
        assert!(
            table.split_whitespace().any(is_word),
            "the ids in PROTOCOL.md have no {text}"
        );
    }
}

#[test]
fn the_code_map_names_every_crate_once() {
    let page = std::fs::read_to_string(root().join("docs/ARCHITECTURE.md")).unwrap();
    let (_, map) = page.split_once("## Code map").unwrap();
    let rows = map.lines().filter_map(|line| line.strip_prefix("| ["));
    let mapped = rows.filter_map(|row| row.split_once("](../")?.1.split_once("/src/"));
    let mut mapped: Vec<&str> = mapped.map(|(folder, _)| folder).collect();
    mapped.sort_unstable();
    let folder = |name: &str| match name {
        "actors" | "storage" | "bench" => name.to_owned(),
        "client" => "sdk/rust".to_owned(),
        "fuzz" => "tests/fuzz".to_owned(),
        "load" => "loadtest".to_owned(),
        "sim" => "tests/simulation".to_owned(),
        library => format!("crates/{library}"),
    };
    let crates = ARROWS.iter().map(|(name, _)| *name).chain([SEES_ALL]);
    // The root package's sources are in `src` itself.
    let crates = crates.filter(|name| *name != "kedge");
    let mut crates: Vec<String> = crates.map(folder).collect();
    crates.sort_unstable();
    assert_eq!(mapped, crates);
}

#[test]
fn the_table_of_libraries_names_every_one_once() {
    let page = std::fs::read_to_string(root().join("crates/README.md")).unwrap();
    let rows = page
        .lines()
        .filter_map(|line| line.split_once(" | [")?.1.split_once("]("));
    let mut listed: Vec<&str> = rows.map(|(name, _)| name).collect();
    listed.sort_unstable();
    let entries = std::fs::read_dir(root().join("crates")).unwrap();
    let folders = entries.map(|entry| entry.unwrap().path());
    let libraries = folders.filter(|folder| folder.join("Cargo.toml").exists());
    let mut libraries: Vec<String> = libraries
        .map(|folder| folder.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    libraries.sort_unstable();
    assert_eq!(listed, libraries);
}

#[test]
fn every_step_has_its_budget_and_all_of_them_fit_into_half_an_hour() {
    let read = |file: &str| std::fs::read_to_string(root().join(file)).unwrap();
    let (script, page) = (read("scripts/test.sh"), read("docs/TESTING.md"));
    let budgets = script.lines().filter_map(|line| {
        let (title, seconds) = line.trim().strip_prefix("[\"")?.split_once("\"]=")?;
        Some((title, seconds.parse::<u32>().unwrap()))
    });
    let budgets: Vec<(&str, u32)> = budgets.collect();
    let steps = script.lines().filter_map(|line| {
        let (title, _) = line.trim().strip_prefix("step \"")?.split_once('"')?;
        Some(title)
    });
    let titles: Vec<&str> = budgets.iter().map(|(title, _)| *title).collect();
    assert_eq!(steps.collect::<Vec<_>>(), titles);
    for (title, seconds) in &budgets {
        let row = format!("| {title} | {seconds} |");
        assert!(page.contains(&row), "TESTING.md has not: {row}");
    }
    let sum: u32 = budgets.iter().map(|(_, seconds)| seconds).sum();
    assert!(sum <= 30 * 60, "the budgets are {sum} s in all");
}
