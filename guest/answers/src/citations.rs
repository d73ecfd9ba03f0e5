//! Sources, deduplicated and numbered, and the markers in the answer.

use crate::event::Citation;
use crate::json::Json;
use crate::ordered::Ordered;
use crate::outcome::Source;

/// A source as it grows.
#[derive(Debug, Default)]
struct Entry {
    snippets: Ordered<String>,
    positions: Ordered<u32>,
    upstream_numbers: Ordered<u32>,
    cited: bool,
}

/// A citation frame as it came; `None` where it has no URL.
pub(crate) struct Frame<'a> {
    pub url: &'a str,
    end_index: Option<u64>,
    upstream_number: Option<u32>,
    snippet: Option<&'a str>,
    favicon: Option<&'a str>,
}

impl<'a> Frame<'a> {
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
                .filter(|url| crate::url::is_web(url)),
        })
    }

    /// Bytes that are kept of it.
    pub(crate) fn size(&self) -> usize {
        self.url.len() + self.snippet.map_or(0, str::len)
    }
}

/// All sources of one stream.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    urls: Ordered<String>,
    entries: Vec<Entry>,
    /// Position and number, in order of arrival, each pair once.
    markers: Vec<(u32, u32)>,
}

impl Sources {
    /// Takes a citation that arrived after so many code points. Whether its own position could be used is
    /// the second value.
    pub(crate) fn cite(&mut self, frame: &Frame<'_>, arrived: u32) -> (Citation, bool) {
        let own = frame
            .end_index
            .and_then(|index| u32::try_from(index).ok())
            .filter(|&index| index <= arrived);
        let position = own.unwrap_or(arrived);
        let number = self.number(frame.url);
        if let Some(entry) = self.entry(number) {
            entry.cited = true;
            if let Some(snippet) = frame.snippet {
                entry.snippets.insert(snippet.to_owned());
            }
            if let Some(upstream) = frame.upstream_number {
                entry.upstream_numbers.insert(upstream);
            }
            if entry.positions.insert(position).1 {
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
        (citation, own.is_some())
    }

    /// Adds a URL that has nothing but itself.
    pub(crate) fn add(&mut self, url: &str, cited: bool) {
        let number = self.number(url);
        if let Some(entry) = self.entry(number) {
            entry.cited |= cited;
        }
    }

    fn number(&mut self, url: &str) -> u32 {
        let (place, new) = self.urls.insert(url.to_owned());
        if new {
            self.entries.push(Entry::default());
        }
        place as u32 + 1
    }

    fn entry(&mut self, number: u32) -> Option<&mut Entry> {
        self.entries.get_mut(number.checked_sub(1)? as usize)
    }

    /// `text` with its `[n]` markers.
    pub(crate) fn mark(&mut self, text: &str) -> String {
        // Stable, so ties stay in order of arrival.
        self.markers.sort_by_key(|&(position, _)| position);
        let mut marked = String::with_capacity(text.len() + 4 * self.markers.len());
        let mut rest = text;
        let mut passed = 0;
        for &(position, number) in &self.markers {
            let skip = (position - passed) as usize;
            let cut = rest
                .char_indices()
                .nth(skip)
                .map_or(rest.len(), |(index, _)| index);
            let (before, after) = rest.split_at(cut);
            marked.push_str(before);
            marked.push('[');
            marked.push_str(&number.to_string());
            marked.push(']');
            rest = after;
            passed = position;
        }
        marked.push_str(rest);
        marked
    }

    /// The sources in their order.
    pub(crate) fn finish(self) -> Vec<Source> {
        let urls = self.urls.into_vec();
        let with_number = urls.into_iter().zip(self.entries).zip(1..);
        with_number
            .map(|((url, entry), number)| Source {
                number,
                url,
                snippets: entry.snippets.into_vec(),
                positions: entry.positions.into_vec(),
                upstream_numbers: entry.upstream_numbers.into_vec(),
                cited: entry.cited,
            })
            .collect()
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
        let (citation, own) = sources.cite(&Frame::read(&payload).unwrap(), arrived);
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
