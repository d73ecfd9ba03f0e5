//! The types of the world `traffic`, as the WIT documents them, and their names in JSON and on the command line.

use super::bindings::exports::glovebox::traffic as exported;

pub use exported::checks::{Confidence, Finding, Severity};
pub use exported::intake::{
    Detection, Failure, Finished, Format, Item, Kind, Limits, Report, Skip, Tally,
};
pub use exported::redact::{Carrier, Mode, Redacted, Replacement};
pub use exported::types::{
    Direction, Exchange, Message, Origin, Part, Provenance, Span, Warning, WebSocketMessage,
};
pub use exported::view::{Shown, ViewOptions};

/// Gives an enum the hyphenated names that the WIT has.
macro_rules! names {
    ($($kind:ident { $($case:ident => $name:literal),* $(,)? })*) => {
        $(impl $kind {
            /// Returns the hyphenated name, as in JSON and on the command line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$case => $name),* }
            }
        })*
    };
}

names! {
    Format { BurpXml => "burp-xml", Har => "har" }
    Kind {
        BurpXml => "burp-xml", Har => "har", BurpIssues => "burp-issues", BurpProject => "burp-project", Html => "html",
        Csv => "csv", Json => "json", Xml => "xml", Compressed => "compressed", Packets => "packets",
        MitmproxyFlows => "mitmproxy-flows", Empty => "empty", Unknown => "unknown",
    }
    Mode { Off => "off", Balanced => "balanced", Strict => "strict" }
    Severity { Info => "info", Low => "low", Medium => "medium", High => "high" }
    Confidence { Tentative => "tentative", Firm => "firm", Certain => "certain" }
    Provenance { Wire => "wire", Rebuilt => "rebuilt", Decoded => "decoded", Agent => "agent" }
    Part {
        Url => "url", RequestHead => "request-head", RequestBody => "request-body", ResponseHead => "response-head",
        ResponseBody => "response-body", WebSocket => "web-socket", Note => "note",
    }
    Direction { Sent => "sent", Received => "received", Error => "error" }
    Carrier {
        Userinfo => "userinfo", Path => "path", Query => "query", Fragment => "fragment", Header => "header",
        Cookie => "cookie", Form => "form", Json => "json", Multipart => "multipart", Xml => "xml", Text => "text",
    }
}

impl Severity {
    /// Returns 0 for the least severe, and more for each that is worse.
    #[must_use]
    pub const fn rank(self) -> u8 {
        match self {
            Self::Info => 0,
            Self::Low => 1,
            Self::Medium => 2,
            Self::High => 3,
        }
    }
}

impl Default for ViewOptions {
    /// All of an exchange as text, as far as it fits into the largest view.
    fn default() -> Self {
        Self {
            json: false,
            budget: VIEW_BYTES,
            request: true,
            response: true,
            bodies: true,
            request_offset: 0,
            response_offset: 0,
        }
    }
}

/// Bytes of a view: two bodies of the most that an import keeps, and their heads.
const VIEW_BYTES: u32 = 24 << 20;
