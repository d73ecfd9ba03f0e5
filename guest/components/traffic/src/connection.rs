//! `h1` and `websocket`.

use std::cell::RefCell;

use crate::Component;
use crate::convert::{Convert, enums, records};
use crate::wit::{h1, types, websocket};

enums! {
    traffic::h1::Side => h1::Side { Client, Server }
    h1::Side => traffic::h1::Side { Client, Server }
}

records! {
    h1::FramerLimits => traffic::h1::FramerLimits { body, pipeline }
    traffic::h1::Framed => h1::Framed { side, exchange, bytes, dropped, interim, complete, warnings }
    traffic::h1::Tunnelled => h1::Tunnelled { side, bytes }
    traffic::h1::Target => h1::Target { origin, connect, head, warnings }
    traffic::websocket::Deflate => websocket::Deflate { client_resets, server_resets }
    traffic::websocket::Received => websocket::Received { opcode, payload, dropped, warnings }
    traffic::websocket::Frames => websocket::Frames { messages, error }
}

impl Convert<h1::Event> for traffic::h1::Event {
    fn convert(self) -> h1::Event {
        match self {
            Self::Message(framed) => h1::Event::Message(framed.convert()),
            Self::Tunnel(bytes) => h1::Event::Tunnel(bytes.convert()),
        }
    }
}

/// A framer behind a handle.
pub(crate) struct Framer(RefCell<traffic::h1::Framer>);

impl h1::GuestFramer for Framer {
    fn new(limits: h1::FramerLimits) -> Self {
        Self(RefCell::new(traffic::h1::Framer::new(limits.convert())))
    }

    fn push(&self, side: h1::Side, chunk: Vec<u8>) -> Vec<h1::Event> {
        self.0.borrow_mut().push(side.convert(), &chunk).convert()
    }

    fn finish(&self, side: h1::Side) -> Vec<h1::Event> {
        self.0.borrow_mut().finish(side.convert()).convert()
    }
}

impl h1::Guest for Component {
    type Framer = Framer;

    fn target_of(head: Vec<u8>, tunnel: Option<types::Origin>) -> Result<h1::Target, String> {
        let tunnel: Option<traffic::Origin> = tunnel.convert();
        traffic::h1::target(&head, tunnel.as_ref()).convert()
    }
}

/// A decoder behind a handle.
pub(crate) struct Decoder(RefCell<traffic::websocket::Decoder>);

impl websocket::GuestDecoder for Decoder {
    fn new(deflate: bool, resets: bool, limit: u32) -> Self {
        Self(RefCell::new(traffic::websocket::Decoder::new(
            deflate, resets, limit,
        )))
    }

    fn push(&self, chunk: Vec<u8>) -> websocket::Frames {
        self.0.borrow_mut().push(&chunk).convert()
    }
}

impl websocket::Guest for Component {
    type Decoder = Decoder;

    fn deflate_of(response: Vec<u8>) -> Option<websocket::Deflate> {
        traffic::websocket::deflate_of(&response).convert()
    }
}
