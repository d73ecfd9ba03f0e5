//! `intake` and `har`.

use std::cell::RefCell;

use traffic::intake as lib;

use crate::convert::{Convert, enums, records};
use crate::wit::intake as wit;
use crate::{Component, wit::har, wit::types::Exchange};

enums! {
    wit::Format => lib::Format { BurpXml, Har }
    lib::Format => wit::Format { BurpXml, Har }
    lib::Kind => wit::Kind {
        BurpXml, Har, BurpIssues, BurpProject, Html, Csv, Json, Xml, Compressed, Packets, MitmproxyFlows, Empty, Unknown,
    }
}

records! {
    wit::Limits => lib::Limits { body, item, values, items }
    lib::Limits => wit::Limits { body, item, values, items }
    lib::Detection => wit::Detection { kind, format, message }
    lib::Skip => wit::Skip { index, code, reason }
    lib::Failure => wit::Failure { code, message, at }
    lib::Batch => wit::Batch { items, error }
    lib::Tally => wit::Tally { code, count, first_index, detail }
    lib::Report => wit::Report { writer, version, taken, skipped, complete, error, skips, warnings }
}

impl Convert<wit::Item> for lib::Item {
    fn convert(self) -> wit::Item {
        match self {
            Self::Exchange(exchange) => wit::Item::Exchange((*exchange).convert()),
            Self::Skip(skip) => wit::Item::Skip(skip.convert()),
        }
    }
}

/// A reader behind a handle.
pub(crate) struct Reader(RefCell<lib::Reader>);

impl wit::GuestReader for Reader {
    fn new(format: wit::Format, limits: wit::Limits) -> Self {
        Self(RefCell::new(lib::Reader::new(
            format.convert(),
            limits.convert(),
        )))
    }

    fn push(&self, chunk: Vec<u8>) -> wit::Batch {
        self.0.borrow_mut().push(&chunk).convert()
    }

    fn finish(this: wit::Reader) -> wit::Finished {
        let (last, report) = this.into_inner::<Self>().0.into_inner().finish();
        wit::Finished {
            last: last.convert(),
            report: report.convert(),
        }
    }
}

impl wit::Guest for Component {
    type Reader = Reader;

    fn detect(start: Vec<u8>) -> wit::Detection {
        lib::detect(&start).convert()
    }

    fn default_limits() -> wit::Limits {
        lib::Limits::default().convert()
    }
}

impl har::Guest for Component {
    fn head(version: String) -> String {
        lib::har_head(&version)
    }

    fn entry(exchange: Exchange) -> String {
        lib::har_entry(&exchange.convert())
    }

    fn tail() -> String {
        lib::har_tail()
    }
}
