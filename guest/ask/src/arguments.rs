//! What was asked, from the arguments.

use std::io::Read as _;

use answers::Question;

/// Bytes of a question on the standard input: the request's own check names the real bound.
const STDIN_BYTES: u64 = 1 << 20;

/// What to do.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// The question.
    pub(crate) question: Question,
    /// Whether the outcome is printed as JSON.
    pub(crate) json: bool,
    /// Another origin than that of the environment.
    pub(crate) upstream: Option<String>,
}

/// Reads the arguments; `None` where help was asked for.
pub(crate) fn read(arguments: impl Iterator<Item = String>) -> Result<Option<Wanted>, String> {
    let mut words: Vec<String> = Vec::new();
    let mut json = false;
    let mut upstream = None;
    let mut citations = true;
    let mut question = Question {
        model: Some("brave".to_owned()),
        stream: Some(true),
        ..Question::default()
    };
    let mut arguments = arguments;
    let mut literal = false;
    while let Some(argument) = arguments.next() {
        if literal || !argument.starts_with("--") {
            words.push(argument);
            continue;
        }
        let (flag, inline) = match argument.split_once('=') {
            Some((flag, value)) => (flag, Some(value.to_owned())),
            None => (argument.as_str(), None),
        };
        let mut value = || {
            inline
                .clone()
                .or_else(|| arguments.next())
                .ok_or_else(|| format!("{flag} needs a value"))
        };
        match flag {
            "--" => literal = true,
            "--help" => return Ok(None),
            "--json" => json = true,
            "--research" => question.enable_research = Some(true),
            "--no-citations" => citations = false,
            "--country" => question.country = Some(value()?),
            "--language" => question.language = Some(value()?),
            "--upstream" => upstream = Some(value()?),
            "--model" => question.model = Some(value()?),
            "--iterations" => {
                question.research_maximum_number_of_iterations = Some(number(flag, &value()?)?)
            }
            "--queries" => {
                question.research_maximum_number_of_queries = Some(number(flag, &value()?)?)
            }
            "--seconds" => {
                question.research_maximum_number_of_seconds = Some(number(flag, &value()?)?)
            }
            _ => return Err(format!("{flag} is not known")),
        }
    }
    if question.enable_research != Some(true) {
        question.enable_citations = Some(citations);
    }
    question.query = if words == ["-"] {
        stdin()?
    } else {
        words.join(" ")
    };
    if question.query.trim().is_empty() {
        return Err("no question".to_owned());
    }
    Ok(Some(Wanted {
        question,
        json,
        upstream,
    }))
}

fn number(flag: &str, text: &str) -> Result<i64, String> {
    text.parse()
        .map_err(|_| format!("{flag} needs a whole number, not {text}"))
}

fn stdin() -> Result<String, String> {
    let mut text = String::new();
    std::io::stdin()
        .take(STDIN_BYTES)
        .read_to_string(&mut text)
        .map_err(|error| format!("cannot read the question: {error}"))?;
    Ok(text.trim().to_owned())
}
