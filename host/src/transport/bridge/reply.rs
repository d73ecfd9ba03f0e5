//! Replies of the server: what they are, their bodies within bounds, and what they say when they are no answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use tokio::time::timeout;

use super::credentials::Current;
use super::events::{Event, Parser};
use super::failure::Failure;
use super::limits::{CONNECT, ERROR_BODY, MESSAGE, QUOTED};
use super::message::{Kind, Message};
use crate::secrets;
use crate::upstream::{Body, BodyError, Network, network};

/// What the content of a reply is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A JSON message.
    Json,
    /// A stream of events.
    Events,
    /// Nothing, or something else, by its type.
    Other(String),
}

/// A reply whose head has come.
#[derive(Debug)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// What the content is.
    pub content: Content,
    body: Body,
    silence: Duration,
    /// The server's origin, as it may be shown.
    origin: String,
    /// What was sent with the request, and is taken out of what is shown of the reply.
    sent: Arc<Current>,
}

impl Reply {
    /// Takes a response. `silence` bounds the wait for each part of its body.
    #[must_use]
    pub fn new(
        response: reqwest::Response,
        silence: Duration,
        origin: String,
        sent: Arc<Current>,
    ) -> Self {
        let (status, headers) = (response.status(), response.headers().clone());
        let kind = headers
            .get(header::CONTENT_TYPE)
            .map(|value| String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase())
            .unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        let content = match kind {
            "text/event-stream" => Content::Events,
            "application/json" => Content::Json,
            kind if kind.starts_with("application/") && kind.ends_with("+json") => Content::Json,
            kind => Content::Other(kind.to_owned()),
        };
        Self {
            status,
            headers,
            content,
            body: Body::new(response),
            silence,
            origin,
            sent,
        }
    }

    /// Returns the next bytes of the body; `None` at its end.
    async fn chunk(&mut self) -> Result<Option<Bytes>, Failure> {
        timeout(self.silence, self.body.chunk())
            .await
            .map_err(|_| Failure::Silent(self.silence))?
            .map_err(|error| match error {
                BodyError::Transfer(error) => match network(&error) {
                    Network::Broken(reason) => Failure::Broken(reason),
                    other => Failure::Broken(format!("{other:?}")),
                },
                // Neither names an address.
                other => Failure::Broken(other.to_string()),
            })
    }

    /// Reads the whole body.
    ///
    /// # Errors
    /// When it is too long, or its end does not come.
    pub async fn whole(&mut self) -> Result<Vec<u8>, Failure> {
        let mut whole = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if whole.len() + chunk.len() > MESSAGE {
                return Err(Failure::NotMcp(format!(
                    "the answer is longer than {MESSAGE} bytes"
                )));
            }
            whole.extend_from_slice(&chunk);
        }
        Ok(whole)
    }

    /// Reads the start of the body of an unsuccessful reply. What does not come is left out.
    pub async fn start(&mut self) -> Vec<u8> {
        let mut start = Vec::new();
        let until = tokio::time::Instant::now() + self.silence.min(CONNECT);
        while let Ok(Ok(Some(chunk))) = tokio::time::timeout_at(until, self.body.chunk()).await {
            let room = ERROR_BODY - start.len();
            start.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
            if start.len() == ERROR_BODY {
                break;
            }
        }
        start
    }

    /// Returns how long the server asks to wait.
    fn retry_after(&self) -> Option<Duration> {
        let value = self.headers.get(header::RETRY_AFTER)?.to_str().ok()?;
        value.trim().parse().ok().map(Duration::from_secs)
    }

    /// Returns the failure that an unsuccessful reply stands for. `body` is the start of its body.
    #[must_use]
    pub fn refusal(&self, body: &[u8]) -> Failure {
        let status = self.status;
        let origin = &self.origin;
        let meaning = match status.as_u16() {
            401 => format!(
                "{origin} wants a token, or another one (status 401): give it with --bearer-env VARIABLE or --bearer-file FILE"
            ),
            403 => format!(
                "{origin} does not allow this (status 403): check the token's rights, and the server's list of allowed hosts"
            ),
            404 => format!(
                "{origin} has nothing at this address (status 404): check the path; common ones are /mcp and /sse"
            ),
            405 => format!(
                "{origin} does not take messages at this address (status 405): check the path"
            ),
            406 | 415 => format!("{origin} does not take messages in this form (status {status})"),
            407 => "the proxy wants a user name and password (status 407)".to_owned(),
            413 => format!("the message is too long for {origin} (status 413)"),
            429 => format!("{origin} limits the rate of requests (status 429)"),
            502..=504 => {
                format!("{origin}, or a proxy in front of it, is not ready (status {status})")
            }
            code => format!("{origin} answered with status {code}"),
        };
        let said = self.sent.mask_text(&self.quoted(body));
        let said = if said.is_empty() {
            said
        } else {
            format!("; it said: {said}")
        };
        Failure::Refused {
            status: status.as_u16(),
            text: format!("{meaning}{said}"),
            retry_after: self.retry_after(),
        }
    }

    /// Returns what a body says, in few words.
    fn quoted(&self, body: &[u8]) -> String {
        let text = String::from_utf8_lossy(body);
        if is_html(&self.content, &text) {
            return "a web page".to_owned();
        }
        quote(&text)
    }

    /// Returns the failure that a reply of a wrong type stands for.
    #[must_use]
    pub fn not_mcp(&self, body: &[u8]) -> Failure {
        let text = String::from_utf8_lossy(body);
        let what = match &self.content {
            content if is_html(content, &text) => "a web page".to_owned(),
            Content::Other(kind) if kind.is_empty() => "content without a type".to_owned(),
            Content::Other(kind) => format!("content of the type {}", quote(kind)),
            Content::Json | Content::Events => format!("`{}`", quote(&text)),
        };
        let what = self.sent.mask_text(&what);
        Failure::NotMcp(format!(
            "{} answered with {what} instead of MCP (status {}): check the address",
            self.origin, self.status
        ))
    }

    /// Reads the body as a stream of events.
    #[must_use]
    pub const fn events(self) -> Events {
        Events {
            reply: self,
            parser: Parser::new(MESSAGE),
            over: false,
        }
    }
}

fn is_html(content: &Content, text: &str) -> bool {
    let start = text.trim_start().get(..9).unwrap_or_default();
    let by_type = matches!(content, Content::Other(kind) if kind == "text/html" || kind == "application/xhtml+xml");
    by_type
        || start.eq_ignore_ascii_case("<!doctype")
        || start.to_ascii_lowercase().starts_with("<html")
}

/// Returns the start of a text on one line.
fn quote(text: &str) -> String {
    let mut line: String = text
        .trim()
        .chars()
        .take(QUOTED)
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    if text.trim().chars().nth(QUOTED).is_some() {
        line.push('…');
    }
    secrets::masked(&line).into_owned()
}

/// Returns the JSON-RPC error that a body holds.
#[must_use]
pub fn rpc_error(body: &[u8]) -> Option<Message> {
    let message = Message::read(Bytes::copy_from_slice(body)).ok()?.pop()?;
    let is_reply = matches!(message.kind(), Kind::Reply(_)) && message.is_error();
    let error = message.error()?;
    let has_code = error.get("code").is_some_and(serde_json::Value::is_number);
    (is_reply && has_code).then_some(message)
}

/// A stream of events that is being read.
#[derive(Debug)]
pub struct Events {
    reply: Reply,
    parser: Parser,
    over: bool,
}

impl Events {
    /// Returns the next event, and whether it was cut by the end of the stream; `None` at the end. Comments keep it
    /// waiting.
    ///
    /// # Errors
    /// When the connection ended without the stream's end, an event is too long, or nothing comes.
    pub async fn next(&mut self) -> Result<Option<(Event, bool)>, Failure> {
        loop {
            if let Some(event) = self.parser.next() {
                return Ok(Some((event, false)));
            }
            if self.over {
                return Ok(self.parser.finish().map(|event| (event, true)));
            }
            match self.reply.chunk().await? {
                Some(chunk) => self
                    .parser
                    .push(&chunk)
                    .map_err(|error| Failure::NotMcp(error.to_string()))?,
                None => self.over = true,
            }
        }
    }
}
