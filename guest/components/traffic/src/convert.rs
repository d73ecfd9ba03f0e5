//! From the library's types to the bindings' and back, field by field.

use crate::wit;

/// Turns a value into the other side's.
pub(crate) trait Convert<To> {
    /// Returns the same value in the other type.
    fn convert(self) -> To;
}

macro_rules! same {
    ($($kind:ty),*) => {
        $(impl Convert<$kind> for $kind {
            fn convert(self) -> $kind {
                self
            }
        })*
    };
}

same!(bool, u8, u16, u32, u64, i64, f64, String);

impl<From: Convert<To>, To> Convert<Vec<To>> for Vec<From> {
    fn convert(self) -> Vec<To> {
        self.into_iter().map(Convert::convert).collect()
    }
}

impl Convert<String> for &'static str {
    fn convert(self) -> String {
        self.to_owned()
    }
}

impl<From: Convert<To>, To, Bad: Convert<Wrong>, Wrong> Convert<Result<To, Wrong>>
    for Result<From, Bad>
{
    fn convert(self) -> Result<To, Wrong> {
        self.map(Convert::convert).map_err(Convert::convert)
    }
}

impl<From: Convert<To>, To> Convert<Option<To>> for Option<From> {
    fn convert(self) -> Option<To> {
        self.map(Convert::convert)
    }
}

/// Records: the fields have the same names on both sides.
macro_rules! records {
    ($($from:path => $to:path { $($field:ident),* $(,)? })*) => {
        $(impl Convert<$to> for $from {
            fn convert(self) -> $to {
                let value = self;
                $to { $($field: value.$field.convert()),* }
            }
        })*
    };
}

/// Enums: the cases have the same names on both sides.
macro_rules! enums {
    ($($from:path => $to:path { $($case:ident),* $(,)? })*) => {
        $(impl Convert<$to> for $from {
            fn convert(self) -> $to {
                match self { $(<$from>::$case => <$to>::$case),* }
            }
        })*
    };
}

/// Both ways.
macro_rules! both {
    ($kind:ident $($ours:path, $theirs:path { $($name:ident),* $(,)? })*) => {
        $($kind! { $ours => $theirs { $($name),* } $theirs => $ours { $($name),* } })*
    };
}

pub(crate) use {enums, records};

both! { enums
    traffic::Provenance, wit::types::Provenance { Wire, Rebuilt, Decoded, Agent }
    traffic::Direction, wit::types::Direction { Sent, Received, Error }
    traffic::Part, wit::types::Part { Url, RequestHead, RequestBody, ResponseHead, ResponseBody, WebSocket, Note }
}

both! { records
    traffic::Span, wit::types::Span { start, end }
    traffic::Warning, wit::types::Warning { code, detail }
    traffic::Origin, wit::types::Origin { scheme, host, port }
    traffic::Message, wit::types::Message { bytes, provenance, decoded }
    traffic::WebSocketMessage, wit::types::WebSocketMessage { direction, time_ms, opcode, payload }
    traffic::Exchange, wit::types::Exchange {
        index, time_ms, time_text, origin, url, method, status, http_version, request, response, server_address, mime_label,
        duration_ms, error, note, colour, web_socket, extra, warnings,
    }
}
