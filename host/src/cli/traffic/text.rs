//! The inspection as text for a person.

use super::output::{Output, message_text};
use super::summary::{Found, Replaced, Summary};
use crate::cli::terminal::one_line;
use crate::sandbox::SandboxError;
use crate::traffic::{
    Detection, Inspected, InspectedExchange, Mode, Report, Tally, Traffic, ViewOptions,
    WebSocketMessage,
};

/// Findings and places of secrets that are printed, each. `--json` has all.
const LISTED: usize = 100;

/// The inspection as text.
#[derive(Debug)]
pub(super) struct TextOutput {
    mode: Mode,
    begun: bool,
}

impl TextOutput {
    /// Under this redaction mode.
    pub(super) const fn new(mode: Mode) -> Self {
        Self { mode, begun: false }
    }
}

impl Output for TextOutput {
    fn begin(&mut self, _: &Detection) -> Result<Vec<String>, SandboxError> {
        self.begun = true;
        Ok(vec![row("#", "METHOD", "STATUS", "TYPE", "SIZE", "URL")])
    }

    fn item(&mut self, item: &Inspected) -> Vec<String> {
        vec![match item {
            Inspected::Exchange(exchange) => exchange_row(exchange),
            Inspected::Passed(index) => index.to_string(),
            Inspected::Skip(skip) => row(
                &skip.index.to_string(),
                "-",
                "",
                "",
                "",
                &format!("skipped: {} ({})", skip.reason, skip.code),
            ),
            Inspected::Failed { index, error } => row(
                &index.to_string(),
                "-",
                "",
                "",
                "",
                &format!("not shown: {error} ({})", error.kind()),
            ),
        }]
    }

    fn exchange(
        &mut self,
        traffic: &Traffic,
        inspected: &InspectedExchange,
    ) -> Result<Vec<String>, SandboxError> {
        let exchange = &inspected.exchange;
        let shown = traffic.view(exchange, ViewOptions::default())?;
        let mut lines = vec![shown.text.trim_end().to_owned()];
        for (which, offset) in [
            ("request", shown.next_request_offset),
            ("response", shown.next_response_offset),
        ] {
            lines
                .extend(offset.map(|offset| format!("The {which} body goes on at byte {offset}.")));
        }
        lines.extend(web_socket(&exchange.web_socket));
        lines.extend(
            exchange.warnings.iter().map(|warning| {
                one_line(&format!("Warning: {} ({})", warning.detail, warning.code))
            }),
        );
        let mut summary = Summary::default();
        summary.add(&Inspected::Exchange(Box::new(inspected.clone())));
        lines.extend(findings(&summary));
        lines.extend(self.replaced(&summary));
        Ok(lines)
    }

    fn end(&mut self, summary: &Summary, report: Result<&Report, &str>) -> Vec<String> {
        if !self.begun {
            return Vec::new();
        }
        let mut lines = findings(summary);
        lines.extend(self.replaced(summary));
        if let Ok(report) = report {
            lines.extend(import_lines(report));
        }
        lines
    }

    fn is_json(&self) -> bool {
        false
    }
}

impl TextOutput {
    fn replaced(&self, summary: &Summary) -> Vec<String> {
        let mode = self.mode.name();
        if self.mode == Mode::Off {
            return vec![
                String::new(),
                "Redaction is off: secrets are shown.".to_owned(),
            ];
        }
        let total: u64 = summary.replaced.values().map(|one| one.count).sum();
        let total = total + summary.replaced_left_out;
        let mut lines = vec![
            String::new(),
            format!("Redacted ({mode}): {}", counted(total, "value")),
        ];
        let mut places: Vec<_> = summary.replaced.iter().collect();
        places.sort_by_key(|(_, replaced)| std::cmp::Reverse(replaced.count));
        for ((kind, carrier, name), replaced) in places.iter().take(LISTED) {
            lines.push(replaced_row(kind, carrier, name, replaced));
        }
        lines.extend(more(places.len()));
        lines
    }
}

/// One exchange on one line.
fn exchange_row(inspected: &InspectedExchange) -> String {
    let exchange = &inspected.exchange;
    let status = match (exchange.status, &exchange.response) {
        (Some(status), _) => status.to_string(),
        (None, Some(_)) => "?".to_owned(),
        (None, None) => "-".to_owned(),
    };
    let mut url = exchange.url.clone();
    if let (None, Some(error)) = (&exchange.response, &exchange.error) {
        url = format!("{url}  ({error})");
    }
    if !exchange.web_socket.is_empty() {
        let messages = counted(exchange.web_socket.len() as u64, "WebSocket message");
        url = format!("{url}  ({messages})");
    }
    if inspected.unchecked.is_some() {
        url.push_str("  (not checked)");
    }
    let media_type = if inspected.media_type.is_empty() {
        &exchange.mime_label
    } else {
        &inspected.media_type
    };
    row(
        &exchange.index.to_string(),
        &exchange.method,
        &status,
        media_type,
        &size(inspected.response_bytes),
        &url,
    )
}

/// The messages of a WebSocket connection, one a line.
fn web_socket(messages: &[WebSocketMessage]) -> Vec<String> {
    if messages.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![
        String::new(),
        format!("WebSocket messages: {}", messages.len()),
    ];
    lines.extend(messages.iter().map(|message| {
        let text = match message_text(message) {
            Some((text, 0)) => text,
            Some((text, left)) => format!("{text}… ({} more)", counted(left as u64, "byte")),
            None => format!(
                "[opcode {}, {} bytes]",
                message.opcode,
                message.payload.len()
            ),
        };
        one_line(&format!("  {:<8} {text}", message.direction.name()))
    }));
    lines
}

fn row(number: &str, method: &str, status: &str, media: &str, size: &str, url: &str) -> String {
    one_line(&format!(
        "{number:>6}  {method:<7} {status:<6}  {media:<24} {size:>9}  {url}"
    ))
}

fn replaced_row(kind: &str, carrier: &str, name: &str, replaced: &Replaced) -> String {
    let values = counted(replaced.values() as u64, "value");
    let place = if name.is_empty() || name == kind {
        carrier.to_owned()
    } else {
        format!("{carrier} {name}")
    };
    one_line(&format!(
        "  {:>6} × {kind:<14} {place}  ({values})",
        replaced.count
    ))
}

/// The findings, worst first.
fn findings(summary: &Summary) -> Vec<String> {
    let found = summary.worst_first();
    let total = found.len() as u64 + summary.findings_left_out;
    let mut lines = vec![String::new(), format!("Findings: {total}")];
    lines.extend(found.iter().take(LISTED).map(|found| finding_row(found)));
    lines.extend(more(found.len()));
    lines
}

fn finding_row(found: &Found) -> String {
    let finding = &found.finding;
    let times = if found.count > 1 {
        format!(", {} times", found.count)
    } else {
        String::new()
    };
    one_line(&format!(
        "  {:<6} {:<9} {}: {} [{} {}, exchange {}{times}]",
        finding.severity.name(),
        finding.confidence.name(),
        finding.title,
        finding.evidence,
        finding.code,
        finding.origin,
        found.exchange,
    ))
}

fn more(of: usize) -> Option<String> {
    (of > LISTED).then(|| format!("  and {} more: --json has them", of - LISTED))
}

/// What was read, what was not, and what was odd.
fn import_lines(report: &Report) -> Vec<String> {
    let writer = if report.writer.is_empty() {
        String::new()
    } else {
        format!(" from {}", report.writer)
    };
    let end = if report.complete {
        "to the end of the file"
    } else {
        "but the file ends before its proper end"
    };
    let mut lines = vec![
        String::new(),
        one_line(&format!(
            "Read {}{writer}, skipped {}, {end}.",
            counted(report.taken, "exchange"),
            report.skipped
        )),
    ];
    lines.extend(report.skips.iter().map(|tally| tally_row("skipped", tally)));
    lines.extend(
        report
            .warnings
            .iter()
            .map(|tally| tally_row("warning", tally)),
    );
    lines
}

fn tally_row(what: &str, tally: &Tally) -> String {
    one_line(&format!(
        "  {what}: {} ({}, {}, the first is {})",
        tally.detail,
        tally.code,
        counted(tally.count, "item"),
        tally.first_index
    ))
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 {
        format!("1 {what}")
    } else {
        format!("{count} {what}s")
    }
}

/// A number of bytes in the unit that a person reads.
fn size(bytes: usize) -> String {
    const KIB: usize = 1 << 10;
    const MIB: usize = 1 << 20;
    match bytes {
        0 => "-".to_owned(),
        1..KIB => format!("{bytes} B"),
        KIB..MIB => format!("{} KiB", bytes.div_ceil(KIB)),
        _ => format!("{:.1} MiB", bytes as f64 / MIB as f64),
    }
}
