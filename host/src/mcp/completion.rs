//! Completion of what a person types into a client: ids of research jobs, and arguments of prompts.

use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};

use super::Service;
use super::prompts::{CITED_ANSWER, DEEP_RESEARCH, DEPTHS};
use super::resources::{RESULT, STREAM};
use crate::jobs::Filter;

/// Languages that are offered. Others can be typed.
const LANGUAGES: &[&str] = &[
    "ar", "de", "en", "es", "fr", "hi", "it", "ja", "ko", "nl", "pl", "pt-br", "ru", "sv", "tr",
    "zh-hans",
];

/// Countries that are offered. Others can be typed.
const COUNTRIES: &[&str] = &[
    "ALL", "AR", "AU", "BR", "CA", "CH", "CN", "DE", "ES", "FR", "GB", "IN", "IT", "JP", "KR",
    "MX", "NL", "PL", "SE", "US",
];

/// Returns the completions of a value.
///
/// # Errors
/// When there is nothing of that name to complete.
pub async fn complete(
    service: &Service,
    params: &CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let typed = params.argument.value.trim().to_lowercase();
    let all: Vec<String> = match (&params.r#ref, params.argument.name.as_str()) {
        (Reference::Resource(template), "id")
            if [RESULT, STREAM].contains(&template.uri.as_str()) =>
        {
            ids(service).await?
        }
        (Reference::Prompt(prompt), "depth") if prompt.name == DEEP_RESEARCH => {
            DEPTHS.iter().map(|(word, _)| (*word).to_owned()).collect()
        }
        (Reference::Prompt(prompt), "country") if prompt.name == CITED_ANSWER => owned(COUNTRIES),
        (Reference::Prompt(prompt), "language") if prompt.name == CITED_ANSWER => owned(LANGUAGES),
        (Reference::Prompt(prompt), "question")
            if [CITED_ANSWER, DEEP_RESEARCH].contains(&prompt.name.as_str()) =>
        {
            Vec::new()
        }
        _ => {
            let message = "there is nothing of that name to complete";
            return Err(ErrorData::invalid_params(message, None));
        }
    };
    let mut values: Vec<String> = all
        .into_iter()
        .filter(|value| value.to_lowercase().starts_with(&typed))
        .collect();
    values.truncate(CompletionInfo::MAX_VALUES);
    let values = CompletionInfo::with_all_values(values)
        .map_err(|error| ErrorData::internal_error(error, None))?;
    Ok(CompleteResult::new(values))
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

async fn ids(service: &Service) -> Result<Vec<String>, ErrorData> {
    let jobs = service
        .jobs()
        .list(Filter::default(), CompletionInfo::MAX_VALUES)
        .await;
    let jobs = jobs.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(jobs.iter().map(|job| job.id.to_string()).collect())
}
