//! Rows of the store: reading and writing gives the same bytes again, so each row has one form, and damage leads to an
//! error or another value.

use kedge_storage::{Table, rewritten};

use crate::fuzz;

/// Longest row of zeros.
const ZEROS: usize = 400;

/// The first byte chooses the table.
fn target(input: &[u8]) -> String {
    let Some((table, value)) = input.split_first() else {
        return "empty".to_owned();
    };
    let table = Table::ALL[usize::from(*table) % Table::ALL.len()];
    let forms = rewritten(table, value).into_iter().map(|form| match form {
        Ok(written) => {
            assert_eq!(written, value, "{table:?}: another form of the same row");
            "read".to_owned()
        }
        Err(error) => error.to_string(),
    });
    format!("{table:?}: {}", forms.collect::<Vec<_>>().join(" / "))
}

/// Rows of zeros: with the right length they are rows of most tables.
fn zeros() -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for table in 0..Table::ALL.len() {
        for length in 0..ZEROS {
            let mut row = vec![table as u8, 1];
            row.resize(length + 2, 0);
            if target(&row).contains("read") {
                found.push(row.clone());
            }
            // Kinds, states and tiers are numbered from 1.
            row[2..].fill(1);
            if target(&row).contains("read") {
                found.push(row);
            }
        }
    }
    found
}

#[test]
fn rows_have_one_form() {
    let seeds = zeros();
    assert!(seeds.len() > 8, "only {} rows to begin with", seeds.len());
    let words = [
        "\u{1}",
        "\0\0\0\0\0\0\0\0",
        "\u{1}\0\0\0\0\0\0\0a",
        "\u{2}\0\0\0\0\0\0\0ab",
    ];
    fuzz("rows").seeds(seeds).words(&words).run(target);
}
