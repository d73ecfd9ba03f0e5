//! What the text and the JSON of an inspection have in common.

use super::summary::Summary;
use crate::sandbox::SandboxError;
use crate::traffic::{Detection, Inspected, InspectedExchange, Report, Traffic, WebSocketMessage};

/// What the outputs of the command have in common. Every text has passed the redactor.
pub(super) trait Output {
    /// The file was recognised.
    fn begin(&mut self, detection: &Detection) -> Result<Vec<String>, SandboxError>;
    /// An item came; the lines to print, before they are scanned once more.
    fn item(&mut self, item: &Inspected) -> Vec<String>;
    /// The one exchange that was asked for, in full.
    fn exchange(
        &mut self,
        traffic: &Traffic,
        exchange: &InspectedExchange,
    ) -> Result<Vec<String>, SandboxError>;
    /// The end: the report, or why there is none.
    fn end(&mut self, summary: &Summary, report: Result<&Report, &str>) -> Vec<String>;
    /// Whether the lines are JSON.
    fn is_json(&self) -> bool;
}

/// Bytes of a WebSocket message that are shown.
const MESSAGE_BYTES: usize = 4 << 10;

/// Returns the text of a WebSocket message, cut, and how many of its bytes were left out; `None` where it is no text.
pub(super) fn message_text(message: &WebSocketMessage) -> Option<(String, usize)> {
    let text = std::str::from_utf8(&message.payload).ok()?;
    let mut end = text.len().min(MESSAGE_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let shown = text.get(..end)?;
    Some((shown.to_owned(), text.len() - end))
}
