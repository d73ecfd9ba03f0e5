//! Import of saved traffic: Burp "Save items" XML and HAR 1.2, item by item, in chunks of any size.
//!
//! One bad item is skipped and counted, and the file goes on. Memory is bounded by the limits of one item.

mod burp;
mod burp_item;
mod detect;
mod har;
mod har_body;
mod har_entry;
mod har_write;
mod report;
mod time;

use serde::Serialize;

use crate::limits;
use crate::types::Exchange;

pub use detect::{Detection, Kind, detect};
pub use har_write::{entry as har_entry, head as har_head, tail as har_tail};
pub use report::{Report, Tally};
pub(crate) use time::java_date;

/// A format that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Burp Suite's "Save items" XML.
    BurpXml,
    /// HTTP Archive 1.2 JSON.
    Har,
}

/// What a reader keeps at most.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of one message body.
    pub body: u32,
    /// Bytes of one item outside of its bodies.
    pub item: u32,
    /// JSON values of one HAR entry.
    pub values: u32,
    /// Items of the file.
    pub items: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: limits::BODY,
            item: limits::ITEM,
            values: limits::VALUES,
            items: limits::ITEMS,
        }
    }
}

/// An item that was not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skip {
    /// The position in the file, from 0.
    pub index: u64,
    /// A stable, hyphenated code.
    pub code: String,
    /// What was wrong.
    pub reason: String,
}

/// One item of a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "tag", content = "val")]
pub enum Item {
    /// It was taken.
    Exchange(Box<Exchange>),
    /// It was skipped.
    Skip(Skip),
}

/// Why a file cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// A stable, hyphenated code.
    pub code: String,
    /// What was found, and what to do.
    pub message: String,
    /// Offset in the file at which it was found.
    pub at: u64,
}

/// What one push gave: the items so far and, if it came to that, one error after them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Batch {
    /// In the order of the file.
    pub items: Vec<Item>,
    /// Sticky: what is pushed later is ignored, and later pushes repeat it.
    pub error: Option<Failure>,
}

/// Bytes of the start of a file that are kept, to name the file for what it is.
const START: usize = 4096;

/// Reads one file.
pub struct Reader {
    scanner: Scanner,
    report: report::Counter,
    start: Vec<u8>,
    error: Option<Failure>,
    /// What is wrong, until enough of the file was seen to name it for what it is.
    unnamed: Option<(Bad, u64)>,
    limits: Limits,
    index: u64,
}

enum Scanner {
    Burp(Box<burp::Scanner>),
    Har(Box<har::Scanner>),
}

/// What a scanner found: the fields of an item, not yet an exchange.
enum Found {
    Burp(Box<burp::Fields>),
    Har(har::Entry),
}

/// A reason to skip an item.
struct Bad {
    code: &'static str,
    reason: String,
}

impl Bad {
    fn new(code: &'static str, reason: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.into(),
        }
    }
}

impl Reader {
    /// Returns a reader for one file of the format.
    #[must_use]
    pub fn new(format: Format, limits: Limits) -> Self {
        let scanner = match format {
            Format::BurpXml => Scanner::Burp(Box::new(burp::Scanner::new(limits))),
            Format::Har => Scanner::Har(Box::new(har::Scanner::new(limits))),
        };
        Self {
            scanner,
            report: report::Counter::default(),
            start: Vec::new(),
            error: None,
            unnamed: None,
            limits,
            index: 0,
        }
    }

    /// Takes the next bytes of the file and returns the items that they complete.
    pub fn push(&mut self, chunk: &[u8]) -> Batch {
        if self.error.is_none() {
            let room = START.saturating_sub(self.start.len()).min(chunk.len());
            self.start
                .extend_from_slice(chunk.get(..room).unwrap_or_default());
        }
        self.advance(Some(chunk))
    }

    /// Ends the file: returns the items that only the end completes, and the report.
    #[must_use]
    pub fn finish(mut self) -> (Batch, Report) {
        let batch = self.advance(None);
        let (writer, version, complete) = match &self.scanner {
            Scanner::Burp(scanner) => (scanner.writer(), String::new(), scanner.complete()),
            Scanner::Har(scanner) => (scanner.writer(), scanner.version(), scanner.complete()),
        };
        let report = self
            .report
            .finish(writer, version, complete, batch.error.clone());
        (batch, report)
    }

    fn advance(&mut self, chunk: Option<&[u8]>) -> Batch {
        let mut items = Vec::new();
        if self.error.is_none() && self.unnamed.is_none() {
            if let Some(chunk) = chunk {
                match &mut self.scanner {
                    Scanner::Burp(scanner) => scanner.feed(chunk),
                    Scanner::Har(scanner) => scanner.feed(chunk),
                }
            }
            self.drain(chunk.is_none(), &mut items);
        }
        if (chunk.is_none() || self.start.len() >= START)
            && let Some((bad, at)) = self.unnamed.take()
        {
            self.error = Some(self.failure(bad, at));
        }
        Batch {
            items,
            error: self.error.clone(),
        }
    }

    fn drain(&mut self, ended: bool, items: &mut Vec<Item>) {
        loop {
            let found = match &mut self.scanner {
                Scanner::Burp(scanner) => scanner
                    .next(ended)
                    .map(|found| found.map(|fields| Found::Burp(Box::new(fields)))),
                Scanner::Har(scanner) => scanner.next(ended).map(|found| found.map(Found::Har)),
            };
            match found {
                Ok(None) => return,
                Ok(Some(found)) => {
                    if self.index >= self.limits.items {
                        self.error = Some(Failure {
                            code: "too-many-items".into(),
                            message: format!(
                                "the file has more than {} items; what came before is kept. Split the file",
                                self.limits.items
                            ),
                            at: self.offset(),
                        });
                        return;
                    }
                    items.push(self.take(found));
                }
                Err(bad) => {
                    self.unnamed = Some((bad, self.offset()));
                    return;
                }
            }
        }
    }

    fn take(&mut self, found: Found) -> Item {
        let index = self.index;
        self.index += 1;
        let built = match found {
            Found::Burp(fields) => burp_item::build(*fields, index, &self.limits),
            Found::Har(entry) => har_entry::build(entry, index, &self.limits),
        };
        match built {
            Ok(exchange) => {
                self.report.take(&exchange);
                Item::Exchange(Box::new(exchange))
            }
            Err(bad) => {
                let skip = Skip {
                    index,
                    code: bad.code.to_owned(),
                    reason: bad.reason,
                };
                self.report.skip(&skip);
                Item::Skip(skip)
            }
        }
    }

    fn offset(&self) -> u64 {
        match &self.scanner {
            Scanner::Burp(scanner) => scanner.offset(),
            Scanner::Har(scanner) => scanner.offset(),
        }
    }

    /// Names the file for what it is, where the scanner found nothing it knows.
    fn failure(&self, bad: Bad, at: u64) -> Failure {
        let seen = detect(&self.start);
        let wanted = match self.scanner {
            Scanner::Burp(_) => Kind::BurpXml,
            Scanner::Har(_) => Kind::Har,
        };
        let other = seen.kind != wanted && seen.kind != Kind::Unknown;
        Failure {
            code: bad.code.to_owned(),
            message: if bad.code == "not-the-format" && other {
                format!("{}: {}", bad.reason, seen.message)
            } else {
                bad.reason
            },
            at,
        }
    }
}
