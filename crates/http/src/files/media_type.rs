//! Media types of contents, by their bytes alone; the caller's name does not count.

use infer::MatcherType;

/// Bytes at the start of a file that determine its type.
const HEAD_BYTES: usize = 8 * 1024;
const UNKNOWN: &str = "application/octet-stream";
/// Text of any kind, including what a browser would run (HTML, SVG, scripts).
const TEXT: &str = "text/plain; charset=utf-8";

/// Detects the media type of bytes as they arrive.
pub(super) struct MediaTypeDetector {
    head: Vec<u8>,
    is_text: bool,
    /// The beginning of an incomplete UTF-8 character.
    unfinished: Vec<u8>,
}

impl MediaTypeDetector {
    pub(super) fn new() -> Self {
        Self {
            head: Vec::new(),
            is_text: true,
            unfinished: Vec::new(),
        }
    }

    pub(super) fn see(&mut self, bytes: &[u8]) {
        let missing = HEAD_BYTES - self.head.len();
        self.head
            .extend_from_slice(&bytes[..bytes.len().min(missing)]);
        if !self.is_text {
            return;
        }
        if self.unfinished.is_empty() {
            self.text(bytes);
        } else {
            let mut joined = std::mem::take(&mut self.unfinished);
            joined.extend_from_slice(bytes);
            self.text(&joined);
        }
    }

    fn text(&mut self, bytes: &[u8]) {
        let whole = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) if error.error_len().is_none() => {
                let (whole, rest) = bytes.split_at(error.valid_up_to());
                self.unfinished = rest.to_vec();
                std::str::from_utf8(whole).unwrap_or_default()
            }
            Err(_) => {
                self.is_text = false;
                return;
            }
        };
        let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
        self.is_text = !whole.contains(is_control);
    }

    pub(super) fn media_type(&self) -> &'static str {
        let found = infer::get(&self.head);
        // Formats that hold programs, or text that a browser would run, are not named.
        let inert = found.filter(|found| {
            !matches!(
                found.matcher_type(),
                MatcherType::App | MatcherType::Text | MatcherType::Custom
            )
        });
        match inert {
            Some(found) => found.mime_type(),
            None if self.is_text && self.unfinished.is_empty() => TEXT,
            None => UNKNOWN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pieces: &[&[u8]]) -> &'static str {
        let mut kind = MediaTypeDetector::new();
        for piece in pieces {
            kind.see(piece);
        }
        kind.media_type()
    }

    #[test]
    fn bytes_tell_what_they_are() {
        assert_eq!(of(&[b"\x89PNG\r\n\x1a\n", b"rest"]), "image/png");
        assert_eq!(of(&[b"%PDF-1.7\n"]), "application/pdf");
        assert_eq!(of(&[b"plain\r\n\ttext"]), TEXT);
        assert_eq!(of(&[]), TEXT);
        assert_eq!(of(&[b"a\0b"]), UNKNOWN);
        assert_eq!(of(&[b"\xff\xfe"]), UNKNOWN);
        assert_eq!(of(&[b"\x7fELF\x02\x01\x01\0"]), UNKNOWN);
    }

    #[test]
    fn what_a_browser_would_run_is_plain_text() {
        for text in [
            "<!DOCTYPE html><script>alert(1)</script>",
            "<html><body>",
            "<svg xmlns='http://www.w3.org/2000/svg' onload='x()'/>",
            "<?xml version=\"1.0\"?><a/>",
            "#!/bin/sh\nrm -rf /",
        ] {
            assert_eq!(of(&[text.as_bytes()]), TEXT, "{text}");
        }
    }

    #[test]
    fn characters_may_be_torn_between_pieces_but_not_at_the_end() {
        let text = "grün €";
        for at in 0..text.len() {
            let (one, other) = text.as_bytes().split_at(at);
            assert_eq!(of(&[one, other]), TEXT, "{at}");
        }
        assert_eq!(of(&[&text.as_bytes()[..text.len() - 1]]), UNKNOWN);
    }
}
