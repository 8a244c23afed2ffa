//! A fast scan of JSON text. It handles usual texts and leaves the rest to serde: serde accepts every text that the
//! scan accepts. In other cases serde decides and reports why.

use std::borrow::Cow;

use kedge_protocol::limits::JSON_DEPTH_MAX;

use smallvec::SmallVec;

use super::JsonMembers;
use super::merge::{PatchChange, PatchMember};

/// Larger objects are left to serde: each key is compared with those before it.
const KEYS_MAX: usize = 16;
/// Longer numbers are left to serde, whose range they may exceed.
const NUMBER_BYTES_MAX: usize = 300;
/// Bytes of a string that are tested together: the compiler makes a few vector instructions of them.
const STRING_CHUNK_BYTES: usize = 32;

/// Whether a text is JSON, not nested too deeply and without duplicate keys in an object. False also means that the
/// scan cannot decide.
pub(super) fn accepts(text: &str) -> bool {
    let mut scan = JsonScan::of(text);
    scan.check_value(0).is_some() && {
        scan.pass_space();
        scan.at == text.len()
    }
}

/// Members of the object in an acceptable text: keys and unparsed values. `None` for another value, and for keys with
/// escapes.
pub(super) fn members(text: &str) -> Option<JsonMembers<'_>> {
    let mut scan = JsonScan::of(text);
    scan.take(b'{')?;
    let mut members = JsonMembers::default();
    scan.pass_space();
    if scan.take(b'}').is_some() {
        return Some(members);
    }
    loop {
        let key = scan.key()?;
        let start = scan.at;
        scan.pass_value()?;
        let value = text.get(start..scan.at)?;
        let key = text.get(key.0..key.1)?;
        members.0.push((Cow::Borrowed(key), value));
        if scan.ends(b'}')? {
            return Some(members);
        }
    }
}

/// Members of the object that is the only member of an object, under `key`, after checking the whole text like
/// [`accepts`]. `None` for another text, and if the scan cannot decide.
pub(super) fn members_of_only<'a>(text: &'a str, key: &str) -> Option<JsonMembers<'a>> {
    let mut scan = JsonScan::of(text);
    scan.take(b'{')?;
    scan.pass_space();
    let only = scan.key()?;
    (text.get(only.0..only.1)? == key).then_some(())?;
    let mut members = JsonMembers::default();
    scan.check_members(1, |key, value| {
        let member = text.get(key.0..key.1).zip(text.get(value.0..value.1));
        let member = member.map(|(key, value)| (Cow::Borrowed(key), value));
        members.0.extend(member);
    })?;
    scan.ends(b'}')?.then_some(())?;
    scan.pass_space();
    (scan.at == text.len()).then_some(members)
}

/// Reads a merge patch that is acceptable JSON. `None` for another text.
pub(super) fn change(patch: &str) -> Option<PatchChange<'_>> {
    JsonScan::of(patch).change()
}

/// A part of an object that has a list of objects as a member.
#[derive(Debug)]
pub enum ListPart<'a, 'm> {
    /// Members of an object of the list: keys and unparsed values.
    Item(&'m [(&'a str, &'a str)]),
    /// Another member: its key and its value.
    Other(&'a str, &'a str),
}

/// Calls `found` with each part of an object whose member `list` is a list of objects. `None` if `found` returns
/// `None`, if the text is not acceptable JSON, or if the scan cannot decide. Of duplicate members only `list` is
/// detected.
pub fn walk_list<'a>(
    text: &'a str,
    list: &str,
    mut found: impl FnMut(ListPart<'a, '_>) -> Option<()>,
) -> Option<()> {
    let mut scan = JsonScan::of(text);
    let mut was_there = false;
    scan.take(b'{')?;
    scan.pass_space();
    loop {
        let key = scan.key()?;
        let key = text.get(key.0..key.1)?;
        if key != list {
            let value = scan.checked_value(text)?;
            found(ListPart::Other(key, value))?;
        } else if std::mem::replace(&mut was_there, true) {
            return None;
        } else {
            scan.walk_items(text, &mut found)?;
        }
        if scan.ends(b'}')? {
            break;
        }
    }
    scan.pass_space();
    (was_there && scan.at == text.len()).then_some(())
}

/// Whether a string byte needs special treatment: the end, an escape, or a control character.
#[expect(
    clippy::needless_bitwise_bool,
    reason = "without branches the compiler looks at many bytes at once"
)]
fn ends_plain(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

/// Start and end of a part of a text.
type ByteSpan = (usize, usize);

pub(crate) struct JsonScan<'a> {
    source: &'a str,
    text: &'a [u8],
    at: usize,
}

impl<'a> JsonScan<'a> {
    /// Starts at the first token of a text.
    pub(crate) fn of(text: &'a str) -> Self {
        let mut scan = Self {
            source: text,
            text: text.as_bytes(),
            at: 0,
        };
        scan.pass_space();
        scan
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn pass_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn check_value(&mut self, depth: usize) -> Option<()> {
        match self.peek()? {
            b'"' => self.check_string(),
            b'{' => self.check_object(depth),
            b'[' => self.check_array(depth),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    fn check_object(&mut self, depth: usize) -> Option<()> {
        self.check_members(depth, |_, _| {})
    }

    /// Checks an object, and calls `each` with the spans of each member's key and value.
    fn check_members(
        &mut self,
        depth: usize,
        mut each: impl FnMut(ByteSpan, ByteSpan),
    ) -> Option<()> {
        if depth == JSON_DEPTH_MAX {
            return None;
        }
        self.take(b'{')?;
        self.pass_space();
        if self.take(b'}').is_some() {
            return Some(());
        }
        let mut keys = [(0, 0); KEYS_MAX];
        for count in 0..KEYS_MAX {
            let key = self.key()?;
            let text = &self.text[key.0..key.1];
            let mut before = keys[..count].iter();
            if before.any(|(start, end)| &self.text[*start..*end] == text) {
                return None;
            }
            keys[count] = key;
            let start = self.at;
            self.check_value(depth + 1)?;
            each(key, (start, self.at));
            if self.ends(b'}')? {
                return Some(());
            }
        }
        None
    }

    fn check_array(&mut self, depth: usize) -> Option<()> {
        if depth == JSON_DEPTH_MAX {
            return None;
        }
        self.at += 1;
        self.pass_space();
        if self.take(b']').is_some() {
            return Some(());
        }
        loop {
            self.check_value(depth + 1)?;
            if self.ends(b']')? {
                return Some(());
            }
        }
    }

    /// Returns an acceptable value unparsed.
    fn checked_value<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let start = self.at;
        self.check_value(0)?;
        text.get(start..self.at)
    }

    /// Walks over a list of objects.
    fn walk_items<'t>(
        &mut self,
        text: &'t str,
        found: &mut impl FnMut(ListPart<'t, '_>) -> Option<()>,
    ) -> Option<()> {
        self.take(b'[')?;
        self.pass_space();
        loop {
            let mut members: SmallVec<[(&str, &str); 4]> = SmallVec::new();
            self.take(b'{')?;
            self.pass_space();
            loop {
                let key = self.key()?;
                let value = self.checked_value(text)?;
                members.push((text.get(key.0..key.1)?, value));
                if self.ends(b'}')? {
                    break;
                }
            }
            found(ListPart::Item(&members))?;
            if self.ends(b']')? {
                return Some(());
            }
        }
    }

    /// After an item: whether the object or array ends here. Otherwise advances to the next item.
    fn ends(&mut self, close: u8) -> Option<bool> {
        self.pass_space();
        if self.take(b',').is_none() {
            self.take(close)?;
            return Some(true);
        }
        self.pass_space();
        Some(false)
    }

    /// Span of a key without escapes; advances to the key's value.
    fn key(&mut self) -> Option<ByteSpan> {
        self.take(b'"')?;
        let start = self.at;
        self.pass_few_plain();
        let end = self.at;
        self.take(b'"')?;
        self.pass_space();
        self.take(b':')?;
        self.pass_space();
        Some((start, end))
    }

    /// Advances to the next byte of a string that needs special treatment.
    fn pass_plain(&mut self) {
        let (chunks, _) = self.text[self.at..].as_chunks::<STRING_CHUNK_BYTES>();
        let is_plain = |chunk: &&[u8; STRING_CHUNK_BYTES]| {
            let ends = |found, byte: &u8| found | ends_plain(*byte);
            !chunk.iter().fold(false, ends)
        };
        self.at += chunks.iter().take_while(is_plain).count() * STRING_CHUNK_BYTES;
        self.pass_few_plain();
    }

    /// [`Self::pass_plain`] for a string that is probably short.
    fn pass_few_plain(&mut self) {
        let rest = &self.text[self.at..];
        let plain = rest.iter().position(|byte| ends_plain(*byte));
        self.at += plain.unwrap_or(rest.len());
    }

    fn check_string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            self.pass_plain();
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => {
                    // Serde decides which UTF-16 code units form a character.
                    let escaped = self.text.get(self.at + 1)?;
                    let is_simple = br#""\/bfnrt"#.contains(escaped);
                    self.at += 2;
                    is_simple.then_some(())?;
                }
                _ => return None,
            }
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        let is_it = self.text[self.at..].starts_with(word);
        is_it.then(|| self.at += word.len())
    }

    /// A number without an exponent.
    fn number(&mut self) -> Option<()> {
        let start = self.at;
        // The sign is optional.
        let _ = self.take(b'-');
        let whole = self.digits();
        let leads_with_zero = whole > 1 && self.text[self.at - whole] == b'0';
        if whole == 0 || leads_with_zero {
            return None;
        }
        if self.take(b'.').is_some() && self.digits() == 0 {
            return None;
        }
        let ends = !matches!(self.peek(), Some(b'e' | b'E'));
        (ends && self.at - start <= NUMBER_BYTES_MAX).then_some(())
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    pub(crate) fn is_at_object(&self) -> bool {
        self.peek() == Some(b'{')
    }

    /// Calls `each` with the key of each member of an object in an acceptable text. The position is then at the
    /// member's value, which `each` must pass over.
    pub(crate) fn each_member(
        &mut self,
        mut each: impl FnMut(&mut Self, Cow<'a, str>) -> Option<()>,
    ) -> Option<()> {
        self.take(b'{')?;
        self.pass_space();
        if self.take(b'}').is_some() {
            return Some(());
        }
        loop {
            let key = self.any_key()?;
            each(self, key)?;
            if self.ends(b'}')? {
                return Some(());
            }
        }
    }

    /// An unescaped key; advances to the key's value.
    fn any_key(&mut self) -> Option<Cow<'a, str>> {
        let start = self.at;
        if let Some((from, to)) = self.key() {
            return self.source.get(from..to).map(Cow::Borrowed);
        }
        self.at = start;
        self.pass_string()?;
        let key: String = serde_json::from_str(self.source.get(start..self.at)?).ok()?;
        self.pass_space();
        self.take(b':')?;
        self.pass_space();
        Some(Cow::Owned(key))
    }

    /// Reads the next value as a merge patch.
    fn change(&mut self) -> Option<PatchChange<'a>> {
        if !self.is_at_object() {
            return self.passed_value().map(PatchChange::Value);
        }
        let mut members: Vec<PatchMember<'a>> = Vec::new();
        self.each_member(|scan, key| {
            members.push((key, scan.change()?));
            Some(())
        })?;
        Some(PatchChange::Members(members))
    }

    /// Passes over a value of an acceptable text, and returns it.
    pub(crate) fn passed_value(&mut self) -> Option<&'a str> {
        self.passed(Self::pass_value)
    }

    /// The text that `pass` passes over.
    pub(crate) fn passed(&mut self, pass: impl FnOnce(&mut Self) -> Option<()>) -> Option<&'a str> {
        let start = self.at;
        pass(self)?;
        self.source.get(start..self.at)
    }

    /// Passes over a value of an acceptable text.
    pub(crate) fn pass_value(&mut self) -> Option<()> {
        let mut open = 0_usize;
        loop {
            match self.peek()? {
                b'"' => self.pass_string()?,
                b'{' | b'[' => {
                    open += 1;
                    self.at += 1;
                    continue;
                }
                b'}' | b']' => {
                    open = open.checked_sub(1)?;
                    self.at += 1;
                }
                b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => {
                    self.at += 1;
                    continue;
                }
                _ => self.pass_token(),
            }
            if open == 0 {
                return Some(());
            }
        }
    }

    fn pass_string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            self.pass_plain();
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                _ => self.at += 2,
            }
        }
    }

    /// Passes over a number or a word.
    fn pass_token(&mut self) {
        while !matches!(
            self.peek(),
            None | Some(b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r')
        ) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests;
