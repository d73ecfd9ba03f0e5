//! The inspection as one JSON document, written as the file is read.

use serde_json::{Value, json};

use super::output::{Output, message_text};
use super::summary::{Found, Summary};
use crate::jobs::clock::Millis;
use crate::sandbox::SandboxError;
use crate::traffic::{
    Detection, Failure, Finding, Inspected, InspectedExchange, Mode, Replacement, Report, Tally,
    Traffic, ViewOptions, WebSocketMessage,
};

/// Replacements that are listed of one exchange.
const REPLACEMENTS: usize = 1_000;

/// The inspection as JSON: an object whose list of exchanges grows as the file is read.
#[derive(Debug)]
pub(super) struct JsonOutput {
    file: String,
    mode: Mode,
    begun: bool,
    listed: bool,
}

impl JsonOutput {
    /// Of this file, under this redaction mode.
    pub(super) fn new(file: &str, mode: Mode) -> Self {
        Self {
            file: file.to_owned(),
            mode,
            begun: false,
            listed: false,
        }
    }

    /// The members before the list, without the closing brace.
    fn head(&self, kind: Option<&str>) -> String {
        let head = json!({ "file": self.file, "kind": kind, "redaction": self.mode.name() });
        head.to_string().trim_end_matches('}').to_owned()
    }
}

impl Output for JsonOutput {
    fn begin(&mut self, detection: &Detection) -> Result<Vec<String>, SandboxError> {
        self.begun = true;
        let head = self.head(Some(detection.kind.name()));
        Ok(vec![format!("{head},\"exchanges\":[")])
    }

    fn item(&mut self, item: &Inspected) -> Vec<String> {
        let item = match item {
            Inspected::Exchange(exchange) => exchange_of(exchange),
            Inspected::Passed(index) => json!({ "index": index }),
            Inspected::Skip(skip) => json!({
                "index": skip.index,
                "skipped": { "code": skip.code, "reason": skip.reason },
            }),
            Inspected::Failed { index, error } => json!({
                "index": index,
                "failed": { "kind": error.kind(), "message": error.to_string() },
            }),
        };
        let comma = if self.listed { "," } else { "" };
        self.listed = true;
        vec![format!("{comma}{item}")]
    }

    fn exchange(
        &mut self,
        traffic: &Traffic,
        inspected: &InspectedExchange,
    ) -> Result<Vec<String>, SandboxError> {
        let options = ViewOptions {
            json: true,
            ..ViewOptions::default()
        };
        let shown = traffic.view(&inspected.exchange, options)?;
        let findings: Vec<Value> = inspected.findings.iter().map(finding_of).collect();
        let messages = inspected.exchange.web_socket.iter().map(message_of);
        let more = json!({
            "findings": findings,
            "websocket": messages.collect::<Vec<_>>(),
            "messages": serde_json::from_str::<Value>(&shown.text).ok(),
        });
        let exchange = joined(exchange_of(inspected), more);
        let head = self.head(None);
        Ok(vec![format!("{head},\"exchange\":{exchange}}}")])
    }

    fn end(&mut self, summary: &Summary, report: Result<&Report, &str>) -> Vec<String> {
        let findings: Vec<Value> = summary.worst_first().into_iter().map(found_of).collect();
        let redacted: Vec<Value> = summary
            .replaced
            .iter()
            .map(|((kind, carrier, name), replaced)| {
                json!({
                    "kind": kind,
                    "carrier": carrier,
                    "name": name,
                    "count": replaced.count,
                    "values": replaced.values(),
                })
            })
            .collect();
        let rest = json!({
            "findings": findings,
            "findings_left_out": summary.findings_left_out,
            "redacted": redacted,
            "redacted_left_out": summary.replaced_left_out,
            "failed": summary.failed,
            "unchecked": summary.unchecked,
            "report": report.ok().map(report_of),
            "error": report.err(),
        });
        let rest = rest.to_string();
        let rest = rest.trim_start_matches('{');
        vec![if self.begun {
            format!("],{rest}")
        } else {
            format!("{},{rest}", self.head(None))
        }]
    }

    fn is_json(&self) -> bool {
        true
    }
}

fn exchange_of(inspected: &InspectedExchange) -> Value {
    let exchange = &inspected.exchange;
    let warnings: Vec<Value> = exchange
        .warnings
        .iter()
        .map(|warning| json!({ "code": warning.code, "detail": warning.detail }))
        .collect();
    let redacted: Vec<Value> = inspected
        .replaced
        .iter()
        .take(REPLACEMENTS)
        .map(replacement_of)
        .collect();
    json!({
        "index": exchange.index,
        "time": exchange.time_ms.map(|ms| Millis(ms).rfc3339()),
        "time_text": exchange.time_text,
        "method": exchange.method,
        "url": exchange.url,
        "status": exchange.status,
        "http_version": exchange.http_version,
        "media_type": inspected.media_type,
        "request_bytes": inspected.request_bytes,
        "response_bytes": inspected.response_bytes,
        "request_provenance": exchange.request.provenance.name(),
        "response_provenance": exchange.response.as_ref().map(|message| message.provenance.name()),
        "server_address": exchange.server_address,
        "duration_ms": exchange.duration_ms,
        "error": exchange.error,
        "note": exchange.note,
        "colour": exchange.colour,
        "websocket_messages": exchange.web_socket.len(),
        "warnings": warnings,
        "redacted": redacted,
        "redacted_left_out": inspected.replaced.len().saturating_sub(REPLACEMENTS),
        "unchecked": inspected.unchecked.as_ref().map(SandboxError::kind),
    })
}

fn message_of(message: &WebSocketMessage) -> Value {
    let (text, left_out) = message_text(message).unzip();
    json!({
        "direction": message.direction.name(),
        "time_ms": message.time_ms,
        "opcode": message.opcode,
        "bytes": message.payload.len(),
        "text": text,
        "text_left_out": left_out.unwrap_or(0),
    })
}

fn replacement_of(replacement: &Replacement) -> Value {
    json!({
        "part": replacement.part.name(),
        "message": replacement.index,
        "start": replacement.shown.start,
        "end": replacement.shown.end,
        "kind": replacement.kind,
        "carrier": replacement.carrier.name(),
        "name": replacement.name,
        "placeholder": replacement.placeholder,
    })
}

fn found_of(found: &Found) -> Value {
    let more = json!({ "exchange": found.exchange, "count": found.count });
    joined(finding_of(&found.finding), more)
}

/// Returns an object with the members of both.
fn joined(mut first: Value, second: Value) -> Value {
    if let (Value::Object(members), Value::Object(more)) = (&mut first, second) {
        members.extend(more);
    }
    first
}

fn finding_of(finding: &Finding) -> Value {
    json!({
        "code": finding.code,
        "title": finding.title,
        "cwe": finding.cwe,
        "owasp": finding.owasp,
        "severity": finding.severity.name(),
        "confidence": finding.confidence.name(),
        "part": finding.part.name(),
        "place": finding.place.map(|place| json!({ "start": place.start, "end": place.end })),
        "evidence": finding.evidence,
        "subject": finding.subject,
        "origin": finding.origin,
    })
}

fn report_of(report: &Report) -> Value {
    let tallies = |tallies: &[Tally]| -> Vec<Value> { tallies.iter().map(tally_of).collect() };
    json!({
        "writer": report.writer,
        "version": report.version,
        "taken": report.taken,
        "skipped": report.skipped,
        "complete": report.complete,
        "error": report.error.as_ref().map(failure_of),
        "skips": tallies(&report.skips),
        "warnings": tallies(&report.warnings),
    })
}

fn failure_of(failure: &Failure) -> Value {
    json!({ "code": failure.code, "message": failure.message, "at": failure.at })
}

fn tally_of(tally: &Tally) -> Value {
    json!({
        "code": tally.code,
        "count": tally.count,
        "first_index": tally.first_index,
        "detail": tally.detail,
    })
}
