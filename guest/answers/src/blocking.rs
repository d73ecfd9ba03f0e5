//! Reads a blocking reply: one JSON text with the whole message.

use crate::event::StreamErrorKind;
use crate::parser::ReplyReader;
use crate::text::first_chars;
use crate::usage;
use crate::warnings as code;
use stream::json::{Json, Read};

/// Longest message taken from the upstream, in code points.
const MESSAGE_CHARS: usize = 500;

/// Reads the body. The outcome is the same as that of a stream of the same answer.
pub(crate) fn read(reader: &mut ReplyReader, body: &[u8], at: u64) {
    let text = String::from_utf8_lossy(body);
    let (value, whole) = match Json::read(&text) {
        Read::Whole(value) => (value, true),
        Read::Cut(value) => (value, false),
        Read::Bad => return reader.not_a_reply(at),
    };
    if let Some(error) = error_of(&value) {
        let message = error_message(Some(error));
        return reader
            .collector
            .fail(StreamErrorKind::UpstreamError, message, at);
    }
    let choice = value
        .get("choices")
        .and_then(|choices| choices.items().first());
    let completion = value.text_of("object") == Some("chat.completion");
    if choice.is_none() && !completion {
        return reader.not_a_reply(at);
    }
    reader.ending.model = value.text_of("model").map(str::to_owned);
    if let Some(choice) = choice {
        let message = choice.get("message").or_else(|| choice.get("delta"));
        let content = message.and_then(|message| message.text_of("content"));
        let ReplyReader {
            tags, collector, ..
        } = reader;
        tags.feed(content.unwrap_or_default(), collector);
        let reason = choice.text_of("finish_reason");
        reader.ending.finish_reason = reason.filter(|it| !it.is_empty()).map(str::to_owned);
    }
    reader.completion = value.get("usage").and_then(usage::from_completion);
    reader.ending.done = whole;
    if !whole {
        reader.ending.finish_reason = None;
        reader
            .collector
            .warn(code::CUT_BODY, "the reply ends in the middle of its JSON");
    }
}

/// Returns the member of the reply that reports an error.
fn error_of<'a>(value: &'a Json<'a>) -> Option<&'a Json<'a>> {
    let present = |name| value.get(name).filter(|&error| *error != Json::Null);
    let error = present("error").or_else(|| present("errors"));
    error.or_else(|| match value.get("choices") {
        None => present("detail"),
        Some(_) => None,
    })
}

/// Returns a message for an error object, in one line.
pub(crate) fn error_message(error: Option<&Json<'_>>) -> String {
    let first = error.map(|error| error.items().first().unwrap_or(error));
    let text = first.and_then(|error| {
        let members = ["message", "detail", "code", "type"];
        error
            .text()
            .or_else(|| members.into_iter().find_map(|name| error.text_of(name)))
    });
    let code = first.and_then(|error| error.text_of("code"));
    let mut message = "The upstream reported an error".to_owned();
    if let Some(text) = text {
        message.push_str(": ");
        message.push_str(first_chars(text, MESSAGE_CHARS));
    }
    if let Some(code) = code.filter(|code| Some(*code) != text) {
        message.push_str(" (");
        message.push_str(first_chars(code, MESSAGE_CHARS));
        message.push(')');
    }
    message
}
