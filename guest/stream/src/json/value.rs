//! JSON values that are built, for the payloads of tags and the rare parts of a chunk.

use super::scanner::is_space;
use super::text::{escape_end, special, unescape};
use super::{MAX_DEPTH, MAX_VALUES};
use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A JSON value. Numbers keep their text, so that no digit is lost; strings without escapes are not copied.
#[derive(Clone, Debug, PartialEq)]
pub enum Json<'a> {
    /// `null`, `NaN` and the infinities.
    Null,
    /// `true` and `false`.
    Bool(bool),
    /// A number as it was written.
    Number(&'a str),
    /// A string.
    Text(Cow<'a, str>),
    /// An array.
    Array(Vec<Json<'a>>),
    /// An object in its order; of members of one name the last counts.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

/// The result of reading a text.
#[derive(Clone, Debug, PartialEq)]
pub enum Read<'a> {
    /// The text is one value.
    Whole(Json<'a>),
    /// The text is the beginning of one value: as much of it as there is.
    Cut(Json<'a>),
    /// The text is not JSON.
    Bad,
}

impl<'a> Json<'a> {
    /// Reads one whole value.
    pub fn parse(text: &'a str) -> Option<Self> {
        match Self::read(text) {
            Read::Whole(value) => Some(value),
            Read::Cut(_) | Read::Bad => None,
        }
    }

    /// Reads as much of a value as there is.
    pub fn read(text: &'a str) -> Read<'a> {
        let mut reader = ValueReader::new(text);
        reader.space();
        let Some(value) = reader.value(0) else {
            return Read::Bad;
        };
        if reader.cut {
            return Read::Cut(value);
        }
        reader.space();
        if reader.at == text.len() {
            Read::Whole(value)
        } else {
            Read::Bad
        }
    }

    /// Returns the last member of an object with this name.
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Json::Object(members) => members
                .iter()
                .rev()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value),
            _ => None,
        }
    }

    /// Returns the text of a string.
    pub fn text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the text of a string or a number.
    pub fn scalar(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            Json::Number(digits) => Some(digits),
            _ => None,
        }
    }

    /// Returns the text of a member that is a string.
    pub fn text_of(&self, name: &str) -> Option<&str> {
        self.get(name)?.text()
    }

    /// Returns the items of an array; none for another value.
    pub fn items(&self) -> &[Self] {
        match self {
            Json::Array(items) => items,
            _ => &[],
        }
    }

    /// Returns the strings in an array.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.items().iter().filter_map(Self::text)
    }

    /// Returns a finite number, which can also be in a string.
    pub fn float(&self) -> Option<f64> {
        let float: f64 = self.digits()?.parse().ok()?;
        float.is_finite().then_some(float)
    }

    /// Returns a whole number from 0, which can also be in a string or written as `4.0`.
    pub fn count(&self) -> Option<u64> {
        if let Ok(count) = self.digits()?.parse() {
            return Some(count);
        }
        /// 2^53, up to which a float holds every whole number.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        let float = self.float()?;
        let whole = float as u64;
        (whole as f64 == float && (0.0..=EXACT).contains(&float)).then_some(whole)
    }

    /// Returns a whole number from 0 that is not in a string.
    pub fn integer(&self) -> Option<u64> {
        match self {
            Json::Number(_) => self.count(),
            _ => None,
        }
    }

    /// Returns [`Json::count`] if it fits.
    pub fn small(&self) -> Option<u32> {
        self.count()?.try_into().ok()
    }

    fn digits(&self) -> Option<&str> {
        match self {
            Json::Number(digits) => Some(digits),
            Json::Text(text) => number_text(text.trim_ascii()),
            _ => None,
        }
    }
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            // As it was written: a conversion to a float could change its digits.
            Self::Number(digits) => serde_json::from_str::<&RawValue>(digits)
                .map_err(S::Error::custom)?
                .serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Array(items) => serializer.collect_seq(items),
            Self::Object(members) => {
                serializer.collect_map(members.iter().map(|(name, value)| (name, value)))
            }
        }
    }
}

/// Returns the text if it is a JSON number. Rust's own parser would also accept `inf` and `+1`.
fn number_text(text: &str) -> Option<&str> {
    let mut reader = ValueReader::new(text);
    matches!(reader.number()?, Json::Number(_) if reader.at == text.len()).then_some(text)
}

struct ValueReader<'a> {
    text: &'a str,
    at: usize,
    /// Whether the text ended inside the value.
    cut: bool,
    /// The number of values that can still be built.
    left: u32,
}

impl<'a> ValueReader<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            cut: false,
            left: MAX_VALUES,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    /// Reads a byte if it is next. At the end of the text the value is cut.
    fn eat(&mut self, byte: u8) -> bool {
        self.space();
        let next = self.peek();
        self.cut |= next.is_none();
        let found = next == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: u32) -> Option<Json<'a>> {
        self.left = self.left.checked_sub(1)?;
        self.space();
        match self.peek() {
            None => {
                self.cut = true;
                Some(Json::Null)
            }
            Some(b'{' | b'[') if depth >= MAX_DEPTH => None,
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => self.string().map(Json::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => self.word(),
        }
    }

    fn object(&mut self, depth: u32) -> Option<Json<'a>> {
        self.at += 1;
        let mut members = Vec::new();
        if self.eat(b'}') {
            return Some(Json::Object(members));
        }
        while !self.cut {
            self.space();
            match self.peek() {
                Some(b'"') => {}
                None => {
                    self.cut = true;
                    break;
                }
                Some(_) => return None,
            }
            let key = self.string()?;
            if self.cut {
                break;
            }
            if !self.eat(b':') {
                return self.cut.then_some(Json::Object(members));
            }
            let value = self.value(depth)?;
            members.push((key, value));
            if self.is_last(b'}')? {
                break;
            }
        }
        Some(Json::Object(members))
    }

    /// Returns, after an item, whether the container ends here, closed or cut. If not, reads the comma.
    fn is_last(&mut self, bracket: u8) -> Option<bool> {
        if self.eat(bracket) || self.cut {
            return Some(true);
        }
        self.eat(b',').then_some(false)
    }

    fn array(&mut self, depth: u32) -> Option<Json<'a>> {
        self.at += 1;
        let mut items = Vec::new();
        if self.eat(b']') {
            return Some(Json::Array(items));
        }
        while !self.cut {
            let value = self.value(depth)?;
            items.push(value);
            if self.is_last(b']')? {
                break;
            }
        }
        Some(Json::Array(items))
    }

    fn string(&mut self) -> Option<Cow<'a, str>> {
        let start = self.at + 1;
        let bytes = self.text.as_bytes();
        let mut at = start;
        loop {
            match special(bytes, at) {
                None => break at = bytes.len(),
                Some(found) => at = found,
            }
            if bytes.get(at) == Some(&b'"') {
                break;
            }
            match escape_end(bytes, at) {
                Some(end) => at = end,
                // Not a whole escape: cut if the text ends within it, else no JSON.
                None if bytes.len() < at + 6 && cut_escape(bytes, at) => break at = bytes.len(),
                None => return None,
            }
        }
        self.cut |= at == bytes.len();
        self.at = (at + 1).min(bytes.len());
        Some(unescape(self.text.get(start..at)?))
    }

    fn number(&mut self) -> Option<Json<'a>> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        if self.peek() == Some(b'I') {
            return self.word();
        }
        let zero = self.peek() == Some(b'0');
        let whole = self.digits();
        let mut ok = whole > 0 && !(zero && whole > 1);
        if ok && self.peek() == Some(b'.') {
            self.at += 1;
            ok = self.digits() > 0;
        }
        if ok && matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            ok = self.digits() > 0;
        }
        self.cut |= self.peek().is_none();
        if !ok {
            return self.cut.then_some(Json::Null);
        }
        Some(Json::Number(self.text.get(start..self.at)?))
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    fn word(&mut self) -> Option<Json<'a>> {
        const WORDS: [(&str, Json<'static>); 5] = [
            ("null", Json::Null),
            ("true", Json::Bool(true)),
            ("false", Json::Bool(false)),
            ("NaN", Json::Null),
            ("Infinity", Json::Null),
        ];
        for (word, value) in WORDS {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Some(value);
            }
            if word.starts_with(self.rest()) {
                self.at = self.text.len();
                self.cut = true;
                return Some(Json::Null);
            }
        }
        None
    }
}

/// Returns whether the bytes from a backslash to the end are the beginning of an escape.
fn cut_escape(bytes: &[u8], at: usize) -> bool {
    match bytes.get(at + 1) {
        None => true,
        Some(b'u') => bytes
            .get(at + 2..)
            .unwrap_or_default()
            .iter()
            .all(u8::is_ascii_hexdigit),
        Some(_) => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Json<'_> {
        Json::parse(text).unwrap_or_else(|| panic!("not whole: {text}"))
    }

    #[test]
    fn values_are_read() {
        let value =
            whole(r#" {"a": [1, "b\u00e9", true, null, NaN, -Infinity], "c": {}, "a": 2} "#);
        assert_eq!(value.get("a"), Some(&Json::Number("2")));
        assert_eq!(value.get("c"), Some(&Json::Object(vec![])));
        assert_eq!(whole("[\"x\ny\"]").texts().next(), Some("x\ny"));
        assert_eq!(whole("[-Infinity]").items(), [Json::Null]);
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in [
            "[1,]",
            "{\"a\"}",
            "[01]",
            "{a:1}",
            "[1] x",
            "nope",
            "[\"\\q\"]",
            "[1 2]",
            "[1.e1]",
            "{\"a\":1,}",
        ] {
            assert_eq!(Json::read(text), Read::Bad, "{text}");
        }
    }

    #[test]
    fn what_is_cut_is_kept() {
        let text = r#"{"id": "x", "answer": "It was 18\u00e9\n and"#;
        for end in 1..text.len() {
            assert!(matches!(Json::read(&text[..end]), Read::Cut(_)), "{end}");
        }
        let Read::Cut(value) = Json::read(text) else {
            panic!("not cut");
        };
        assert_eq!(value.text_of("answer"), Some("It was 18é\n and"));
    }

    #[test]
    fn numbers() {
        assert_eq!(whole("[\"8625\"]").items()[0].count(), Some(8625));
        assert_eq!(whole("[4.0]").items()[0].count(), Some(4));
        assert_eq!(whole("[4.5]").items()[0].count(), None);
        assert_eq!(whole("[-1]").items()[0].count(), None);
        assert_eq!(whole("[\"inf\"]").items()[0].float(), None);
        assert_eq!(whole("[\" 0.5 \"]").items()[0].float(), Some(0.5));
        assert_eq!(
            whole("[0.043125000000000004]").items()[0].float(),
            Some(0.043125000000000004)
        );
    }

    #[test]
    fn deep_nesting_is_refused() {
        let deep = "[".repeat(100_000);
        assert_eq!(Json::read(&deep), Read::Bad);
    }
}
