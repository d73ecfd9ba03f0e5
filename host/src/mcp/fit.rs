//! Fits structured content into a number of bytes: long texts are cut, and long lists end early. What was left out is reported.

use serde_json::{Map, Value};

/// The end of a text that was cut.
const CUT: &str = "…";
/// The most parts that are named as cut, so that the report is bounded too.
const NAMED: usize = 3;

/// Shrinks a value to at most `room` bytes as JSON. Returns a text about what was left out, or nothing where the value fitted.
/// Numbers and booleans are never removed.
#[must_use]
pub fn fit(value: &mut Value, room: usize) -> Option<String> {
    let mut cuts = Vec::new();
    shrink(value, room, "", &mut cuts);
    if cuts.is_empty() {
        return None;
    }
    let rest = cuts.len().saturating_sub(NAMED);
    cuts.truncate(NAMED);
    let mut words = cuts.join("; ");
    if rest > 0 {
        words.push_str(&format!("; and parts of {rest} others"));
    }
    Some(words)
}

/// Returns the bytes of a value as JSON.
#[must_use]
pub fn size(value: &Value) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // A value of text, numbers, lists and objects can always be written.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

fn shrink(value: &mut Value, room: usize, path: &str, cuts: &mut Vec<String>) {
    if size(value) <= room {
        return;
    }
    match value {
        Value::String(text) => cut(text, room, path, cuts),
        Value::Array(items) => shorten(items, room, path, cuts),
        Value::Object(members) => share(members, room, path, cuts),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Cuts a text between two characters.
fn cut(text: &mut String, room: usize, path: &str, cuts: &mut Vec<String>) {
    const QUOTES: usize = 2;
    let total = text.len();
    let room = room.saturating_sub(QUOTES + CUT.len());
    let mut used = 0;
    let end = text
        .char_indices()
        .find(|(_, letter)| {
            used += escaped(*letter);
            used > room
        })
        .map_or(total, |(at, _)| at);
    text.truncate(end);
    text.push_str(CUT);
    cuts.push(format!("{path}: {} of {total} bytes", total - end));
}

/// Returns the bytes of a character in JSON.
const fn escaped(letter: char) -> usize {
    match letter {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => letter.len_utf8(),
    }
}

/// Ends a list where the next element does not fit. No element takes more than a quarter, so that one does not hide the
/// others.
fn shorten(items: &mut Vec<Value>, room: usize, path: &str, cuts: &mut Vec<String>) {
    const BRACKETS: usize = 2;
    const COMMA: usize = 1;
    let total = items.len();
    let mut used = BRACKETS;
    let mut kept = 0;
    for (index, item) in items.iter_mut().enumerate() {
        shrink(item, room / 4, &format!("{path}[{index}]"), cuts);
        used += size(item) + COMMA;
        if used > room {
            break;
        }
        kept += 1;
    }
    items.truncate(kept);
    if kept < total {
        cuts.insert(0, format!("{path}: {} of {total}", total - kept));
    }
}

/// Shrinks the members of an object: one that needs less than an equal share keeps what it needs, the others share the rest.
fn share(members: &mut Map<String, Value>, room: usize, path: &str, cuts: &mut Vec<String>) {
    const BRACES: usize = 2;
    const COLON_AND_COMMA: usize = 2;
    let names: usize = members
        .keys()
        .map(|name| size(&Value::from(name.as_str())) + COLON_AND_COMMA)
        .sum();
    let mut left = room.saturating_sub(BRACES + names);
    let mut sizes: Vec<usize> = members.values().map(size).collect();
    sizes.sort_unstable();
    let mut others = sizes.len();
    for size in sizes {
        if size > left / others.max(1) {
            break;
        }
        left -= size;
        others -= 1;
    }
    let most = left / others.max(1);
    for (name, value) in members.iter_mut() {
        let path = match path {
            "" => name.clone(),
            path => format!("{path}.{name}"),
        };
        shrink(value, most, &path, cuts);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            ".{0,200}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 16, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..16).prop_map(Value::from),
                prop::collection::btree_map("[a-z]{1,6}", inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_it_is_fits_and_says_what_was_left_out(list in prop::collection::vec(value(), 0..40), room in 300_usize..4000) {
            let whole = json!({ "state": "done", "jobs": list });
            let mut fitted = whole.clone();
            let cut = fit(&mut fitted, room);
            prop_assert!(size(&fitted) <= room, "{} of {room}", size(&fitted));
            prop_assert_eq!(cut.is_some(), fitted != whole);
            prop_assert_eq!(&fitted["state"], "done");
        }
    }

    #[test]
    fn what_was_left_out_is_counted() {
        let sources: Vec<Value> = (0..1000).map(|n| json!({ "number": n })).collect();
        let mut value =
            json!({ "state": "done", "outcome": { "sources": sources, "answer": "short" } });
        let cut = fit(&mut value, 500).unwrap();
        let kept = value["outcome"]["sources"].as_array().unwrap().len();
        assert_eq!(cut, format!("outcome.sources: {} of 1000", 1000 - kept));
        assert!(kept > 10, "{kept}");
        assert_eq!(value["outcome"]["answer"], "short");
        let mut text = json!({ "answer": "é\"\n\u{1}".repeat(100) });
        let cut = fit(&mut text, 100).unwrap();
        assert!(size(&text) <= 100 && cut.starts_with("answer: "), "{text}");
    }
}
