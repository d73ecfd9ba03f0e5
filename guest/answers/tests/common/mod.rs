//! What the tests share: events in a form that does not depend on the cuts.

use answers::{Event, EventKind, Finished, Header, Limits, Mode, Parser};

/// Reads a reply cut into chunks; all events joined, and what the end brought.
pub fn read<'a>(
    mode: Mode,
    headers: &[Header],
    limits: Limits,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Event>, Finished) {
    let mut parser = Parser::new(mode, limits);
    parser.head(headers);
    let mut events = Vec::new();
    for chunk in chunks {
        events.extend(parser.push(chunk).events);
    }
    let finished = parser.finish();
    events.extend(finished.last.events.iter().cloned());
    (joined(events), finished)
}

/// Adjacent events of text or draft as one, at the first's place.
pub fn joined(events: Vec<Event>) -> Vec<Event> {
    let mut all: Vec<Event> = Vec::new();
    for event in events {
        match (all.last_mut().map(|last| &mut last.kind), &event.kind) {
            (Some(EventKind::Text(last)), EventKind::Text(text))
            | (Some(EventKind::Draft(last)), EventKind::Draft(text)) => last.push_str(text),
            _ => all.push(event),
        }
    }
    all
}
