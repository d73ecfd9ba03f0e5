//! Serde for a string that is JSON text: it is written as the value it stands for.

use alloc::string::{String, ToString};
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Error, Serialize, Serializer};
use serde_json::Value;

pub(crate) fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let value: Value = serde_json::from_str(text).map_err(S::Error::custom)?;
    value.serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Value::deserialize(deserializer)?.to_string())
}
