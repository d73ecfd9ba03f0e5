//! Serde functions for a string that holds JSON text: it is written as the value that it represents.

use serde::de::{Deserialize as _, Deserializer};
use serde::ser::{Serialize as _, Serializer};
use serde_json::value::RawValue;

/// Writes JSON text as a value; text that is not JSON becomes a string.
pub(crate) fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(raw) => raw.serialize(serializer),
        Err(_) => serializer.serialize_str(text),
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Box::<RawValue>::deserialize(deserializer)?.get().to_owned())
}
