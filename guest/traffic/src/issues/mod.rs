//! Issues: what an operator or an agent recorded.

mod markdown;
mod sarif;

use serde::Serialize;

use crate::checks::{Confidence, Severity};
use crate::message::endpoints::template;
use crate::message::url;

/// An issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Issue {
    /// The name.
    pub name: String,
    /// What was found, in Markdown.
    pub detail: String,
    /// The URL that it is about.
    pub base_url: String,
    /// How bad it is.
    pub severity: Severity,
    /// How sure it is.
    pub confidence: Confidence,
    /// What to do, in Markdown.
    pub remediation: String,
    /// What is behind it, in Markdown.
    pub background: String,
    /// The CWE number.
    pub cwe: Option<u32>,
    /// How often it was recorded.
    pub count: u32,
    /// Ids of exchanges that show it.
    pub exchanges: Vec<String>,
}

/// A field that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InvalidField {
    /// The name of the field.
    pub field: String,
    /// What is wrong with it, and what it may be.
    pub message: String,
}

/// How a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReportFormat {
    /// Markdown.
    Markdown,
    /// SARIF 2.1.0.
    Sarif,
}

/// Characters of the name, and of each other text.
const NAME: usize = 200;
const TEXT: usize = 100_000;

/// Returns the issue with texts trimmed and the URL without user information and fragment.
///
/// # Errors
/// Every field that is wrong.
pub fn normalize(mut issue: Issue) -> Result<Issue, Vec<InvalidField>> {
    let mut wrong = Vec::new();
    let mut check = |field: &str, text: &mut String, most: usize, required: bool| {
        let trimmed = text.trim().to_owned();
        *text = trimmed;
        if required && text.is_empty() {
            wrong.push(InvalidField {
                field: field.to_owned(),
                message: "it must not be empty".into(),
            });
        }
        if text.chars().count() > most {
            wrong.push(InvalidField {
                field: field.to_owned(),
                message: format!("it has more than {most} characters"),
            });
        }
    };
    check("name", &mut issue.name, NAME, true);
    check("detail", &mut issue.detail, TEXT, true);
    check("base_url", &mut issue.base_url, TEXT, true);
    check("remediation", &mut issue.remediation, TEXT, false);
    check("background", &mut issue.background, TEXT, false);
    issue.name = issue
        .name
        .split_ascii_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    match url::origin(&issue.base_url) {
        Some(origin) if matches!(origin.scheme.as_str(), "http" | "https" | "ws" | "wss") => {
            let pieces = url::split(&issue.base_url);
            let path = if pieces.path.is_empty() {
                "/"
            } else {
                pieces.path
            };
            let query = pieces
                .query
                .map_or(String::new(), |query| format!("?{query}"));
            issue.base_url = format!("{}{path}{query}", origin.to_url());
        }
        _ if issue.base_url.is_empty() => {}
        _ => wrong.push(InvalidField {
            field: "base_url".into(),
            message: "it must be an absolute http, https, ws or wss URL".into(),
        }),
    }
    if wrong.is_empty() {
        Ok(issue)
    } else {
        Err(wrong)
    }
}

/// Returns the key of an issue: issues with the same key are one. The name counts without tags in brackets and case, the origin folded, the
/// path with its values as placeholders, and no query.
#[must_use]
pub fn key(issue: &Issue) -> String {
    let mut name = issue.name.trim();
    while let Some((_, rest)) = name.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        name = rest.trim_start();
    }
    let name: Vec<String> = name
        .split_ascii_whitespace()
        .map(str::to_lowercase)
        .collect();
    let place = match url::origin(&issue.base_url) {
        Some(origin) => {
            let path = template(url::split(&issue.base_url).path);
            let path = path.trim_end_matches('/');
            format!("{}{path}", origin.to_url())
        }
        None => issue.base_url.to_lowercase(),
    };
    format!("{}|{place}", name.join(" "))
}

/// Returns a report of the issues, worst first. `version` is the program's.
#[must_use]
pub fn report(issues: &[Issue], format: ReportFormat, version: &str) -> String {
    let mut sorted: Vec<&Issue> = issues.iter().collect();
    sorted.sort_by(|left, right| {
        right
            .severity
            .cmp(&left.severity)
            .then_with(|| left.name.cmp(&right.name))
    });
    match format {
        ReportFormat::Markdown => markdown::write(&sorted),
        ReportFormat::Sarif => sarif::write(&sorted, version),
    }
}
