//! Finds the newest events.

use std::fs;
use std::io;

use serde_json::Value;

use super::error::AuditError;
use super::files::AuditDir;

/// Which events are wanted.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// How many, the newest.
    pub count: usize,
    /// Only those of this tool.
    pub tool: Option<String>,
    /// Only those with this decision.
    pub decision: Option<String>,
}

impl Query {
    /// Returns whether an event is wanted.
    #[must_use]
    pub fn fits(&self, event: &Value) -> bool {
        let is = |name: &str, wanted: &Option<String>| {
            wanted
                .as_ref()
                .is_none_or(|wanted| event.get(name).and_then(Value::as_str) == Some(wanted))
        };
        is("tool", &self.tool) && is("decision", &self.decision)
    }
}

/// Returns the newest events that are wanted, the newest first. Reads one file at a time, and no more than needed.
///
/// # Errors
/// When a file cannot be read.
pub fn newest(dir: &AuditDir, query: &Query) -> Result<Vec<Value>, AuditError> {
    let mut files = dir.older_files()?;
    files.push(dir.current());
    let mut found = Vec::new();
    for path in files.into_iter().rev() {
        let is_file = fs::metadata(&path).is_ok_and(|meta| meta.is_file());
        if !is_file {
            continue;
        }
        let content = match fs::read(&path) {
            // Removed or renamed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            content => content.map_err(|error| AuditError::file(&path, error))?,
        };
        for line in content.rsplit(|byte| *byte == b'\n') {
            if found.len() >= query.count {
                return Ok(found);
            }
            let event = serde_json::from_slice::<Value>(line).ok();
            found.extend(event.filter(|event| event.is_object() && query.fits(event)));
        }
    }
    Ok(found)
}
