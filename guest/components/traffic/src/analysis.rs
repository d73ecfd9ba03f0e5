//! `search`, `checks` and `issues`.

use std::cell::RefCell;

use crate::Component;
use crate::convert::{Convert, enums, records};
use crate::wit::types::Exchange;
use crate::wit::{checks, issues, search};

enums! {
    traffic::checks::Severity => checks::Severity { Info, Low, Medium, High }
    checks::Severity => traffic::checks::Severity { Info, Low, Medium, High }
    traffic::checks::Confidence => checks::Confidence { Tentative, Firm, Certain }
    checks::Confidence => traffic::checks::Confidence { Tentative, Firm, Certain }
    issues::ReportFormat => traffic::issues::ReportFormat { Markdown, Sarif }
}

records! {
    search::Mask => traffic::search::Mask { place, shown }
    traffic::search::Match => search::Match { place, shown }
    traffic::search::Matches => search::Matches { total, matches }
    traffic::checks::Finding => checks::Finding {
        code, title, cwe, owasp, severity, confidence, part, place, evidence, subject, origin, key,
    }
    traffic::checks::Rule => checks::Rule { code, title, cwe, owasp, severity, remedy }
    traffic::issues::Issue => issues::Issue {
        name, detail, base_url, severity, confidence, remediation, background, cwe, count, exchanges,
    }
    issues::Issue => traffic::issues::Issue {
        name, detail, base_url, severity, confidence, remediation, background, cwe, count, exchanges,
    }
    traffic::issues::InvalidField => issues::InvalidField { field, message }
}

/// A pattern behind a handle.
pub(crate) struct Pattern(traffic::search::Pattern);

impl search::GuestPattern for Pattern {
    fn compile(
        pattern: String,
        literal: bool,
        ignore_case: bool,
    ) -> Result<search::Pattern, String> {
        traffic::search::Pattern::new(&pattern, literal, ignore_case)
            .map(|pattern| search::Pattern::new(Self(pattern)))
    }

    fn find(&self, part: Vec<u8>, masks: Vec<search::Mask>, most: u32) -> search::Matches {
        let masks: Vec<traffic::search::Mask> = masks.convert();
        self.0.find(&part, &masks, most).convert()
    }

    fn is_match(&self, part: Vec<u8>, masks: Vec<search::Mask>) -> bool {
        let masks: Vec<traffic::search::Mask> = masks.convert();
        self.0.is_match(&part, &masks)
    }
}

impl search::Guest for Component {
    type Pattern = Pattern;
}

/// A checker behind a handle.
pub(crate) struct Checker(RefCell<traffic::checks::Checker>);

impl checks::GuestChecker for Checker {
    fn new(key: Vec<u8>, now_ms: i64) -> Self {
        Self(RefCell::new(traffic::checks::Checker::new(key, now_ms)))
    }

    fn push(&self, exchange: Exchange) -> Vec<checks::Finding> {
        self.0.borrow_mut().push(&exchange.convert()).convert()
    }
}

impl checks::Guest for Component {
    type Checker = Checker;

    fn rules() -> Vec<checks::Rule> {
        traffic::checks::rules().to_vec().convert()
    }
}

impl issues::Guest for Component {
    fn normalize(issue: issues::Issue) -> Result<issues::Issue, Vec<issues::InvalidField>> {
        traffic::issues::normalize(issue.convert()).convert()
    }

    fn key(issue: issues::Issue) -> String {
        traffic::issues::key(&issue.convert())
    }

    fn report(all: Vec<issues::Issue>, format: issues::ReportFormat, version: String) -> String {
        let all: Vec<traffic::issues::Issue> = all.convert();
        traffic::issues::report(&all, format.convert(), &version)
    }
}
