//! Places in a JSON text: RFC 6901 pointers for error messages, computed only when a body is refused.

/// A place in a JSON text.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    /// Pointer to the object or array around it.
    pub container: String,
    /// Pointer to the value itself.
    pub value: String,
}

enum Level {
    Object { key: Option<String> },
    Array { index: usize },
}

impl Level {
    fn step(&self) -> Option<String> {
        match self {
            Self::Object { key } => key.as_ref().map(|key| escape(key)),
            Self::Array { index } => Some(index.to_string()),
        }
    }
}

/// Escapes a reference token (RFC 6901, 3).
pub fn escape(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

/// The place that a reader had reached after `text[..end]`, where the text is JSON at least up to there. A closing
/// bracket that was only just read is not left: that is where an object's missing members are noticed.
pub fn place_at(text: &str, end: usize) -> Place {
    let bytes = &text.as_bytes()[..end.min(text.len())];
    let mut levels: Vec<Level> = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        let last = i + 1 == bytes.len();
        match bytes[i] {
            b'"' => {
                let close = string_end(bytes, i);
                if let Some(Level::Object { key }) = levels.last_mut()
                    && expects_key(bytes, i)
                {
                    *key = serde_json::from_slice(&bytes[i..close]).ok();
                }
                i = close;
                continue;
            }
            b'{' => levels.push(Level::Object { key: None }),
            b'[' => levels.push(Level::Array { index: 0 }),
            b'}' | b']' if !last => drop(levels.pop()),
            b',' => {
                if let Some(Level::Array { index }) = levels.last_mut() {
                    *index += 1;
                }
            }
            _ => {}
        }
        i += 1;
    }
    let steps: Vec<String> = levels.iter().map_while(Level::step).collect();
    let pointer = |steps: &[String]| {
        steps
            .iter()
            .fold(String::new(), |out, step| out + "/" + step)
    };
    let depth = levels.len().saturating_sub(1).min(steps.len());
    Place {
        container: pointer(&steps[..depth]),
        value: pointer(&steps),
    }
}

/// The index after the string that begins at `start`.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut i = start + 1;
    while i < bytes.len() {
        match bytes[i] {
            b'\\' => i += 2,
            b'"' => return i + 1,
            _ => i += 1,
        }
    }
    bytes.len()
}

/// In an object, a string is a key if it follows the bracket or a comma.
fn expects_key(bytes: &[u8], start: usize) -> bool {
    let before = bytes[..start]
        .iter()
        .rev()
        .find(|byte| !byte.is_ascii_whitespace());
    matches!(before, Some(b'{' | b','))
}

/// The byte offset of serde_json's line and column, both counted from 1; column 0 is before the line's first byte.
pub fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let lines_before = text.split_inclusive('\n').take(line.saturating_sub(1));
    lines_before.map(str::len).sum::<usize>() + column
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found() {
        let text = r#"{"a": [1, {"b/c": "x,{\"", "d": 5}], "e": true}"#;
        let at = |needle: &str| place_at(text, text.find(needle).unwrap() + needle.len());
        assert_eq!(at("[1").value, "/a/0");
        assert_eq!(at(r#"\"""#).value, "/a/1/b~1c");
        assert_eq!(at("5").value, "/a/1/d");
        assert_eq!(at("5").container, "/a/1");
        assert_eq!(at("true").value, "/e");
        assert_eq!(at("true").container, "");
        assert_eq!(offset_of("{\n  \"a\": 1}", 2, 4), 6);
    }
}
