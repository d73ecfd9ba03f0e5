//! `message`.

use std::cell::RefCell;

use traffic::message as lib;

use crate::Component;
use crate::convert::{Convert, enums, records};
use crate::wit::message as wit;
use crate::wit::types::{Exchange, Message};

enums! {
    lib::parameters::ParameterKind => wit::ParameterKind { Path, Query, Cookie, Form, Multipart, FileName, Json, Xml, XmlAttribute }
    lib::diff::Place => wit::ChangePlace { Start, Header, Json, Line, Body }
}

records! {
    lib::Header => wit::Header { name, value, line, place, odd }
    lib::Head => wit::Head {
        method, target, target_place, version, status, reason, headers, span, body, line_ends, complete, strict, warnings,
    }
    wit::BodyLimits => lib::body::BodyLimits { decoded, ratio }
    lib::body::BodyLimits => wit::BodyLimits { decoded, ratio }
    lib::Decoded => wit::Decoded { bytes, text, charset, media_type, removed, limit, complete, warnings }
    lib::parameters::Parameter => wit::Parameter { kind, name, value, place }
    lib::parameters::Reflection => wit::Reflection { name, kind, count, raw, place }
    lib::cookies::Cookie => wit::Cookie { name, value, set, domain, path, expires, max_age, secure, http_only, same_site }
    lib::jwt::Jwt => wit::Jwt { header, payload, algorithm, header_names, issued, expires, signed }
    lib::diff::Change => wit::Change { place, name, before, after }
    lib::diff::Difference => wit::Difference { changes, cut }
    lib::endpoints::Shape => wit::Shape { kind, name, values }
    lib::endpoints::Endpoint => wit::Endpoint { method, origin, path, count, parameters, statuses, types, authentication }
}

/// Endpoints behind a handle.
pub(crate) struct Endpoints(RefCell<lib::endpoints::Endpoints>);

impl wit::GuestEndpoints for Endpoints {
    fn new() -> Self {
        Self(RefCell::new(lib::endpoints::Endpoints::default()))
    }

    fn push(&self, exchange: Exchange) {
        self.0.borrow_mut().push(&exchange.convert());
    }

    fn finish(this: wit::Endpoints) -> wit::Gathered {
        let (endpoints, left_out) = this.into_inner::<Self>().0.into_inner().finish();
        wit::Gathered {
            endpoints: endpoints.convert(),
            left_out,
        }
    }
}

impl wit::Guest for Component {
    type Endpoints = Endpoints;

    fn parse_request(bytes: Vec<u8>) -> wit::Head {
        lib::head::request(&bytes).convert()
    }

    fn parse_response(bytes: Vec<u8>) -> wit::Head {
        lib::head::response(&bytes).convert()
    }

    fn decode_body(message: Message, request: bool, limits: wit::BodyLimits) -> wit::Decoded {
        lib::decode(&message.convert(), request, &limits.convert()).convert()
    }

    fn default_body_limits() -> wit::BodyLimits {
        lib::body::BodyLimits::default().convert()
    }

    fn parameters(request: Message) -> Vec<wit::Parameter> {
        lib::parameters::parameters(&request.convert()).convert()
    }

    fn insertion_points(request: Message, append: bool) -> Vec<wit::Parameter> {
        lib::parameters::insertion_points(&request.convert(), append).convert()
    }

    fn reflected(request: Message, response: Message) -> Vec<wit::Reflection> {
        lib::parameters::reflected(&request.convert(), &response.convert()).convert()
    }

    fn diff(first: Message, second: Message, request: bool) -> wit::Difference {
        lib::diff::diff(&first.convert(), &second.convert(), request).convert()
    }

    fn cookies(exchange: Exchange) -> Vec<wit::Cookie> {
        lib::cookies::cookies(&exchange.convert()).convert()
    }

    fn decode_jwt(token: String) -> Option<wit::Jwt> {
        lib::jwt::decode(&token).convert()
    }
}
