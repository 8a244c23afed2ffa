//! JSON values of a given size, each in the worst form for some way of reading or comparing.

use std::collections::BTreeSet;

/// Levels of a deep value: the most that are read, less the body around it.
const DEPTH: usize = 50;

pub(super) type Form = (&'static str, fn(usize) -> String);

const FORMS: &[Form] = &[
    ("a long text", text),
    ("a text of escapes", escapes),
    ("a list of numbers", numbers),
    ("a list of texts", |bytes| names("x", bytes)),
    ("a list of lists that look alike", alike),
    ("many members", |bytes| members("k", bytes, "1")),
    ("members whose names are escaped", |bytes| {
        members("\\u0061", bytes, "1")
    }),
    ("a long name above many", named),
    ("many members deep inside", deep),
    ("a long number", |bytes| "7".repeat(bytes.max(1))),
];

/// The forms for a member that the document describes with this type: those of the type, and one of another.
pub(super) fn fitting(kind: Option<&str>) -> Vec<&'static Form> {
    let fits = |name: &str| match kind {
        Some("string") => {
            (name.contains("text") && !name.contains("list")) || name == "many members"
        }
        Some("array") => name.contains(" list ") || name == "many members",
        Some("integer" | "number" | "boolean") => name == "a long number" || name == "many members",
        _ => true,
    };
    FORMS.iter().filter(|(name, _)| fits(name)).collect()
}

fn text(bytes: usize) -> String {
    format!("\"{}\"", "x".repeat(bytes))
}

fn escapes(bytes: usize) -> String {
    format!("\"{}\"", "\\u0041".repeat(bytes / 6))
}

pub(super) fn numbers(bytes: usize) -> String {
    format!("[{}1]", "1,".repeat(bytes / 2))
}

/// An object with members `prefix0`, `prefix1` and so on, not in the order of their names.
pub(super) fn members(prefix: &str, bytes: usize, value: &str) -> String {
    let count = (bytes / (prefix.len() + value.len() + 9)).max(1);
    let member = |i: usize| format!(r#""{prefix}{}":{value}"#, i * 7_919 % count);
    format!(
        "{{{}}}",
        (0..count).map(member).collect::<Vec<_>>().join(",")
    )
}

/// A list of texts `prefix0`, `prefix1` and so on.
pub(super) fn names(prefix: &str, bytes: usize) -> String {
    let count = (bytes / (prefix.len() + 8)).max(1);
    let name = |i: usize| format!(r#""{prefix}{i}""#);
    format!("[{}]", (0..count).map(name).collect::<Vec<_>>().join(","))
}

/// Different lists of lists with no other content.
pub(super) fn alike(bytes: usize) -> String {
    let (mut length, mut shapes) = (2, BTreeSet::new());
    for bits in 1.. {
        let shape = shape(bits);
        let more = shape.len() + 1;
        if length + more > bytes.max(8) {
            break;
        }
        if shapes.insert(shape) {
            length += more;
        }
    }
    format!("[{}]", Vec::from_iter(shapes).join(","))
}

fn shape(mut bits: u64) -> String {
    let (mut out, mut depth) = ("[".to_owned(), 1);
    while bits > 1 {
        if bits & 1 == 0 && depth > 1 {
            out.push(']');
            depth -= 1;
        } else {
            let separator = if out.ends_with(']') { ",[" } else { "[" };
            out.push_str(separator);
            depth += 1;
        }
        bits >>= 1;
    }
    out + &"]".repeat(depth)
}

fn named(bytes: usize) -> String {
    format!(
        r#"{{"{}":{}}}"#,
        "n".repeat(bytes / 2),
        members("k", bytes / 2, "{}")
    )
}

pub(super) fn deep(bytes: usize) -> String {
    deep_with(&members("k", bytes, "1"))
}

pub(super) fn deep_with(inner: &str) -> String {
    format!("{}{inner}{}", r#"{"a":"#.repeat(DEPTH), "}".repeat(DEPTH))
}
