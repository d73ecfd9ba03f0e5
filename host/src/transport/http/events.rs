//! A stream of server-sent events as the body of a reply.

use std::convert::Infallible;
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::stream;
use http::{HeaderValue, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use tokio::time::timeout;

use super::event_id::{EventId, StreamId};
use super::limits::RETRY_MS;
use super::log::{Event, Next, Reader};
use super::reply::Body;

/// How the events of a stream are written.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// The stream in its session, where events carry an id by which a client can resume.
    pub stream: Option<StreamId>,
    /// Whether the stream begins with an id and ends with a time to reconnect after. Clients older than 2025-11-25
    /// take the empty event for a message.
    pub primed: bool,
    /// Whether each event names its type, as the older transport has it.
    pub named: bool,
    /// The interval of comments when there is no event.
    pub keepalive: Duration,
}

/// Returns a reply that streams the messages of a reader, after `opening`. `guard` is dropped with the stream.
pub fn response<G: Send + 'static>(
    reader: Reader,
    style: Style,
    first: Option<Event>,
    opening: Option<Bytes>,
    guard: G,
) -> Response<Body> {
    let mut begun = BytesMut::new();
    if let Some(opening) = opening {
        begun.extend_from_slice(&opening);
    }
    if style.primed
        && let Some(stream) = style.stream
    {
        let seq = first
            .as_ref()
            .map_or(reader.cursor(), |event| event.seq - 1);
        let id = EventId { stream, seq };
        begun.extend_from_slice(format!("id: {id}\nretry: {RETRY_MS}\ndata:\n\n").as_bytes());
    }
    if let Some(event) = first {
        write(&mut begun, &style, &event);
    }
    if begun.is_empty() {
        // So that the head is sent at once, and a buffering proxy has something to pass on.
        begun.extend_from_slice(b": open\n\n");
    }
    let state = State {
        reader,
        style,
        begun: Some(begun.freeze()),
        over: false,
        _guard: guard,
    };
    let frames = stream::unfold(state, |mut state| async move {
        let bytes = state.next().await?;
        Some((Ok::<_, Infallible>(Frame::data(bytes)), state))
    });
    let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache, no-transform"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

struct State<G> {
    reader: Reader,
    style: Style,
    begun: Option<Bytes>,
    over: bool,
    _guard: G,
}

impl<G> State<G> {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(begun) = self.begun.take() {
            return Some(begun);
        }
        if self.over {
            return None;
        }
        match timeout(self.style.keepalive, self.reader.next()).await {
            Err(_) => Some(Bytes::from_static(b": keepalive\n\n")),
            Ok(Next::Event(event)) => {
                let mut bytes = BytesMut::with_capacity(event.data.len() + 64);
                write(&mut bytes, &self.style, &event);
                Some(bytes.freeze())
            }
            Ok(Next::End) => {
                self.over = true;
                self.style
                    .primed
                    .then(|| Bytes::from(format!("retry: {RETRY_MS}\n\n")))
            }
        }
    }
}

fn write(into: &mut BytesMut, style: &Style, event: &Event) {
    if style.named {
        into.put_slice(b"event: message\n");
    }
    if let Some(stream) = style.stream {
        let id = EventId {
            stream,
            seq: event.seq,
        };
        into.put_slice(format!("id: {id}\n").as_bytes());
    }
    into.put_slice(b"data: ");
    into.put_slice(&event.data);
    into.put_slice(b"\n\n");
}
