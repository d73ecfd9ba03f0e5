//! The error of this folder.

/// What is wrong with a setting: one sentence with the value, its origin, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SettingsError(pub String);
