//! JSON-RPC for all transports: parsing messages, error replies to malformed ones, requests in flight, and the outgoing
//! queue. Nothing here does I/O.
//!
//! A transport keeps one [`Connection`] for a client, gives every message it reads to [`Connection::receive`], and
//! asks [`Connection::may_send`] before it sends one. A transport that has to look at a message before its parameters
//! are checked, as HTTP does for its headers, calls [`Envelope::read`] and then [`Connection::admit`].

mod connection;
mod envelope;
mod id_scanner;
mod in_flight;
mod methods;
pub mod outgoing;
mod reply;
mod surrogates;

pub use connection::{Connection, Received};
pub use envelope::Envelope;
pub use id_scanner::IdScanner;
pub use in_flight::InFlight;
pub use reply::{ErrorReply, encode};
