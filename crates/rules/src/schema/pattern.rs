//! The work of a regular expression. An engine that never backtracks may still examine, for each byte, every position
//! of the pattern that a match could have reached.

use kedge_protocol::limits::SCHEMA_PATTERN_BYTES_MAX;

/// Compiled size of one position of a pattern.
const POSITION_BYTES: u64 = 2 * 1024;
/// Compiled size of a position that matches thousands of characters.
const POSITION_BYTES_WIDE: u64 = 16 * 1024;

/// Compile time of a position with one ASCII character: 0.1 to 0.3 microseconds, for each of three compilations.
const EFFORT: u64 = 1;
/// Compile time of a position that may also match other characters, which have several bytes.
const EFFORT_LONG: u64 = 10;
/// Compile time of a position that matches a Unicode class.
const EFFORT_UNICODE: u64 = 1_000;

/// Upper bound of the positions of a pattern, repetitions written out. It is computed from the pattern's text alone, so
/// that it stays the same with every version of the engine; unknown syntax counts as more, never as less.
pub(super) fn positions(pattern: &str) -> u64 {
    sum(pattern, |_| 1)
}

/// Work of compiling a pattern, computed in the same way.
pub(super) fn effort(pattern: &str) -> u64 {
    // Case-insensitively, a letter may match one that is not ASCII.
    let least = if pattern.contains("(?") {
        EFFORT_LONG
    } else {
        EFFORT
    };
    let mut names_class = false;
    sum(pattern, |place| {
        // Of `\pL`, the letter is a position by itself, to which a repetition applies.
        let effort = if names_class {
            EFFORT_UNICODE
        } else {
            effort_of(place).max(least)
        };
        names_class = place == "\\p" || place == "\\P";
        effort
    })
}

/// Work of one position: a character, an escape or a class.
fn effort_of(place: &str) -> u64 {
    if is_wide(place) {
        return EFFORT_UNICODE;
    }
    let is_any_other = place == "." || place.contains("[^");
    let others = [r"\D", r"\W", r"\S", r"\x", r"\u", r"\U"].into_iter();
    let escapes = others.map(|escape| place.matches(escape).count());
    let long = escapes.sum::<usize>() + place.chars().filter(|c| !c.is_ascii()).count();
    let long = long.max(usize::from(is_any_other)) as u64;
    (EFFORT_LONG * long).clamp(EFFORT, EFFORT_UNICODE)
}

/// Sum of `weigh` over the positions of a pattern, repetitions written out.
fn sum(pattern: &str, mut weigh: impl FnMut(&str) -> u64) -> u64 {
    // Sums of the open groups so far, and of the last item, to which a repetition applies.
    let mut outer: Vec<u64> = Vec::new();
    let (mut sum, mut last) = (0_u64, 0_u64);
    let mut rest = pattern.chars();
    loop {
        let before = rest.as_str();
        let Some(next) = rest.next() else { break };
        if next == '{' {
            let (inside, after) = rest.as_str().split_once('}').unwrap_or((rest.as_str(), ""));
            if let Some(times) = times(inside) {
                last = last.saturating_mul(times);
                rest = after.chars();
                continue;
            }
        }
        match next {
            '*' | '+' | '?' => continue,
            '(' => {
                outer.push(sum.saturating_add(last));
                (sum, last) = (0, 0);
                continue;
            }
            ')' => {
                last = sum.saturating_add(last);
                sum = outer.pop().unwrap_or(0);
                continue;
            }
            '[' => skip_class(&mut rest),
            '\\' => skip_escape(&mut rest),
            _ => {}
        }
        sum = sum.saturating_add(last);
        last = weigh(&before[..before.len() - rest.as_str().len()]);
    }
    outer
        .into_iter()
        .fold(sum.saturating_add(last), u64::saturating_add)
}

/// Approximate memory of a compiled pattern, with the engine's cache between matches. Both are bounded.
pub(super) fn bytes(pattern: &str) -> usize {
    let position = if is_wide(pattern) {
        POSITION_BYTES_WIDE
    } else {
        POSITION_BYTES
    };
    let program = positions(pattern).saturating_mul(position);
    let program = usize::try_from(program).unwrap_or(usize::MAX);
    // Once for the program, and once for the cache.
    2 * program.min(SCHEMA_PATTERN_BYTES_MAX)
}

/// A Unicode class compiles to an automaton over UTF-8 bytes. `\w`, `\d` and the like are ASCII here.
fn is_wide(pattern: &str) -> bool {
    pattern.contains("\\p") || pattern.contains("\\P")
}

/// Largest count of a repetition `{…}`; `None` if it is not a repetition.
fn times(inside: &str) -> Option<u64> {
    let is_number = |c: char| c.is_ascii_digit() || c == ',' || c.is_whitespace();
    if inside.is_empty() || !inside.chars().all(is_number) {
        return None;
    }
    let numbers = inside.split(',').map(str::trim);
    let most = numbers.map(|number| {
        number
            .parse()
            .unwrap_or(u64::from(!number.is_empty()) * u64::MAX)
    });
    let is_open = u64::from(inside.trim_end().ends_with(','));
    Some(most.max().unwrap_or(0).saturating_add(is_open).max(1))
}

/// Skips to the earliest possible end of a class.
fn skip_class(rest: &mut std::str::Chars<'_>) {
    while let Some(next) = rest.next() {
        match next {
            '\\' => {
                rest.next();
            }
            ']' => return,
            _ => {}
        }
    }
}

/// Skips an escape, with the braces of `\p{…}` and the like.
fn skip_escape(rest: &mut std::str::Chars<'_>) {
    let is_named = matches!(rest.next(), Some('p' | 'P' | 'x' | 'u' | 'U'));
    if is_named
        && let Some((_, after)) = rest
            .as_str()
            .strip_prefix('{')
            .and_then(|inside| inside.split_once('}'))
    {
        *rest = after.chars();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_takes_memory_for_its_places_up_to_its_bound() {
        assert_eq!(bytes(r"^\w{10}$"), 2 * 12 * 2 * 1024);
        assert_eq!(bytes(r"\p{Lu}"), 2 * 16 * 1024);
        assert_eq!(bytes(r"\p{Lu}{1000}"), 2 * SCHEMA_PATTERN_BYTES_MAX);
        assert_eq!(
            bytes("a{99999999999999999999}"),
            2 * SCHEMA_PATTERN_BYTES_MAX
        );
    }

    // Holds invariant 33.
    #[test]
    fn places_that_take_longer_to_compile_count_as_more() {
        for (pattern, effort) in [
            ("", 0),
            ("^[a-z]{60}$", 62),
            (r"\w{4}\d", 5),
            (".{3}a", 31),
            ("[^a]{2}", 20),
            ("é[a-ü]", 20),
            ("[éüö]{2}", 60),
            ("[a&&[^b]]", 11),
            (r"\W\x{e9}", 20),
            (r"[\D]", 10),
            (r"^\p{Lu}[a-z]{60}$", 1_062),
            (r"[ \p{L}]{3}", 3_000),
            (r"\pL{3}a", 4_001),
            ("(?i:ab)", 40),
            (r"\PL{3}a", 4_001),
            (r"\P{Lu}b", 1_001),
            ("a{99999999999999999999}", u64::MAX),
        ] {
            assert_eq!(super::effort(pattern), effort, "{pattern}");
        }
        for (characters, effort) in [(99, 990), (100, 1_000), (101, 1_000)] {
            let class = format!("[{}]", "é".repeat(characters));
            assert_eq!(super::effort(&class), effort);
        }
    }

    // Holds invariant 33.
    #[test]
    fn repetitions_are_written_out() {
        for (pattern, count) in [
            ("", 0),
            ("abc", 3),
            ("a{3}", 3),
            ("a{2,5}b+", 6),
            ("a{2,}", 3),
            ("(ab){10}c", 21),
            ("((ab){10}c){10}", 210),
            ("[a-z{9}]{4}", 4),
            (r"[\]a]{4}", 4),
            ("[]a{4}", 5),
            (r"\{9}", 3),
            (r"\p{Lu}{4}\x{41}{2}", 6),
            ("a{b}", 4),
            ("a{}", 3),
            ("a{ 2 , 5 }b", 6),
            ("a{,5}", 5),
            ("a{0}b", 2),
            ("a*b?", 2),
            (r"\P{Lu}{3}\u{e9}\d{2}", 6),
            ("(a{4}", 4),
            ("a{99999999999999999999}", u64::MAX),
        ] {
            assert_eq!(positions(pattern), count, "{pattern}");
        }
    }
}
