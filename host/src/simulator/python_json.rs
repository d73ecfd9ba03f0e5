//! Serializes JSON as Python does, with `", "` and `": "` as separators and non-ASCII characters escaped. The tags of
//! the API have this format.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

struct Python;

impl Formatter for Python {
    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        for letter in fragment.chars() {
            if letter.is_ascii() {
                write!(out, "{letter}")?;
            } else {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the output of Python's `json.dumps` for a value.
pub fn dumps<T: Serialize + ?Sized>(value: &T) -> String {
    let mut out = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, Python);
    // Only maps with keys that are not strings fail. No caller has such maps.
    let _ = value.serialize(&mut serializer);
    String::from_utf8_lossy(&out).into_owned()
}

/// Returns a tag with a payload.
pub fn tag<T: Serialize + ?Sized>(name: &str, payload: &T) -> String {
    format!("<{name}>{}</{name}>", dumps(payload))
}

#[cfg(test)]
mod tests {
    #[test]
    fn as_python() {
        let text = super::tag("t", &serde_json::json!({"a": [1, 2.5], "b": "é\"😀"}));
        assert_eq!(
            text,
            r#"<t>{"a": [1, 2.5], "b": "\u00e9\"\ud83d\ude00"}</t>"#
        );
    }
}
