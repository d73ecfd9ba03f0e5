//! The payloads of research tags and entities. `None`: of the right kind but without what it needs.

use crate::event::{Analyzing, Entity, Progress, Thinking};
use crate::json::Json;
use crate::json::writer::Writer;
use crate::url::is_web;

pub(crate) fn queries(payload: &Json) -> Option<Vec<String>> {
    let queries = payload.get("queries")?;
    matches!(queries, Json::Array(_)).then(|| queries.texts().map(str::to_owned).collect())
}

pub(crate) fn blindspots(payload: &Json) -> Option<Vec<String>> {
    let list = payload.get("blindspots").unwrap_or(payload);
    matches!(list, Json::Array(_)).then(|| list.texts().map(str::to_owned).collect())
}

pub(crate) fn analyzing(payload: &Json) -> Option<Analyzing> {
    Some(Analyzing {
        query: payload.text_of("query")?.to_owned(),
        urls: payload.get("urls").and_then(Json::small),
        new_urls: payload.get("new_urls").and_then(Json::small),
    })
}

/// The second value is how many URLs were left out, being neither http nor https.
pub(crate) fn thinking(payload: &Json) -> Option<(Thinking, usize)> {
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

/// `last` is the iteration of the frame before: a frame that names none belongs to it.
pub(crate) fn progress(payload: &Json, last: u32) -> Option<Progress> {
    let count = |name| payload.get(name).and_then(Json::count);
    let float = |name| payload.get(name).and_then(Json::float);
    let progress = Progress {
        iteration: payload
            .get("number_of_iterations")
            .and_then(Json::small)
            .unwrap_or(last),
        // The misspelling is the upstream's.
        elapsed_seconds: float("elasped_seconds").or_else(|| float("elapsed_seconds")),
        queries: count("number_of_queries"),
        urls_analyzed: count("number_of_urls_analyzed"),
        snippets_analyzed: count("number_of_snippets_analyzed"),
        tokens_in: count("number_of_input_tokens"),
        tokens_thinking: count("number_of_thinking_tokens"),
        tokens_out: count("number_of_output_tokens"),
    };
    let empty = Progress {
        iteration: progress.iteration,
        elapsed_seconds: None,
        queries: None,
        urls_analyzed: None,
        snippets_analyzed: None,
        tokens_in: None,
        tokens_thinking: None,
        tokens_out: None,
    };
    let known = progress != empty || payload.get("number_of_iterations").is_some();
    known.then_some(progress)
}

/// The second value is how many URLs were left out.
pub(crate) fn entity(payload: &Json) -> Option<(Entity, usize)> {
    let text = |name| payload.text_of(name).filter(|text: &&str| !text.is_empty());
    let shown = text("original_tokens").or_else(|| text("name"))?;
    let (images, mut left_out) = images(payload.get("images"));
    let href = text("href").filter(|href| is_web(href));
    left_out += usize::from(href.is_none() && text("href").is_some());
    let citations = match payload.get("citations") {
        Some(value @ (Json::Array(_) | Json::Object(_))) => {
            let mut writer = Writer::default();
            writer.json(value);
            writer.finish()
        }
        _ => "[]".to_owned(),
    };
    let entity = Entity {
        name: text("name").unwrap_or(shown).to_owned(),
        href: href.map(str::to_owned),
        text: shown.to_owned(),
        instance_of: text("instance_of").map(str::to_owned),
        images,
        citations,
    };
    Some((entity, left_out))
}

/// Images come as URLs, or as objects that have one.
fn images(images: Option<&Json>) -> (Vec<String>, usize) {
    const MEMBERS: [&str; 3] = ["url", "src", "original"];
    let items = images.map(Json::items).unwrap_or_default();
    let urls: Vec<Json> = items
        .iter()
        .map(|item| {
            let member = MEMBERS.into_iter().find_map(|name| item.get(name));
            member.unwrap_or(item).clone()
        })
        .collect();
    web_urls(&urls)
}

fn web_urls(items: &[Json]) -> (Vec<String>, usize) {
    let urls: Vec<String> = items
        .iter()
        .filter_map(Json::text)
        .filter(|url| is_web(url))
        .map(str::to_owned)
        .collect();
    let left_out = items.len() - urls.len();
    (urls, left_out)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
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
        let progress = |text| super::progress(&json(text), 4);
        assert_eq!(
            progress(r#"{"elasped_seconds":1.5}"#)
                .unwrap()
                .elapsed_seconds,
            Some(1.5)
        );
        assert_eq!(
            progress(r#"{"elapsed_seconds":"2"}"#)
                .unwrap()
                .elapsed_seconds,
            Some(2.0)
        );
        assert_eq!(progress(r#"{"elapsed_seconds":"2"}"#).unwrap().iteration, 4);
        assert_eq!(progress(r#"{"x":1}"#), None);
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
        assert_eq!(left_out, 2);
        assert_eq!(super::entity(&json("{}")), None);
    }
}
