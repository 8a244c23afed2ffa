//! Length of the pointers into a value. The library writes one for each place that it reports, so a long name above
//! many short ones is repeated for each of them.

use serde_json::Value;

/// Bytes of the pointers to all values inside a value, together.
pub(super) fn bytes(value: &Value) -> u64 {
    below(value, 0)
}

fn below(value: &Value, length: u64) -> u64 {
    let place = |length: u64, value: &Value| length.saturating_add(below(value, length));
    match value {
        Value::Array(items) => {
            let step = 1 + u64::from(items.len().checked_ilog10().unwrap_or(0) + 1);
            let each = items.iter().map(|item| place(length + step, item));
            each.fold(0, u64::saturating_add)
        }
        Value::Object(members) => {
            let each = members
                .iter()
                .map(|(name, value)| place(length + 1 + name.len() as u64, value));
            each.fold(0, u64::saturating_add)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pointers_repeat_what_is_above() {
        for (value, expected) in [
            (json!(1), 0),
            (json!({"a": 1}), 2),
            (json!({"name": {"a": 1, "b": [5, 6]}}), 5 + 7 + 7 + 9 + 9),
        ] {
            assert_eq!(bytes(&value), expected, "{value}");
        }
    }
}
