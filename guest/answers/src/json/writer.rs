//! JSON as text: compact, keys in the order of the calls, floats as short as they read back exactly.

use super::Json;
use crate::text::push_number;
use alloc::string::String;

/// Writes one JSON text. The caller opens and closes; commas come by themselves.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    out: String,
    /// Whether the next key or item needs a comma before it.
    comma: bool,
}

impl Writer {
    /// The text.
    pub(crate) fn finish(self) -> String {
        self.out
    }

    /// `{` or `[`.
    pub(crate) fn open(&mut self, bracket: char) {
        self.separate();
        self.out.push(bracket);
        self.comma = false;
    }

    /// `}` or `]`.
    pub(crate) fn close(&mut self, bracket: char) {
        self.out.push(bracket);
        self.comma = true;
    }

    /// The name of the next member.
    pub(crate) fn key(&mut self, name: &str) {
        self.text(name);
        self.out.push(':');
        self.comma = false;
    }

    /// A string.
    pub(crate) fn text(&mut self, text: &str) {
        self.separate();
        self.out.push('"');
        escape_into(text, &mut self.out);
        self.out.push('"');
    }

    /// A string or null.
    pub(crate) fn text_or_null(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.text(text),
            None => self.raw("null"),
        }
    }

    /// Text that is JSON already.
    pub(crate) fn raw(&mut self, json: &str) {
        self.separate();
        self.out.push_str(json);
    }

    /// A truth value.
    pub(crate) fn bool(&mut self, value: bool) {
        self.raw(if value { "true" } else { "false" });
    }

    /// A whole number or null.
    pub(crate) fn count(&mut self, value: Option<u64>) {
        match value {
            Some(value) => self.number(value),
            None => self.raw("null"),
        }
    }

    /// A whole number that may be negative.
    pub(crate) fn integer(&mut self, value: i64) {
        self.separate();
        if value < 0 {
            self.out.push('-');
        }
        push_number(value.unsigned_abs(), &mut self.out);
    }

    /// A float or null. JSON has no NaN and no infinity: they are null too.
    pub(crate) fn float(&mut self, value: Option<f64>) {
        match value {
            Some(value) if value.is_finite() => {
                self.separate();
                crate::float::write(value, &mut self.out);
            }
            _ => self.raw("null"),
        }
    }

    /// A whole array of strings.
    pub(crate) fn texts<'a>(&mut self, texts: impl IntoIterator<Item = &'a String>) {
        self.open('[');
        for text in texts {
            self.text(text);
        }
        self.close(']');
    }

    /// A whole array of small numbers.
    pub(crate) fn numbers(&mut self, numbers: &[u32]) {
        self.open('[');
        for &number in numbers {
            self.number(number.into());
        }
        self.close(']');
    }

    /// A value that was read before.
    pub(crate) fn json(&mut self, value: &Json) {
        match value {
            Json::Null => self.raw("null"),
            Json::Bool(value) => self.bool(*value),
            Json::Number(digits) => self.raw(digits),
            Json::Text(text) => self.text(text),
            Json::Array(items) => {
                self.open('[');
                for item in items {
                    self.json(item);
                }
                self.close(']');
            }
            Json::Object(members) => {
                self.open('{');
                for (name, value) in members {
                    self.key(name);
                    self.json(value);
                }
                self.close('}');
            }
        }
    }

    fn number(&mut self, value: u64) {
        self.separate();
        push_number(value, &mut self.out);
    }

    fn separate(&mut self) {
        if self.comma {
            self.out.push(',');
        }
        self.comma = true;
    }
}

/// Appends the inside of a JSON string.
fn escape_into(text: &str, out: &mut String) {
    const HEX: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let mut plain = 0;
    for (index, byte) in text.bytes().enumerate() {
        let short = match byte {
            b'"' => '"',
            b'\\' => '\\',
            b'\n' => 'n',
            b'\r' => 'r',
            b'\t' => 't',
            8 => 'b',
            12 => 'f',
            0..32 => 'u',
            _ => continue,
        };
        out.push_str(text.get(plain..index).unwrap_or_default());
        plain = index + 1;
        out.push('\\');
        out.push(short);
        if short == 'u' {
            out.push_str("00");
            for digit in [byte >> 4, byte & 15] {
                out.extend(HEX.get(usize::from(digit)));
            }
        }
    }
    out.push_str(text.get(plain..).unwrap_or_default());
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn strings_read_back() {
        let text: String = (0..0x250).filter_map(char::from_u32).collect();
        let mut writer = Writer::default();
        writer.text(&text);
        let json = writer.finish();
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        assert_eq!(json, serde_json::to_string(&text).unwrap());
    }

    #[test]
    fn commas_and_floats() {
        let mut writer = Writer::default();
        writer.open('{');
        writer.key("a");
        writer.numbers(&[1, 2]);
        writer.key("b");
        writer.float(Some(0.043125000000000004));
        writer.key("c");
        writer.float(Some(0.0));
        writer.key("d");
        writer.float(Some(f64::NAN));
        writer.close('}');
        assert_eq!(
            writer.finish(),
            r#"{"a":[1,2],"b":0.043125000000000004,"c":0.0,"d":null}"#
        );
    }
}
