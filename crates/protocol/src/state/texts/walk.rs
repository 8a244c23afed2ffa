//! Walks the members of JSON objects without reading values. The texts were checked before; on any other text the walk
//! ends with an error.

use std::borrow::Cow;

use super::{TextError, quoted};

/// A member's name.
pub(super) struct MemberKey<'a> {
    /// As it was sent, with its quotes.
    sent: &'a str,
    /// With escapes resolved.
    decoded: Cow<'a, str>,
}

impl<'a> MemberKey<'a> {
    fn of(sent: &'a str) -> Result<Self, TextError> {
        let decoded = if sent.contains('\\') {
            let read: Result<String, _> = serde_json::from_str(sent);
            Cow::Owned(read.map_err(|error| TextError::Syntax(error.to_string()))?)
        } else {
            let inner = sent
                .strip_prefix('"')
                .and_then(|rest| rest.strip_suffix('"'));
            Cow::Borrowed(inner.ok_or_else(broken)?)
        };
        Ok(Self { sent, decoded })
    }

    pub(super) fn decoded(&self) -> &str {
        &self.decoded
    }

    /// *Key*: as sent if it has no backslash; else decoded, and escaped in the one way.
    pub(super) fn written(&self) -> Cow<'a, str> {
        match &self.decoded {
            Cow::Borrowed(_) => Cow::Borrowed(self.sent),
            Cow::Owned(decoded) => Cow::Owned(quoted(decoded)),
        }
    }
}

/// A position in a text, at the start of a value.
pub(super) struct MemberWalk<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> MemberWalk<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let mut walk = Self { text, at: 0 };
        walk.pass_space();
        walk
    }

    pub(super) fn is_at_object(&self) -> bool {
        self.peek() == Some(b'{')
    }

    /// Calls `each` with the key of each member of the object here. The position is then at the member's value, which
    /// `each` must pass over.
    pub(super) fn members(
        &mut self,
        each: &mut dyn FnMut(&mut Self, MemberKey<'a>) -> Result<(), TextError>,
    ) -> Result<(), TextError> {
        self.take(b'{')?;
        self.pass_space();
        if self.peek() == Some(b'}') {
            return self.take(b'}');
        }
        loop {
            let start = self.at;
            self.pass_string()?;
            let key = MemberKey::of(self.since(start)?)?;
            self.pass_space();
            self.take(b':')?;
            self.pass_space();
            each(self, key)?;
            self.pass_space();
            if self.peek() != Some(b',') {
                return self.take(b'}');
            }
            self.take(b',')?;
            self.pass_space();
        }
    }

    /// Passes over the value here, and returns it.
    pub(super) fn value(&mut self) -> Result<&'a str, TextError> {
        let start = self.at;
        let mut open = 0_usize;
        loop {
            match self.peek().ok_or_else(broken)? {
                b'"' => self.pass_string()?,
                b'{' | b'[' => {
                    open += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    open = open.checked_sub(1).ok_or_else(broken)?;
                    self.at += 1;
                }
                b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' if open > 0 => self.at += 1,
                _ => self.pass_token()?,
            }
            if open == 0 {
                return self.since(start);
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Result<(), TextError> {
        if self.peek() != Some(byte) {
            return Err(broken());
        }
        self.at += 1;
        Ok(())
    }

    fn since(&self, start: usize) -> Result<&'a str, TextError> {
        self.text.get(start..self.at).ok_or_else(broken)
    }

    fn pass_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn pass_string(&mut self) -> Result<(), TextError> {
        self.take(b'"')?;
        loop {
            match self.peek().ok_or_else(broken)? {
                b'"' => return self.take(b'"'),
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    /// Passes over a number or a word.
    fn pass_token(&mut self) -> Result<(), TextError> {
        let rest = self.text.as_bytes().get(self.at..).ok_or_else(broken)?;
        let ends = |byte: &u8| b",:]} \t\n\r\"".contains(byte);
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        if length == 0 {
            return Err(broken());
        }
        self.at += length;
        Ok(())
    }
}

fn broken() -> TextError {
    TextError::Syntax("a value or a member is cut off".to_owned())
}

/// The deepest nesting of arrays and objects in a JSON text.
pub(super) fn depth(text: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        if in_string {
            in_string = byte != b'"' || escaped;
            escaped = byte == b'\\' && !escaped;
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                open += 1;
                deepest = deepest.max(open);
            }
            b'}' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
