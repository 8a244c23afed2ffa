//! Minimal parsing of answers: log positions and error codes.

use memchr::memmem;
use serde::Deserialize;

/// Consecutive positions of a request's actions in the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AnswerSequences {
    pub(crate) first: u64,
    pub(crate) count: u64,
}

#[derive(Deserialize)]
struct AnswerResults {
    results: Vec<ResultSequence>,
}

#[derive(Deserialize)]
struct ResultSequence {
    sequence: Option<u64>,
}

/// The positions in a successful answer; `None` if there are none, or they are not consecutive.
pub(crate) fn named_places(body: &[u8], actions: u64) -> Option<AnswerSequences> {
    let refused = actions > 1 && memmem::find(body, br#""error":"#).is_some();
    if !refused {
        let first = first_sequence(body)?;
        return Some(AnswerSequences {
            first,
            count: actions,
        });
    }
    let AnswerResults { results } = serde_json::from_slice(body).ok()?;
    let done: Vec<u64> = results
        .iter()
        .filter_map(|placed| placed.sequence)
        .collect();
    let (first, count) = (*done.first()?, done.len() as u64);
    let in_a_row = done.iter().copied().eq(first..first + count);
    in_a_row.then_some(AnswerSequences { first, count })
}

/// The number after the first `"sequence":`. Only ids and texts of this program come before it.
fn first_sequence(body: &[u8]) -> Option<u64> {
    const NAME: &[u8] = br#""sequence":"#;
    let start = memmem::find(body, NAME)? + NAME.len();
    let digits = body[start..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit());
    let number = digits.fold((0_u64, 0), |(number, count), digit| {
        (
            number
                .wrapping_mul(10)
                .wrapping_add(u64::from(digit - b'0')),
            count + 1,
        )
    });
    (1..=19).contains(&number.1).then_some(number.0)
}

/// The `code` of an error.
pub(crate) fn code(body: &[u8]) -> Option<&str> {
    const NAME: &[u8] = br#""code":""#;
    let start = memmem::find(body, NAME)? + NAME.len();
    let end = start + memchr::memchr(b'"', &body[start..])?;
    std::str::from_utf8(&body[start..end]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_all_and_of_some() {
        let all = br#"{"results":[{"sequence":41,"leaf_index":0,"object_version":2},{"sequence":42}],"receipt":{}}"#;
        assert_eq!(
            named_places(all, 2),
            Some(AnswerSequences {
                first: 41,
                count: 2
            })
        );
        let some =
            br#"{"results":[{"error":{"code":"CONFLICT"}},{"sequence":41},{"sequence":42}]}"#;
        assert_eq!(
            named_places(some, 3),
            Some(AnswerSequences {
                first: 41,
                count: 2
            })
        );
        let gap = br#"{"results":[{"error":{}},{"sequence":41},{"sequence":43}]}"#;
        assert_eq!(named_places(gap, 3), None);
        let none = br#"{"results":[{"error":{}},{"error":{}}],"receipt":null}"#;
        assert_eq!(named_places(none, 2), None);
        assert_eq!(
            named_places(br#"{"id":"act_1","sequence":7}"#, 1),
            Some(AnswerSequences { first: 7, count: 1 })
        );
        assert_eq!(named_places(br#"{"sequence":}"#, 1), None);
    }

    #[test]
    fn codes() {
        assert_eq!(
            code(br#"{"code":"RATE_LIMITED","status":429}"#),
            Some("RATE_LIMITED")
        );
        assert_eq!(code(b"bad gateway"), None);
    }
}
