//! The scan accepts only texts that serde accepts, and all usual ones.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use proptest::prelude::*;

use super::super::tests::value;
use super::super::{check, check_with_serde, compact, merge, merge_only};
use super::*;

/// A text near acceptable JSON: written in some way, perhaps with a byte changed, removed or inserted.
fn text() -> impl Strategy<Value = String> {
    let edit = (
        any::<prop::sample::Index>(),
        prop::option::of("[\\x00-\\x7f]"),
        any::<bool>(),
    );
    let odd = prop_oneof![
        Just(r#"{"a":1,"\u0061":2}"#.to_owned()),
        Just(r#"["\ud800","\ud83d\ude00","\n\x"]"#.to_owned()),
        Just("[-0,0.5,1.50,-1e400,1e2,01,1.,-,1e]".to_owned()),
        Just(format!("{}1{}", "[".repeat(64), "]".repeat(64))),
        Just("9".repeat(310)),
    ];
    let written = prop_oneof![
        4 => value().prop_map(|value| value.to_string()),
        2 => value().prop_map(|value| serde_json::to_string_pretty(&value).unwrap()),
        1 => odd,
    ];
    (written, prop::option::of(edit)).prop_map(|(mut text, edit)| {
        if let Some((at, byte, replaces)) = edit {
            let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
            let at = if places.is_empty() {
                0
            } else {
                *at.get(&places)
            };
            let length = text[at..].chars().next().map_or(0, char::len_utf8);
            let end = if replaces { at + length } else { at };
            text.replace_range(at..end, &byte.unwrap_or_default());
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn what_the_scan_accepts_serde_accepts(text in text()) {
        let by_serde = check_with_serde(&text);
        prop_assert!(by_serde.is_ok() || !accepts(&text), "{by_serde:?}");
        prop_assert_eq!(check(&text), by_serde.clone());
        if by_serde.is_ok() {
            let found = JsonMembers::of(&text).map(|members| members.0);
            prop_assert_eq!(found, JsonMembers::with_serde(&text).map(|members| members.0));
        }
    }
}

proptest! {
    #[test]
    fn an_only_member_is_merged_like_any(patch in text(), target in value()) {
        let (target, whole) = (target.to_string(), format!(r#"{{"of":{patch}}}"#));
        let memory = "old".repeat(target.len() / 2);
        if let Some(merged) = merge_only(&target, &whole, "of", memory) {
            prop_assert_eq!(check(&whole), Ok(()));
            prop_assert_eq!(check(&patch), Ok(()));
            prop_assert_eq!(merged, merge(&target, &patch));
        }
    }
}

#[test]
fn the_scan_knows_what_is_mostly_sent() {
    let update = r#"{"of":{"seat":"14C","row":[1]}}"#;
    let merged = merge_only(r#"{"seat":"1A"}"#, update, "of", String::new());
    assert_eq!(merged.as_deref(), Some(r#"{"seat":"14C","row":[1]}"#));
    let more = r#"{"of":{},"more":1}"#;
    assert_eq!(merge_only("{}", more, "of", String::new()), None);
    for text in [
        r#"{"properties":{"seat":"14C","row":-3.50,"tags":["a","b\n"],"of":{"x":null,"y":true}}}"#,
        " { \"a\" : [ ] , \"b\" : { } } \n",
        r#""text""#,
        "[1,2.5,false]",
    ] {
        assert!(accepts(text), "{text}");
    }
    let JsonMembers(members) = members(r#"{"a":"}","b":[{"c":"]"}]}"#).unwrap();
    let expected = [("a", r#""}""#), ("b", r#"[{"c":"]"}]"#)];
    assert_eq!(
        members.as_slice(),
        expected.map(|(key, value)| (Cow::Borrowed(key), value))
    );
}

/// A JSON text, written in one of many ways.
#[derive(Clone, Debug)]
struct Written {
    /// The text with white space between its tokens.
    loose: String,
    compact: String,
    /// Whether the scan handles all of it; the rest is left to serde.
    is_known: bool,
}

impl Written {
    fn token(text: impl Into<String>, is_known: bool) -> Self {
        let text = text.into();
        Self {
            loose: text.clone(),
            compact: text,
            is_known,
        }
    }

    /// Appends `next` after white space.
    fn join(&mut self, space: &str, next: &Self) {
        self.loose += space;
        self.loose += &next.loose;
        self.compact += &next.compact;
        self.is_known &= next.is_known;
    }
}

fn space() -> impl Strategy<Value = String> {
    prop_oneof![3 => Just(String::new()), 1 => "[ \t\n\r]{1,3}"]
}

/// Contents of a string, shorter or longer than the chunks of the scan.
fn inside() -> impl Strategy<Value = Written> {
    let piece = prop_oneof![
        6 => "[ !#-\\[\\]-~é\u{10348}\u{7f}]{0,40}".prop_map(|text| Written::token(text, true)),
        2 => prop::sample::select(vec!["\\\"", "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t"])
            .prop_map(|text| Written::token(text, true)),
        1 => prop::sample::select(vec!["\\u0041", "\\ud83d\\ude00"])
            .prop_map(|text| Written::token(text, false)),
    ];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| {
        let mut all = Written::token("", true);
        for piece in &pieces {
            all.join("", piece);
        }
        all
    })
}

fn string() -> impl Strategy<Value = Written> {
    inside().prop_map(|inside| Written::token(format!("\"{}\"", inside.compact), inside.is_known))
}

fn number() -> impl Strategy<Value = Written> {
    let usual = (
        "-?(0|[1-9][0-9]{0,4})",
        prop::option::of("\\.[0-9]{1,4}"),
        prop::option::weighted(0.1, "[eE][+-]?[0-9]{1,2}"),
    );
    prop_oneof![
        8 => usual.prop_map(|(whole, fraction, power)| {
            let text = whole + &fraction.unwrap_or_default() + &power.clone().unwrap_or_default();
            Written::token(text, power.is_none())
        }),
        1 => "-?[1-9][0-9]{296,302}".prop_map(|text| {
            let is_known = text.len() <= NUMBER_BYTES_MAX;
            Written::token(text, is_known)
        }),
    ]
}

fn word() -> impl Strategy<Value = Written> {
    prop::sample::select(vec!["null", "true", "false"]).prop_map(|text| Written::token(text, true))
}

/// Joins the items of an object or an array.
fn listed(open: &str, items: &[(String, Written, String)], end: &str, close: &str) -> Written {
    let mut all = Written::token(open, true);
    for (i, (before, item, after)) in items.iter().enumerate() {
        if i > 0 {
            all.join("", &Written::token(",", true));
        }
        all.join(before, item);
        all.loose += after;
    }
    all.join(end, &Written::token(close, true));
    all
}

/// A member whose key differs from those with other numbers.
fn member(number: usize, (key, value): (Written, Written), spaces: (&str, &str)) -> Written {
    let is_known = !key.compact.contains('\\');
    let mut all = Written::token(format!("\"{number}{}\"", key.compact), is_known);
    all.join(spaces.0, &Written::token(":", true));
    all.join(spaces.1, &value);
    all
}

fn members_of(
    value: BoxedStrategy<Written>,
    count: prop::collection::SizeRange,
) -> impl Strategy<Value = Vec<(String, Written, String)>> {
    let one = ((inside(), value), (space(), space()), space(), space());
    prop::collection::vec(one, count).prop_map(|members| {
        let members = members.into_iter().enumerate();
        members
            .map(|(number, (texts, spaces, before, after))| {
                let spaces = (spaces.0.as_str(), spaces.1.as_str());
                (before, member(number, texts, spaces), after)
            })
            .collect()
    })
}

fn object_of(value: BoxedStrategy<Written>) -> impl Strategy<Value = Written> {
    let count = prop_oneof![8 => 0..5usize, 1 => 14..19usize];
    count
        .prop_flat_map(move |count| (members_of(value.clone(), count.into()), space()))
        .prop_map(|(members, end)| {
            let mut all = listed("{", &members, &end, "}");
            all.is_known &= members.len() <= KEYS_MAX;
            all
        })
}

fn written() -> impl Strategy<Value = Written> {
    let leaf = prop_oneof![string(), number(), word()];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let item = (space(), inner.clone(), space());
        let array = (prop::collection::vec(item, 0..5), space())
            .prop_map(|(items, end)| listed("[", &items, &end, "]"));
        prop_oneof![array, object_of(inner.boxed())]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Texts left to serde cost time, so the scan must handle all usual texts.
    #[test]
    fn whatever_is_usual_is_known(text in written(), before in space(), after in space()) {
        let loose = format!("{before}{}{after}", text.loose);
        prop_assert_eq!(check_with_serde(&loose), Ok(()));
        prop_assert_eq!(accepts(&loose), text.is_known);
        prop_assert_eq!(check(&loose), Ok(()));
        prop_assert_eq!(compact(&loose), text.compact.as_str());
        let middle = loose.char_indices().nth(loose.chars().count() / 2);
        let half = &loose[..middle.map_or(0, |(at, _)| at)];
        prop_assert!(!accepts(half) || check_with_serde(half).is_ok());
    }

    #[test]
    fn members_are_what_serde_reads(text in object_of(written().boxed())) {
        let found = JsonMembers::of(&text.loose).map(|members| members.0);
        prop_assert!(found.is_some());
        prop_assert_eq!(found, JsonMembers::with_serde(&text.loose).map(|members| members.0));
    }

    #[test]
    fn an_only_member_that_is_known_is_merged(patch in written(), spaces in (space(), space(), space(), space())) {
        let (one, two, three, four) = spaces;
        let whole = format!("{one}{{{two}\"of\"{three}:{four}{}{one}}}{two}", patch.loose);
        let merged = merge_only("{}", &whole, "of", String::new());
        let is_object = patch.compact.starts_with('{');
        prop_assert_eq!(merged.is_some(), patch.is_known && is_object);
        prop_assert_eq!(merge_only("{}", &whole, "if", String::new()), None);
    }

    /// A list of objects among other members, each unparsed.
    #[test]
    fn a_list_is_walked_part_by_part(
        before in members_of(written().boxed(), (0..3).into()),
        items in prop::collection::vec((space(), members_of(written().boxed(), (1..5).into()), space()), 1..4),
        after in members_of(written().boxed(), (0..3).into()),
        spaces in (space(), space()),
    ) {
        let objects: Vec<(String, Written, String)> = items
            .iter()
            .map(|(before, members, after)| (before.clone(), listed("{", members, "", "}"), after.clone()))
            .collect();
        let list = listed("[", &objects, "", "]");
        let mut of = Written::token("\"list\"", true);
        of.join(&spaces.0, &Written::token(":", true));
        of.join(&spaces.1, &list);
        let mut members = before.clone();
        members.push((String::new(), of, String::new()));
        members.extend(after.iter().cloned());
        let text = listed("{", &members, &spaces.0, "}");
        let parts = |of: &[(String, Written, String)]| -> Vec<String> {
            of.iter().map(|(_, member, _)| parted(&member.loose)).collect()
        };
        let mut expected = parts(&before);
        expected.extend(items.iter().map(|(_, members, _)| parts(members).join("|")));
        expected.extend(parts(&after));
        let mut found = Vec::new();
        let walked = walk_list(&text.loose, "list", |part| {
            found.push(text_of(&part));
            Some(())
        });
        prop_assert_eq!(walked.is_some(), text.is_known);
        if text.is_known {
            prop_assert_eq!(&found, &expected);
        }
        prop_assert_eq!(walk_list(&text.loose, "other", |_| Some(())), None);
    }
}

/// Splits a member into key and value.
fn parted(member: &str) -> String {
    let (key, value) = member[1..].split_once('"').unwrap_or_default();
    let value = value.trim_start_matches([' ', '\t', '\n', '\r']);
    let value = value.strip_prefix(':').unwrap_or_default();
    format!(
        "{key}={}",
        value.trim_start_matches([' ', '\t', '\n', '\r'])
    )
}

fn text_of(part: &ListPart<'_, '_>) -> String {
    let one = |key: &str, value: &str| format!("{key}={value}");
    match part {
        ListPart::Other(key, value) => one(key, value),
        ListPart::Item(members) => {
            let members: Vec<String> = members.iter().map(|(key, value)| one(key, value)).collect();
            members.join("|")
        }
    }
}

#[test]
fn a_list_that_is_none_is_not_walked() {
    let walk = |text: &str, most: usize| {
        let mut parts = 0;
        let walked = walk_list(text, "list", |_| {
            parts += 1;
            (parts <= most).then_some(())
        });
        (walked.is_some(), parts)
    };
    let good = r#"{"a":1,"list":[{"b":2},{"b":3}],"c":4} "#;
    assert_eq!(walk(good, 9), (true, 4));
    for most in 0..4 {
        assert_eq!(walk(good, most), (false, most + 1));
    }
    for bad in [
        "",
        "{}",
        "[]",
        r#"{"a":1}"#,
        r#"{"list":[]}"#,
        r#"{"list":[{}]}"#,
        r#"{"list":{"a":1}}"#,
        r#"{"list":[1]}"#,
        r#"{"list":[{"a":1},2]}"#,
        r#"{"list":[{"a":1}],"list":[{"a":1}]}"#,
        r#"{"list":[{"a":1}]}x"#,
        r#"{"list":[{"a":1}]"#,
        r#"{"list":[{"a":1}}"#,
        r#"{"list":[{"a":1]}"#,
        r#"{"list":[{"a":1}],}"#,
        r#"{"list":[{"a":x}]}"#,
        r#"{"list":[{"a":1}],"b":x}"#,
    ] {
        assert!(!walk(bad, 9).0, "{bad}");
    }
}

#[test]
fn control_characters_are_refused_wherever_they_stand() {
    for byte in 0..0x20u8 {
        let byte = char::from(byte);
        for before in [0, 5, 31, 32, 33, 70] {
            let start = "x".repeat(before);
            let rest = "y".repeat(40);
            assert!(
                !accepts(&format!("\"{start}{byte}{rest}\"")),
                "{byte:?} after {before}"
            );
            assert!(
                !accepts(&format!("\"{start}{byte}\"")),
                "{byte:?} after {before}"
            );
            assert!(
                !accepts(&format!("{{\"{start}{byte}\":1}}")),
                "{byte:?} after {before}"
            );
        }
    }
    for length in 0..100 {
        let text = " ".repeat(length);
        assert!(accepts(&format!("\"{text}\"")));
        assert!(accepts(&format!("\"{text}\\\"{text}\\n\"")));
        assert!(!accepts(&format!("\"{text}")));
        assert!(!accepts(&format!("\"{text}\\\"")));
        assert!(!accepts(&format!("\"{text}\\x\"")));
    }
}

#[test]
fn nesting_has_a_bound_of_whatever_kind_it_is() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":[", "]}]")] {
        let each = open.matches(['[', '{']).count();
        let nested = |times: usize| format!("{}1{}", open.repeat(times), close.repeat(times));
        let most = JSON_DEPTH_MAX / each;
        assert!(accepts(&nested(most)) && check_with_serde(&nested(most)).is_ok());
        assert!(!accepts(&nested(most + 1)) && check(&nested(most + 1)).is_err());
    }
    // The merged object is a member of another one.
    let only = |times: usize| {
        let nested = format!("{}1{}", "{\"a\":".repeat(times), "}".repeat(times));
        let whole = format!("{{\"of\":{nested}}}");
        (
            merge_only("{}", &whole, "of", String::new()),
            nested,
            check(&whole),
        )
    };
    let (merged, nested, checked) = only(JSON_DEPTH_MAX - 1);
    assert_eq!((merged, checked), (Some(nested), Ok(())));
    let (merged, _, checked) = only(JSON_DEPTH_MAX);
    assert!(merged.is_none() && checked.is_err());
}

#[test]
fn numbers_are_known_up_to_their_bound() {
    let digits = |count: usize| "9".repeat(count);
    for known in [
        "0",
        "-0",
        "0.0",
        "10",
        "-1.50",
        &digits(NUMBER_BYTES_MAX),
        &format!("-{}", digits(NUMBER_BYTES_MAX - 1)),
        &format!("0.{}", digits(NUMBER_BYTES_MAX - 2)),
    ] {
        assert!(accepts(known), "{known}");
        assert!(accepts(&format!("[{known} , {known}]")), "{known}");
    }
    for left in [
        "1e5",
        "1E+5",
        "0.5e-1",
        &digits(NUMBER_BYTES_MAX + 1),
        &format!("-{}", digits(NUMBER_BYTES_MAX)),
        &format!("0.{}", digits(NUMBER_BYTES_MAX - 1)),
    ] {
        assert!(!accepts(left), "{left}");
        assert_eq!(check(left), Ok(()), "{left}");
    }
    for bad in [
        "00", "01", "-01", "-00", "1.", "-", "-.5", ".5", "+1", "1.x", "1x", "--1", "1-",
    ] {
        assert!(!accepts(bad) && check(bad).is_err(), "{bad}");
    }
    for bad in ["tru", "truex", "True", "nul", "fals", "nullnull", "t", ""] {
        assert!(!accepts(bad) && check(bad).is_err(), "{bad}");
    }
}
