//! The sources of an answer, deduplicated and numbered, and their `[n]` markers in its text.

use crate::event::Citation;
use crate::outcome::Source;
use crate::place_index::PlaceIndex;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use stream::json::Json;

/// The payload of a citation tag.
pub(crate) struct CitationFrame<'a> {
    pub url: &'a str,
    end_index: Option<u64>,
    upstream_number: Option<u32>,
    snippet: Option<&'a str>,
    favicon: Option<&'a str>,
}

impl<'a> CitationFrame<'a> {
    /// Reads a payload; `None` if it has no URL.
    pub(crate) fn read(payload: &'a Json) -> Option<Self> {
        Some(Self {
            url: payload.text_of("url")?,
            end_index: payload.get("end_index").and_then(Json::integer),
            upstream_number: payload
                .get("number")
                .and_then(Json::integer)
                .and_then(|number| number.try_into().ok()),
            snippet: payload.text_of("snippet"),
            favicon: payload
                .text_of("favicon")
                .filter(|url| markdown::url::is_web(url)),
        })
    }

    /// Returns the number of bytes of it that the outcome keeps.
    pub(crate) fn size(&self) -> usize {
        self.url.len() + self.snippet.map_or(0, str::len)
    }
}

/// The sources of one text.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    list: Vec<Source>,
    urls: PlaceIndex,
    snippets: PlaceIndex,
    /// Pairs of a source and an upstream number. As in the other indexes, the first of each source is left out.
    numbers: BTreeSet<(u32, u32)>,
    /// Pairs of a source and a position.
    positions: BTreeSet<(u32, u32)>,
    /// Pairs of a position and a source, in order of arrival, each once.
    markers: Vec<(u32, u32)>,
}

impl Sources {
    /// Adds a citation that arrived after `arrived` code points. Returns it, whether its own position could be used, and
    /// whether its source is new.
    pub(crate) fn cite(
        &mut self,
        frame: &CitationFrame<'_>,
        arrived: u32,
    ) -> (Citation, bool, bool) {
        let own = frame
            .end_index
            .and_then(|index| u32::try_from(index).ok())
            .filter(|&index| index <= arrived);
        let position = own.unwrap_or(arrived);
        let (number, new) = self.add(frame.url, true);
        if let Some(source) = self.list.get_mut(number as usize - 1) {
            if let Some(snippet) = frame.snippet
                && is_new(
                    &source.snippets,
                    |first| first == snippet,
                    |known| {
                        let same =
                            |place: usize| known.get(place).is_some_and(|known| known == snippet);
                        self.snippets
                            .find(&(number, snippet), known.len(), same)
                            .is_none()
                    },
                )
            {
                source.snippets.push(snippet.to_owned());
            }
            if let Some(upstream) = frame.upstream_number
                && is_new(
                    &source.upstream_numbers,
                    |&first| first == upstream,
                    |_| self.numbers.insert((number, upstream)),
                )
            {
                source.upstream_numbers.push(upstream);
            }
            if is_new(
                &source.positions,
                |&first| first == position,
                |_| self.positions.insert((number, position)),
            ) {
                source.positions.push(position);
                self.markers.push((position, number));
            }
        }
        let citation = Citation {
            number,
            upstream_number: frame.upstream_number,
            url: frame.url.to_owned(),
            position,
            snippet: frame.snippet.map(str::to_owned),
            favicon: frame.favicon.map(str::to_owned),
        };
        (citation, own.is_some(), new)
    }

    /// Adds a URL. Returns its number, from 1, and whether it is new.
    pub(crate) fn add(&mut self, url: &str, cited: bool) -> (u32, bool) {
        let list = &self.list;
        let same = |place: usize| list.get(place).is_some_and(|source| source.url == url);
        if let Some(place) = self.urls.find(&url, list.len(), same) {
            return (place as u32 + 1, false);
        }
        let number = self.list.len() as u32 + 1;
        self.list.push(Source {
            number,
            url: url.to_owned(),
            snippets: Vec::new(),
            positions: Vec::new(),
            upstream_numbers: Vec::new(),
            cited,
        });
        (number, true)
    }

    /// Returns `text` with its `[n]` markers.
    pub(crate) fn mark(&self, text: &str) -> String {
        // The exact capacity: a text of some megabytes that grows by doubling would take most of a stream's memory.
        let lengths = self
            .markers
            .iter()
            .map(|(_, number)| number.max(&1).ilog10() as usize + 3);
        let mut marked = String::with_capacity(text.len() + lengths.sum::<usize>());
        let mut rest = text;
        let mut passed = 0;
        let mut markers = self.markers.clone();
        // The sort is stable, so ties stay in the order of arrival.
        markers.sort_by_key(|&(position, _)| position);
        for (position, number) in markers {
            let skip = (position - passed) as usize;
            let cut = rest.char_indices().nth(skip).map(|(index, _)| index);
            let (before, after) = cut
                .and_then(|cut| rest.split_at_checked(cut))
                .unwrap_or((rest, ""));
            marked.push_str(before);
            // Writing to a string does not fail.
            let _ = write!(marked, "[{number}]");
            rest = after;
            passed = position;
        }
        marked.push_str(rest);
        marked
    }

    /// Returns the sources in order of their numbers.
    pub(crate) fn finish(self) -> Vec<Source> {
        self.list
    }
}

/// Returns whether an item is not in a list yet. Most sources are cited once, so the first item is compared directly and
/// only further items are put in an index.
fn is_new<T>(
    list: &[T],
    is_first: impl FnOnce(&T) -> bool,
    index: impl FnOnce(&[T]) -> bool,
) -> bool {
    match list.first() {
        None => true,
        Some(first) => !is_first(first) && index(list),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests {
    use super::*;

    fn cite(
        sources: &mut Sources,
        url: &str,
        end: i64,
        number: u32,
        arrived: u32,
    ) -> (u32, u32, bool) {
        let json = format!(
            r#"{{"url":"{url}","end_index":{end},"number":{number},"snippet":"s{number}"}}"#
        );
        let payload = Json::parse(&json).unwrap();
        let (citation, own, _) = sources.cite(&CitationFrame::read(&payload).unwrap(), arrived);
        (citation.number, citation.position, own)
    }

    #[test]
    fn numbered_by_first_appearance() {
        let mut sources = Sources::default();
        assert_eq!(cite(&mut sources, "http://b", 2, 7, 9), (1, 2, true));
        assert_eq!(cite(&mut sources, "http://a", 2, 9, 9), (2, 2, true));
        assert_eq!(cite(&mut sources, "http://b", 2, 8, 9), (1, 2, true));
        assert_eq!(cite(&mut sources, "http://a", 0, 9, 9), (2, 0, true));
        assert_eq!(cite(&mut sources, "http://a", -1, 9, 3), (2, 3, false));
        assert_eq!(cite(&mut sources, "http://a", 10, 9, 9), (2, 9, false));
        assert_eq!(sources.mark("äbcdefghi"), "[2]äb[1][2]c[2]defghi[2]");
        let list = sources.finish();
        assert_eq!(list[0].upstream_numbers, [7, 8]);
        assert_eq!(list[0].snippets, ["s7", "s8"]);
        assert_eq!(list[1].positions, [2, 0, 3, 9]);
    }
}
