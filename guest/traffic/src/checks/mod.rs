//! Passive checks: what a recorded exchange shows by itself. Nothing is sent.

mod cookies;
mod cors;
mod exposure;
mod headers;
mod page;
mod pages;
mod secrets;
mod table;

use std::collections::BTreeSet;

use serde::Serialize;

use crate::message::url;
use crate::redact::{Mode, Redactor};
use crate::types::{Exchange, Part, Span};

use page::Page;
pub use table::{Rule, rules};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Weakens a defence.
    Low,
    /// Can be used with something else.
    Medium,
    /// Can be used as it is.
    High,
}

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// A hint.
    Tentative,
    /// Likely.
    Firm,
    /// It is there to be seen.
    Certain,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The code of the rule.
    pub code: String,
    /// The title of the rule.
    pub title: String,
    /// The CWE number, where one fits.
    pub cwe: Option<u32>,
    /// The category of the OWASP Top 10 of 2021.
    pub owasp: String,
    /// How bad it is.
    pub severity: Severity,
    /// How sure it is.
    pub confidence: Confidence,
    /// The part that shows it.
    pub part: Part,
    /// The place in that part, bodies decoded; absent where something is missing.
    pub place: Option<Span>,
    /// What was seen, without secrets.
    pub evidence: String,
    /// What it is about within the origin: the name of a cookie, a parameter or a header, or a keyed hash of a secret.
    pub subject: String,
    /// The origin, as a URL.
    pub origin: String,
    /// Findings with the same key are one.
    pub key: String,
}

/// What a rule saw, before it becomes a finding.
struct Seen {
    code: &'static str,
    severity: Option<Severity>,
    confidence: Confidence,
    part: Part,
    place: Option<Span>,
    evidence: String,
    subject: String,
}

/// Collects what the rules see.
#[derive(Default)]
struct Sink {
    seen: Vec<Seen>,
}

impl Sink {
    /// Something that is missing or wrong in the whole part.
    fn add(
        &mut self,
        code: &'static str,
        part: Part,
        subject: &str,
        evidence: impl Into<String>,
    ) -> &mut Seen {
        self.seen.push(Seen {
            code,
            severity: None,
            confidence: Confidence::Certain,
            part,
            place: None,
            evidence: evidence.into(),
            subject: subject.to_owned(),
        });
        // One was pushed right here.
        let last = self.seen.len() - 1;
        #[allow(clippy::indexing_slicing)]
        &mut self.seen[last]
    }
}

impl Seen {
    fn at(&mut self, place: Span) -> &mut Self {
        self.place = Some(place);
        self
    }

    fn severity(&mut self, severity: Severity) -> &mut Self {
        self.severity = Some(severity);
        self
    }

    fn confidence(&mut self, confidence: Confidence) -> &mut Self {
        self.confidence = confidence;
        self
    }
}

/// Scripts that name a source map, and maps that were served, which a checker remembers.
const MAPS: usize = 10_000;

/// Characters of evidence.
const EVIDENCE: usize = 200;

/// Runs the rules over exchanges, one after another.
pub struct Checker {
    redactor: Redactor,
    now_ms: i64,
    /// Source maps that were served.
    maps: BTreeSet<String>,
    /// Source maps that a script names and that were not yet served, with the finding.
    wanted: Vec<(String, Finding)>,
}

impl Checker {
    /// Returns a checker. `key` is the store's, for hashes of secrets; `now_ms` the time in milliseconds since the Unix epoch, for
    /// exchanges that do not say theirs.
    #[must_use]
    pub fn new(key: Vec<u8>, now_ms: i64) -> Self {
        Self {
            redactor: Redactor::new(Mode::Balanced, key, Vec::new(), &[]),
            now_ms,
            maps: BTreeSet::new(),
            wanted: Vec::new(),
        }
    }

    /// Returns the findings of one exchange, and those that it completes of exchanges before.
    pub fn push(&mut self, exchange: &Exchange) -> Vec<Finding> {
        let Some(page) = Page::new(exchange, self.now_ms) else {
            return Vec::new();
        };
        let mut sink = Sink::default();
        headers::check(&page, &mut sink);
        cookies::check(&page, &mut sink);
        cors::check(&page, &mut sink);
        secrets::check(&page, &self.redactor, &mut sink);
        pages::check(&page, &mut sink);
        exposure::check(&page, &mut sink);
        let mut findings: Vec<Finding> = sink
            .seen
            .into_iter()
            .map(|seen| self.finding(&page, seen))
            .collect();
        self.source_maps(&page, &mut findings);
        findings
    }

    fn finding(&self, page: &Page<'_>, seen: Seen) -> Finding {
        let rule = table::rule(seen.code);
        // Redacted before it is cut: half of a secret has no shape that is known.
        let evidence = self.redactor.text(&seen.evidence, false).text;
        let evidence: String = evidence.chars().take(EVIDENCE).collect();
        let origin = page.origin.to_url();
        Finding {
            code: seen.code.to_owned(),
            title: rule.map_or("", |rule| rule.title).to_owned(),
            cwe: rule.and_then(|rule| rule.cwe),
            owasp: rule.map_or("", |rule| rule.owasp).to_owned(),
            severity: seen
                .severity
                .or(rule.map(|rule| rule.severity))
                .unwrap_or(Severity::Info),
            confidence: seen.confidence,
            part: seen.part,
            place: seen.place,
            evidence,
            key: format!("{}|{origin}|{}", seen.code, seen.subject),
            subject: seen.subject,
            origin,
        }
    }

    /// A script that names its map, and the map itself, whichever comes first.
    fn source_maps(&mut self, page: &Page<'_>, findings: &mut Vec<Finding>) {
        let address = url::split(page.url);
        let here = format!("{}{}", page.origin.to_url(), address.path);
        if exposure::is_source_map(page) {
            if self.maps.len() < MAPS {
                self.maps.insert(here.clone());
            }
            let (found, rest) = std::mem::take(&mut self.wanted)
                .into_iter()
                .partition(|(map, _)| *map == here);
            self.wanted = rest;
            findings.extend(Vec::into_iter(found).map(|(_, finding)| finding));
        }
        if let Some((map, place)) = exposure::source_map_of(page) {
            let mut sink = Sink::default();
            let name = map.rsplit('/').next().unwrap_or_default().to_owned();
            let seen = sink.add(
                "source-map",
                Part::ResponseBody,
                &name,
                format!("the script names {name}, which is served"),
            );
            if let Some(place) = place {
                seen.at(place);
            }
            for seen in sink.seen {
                let finding = self.finding(page, seen);
                if self.maps.contains(&map) {
                    findings.push(finding);
                } else if self.wanted.len() < MAPS {
                    self.wanted.push((map.clone(), finding));
                }
            }
        }
    }
}
