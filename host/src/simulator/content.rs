//! Generates an answer to a question, with sources on example domains.

use serde_json::json;

use super::python_json::tag;

/// A part of an answer.
#[derive(Clone, Debug)]
pub enum AnswerPart {
    /// Text.
    Text(String),
    /// A complete citation tag.
    Citation(String),
}

/// A source of an answer.
#[derive(Clone, Debug)]
pub struct Source {
    /// The URL.
    pub url: String,
    /// The text that is cited.
    pub snippet: String,
}

/// Returns the topic of a question: the question without its end marks, at most 80 characters long.
pub fn topic(question: &str) -> String {
    let words = question.trim().trim_end_matches(['?', '.', '!', ' ']);
    let short: String = words.chars().take(80).collect();
    let short = short.trim();
    if short.is_empty() {
        "the question".to_owned()
    } else {
        short.to_owned()
    }
}

/// Returns a topic as part of a URL.
pub fn slug(topic: &str) -> String {
    let words = topic.to_lowercase();
    let words: Vec<&str> = words
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let slug = words.iter().take(6).copied().collect::<Vec<_>>().join("-");
    if slug.is_empty() {
        "topic".to_owned()
    } else {
        slug
    }
}

/// Returns sources on a topic.
pub fn sources(topic: &str) -> Vec<Source> {
    let slug = slug(topic);
    let source = |url: String, snippet: String| Source { url, snippet };
    vec![
        source(
            format!("https://encyclopedia.example.org/wiki/{slug}"),
            format!("{topic} — overview, history and the terms that are used today."),
        ),
        source(
            format!("https://journal.example.com/reviews/2026/{slug}"),
            format!(
                "A review of 48 publications on {topic}: where results agree, and where they do not."
            ),
        ),
        source(
            format!("https://news.example.net/science/{slug}"),
            format!("Reporters looked at {topic} and at what has changed in the last two years."),
        ),
        source(
            format!("https://data.example.org/tables/{slug}?year=2026"),
            format!("Figures on {topic}, by year and region, with notes on method."),
        ),
        source(
            format!("https://forum.example.com/t/{slug}/1284"),
            format!("Practitioners discuss {topic} and the mistakes that beginners make."),
        ),
    ]
}

/// The sentences of an answer with the indices of their sources in [`sources`].
const SENTENCES: [(&str, &[usize]); 11] = [
    (
        "On “{}”, the sources agree on the outline and differ on the details.",
        &[0],
    ),
    (
        " The short answer is that it is well understood in principle, and that practice lags behind by some years.",
        &[0, 1],
    ),
    (
        " Most of what is written for a general public leaves out the conditions under which the results hold.",
        &[],
    ),
    (
        "\n\nThree points stand out. First, the terms have shifted: older texts on “{}” use a narrower meaning.",
        &[0],
    ),
    (
        " Second, a review of 48 publications finds clear agreement on the mechanism, and a spread of about 20 % in the measured effect.",
        &[1],
    ),
    (
        " Third, reports from the last two years describe progress that is real but uneven.",
        &[2, 1],
    ),
    (
        "\n\nThe figures support this. Between 2021 and 2026 the yearly numbers rose in every region that reports them",
        &[3],
    ),
    (
        ", with the largest gain – nearly a third – where support was steady.",
        &[3, 2],
    ),
    (
        " Practitioners add that the first attempt usually fails for simple reasons.",
        &[4],
    ),
    (
        "\n\nIn short: for “{}”, start from the overview, check the review for the conditions, and treat single reports with care.",
        &[1],
    ),
    (
        " *This reply was written by a simulator; its sources are examples.*\n",
        &[],
    ),
];

/// The numbers that citations use for the sources. They are not consecutive, as in recorded streams.
const NUMBERS: [u32; 5] = [1, 2, 4, 5, 7];

/// Returns the parts of an answer, in order.
pub fn answer(question: &str, citations: bool) -> Vec<AnswerPart> {
    let topic = topic(question);
    let sources = sources(&topic);
    let mut pieces = Vec::new();
    let mut position = 0;
    for (sentence, cited) in SENTENCES {
        let text = sentence.replace("{}", &topic);
        position += text.chars().count();
        pieces.push(AnswerPart::Text(text));
        if citations {
            pieces.extend(
                cited
                    .iter()
                    .filter_map(|number| citation(&sources, *number, position)),
            );
        }
    }
    pieces
}

fn citation(sources: &[Source], number: usize, position: usize) -> Option<AnswerPart> {
    let source = sources.get(number)?;
    let host = source.url.split('/').nth(2)?;
    Some(AnswerPart::Citation(tag(
        "citation",
        &Citation {
            start_index: position,
            end_index: position,
            number: *NUMBERS.get(number)?,
            url: &source.url,
            favicon: format!("https://imgs.search.example/{host}.ico"),
            snippet: &source.snippet,
        },
    )))
}

/// The payload of a citation tag, with the fields in the order of the API.
#[derive(serde::Serialize)]
struct Citation<'a> {
    start_index: usize,
    end_index: usize,
    number: u32,
    url: &'a str,
    favicon: String,
    snippet: &'a str,
}

/// Returns the text of an answer without citations.
pub fn prose(pieces: &[AnswerPart]) -> String {
    pieces
        .iter()
        .filter_map(|piece| match piece {
            AnswerPart::Text(text) => Some(text.as_str()),
            AnswerPart::Citation(_) => None,
        })
        .collect()
}

/// Returns the body of a reply that is not streamed.
pub fn blocking(id: &str, created: u64, text: &str, usage: &serde_json::Value) -> String {
    json!({
        "id": id,
        "object": "chat.completion",
        "created": created,
        "model": "brave-pro",
        "choices": [{ "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
        "usage": usage,
    })
    .to_string()
}
