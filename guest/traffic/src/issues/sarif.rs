//! The report as SARIF 2.1.0.

use serde::Serialize;

use super::Issue;
use crate::checks::Severity;

#[derive(Serialize)]
struct Log {
    version: &'static str,
    #[serde(rename = "$schema")]
    schema: &'static str,
    runs: [Run; 1],
}

#[derive(Serialize)]
struct Run {
    tool: Tool,
    results: Vec<Result>,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    version: String,
    rules: Vec<Rule>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: String,
    name: String,
    short_description: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<Text>,
    properties: Properties,
}

#[derive(Serialize)]
struct Properties {
    tags: Vec<String>,
    #[serde(rename = "security-severity")]
    severity: &'static str,
}

#[derive(Serialize)]
struct Text {
    text: String,
}

#[derive(Serialize)]
struct Message {
    text: String,
    markdown: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Result {
    rule_id: String,
    rule_index: usize,
    level: &'static str,
    message: Message,
    locations: [Location; 1],
    partial_fingerprints: Fingerprints,
    occurrence_count: u32,
}

#[derive(Serialize)]
struct Fingerprints {
    #[serde(rename = "glovebox/v1")]
    key: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: Physical,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Physical {
    artifact_location: Artifact,
}

#[derive(Serialize)]
struct Artifact {
    uri: String,
}

fn level(severity: Severity) -> (&'static str, &'static str) {
    match severity {
        Severity::High => ("error", "8.0"),
        Severity::Medium => ("warning", "5.5"),
        Severity::Low => ("note", "3.0"),
        Severity::Info => ("note", "0.0"),
    }
}

/// A rule's id: the name in lower case, with hyphens.
fn id(name: &str) -> String {
    let words: Vec<String> = name
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join("-")
}

pub(super) fn write(issues: &[&Issue], version: &str) -> String {
    let mut rules: Vec<Rule> = Vec::new();
    let mut results = Vec::new();
    for issue in issues {
        let id = id(&issue.name);
        let (level, score) = level(issue.severity);
        let known = rules.iter().position(|rule| rule.id == id);
        let index = known.unwrap_or_else(|| {
            let mut tags = vec!["security".to_owned()];
            tags.extend(issue.cwe.map(|cwe| format!("external/cwe/cwe-{cwe:03}")));
            rules.push(Rule {
                id: id.clone(),
                name: issue.name.clone(),
                short_description: Text {
                    text: issue.name.clone(),
                },
                help: (!issue.remediation.is_empty()).then(|| Text {
                    text: issue.remediation.clone(),
                }),
                properties: Properties {
                    tags,
                    severity: score,
                },
            });
            rules.len() - 1
        });
        results.push(Result {
            rule_id: id,
            rule_index: index,
            level,
            message: Message {
                text: issue.detail.clone(),
                markdown: issue.detail.clone(),
            },
            locations: [Location {
                physical_location: Physical {
                    artifact_location: Artifact {
                        uri: issue.base_url.clone(),
                    },
                },
            }],
            partial_fingerprints: Fingerprints {
                key: super::key(issue),
            },
            occurrence_count: issue.count.max(1),
        });
    }
    let log = Log {
        version: "2.1.0",
        schema: "https://json.schemastore.org/sarif-2.1.0.json",
        runs: [Run {
            tool: Tool {
                driver: Driver {
                    name: "glovebox",
                    version: version.to_owned(),
                    rules,
                },
            },
            results,
        }],
    };
    serde_json::to_string_pretty(&log).unwrap_or_default()
}
