//! The report as Markdown.

use super::Issue;
use crate::checks::{Confidence, Severity};

pub(super) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::High => "High",
        Severity::Medium => "Medium",
        Severity::Low => "Low",
        Severity::Info => "Information",
    }
}

fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Certain => "Certain",
        Confidence::Firm => "Firm",
        Confidence::Tentative => "Tentative",
    }
}

pub(super) fn write(issues: &[&Issue]) -> String {
    let mut out = String::from("# Issues\n");
    if issues.is_empty() {
        out.push_str("\nThere are no issues.\n");
        return out;
    }
    out.push_str("\n| Severity | Name | URL |\n|---|---|---|\n");
    for issue in issues {
        out.push_str(&format!(
            "| {} | {} | {} |\n",
            severity(issue.severity),
            cell(&issue.name),
            cell(&issue.base_url)
        ));
    }
    for issue in issues {
        out.push_str(&format!("\n## {}\n\n", heading(&issue.name)));
        out.push_str(&format!("- Severity: {}\n", severity(issue.severity)));
        out.push_str(&format!("- Confidence: {}\n", confidence(issue.confidence)));
        out.push_str(&format!("- URL: `{}`\n", code(&issue.base_url)));
        if let Some(cwe) = issue.cwe {
            out.push_str(&format!("- CWE-{cwe}\n"));
        }
        if issue.count > 1 {
            out.push_str(&format!("- Recorded {} times\n", issue.count));
        }
        if !issue.exchanges.is_empty() {
            let list: Vec<String> = issue
                .exchanges
                .iter()
                .map(|id| format!("`{}`", code(id)))
                .collect();
            out.push_str(&format!("- Exchanges: {}\n", list.join(", ")));
        }
        for (title, text) in [
            ("Detail", &issue.detail),
            ("Background", &issue.background),
            ("Remediation", &issue.remediation),
        ] {
            if !text.is_empty() {
                out.push_str(&format!("\n### {title}\n\n{text}\n"));
            }
        }
    }
    out
}

fn cell(text: &str) -> String {
    heading(text).replace('|', "\\|")
}

fn heading(text: &str) -> String {
    text.replace(['\r', '\n'], " ")
}

fn code(text: &str) -> String {
    heading(text).replace('`', "%60")
}
