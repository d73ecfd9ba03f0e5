//! Reads the payloads of research tags and entities. `None` means that a payload lacks a required member.

use crate::event::{Analyzing, Entity, Progress, Thinking};
use markdown::url::is_web;
use stream::json::Json;

/// Highest number of an iteration. The API allows 5; the bound keeps the list short.
const MAX_ITERATION: u32 = 1000;

pub(crate) fn queries(payload: &Json<'_>) -> Option<Vec<String>> {
    let queries = payload.get("queries")?;
    matches!(queries, Json::Array(_)).then(|| queries.texts().map(str::to_owned).collect())
}

pub(crate) fn blindspots(payload: &Json<'_>) -> Option<Vec<String>> {
    let list = payload.get("blindspots").unwrap_or(payload);
    matches!(list, Json::Array(_)).then(|| list.texts().map(str::to_owned).collect())
}

pub(crate) fn analyzing(payload: &Json<'_>) -> Option<Analyzing> {
    Some(Analyzing {
        query: payload.text_of("query")?.to_owned(),
        urls: payload.get("urls").and_then(Json::small),
        new_urls: payload.get("new_urls").and_then(Json::small),
    })
}

/// Also returns the URLs that were left out, being neither http nor https.
pub(crate) fn thinking(payload: &Json<'_>) -> Option<(Thinking, Vec<String>)> {
    let count = |name| payload.get(name).and_then(Json::small);
    let selected = payload.get("urls_selected");
    let (urls, left_out) = web_urls(selected.map(Json::items).unwrap_or_default());
    let thinking = Thinking {
        query: payload.text_of("query")?.to_owned(),
        urls_analyzed: count("urls_analyzed"),
        urls_selected: urls,
        chunks_analyzed: count("chunks_analyzed"),
        chunks_selected: count("chunks_selected"),
    };
    Some((thinking, left_out))
}

pub(crate) fn progress(payload: &Json<'_>) -> Option<Progress> {
    let count = |name| payload.get(name).and_then(Json::count);
    let float = |name| payload.get(name).and_then(Json::float);
    Some(Progress {
        iteration: payload
            .get("number_of_iterations")
            .and_then(Json::small)
            .filter(|&number| number <= MAX_ITERATION)?,
        // The upstream writes "elasped".
        elapsed_seconds: float("elasped_seconds").or_else(|| float("elapsed_seconds")),
        queries: count("number_of_queries"),
        urls_analyzed: count("number_of_urls_analyzed"),
        snippets_analyzed: count("number_of_snippets_analyzed"),
        tokens_in: count("number_of_input_tokens"),
        tokens_thinking: count("number_of_thinking_tokens"),
        tokens_out: count("number_of_output_tokens"),
    })
}

/// Also returns the URLs that were left out, being neither http nor https.
pub(crate) fn entity(payload: &Json<'_>) -> Option<(Entity, Vec<String>)> {
    let text = |name| payload.text_of(name).filter(|text: &&str| !text.is_empty());
    let shown = text("original_tokens").or_else(|| text("name"))?;
    let (images, no_images) = images(payload.get("images"));
    let (href, no_href) = text("href")
        .map(str::to_owned)
        .map_or((None, None), |href| {
            if is_web(&href) {
                (Some(href), None)
            } else {
                (None, Some(href))
            }
        });
    let left_out = no_href.into_iter().chain(no_images).collect();
    let citations = match payload.get("citations") {
        Some(value @ (Json::Array(_) | Json::Object(_))) => serde_json::to_string(value).ok(),
        _ => None,
    };
    let entity = Entity {
        name: text("name").unwrap_or(shown).to_owned(),
        href,
        text: shown.to_owned(),
        instance_of: text("instance_of").map(str::to_owned),
        images,
        citations: citations.unwrap_or_else(|| "[]".to_owned()),
    };
    Some((entity, left_out))
}

/// Returns the URLs of images, which come as strings or as objects with one.
fn images(images: Option<&Json<'_>>) -> (Vec<String>, Vec<String>) {
    const MEMBERS: [&str; 3] = ["url", "src", "original"];
    let items = images.map(Json::items).unwrap_or_default();
    web_urls(items.iter().map(|item| {
        let member = MEMBERS.into_iter().find_map(|name| item.get(name));
        member.unwrap_or(item)
    }))
}

/// Returns the strings among the items: first those that are http or https URLs, then the others.
fn web_urls<'a>(items: impl IntoIterator<Item = &'a Json<'a>>) -> (Vec<String>, Vec<String>) {
    let texts = items.into_iter().filter_map(Json::text);
    texts.map(str::to_owned).partition(|url| is_web(url))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests {
    use super::progress as read_progress;
    use super::*;

    fn json(text: &str) -> Json<'_> {
        Json::parse(text).unwrap()
    }

    #[test]
    fn both_shapes_of_blindspots() {
        assert_eq!(blindspots(&json(r#"["a", 1]"#)), Some(vec!["a".into()]));
        assert_eq!(
            blindspots(&json(r#"{"blindspots":["a"]}"#)),
            Some(vec!["a".into()])
        );
        assert_eq!(blindspots(&json(r#"{"x":["a"]}"#)), None);
    }

    #[test]
    fn both_spellings_of_elapsed() {
        let progress = |text| read_progress(&json(text));
        let elapsed = |text| progress(text).unwrap().elapsed_seconds;
        assert_eq!(
            elapsed(r#"{"number_of_iterations":1,"elasped_seconds":1.5}"#),
            Some(1.5)
        );
        assert_eq!(
            elapsed(r#"{"number_of_iterations":1,"elapsed_seconds":"2"}"#),
            Some(2.0)
        );
        assert_eq!(progress(r#"{"elapsed_seconds":1}"#), None);
    }

    #[test]
    fn entities() {
        let (entity, left_out) = entity(&json(
            r#"{"name":"Eiffel Tower","href":"javascript:x","original_tokens":"**Eiffel**","images":["https://i/1",{"url":"https://i/2"},"data:x"],"citations":{"a": [1, NaN]}}"#,
        ))
        .unwrap();
        assert_eq!(entity.text, "**Eiffel**");
        assert_eq!(entity.href, None);
        assert_eq!(entity.images, ["https://i/1", "https://i/2"]);
        assert_eq!(entity.citations, r#"{"a":[1,null]}"#);
        assert_eq!(left_out, ["javascript:x", "data:x"]);
        assert_eq!(super::entity(&json("{}")), None);
    }
}
