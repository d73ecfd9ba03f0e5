//! Reads a saved file and returns its exchanges redacted, with the findings of each.
//!
//! Memory is bounded by one exchange. Each part runs in a session of its own: where the redaction or the checks of an exchange
//! fail, that exchange is reported without them and the file goes on.

use super::{
    Checker, Detection, Exchange, Finding, Format, Import, Item, Mode, Redactor, Replacement,
    Report, Skip, Traffic,
};
use crate::sandbox::SandboxError;

/// Exchanges that the component may fail on before the inspection ends. Each may take the CPU bound of a call.
const FAILURES: usize = 8;

/// Bytes of a response that are read for its media type: heads are a few KiB.
const HEAD_BYTES: usize = 64 << 10;

/// How a file is inspected.
#[derive(Clone, Debug)]
pub struct InspectionOptions {
    /// What is replaced.
    pub mode: Mode,
    /// The key of the placeholders: equal values get equal placeholders under the same key.
    pub key: Vec<u8>,
    /// The time, in milliseconds since the Unix epoch, for exchanges that do not say theirs.
    pub now_ms: i64,
    /// The one exchange that is redacted and checked; all where absent.
    pub only: Option<u64>,
}

/// One item of the file.
#[derive(Clone, Debug)]
pub enum Inspected {
    /// An exchange.
    Exchange(Box<InspectedExchange>),
    /// An exchange that is not [`InspectionOptions::only`]: its position.
    Passed(u64),
    /// The reader skipped it.
    Skip(Skip),
    /// The component failed on it; nothing of it is shown.
    Failed {
        /// The position in the file, from 0.
        index: u64,
        /// What the component failed with.
        error: SandboxError,
    },
}

/// An exchange that was redacted and checked.
#[derive(Clone, Debug)]
pub struct InspectedExchange {
    /// The exchange without its secrets; bodies are decoded.
    pub exchange: Exchange,
    /// What was replaced.
    pub replaced: Vec<Replacement>,
    /// The findings, without secrets and, in strict mode, without host names.
    pub findings: Vec<Finding>,
    /// Why there are no findings, where the checks failed.
    pub unchecked: Option<SandboxError>,
    /// The media type of the response, without parameters; empty where it has none.
    pub media_type: String,
    /// Bytes of the recorded request, head and body.
    pub request_bytes: usize,
    /// Bytes of the recorded response, head and body.
    pub response_bytes: usize,
}

/// The end of an inspection.
#[derive(Clone, Debug)]
pub struct InspectionReport {
    /// The items that only the end completes.
    pub last: Vec<Inspected>,
    /// The report of the import, without secrets.
    pub report: Report,
}

/// One file that is being inspected.
#[derive(Debug)]
pub struct Inspection {
    traffic: Traffic,
    options: InspectionOptions,
    import: Import,
    redactor: Redactor,
    checker: Checker,
    failures: usize,
    /// What ended the inspection while items that came before were returned.
    broken: Option<SandboxError>,
}

impl Inspection {
    /// Begins to inspect a file of this format.
    ///
    /// # Errors
    /// [`SandboxError::Component`] when there is no component to run, else what its first calls ended with.
    pub fn begin(
        traffic: &Traffic,
        format: Format,
        options: InspectionOptions,
    ) -> Result<Self, SandboxError> {
        Ok(Self {
            import: traffic.import(format)?,
            redactor: redactor(traffic, &options)?,
            checker: traffic.checker(&options.key, options.now_ms)?,
            traffic: traffic.clone(),
            options,
            failures: 0,
            broken: None,
        })
    }

    /// Reads the next bytes of the file.
    ///
    /// # Errors
    /// What the component failed with, where the file cannot be read on. Items that came before are returned first, and the
    /// next call returns the error.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Inspected>, SandboxError> {
        self.unbroken()?;
        let items = self.import.push(bytes)?;
        self.inspect_all(items)
    }

    /// Ends the file and returns the items that only the end completes.
    ///
    /// # Errors
    /// As [`Inspection::push`].
    pub fn finish(&mut self) -> Result<InspectionReport, SandboxError> {
        self.unbroken()?;
        let finished = self.import.finish()?;
        let last = self.inspect_all(finished.last.items)?;
        let mut report = finished.report;
        let tallies = report.skips.iter_mut().chain(&mut report.warnings);
        for text in tallies.map(|tally| &mut tally.detail) {
            *text = self.redactor.text(text, false)?;
        }
        if let Some(failure) = &mut report.error {
            failure.message = self.redactor.text(&failure.message, false)?;
        }
        for text in [&mut report.writer, &mut report.version] {
            *text = self.redactor.text(text, false)?;
        }
        Ok(InspectionReport { last, report })
    }

    /// Returns how many bytes of the file were read.
    #[must_use]
    pub const fn consumed(&self) -> u64 {
        self.import.consumed()
    }

    fn unbroken(&self) -> Result<(), SandboxError> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    fn inspect_all(&mut self, items: Vec<Item>) -> Result<Vec<Inspected>, SandboxError> {
        let mut all = Vec::with_capacity(items.len());
        for item in items {
            match self.inspect(item) {
                Ok(inspected) => all.push(inspected),
                Err(error) if all.is_empty() => return Err(error),
                Err(error) => {
                    self.broken = Some(error);
                    break;
                }
            }
        }
        Ok(all)
    }

    fn inspect(&mut self, item: Item) -> Result<Inspected, SandboxError> {
        let exchange = match item {
            Item::Exchange(exchange) => exchange,
            Item::Skip(mut skip) => {
                skip.reason = self.redactor.text(&skip.reason, false)?;
                return Ok(Inspected::Skip(skip));
            }
        };
        let index = exchange.index;
        if self.options.only.is_some_and(|only| only != index) {
            return Ok(Inspected::Passed(index));
        }
        match self.redacted(&exchange) {
            Ok(inspected) => Ok(Inspected::Exchange(Box::new(inspected))),
            Err(error) => {
                self.count_failure(&error)?;
                self.redactor = redactor(&self.traffic, &self.options)?;
                Ok(Inspected::Failed { index, error })
            }
        }
    }

    fn redacted(&mut self, exchange: &Exchange) -> Result<InspectedExchange, SandboxError> {
        let redacted = self.redactor.exchange(exchange)?;
        let (mut findings, unchecked) = self.check(exchange)?;
        for finding in &mut findings {
            self.hide_hosts(finding)?;
        }
        let response = redacted.exchange.response.as_ref();
        let media_type = match response.map(|response| &response.bytes) {
            Some(bytes) => self
                .redactor
                .media_type(bytes.get(..HEAD_BYTES).unwrap_or(bytes))?,
            None => String::new(),
        };
        Ok(InspectedExchange {
            replaced: redacted.replaced,
            exchange: redacted.exchange,
            findings,
            unchecked,
            media_type,
            request_bytes: exchange.request.bytes.len(),
            response_bytes: exchange
                .response
                .as_ref()
                .map_or(0, |response| response.bytes.len()),
        })
    }

    /// Runs the checks. Where they fail, a new checker takes over.
    fn check(
        &mut self,
        exchange: &Exchange,
    ) -> Result<(Vec<Finding>, Option<SandboxError>), SandboxError> {
        match self.checker.push(exchange) {
            Ok(findings) => Ok((findings, None)),
            Err(error) => {
                self.count_failure(&error)?;
                let (key, now_ms) = (&self.options.key, self.options.now_ms);
                self.checker = self.traffic.checker(key, now_ms)?;
                Ok((Vec::new(), Some(error)))
            }
        }
    }

    /// Findings hold no secrets, but they name hosts, which strict mode hides. Their placeholders stay.
    fn hide_hosts(&mut self, finding: &mut Finding) -> Result<(), SandboxError> {
        if self.options.mode != Mode::Strict {
            return Ok(());
        }
        for text in [
            &mut finding.evidence,
            &mut finding.subject,
            &mut finding.origin,
            &mut finding.key,
        ] {
            *text = self.redactor.text(text, true)?;
        }
        Ok(())
    }

    /// Returns the error where there were too many.
    fn count_failure(&mut self, error: &SandboxError) -> Result<(), SandboxError> {
        self.failures += 1;
        if self.failures > FAILURES {
            return Err(error.clone());
        }
        Ok(())
    }
}

fn redactor(traffic: &Traffic, options: &InspectionOptions) -> Result<Redactor, SandboxError> {
    // No agent supplies text here, so the key of the call is the same.
    traffic.redactor(options.mode, &options.key, &options.key, &[])
}

impl Traffic {
    /// Names a file by its first bytes and, where it can be imported, begins to inspect it.
    ///
    /// # Errors
    /// As [`Inspection::begin`].
    pub fn inspection(
        &self,
        start: &[u8],
        options: InspectionOptions,
    ) -> Result<(Detection, Option<Inspection>), SandboxError> {
        let detection = self.detect(start)?;
        let inspection = match detection.format {
            Some(format) => Some(Inspection::begin(self, format, options)?),
            None => None,
        };
        Ok((detection, inspection))
    }
}
