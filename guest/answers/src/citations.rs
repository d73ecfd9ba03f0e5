//! Sources, deduplicated and numbered, and the markers in the answer.

use crate::event::Citation;
use crate::json::Json;
use crate::outcome::Source;
use crate::seen::{Kind, Seen};
use crate::text::push_number;
use alloc::{borrow::ToOwned, string::String, vec, vec::Vec};

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
    seen: Seen,
    list: Vec<Source>,
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
        let number = self.add(frame.url, true);
        let mut is_new = |kind, value: &[u8]| self.seen.is_new(kind, number, value);
        if let Some(source) = self.list.get_mut(number as usize - 1) {
            if let Some(snippet) = frame.snippet
                && is_new(Kind::Snippet, snippet.as_bytes())
            {
                source.snippets.push(snippet.to_owned());
            }
            if let Some(upstream) = frame.upstream_number
                && is_new(Kind::UpstreamNumber, &upstream.to_le_bytes())
            {
                source.upstream_numbers.push(upstream);
            }
            if is_new(Kind::Position, &position.to_le_bytes()) {
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
        (citation, own.is_some())
    }

    /// Adds a URL, and gives its number, from 1.
    pub(crate) fn add(&mut self, url: &str, cited: bool) -> u32 {
        let next = self.list.len() as u32 + 1;
        let (number, new) = self.seen.place(Kind::Url, 0, url.as_bytes(), next);
        if new {
            self.list.push(Source {
                number,
                url: url.to_owned(),
                snippets: Vec::new(),
                positions: Vec::new(),
                upstream_numbers: Vec::new(),
                cited,
            });
        }
        number
    }

    /// `text` with its `[n]` markers.
    pub(crate) fn mark(&self, text: &str) -> String {
        let mut marked = String::with_capacity(text.len() + 4 * self.markers.len());
        let mut rest = text;
        let mut passed = 0;
        for (position, number) in by_position(self.markers.clone()) {
            let skip = (position - passed) as usize;
            let cut = rest.char_indices().nth(skip).map(|(index, _)| index);
            let (before, after) = cut
                .and_then(|cut| rest.split_at_checked(cut))
                .unwrap_or((rest, ""));
            marked.push_str(before);
            marked.push('[');
            push_number(number.into(), &mut marked);
            marked.push(']');
            rest = after;
            passed = position;
        }
        marked.push_str(rest);
        marked
    }

    /// The sources in their order.
    pub(crate) fn finish(self) -> Vec<Source> {
        self.list
    }
}

/// In order of position, ties as they were: sorted by one byte of it after another, the lowest first. Linear,
/// and a tenth of the size of a general sort.
fn by_position(mut markers: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    let highest = markers.iter().fold(0, |all, &(position, _)| all | position);
    for byte in 0..4 {
        let digit = |position: u32| position.to_le_bytes().get(byte).copied().unwrap_or(0);
        if digit(highest) == 0 {
            continue;
        }
        let mut places = [0_usize; 257];
        for &(position, _) in &markers {
            if let Some(count) = places.get_mut(usize::from(digit(position)) + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for place in &mut places {
            sum += *place;
            *place = sum;
        }
        let mut sorted = vec![(0, 0); markers.len()];
        for marker in markers {
            if let Some(place) = places.get_mut(usize::from(digit(marker.0))) {
                if let Some(slot) = sorted.get_mut(*place) {
                    *slot = marker;
                }
                *place += 1;
            }
        }
        markers = sorted;
    }
    markers
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

    #[test]
    fn sorted_by_position_with_ties_in_order() {
        let markers: Vec<(u32, u32)> = (0..2000_u32)
            .map(|index| (index.wrapping_mul(2_654_435_761) % 70_000 / 7 * 9, index))
            .chain([(u32::MAX, 1), (5, 2), (5, 1)])
            .collect();
        let mut expected = markers.clone();
        expected.sort_by_key(|&(position, _)| position);
        assert_eq!(by_position(markers), expected);
        assert_eq!(by_position(vec![]), []);
    }
}
