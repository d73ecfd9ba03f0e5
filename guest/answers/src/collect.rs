//! Turns text and tags into events and, in the end, the outcome.

use crate::citations::{CitationFrame, Sources};
use crate::cited_text::CitedText;
use crate::event::{
    Batch, Entity, Event, EventKind, Mode, Progress, StreamError, StreamErrorKind, Thinking, Usage,
    Warning,
};
use crate::limits::{MAX_EVENTS, MAX_WARNINGS};
use crate::outcome::{Finished, Outcome, OutcomeError, Source};
use crate::place_index::{ENTRY_BYTES, PlaceIndex};
use crate::research;
use crate::text::first_chars;
use crate::usage;
use crate::warnings as code;
use markdown::invisible;
use markdown::links;
use memchr::memmem;
use stream::json::{Json, Read};
use stream::{Sink, Tag, TagScanner};

/// Bytes that the component's allocator adds to an allocation, with rounding.
const BLOCK_BYTES: usize = 16;

/// Bytes that a text in a list takes besides its own: its place in a list that has just doubled, and the overhead of its
/// allocation.
const ITEM_BYTES: usize = 2 * 12 + BLOCK_BYTES;

/// Bytes that an entity or a query's result takes besides its texts: its place in a list, five texts.
const RECORD_BYTES: usize = 2 * 80 + 5 * BLOCK_BYTES;

/// Bytes that a source takes besides its texts: its place in a list, three lists of its own, and in the index.
const SOURCE_BYTES: usize = 2 * 56 + 4 * BLOCK_BYTES + 4 * 12 + ENTRY_BYTES;

/// Bytes that a further citation of a source takes besides its snippet: a position, a marker and places in the indexes.
const CITATION_BYTES: usize = ITEM_BYTES + 3 * ENTRY_BYTES + 2 * 12;

/// Bytes that a superseded answer takes besides its text.
const SUPERSEDED_BYTES: usize = 2 * 8;

/// Longest detail of a warning, in code points: enough to find the place.
const DETAIL_CHARS: usize = 120;

/// How the stream ended, as far as its chunks say it.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamEnd {
    /// `[DONE]`, or the end of a whole blocking reply.
    pub done: bool,
    /// The upstream's reason.
    pub finish_reason: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
}

impl StreamEnd {
    /// Returns whether the upstream stopped at its token limit.
    pub(crate) fn is_truncated(&self) -> bool {
        self.finish_reason.as_deref() == Some("length")
    }
}

/// Collects the events and the outcome of one stream.
#[derive(Debug)]
pub(crate) struct Collector {
    mode: Mode,
    /// Offset of the server-sent event being read.
    at: u64,
    /// The number of events that it gave so far, without text.
    of_this: usize,
    /// The index of its `usage` in `events`.
    last_usage: Option<usize>,
    /// The index in `events` of the last `answer` that it gave.
    last_answer: Option<usize>,
    /// Events that were not returned yet.
    pub events: Vec<Event>,
    /// What ended the stream.
    pub error: Option<StreamError>,
    /// Whether a usage tag came and no text after it.
    pub usage_is_last: bool,
    /// Which kinds of tags came.
    pub hints: ModeHints,
    /// Bytes of text that can still be kept.
    room: usize,
    /// Text outside of tags.
    prose: CitedText,
    entities: Vec<Entity>,
    queries: Vec<String>,
    seen_queries: PlaceIndex,
    blindspots: Vec<String>,
    seen_blindspots: PlaceIndex,
    thinking: Vec<Thinking>,
    /// In order of iteration.
    progress: Vec<Progress>,
    usage: Option<Usage>,
    /// The last closed answer and where in the prose it stood.
    answer: Option<(usize, CitedText)>,
    superseded: SupersededAnswers,
    warnings: Vec<Warning>,
}

/// Which kinds of tags came, from which the mode of a captured stream is inferred.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ModeHints {
    /// A tag of an answer.
    pub answer: bool,
    /// A tag of research, or an answer tag with JSON.
    pub research: bool,
}

/// Answers that were replaced by a later one.
#[derive(Debug, Default)]
struct SupersededAnswers {
    /// The texts, one after the other.
    texts: String,
    /// For each, its position in the prose and its end in `texts`.
    places: Vec<(u32, u32)>,
}

impl Collector {
    pub(crate) fn new(mode: Mode, text_limit: usize) -> Self {
        Self {
            mode,
            at: 0,
            of_this: 0,
            last_usage: None,
            last_answer: None,
            events: Vec::new(),
            error: None,
            usage_is_last: false,
            hints: ModeHints::default(),
            room: text_limit,
            prose: CitedText::default(),
            entities: Vec::new(),
            queries: Vec::new(),
            seen_queries: PlaceIndex::default(),
            blindspots: Vec::new(),
            seen_blindspots: PlaceIndex::default(),
            thinking: Vec::new(),
            progress: Vec::new(),
            usage: None,
            answer: None,
            superseded: SupersededAnswers::default(),
            warnings: Vec::new(),
        }
    }

    /// Begins the server-sent event that ends at this offset.
    pub(crate) fn begin(&mut self, at: u64) {
        self.at = at;
        self.of_this = 0;
        self.last_usage = None;
        self.last_answer = None;
    }

    /// Returns the offset of the server-sent event being read.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Removes and returns the events so far.
    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        self.last_usage = None;
        self.last_answer = None;
        std::mem::take(&mut self.events)
    }

    /// Ends the stream with an error, unless it has one.
    pub(crate) fn fail(&mut self, kind: StreamErrorKind, message: String, at: u64) {
        if self.error.is_none() {
            self.error = Some(StreamError { kind, message, at });
        }
    }

    /// Adds a warning.
    pub(crate) fn warn(&mut self, code: &str, detail: &str) {
        let (code, detail) = match self.warnings.len() {
            0..MAX_WARNINGS => (code, detail),
            MAX_WARNINGS => (code::MORE_WARNINGS, "no more warnings are kept"),
            _ => return,
        };
        let warning = Warning {
            code: code.to_owned(),
            detail: first_chars(detail, DETAIL_CHARS).to_owned(),
        };
        self.warnings.push(warning.clone());
        self.event(EventKind::Warning(warning));
    }

    fn event(&mut self, kind: EventKind) {
        // Text is joined to the text before it in the same batch, so its count would depend on how the stream was cut.
        self.of_this += usize::from(!matches!(kind, EventKind::Text(_) | EventKind::Draft(_)));
        self.events.push(Event { at: self.at, kind });
        if self.of_this > MAX_EVENTS {
            let message = "An event of the reply holds more tags than the limit allows".to_owned();
            self.fail(StreamErrorKind::TextLimit, message, self.at);
        }
    }

    /// Counts bytes that are kept against the text limit; beyond it, ends the stream and returns false.
    fn reserve(&mut self, bytes: usize) -> bool {
        if bytes <= self.room {
            self.room -= bytes;
            return true;
        }
        self.room = 0;
        let message = "The reply holds more text than the limit allows".to_owned();
        self.fail(StreamErrorKind::TextLimit, message, self.at);
        false
    }

    /// Adds a citation to the text of an answer (`within`), or else to the prose.
    fn citation(&mut self, payload: &Json<'_>, within: Option<&mut CitedText>) {
        // The draft of research has no citations.
        if within.is_none() && self.mode == Mode::Research {
            return self.warn(code::BAD_TAG, "a citation in research");
        }
        let Some(frame) = CitationFrame::read(payload) else {
            return self.warn(code::BAD_CITATION, "a citation without a URL");
        };
        if !markdown::url::is_web(frame.url) {
            return self.warn(code::BAD_URL, frame.url);
        }
        if !self.reserve(frame.size() + CITATION_BYTES) {
            return;
        }
        let (citation, own_position, new) = within.unwrap_or(&mut self.prose).cite(&frame);
        self.event(EventKind::Citation(citation));
        if !own_position {
            self.warn(code::BAD_POSITION, frame.url);
        }
        if new {
            self.reserve(SOURCE_BYTES);
        }
    }

    fn entity(&mut self, payload: &Json<'_>) {
        self.hints.answer = true;
        let Some((entity, left_out)) = research::entity(payload) else {
            return self.warn(code::BAD_TAG, "enum_item");
        };
        let images = entity.images.iter().map(|url| url.len() + ITEM_BYTES);
        let texts = [&entity.name, &entity.text, &entity.citations]
            .into_iter()
            .chain(&entity.href)
            .chain(&entity.instance_of);
        let kept = images.sum::<usize>() + texts.map(String::len).sum::<usize>();
        if !self.reserve(kept + RECORD_BYTES) {
            return;
        }
        self.text(&entity.text);
        self.entities.push(entity.clone());
        self.event(EventKind::Entity(entity));
        self.bad_urls(&left_out);
    }

    fn bad_urls(&mut self, urls: &[String]) {
        for url in urls {
            self.warn(code::BAD_URL, url);
        }
    }

    fn list(&mut self, tag: Tag, list: Option<Vec<String>>) {
        let Some(list) = list else {
            return self.warn(code::BAD_TAG, tag.name());
        };
        for item in &list {
            if !self.reserve(item.len() + ITEM_BYTES + ENTRY_BYTES) {
                return;
            }
            let (seen, all) = match tag {
                Tag::Queries => (&mut self.seen_queries, &mut self.queries),
                _ => (&mut self.seen_blindspots, &mut self.blindspots),
            };
            seen.push(item, all);
        }
        self.event(match tag {
            Tag::Queries => EventKind::Queries(list),
            _ => EventKind::Blindspots(list),
        });
    }

    fn thinking(&mut self, payload: &Json<'_>) {
        let Some((thinking, left_out)) = research::thinking(payload) else {
            return self.warn(code::BAD_TAG, "thinking");
        };
        let kept = thinking
            .urls_selected
            .iter()
            .map(|url| url.len() + ITEM_BYTES);
        if !self.reserve(kept.sum::<usize>() + thinking.query.len() + RECORD_BYTES) {
            return;
        }
        self.thinking.push(thinking.clone());
        self.event(EventKind::Thinking(thinking));
        self.bad_urls(&left_out);
    }

    fn progress(&mut self, payload: &Json<'_>) {
        let Some(progress) = research::progress(payload) else {
            return self.warn(code::BAD_TAG, "progress");
        };
        let place = self
            .progress
            .partition_point(|known| known.iteration < progress.iteration);
        match self.progress.get_mut(place) {
            Some(known) if known.iteration == progress.iteration => *known = progress,
            _ => self.progress.insert(place, progress),
        }
        self.event(EventKind::Progress(progress));
    }

    fn usage(&mut self, payload: &Json<'_>) {
        let Some((usage, bad)) = usage::from_tag(payload) else {
            return self.warn(code::BAD_TAG, "usage");
        };
        self.bad_costs(&bad);
        self.usage = Some(usage);
        self.usage_is_last = true;
        // One server-sent event gives one usage event: the last usage, at the place of the first.
        let place = *self.last_usage.get_or_insert(self.events.len());
        match self.events.get_mut(place) {
            Some(event) => event.kind = EventKind::Usage(usage),
            None => self.event(EventKind::Usage(usage)),
        }
    }

    fn answer(&mut self, payload: &str) {
        let text = match Json::parse(payload) {
            Some(Json::Text(text)) => {
                self.hints.research = true;
                text.into_owned()
            }
            Some(object @ Json::Object(_)) => {
                self.hints.research = true;
                match object.text_of("answer") {
                    Some(text) => text.to_owned(),
                    None => return self.warn(code::BAD_TAG, "answer"),
                }
            }
            _ => payload.to_owned(),
        };
        if text.trim_ascii().is_empty() || !self.reserve(text.len()) {
            return;
        }
        self.draft_last_answer();
        let place = self.events.len();
        self.event(EventKind::Answer(String::new()));
        let cited = self.without_citations(text, true);
        if let Some(event) = self.events.get_mut(place) {
            event.kind = EventKind::Answer(cited.text().to_owned());
        }
        self.last_answer = Some(place);
        self.supersede(cited);
    }

    /// Removes the citation tags from the text of an answer. An incomplete tag at its end is text if the answer was
    /// `closed`, else it is dropped.
    fn without_citations(&mut self, text: String, closed: bool) -> CitedText {
        if memmem::find(text.as_bytes(), b"<citation").is_none() {
            return CitedText::whole(text);
        }
        let mut scanner = TagScanner::new(Tag::WITHIN_AN_ANSWER, text.len());
        let mut extractor = CitationExtractor {
            cited: CitedText::default(),
            room: text.len(),
            collector: self,
        };
        scanner.feed(&text, &mut extractor);
        while scanner.is_holding() {
            if closed {
                scanner.end_as_text(&mut extractor);
            } else {
                scanner.take_open();
                extractor
                    .collector
                    .warn(code::UNCLOSED_TAG, Tag::Citation.name());
            }
        }
        extractor.cited
    }

    /// Makes this the answer. The answer before it becomes part of the draft.
    fn supersede(&mut self, cited: CitedText) {
        let new = (self.prose.text().len(), cited);
        if let Some((at, last)) = self.answer.replace(new)
            && self.reserve(SUPERSEDED_BYTES)
        {
            let superseded = &mut self.superseded;
            superseded.texts.push_str(last.text());
            superseded
                .places
                .push((at as u32, superseded.texts.len() as u32));
        }
    }

    /// Turns the last `answer` event into draft. Of the answers of one server-sent event only the last stays an `answer`
    /// event; those before it become part of the draft, as in the outcome.
    fn draft_last_answer(&mut self) {
        let Some(place) = self.last_answer.take() else {
            return;
        };
        let (before, rest) = self.events.split_at_mut(place);
        let Some((event, after)) = rest.split_first_mut() else {
            return;
        };
        let EventKind::Answer(answer) = &mut event.kind else {
            return;
        };
        let mut answer = std::mem::take(answer);
        let mut joined = 0;
        if let [
            Event {
                kind: EventKind::Draft(next),
                ..
            },
        ] = after
        {
            answer.push_str(next);
            joined += 1;
        }
        if let Some(Event {
            kind: EventKind::Draft(last),
            ..
        }) = before.last_mut()
            && after.len() == joined
        {
            last.push_str(&answer);
            joined += 1;
        } else {
            event.kind = EventKind::Draft(answer);
        }
        self.events.truncate(self.events.len() - joined);
        self.of_this -= 1;
    }

    /// Returns whether a closed answer came.
    pub(crate) fn has_answer(&self) -> bool {
        self.answer.is_some()
    }

    /// Makes an unclosed answer, as far as it came, the answer.
    pub(crate) fn salvage(&mut self, payload: &str) {
        let without = without_cut_closer(payload);
        let read = match Json::read(payload) {
            Read::Bad => Json::read(without),
            read => read,
        };
        let text = match read {
            Read::Whole(Json::Text(text)) | Read::Cut(Json::Text(text)) => text.into_owned(),
            Read::Whole(object @ Json::Object(_)) | Read::Cut(object @ Json::Object(_)) => {
                object.text_of("answer").unwrap_or_default().to_owned()
            }
            _ => without.to_owned(),
        };
        self.warn(code::UNCLOSED_ANSWER, "the answer was not closed");
        if !text.trim_ascii().is_empty() && self.reserve(text.len()) {
            let cited = self.without_citations(text, false);
            self.supersede(cited);
        }
    }

    /// Adds a warning for each cost that is out of range.
    pub(crate) fn bad_costs(&mut self, costs: &[String]) {
        for cost in costs {
            self.warn(code::BAD_COST, cost);
        }
    }

    /// Fills the usage with the figures of the headers and of the completion that no tag gave.
    pub(crate) fn complete_usage(&mut self, headers: Option<Usage>, completion: Option<Usage>) {
        let completion = completion.filter(|_| self.usage.is_none());
        let mut filled = false;
        for more in [headers, completion].into_iter().flatten() {
            filled |= usage::fill(&mut self.usage, more);
        }
        if let Some(usage) = self.usage.filter(|_| filled) {
            self.event(EventKind::Usage(usage));
        }
    }

    /// Returns the last events and the outcome. `ended` says that the stream was not cut.
    pub(crate) fn finish(mut self, ended: bool, salvaged: bool, ending: StreamEnd) -> Finished {
        let answered = match self.mode {
            Mode::Answer => true,
            Mode::Research => self.has_answer() && !salvaged,
        };
        let prose = std::mem::take(&mut self.prose);
        let (answer, text, sources, draft) = match self.mode {
            Mode::Answer => {
                let (answer, text, sources) = prose.finish();
                (answer, text, sources, String::new())
            }
            Mode::Research => {
                let (_, prose, _) = prose.finish();
                let draft = std::mem::take(&mut self.superseded).into_draft(prose);
                let last = self.answer.take().map(|(_, answer)| answer.finish());
                let (answer, text, mut sources) = last.unwrap_or_default();
                self.add_sources(&text, &mut sources);
                (answer, text, sources, draft)
            }
        };
        let sources = sources.finish();
        self.name_invisible(&text, &sources);
        let last = Batch {
            events: self.take_events(),
            error: self.error.clone(),
            ended: ending.done,
        };
        let outcome = Outcome {
            mode: self.mode,
            complete: ended && answered && self.error.is_none(),
            truncated: ending.is_truncated(),
            finish_reason: ending.finish_reason,
            model: ending.model,
            answer,
            text,
            draft,
            sources,
            entities: self.entities,
            queries: self.queries,
            blindspots: self.blindspots,
            thinking: self.thinking,
            progress: self.progress,
            usage: self.usage,
            error: self.error.map(|error| OutcomeError {
                kind: error.kind.name().to_owned(),
                message: error.message,
            }),
            warnings: self.warnings,
        };
        Finished { last, outcome }
    }

    /// Adds the sources of research besides its citations: the links of the answer, then the other selected URLs.
    fn add_sources(&self, text: &str, sources: &mut Sources) {
        for url in links(text) {
            sources.add(url, true);
        }
        let selected = self
            .thinking
            .iter()
            .flat_map(|thinking| &thinking.urls_selected);
        for url in selected {
            sources.add(url, false);
        }
    }

    /// Adds warnings that name the invisible characters in the answer and in URLs.
    fn name_invisible(&mut self, text: &str, sources: &[Source]) {
        if let Some(names) = invisible::name(text) {
            self.warn(code::INVISIBLE, &format!("{names} in the answer"));
        }
        for source in sources {
            if let Some(names) = invisible::name(&source.url) {
                let url = invisible::spelt_out(&source.url);
                self.warn(code::INVISIBLE, &format!("{names} in the URL {url}"));
            }
        }
    }
}

impl Sink for Collector {
    fn text(&mut self, text: &str) {
        if self.error.is_some() || text.is_empty() {
            return;
        }
        // The text up to the limit is kept, so that nothing before the error is lost.
        let mut end = text.len().min(self.room);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let whole = end == text.len();
        let text = text.get(..end).unwrap_or_default();
        self.usage_is_last &= text.trim_ascii().is_empty();
        self.room -= end;
        self.prose.push(text, self.room);
        let mode = self.mode;
        match self.events.last_mut().map(|event| &mut event.kind) {
            Some(EventKind::Text(last)) if mode == Mode::Answer => last.push_str(text),
            Some(EventKind::Draft(last)) if mode == Mode::Research => last.push_str(text),
            _ if text.is_empty() => {}
            _ => self.event(match mode {
                Mode::Answer => EventKind::Text(text.to_owned()),
                Mode::Research => EventKind::Draft(text.to_owned()),
            }),
        }
        if !whole {
            self.reserve(usize::MAX);
        }
    }

    fn tag(&mut self, tag: Tag, payload: &str) {
        if self.error.is_some() {
            return;
        }
        if self.prose.is_in_code() {
            self.warn(code::TAG_IN_CODE, tag.name());
        }
        if tag == Tag::Answer {
            return self.answer(payload);
        }
        if matches!(tag, Tag::EnumStart | Tag::EnumEnd) {
            return;
        }
        let Some(json) = Json::parse(payload) else {
            return self.warn(code::BAD_TAG, tag.name());
        };
        self.hints.research |= !matches!(tag, Tag::Citation | Tag::EnumItem | Tag::Usage);
        match tag {
            Tag::Citation => {
                self.hints.answer = true;
                self.citation(&json, None);
            }
            Tag::EnumItem => self.entity(&json),
            Tag::Usage => self.usage(&json),
            Tag::Queries => self.list(tag, research::queries(&json)),
            Tag::Blindspots => self.list(tag, research::blindspots(&json)),
            Tag::Analyzing => match research::analyzing(&json) {
                Some(analyzing) => self.event(EventKind::Analyzing(analyzing)),
                None => self.warn(code::BAD_TAG, tag.name()),
            },
            Tag::Thinking => self.thinking(&json),
            Tag::Progress => self.progress(&json),
            Tag::Answer | Tag::EnumStart | Tag::EnumEnd => {}
        }
    }

    fn over_limit(&mut self, tag: Tag) {
        if self.error.is_none() {
            self.warn(code::TAG_LIMIT, tag.name());
        }
    }
}

impl SupersededAnswers {
    /// Returns the draft: the prose with each replaced answer at its position.
    fn into_draft(self, prose: String) -> String {
        if self.places.is_empty() {
            return prose;
        }
        let mut draft = String::with_capacity(prose.len() + self.texts.len());
        let (mut from, mut begin) = (0, 0);
        for (at, end) in self.places {
            let (at, end) = (at as usize, end as usize);
            draft.push_str(prose.get(from..at).unwrap_or_default());
            draft.push_str(self.texts.get(begin..end).unwrap_or_default());
            (from, begin) = (at, end);
        }
        draft.push_str(prose.get(from..).unwrap_or_default());
        draft
    }
}

/// Separates the text of an answer from the citations in it.
struct CitationExtractor<'a> {
    cited: CitedText,
    /// The most bytes that the text can have.
    room: usize,
    collector: &'a mut Collector,
}

impl Sink for CitationExtractor<'_> {
    fn text(&mut self, text: &str) {
        self.cited.push(text, self.room - self.cited.text().len());
    }

    fn tag(&mut self, tag: Tag, payload: &str) {
        if self.cited.is_in_code() {
            self.collector.warn(code::TAG_IN_CODE, tag.name());
        }
        if self.collector.error.is_some() {
            return;
        }
        match Json::parse(payload) {
            Some(json) => self.collector.citation(&json, Some(&mut self.cited)),
            None => self.collector.warn(code::BAD_TAG, tag.name()),
        }
    }

    // The limit is the length of the text, so no payload is longer.
    fn over_limit(&mut self, _: Tag) {}
}

/// Returns the text without an incomplete `</answer>` at its end.
fn without_cut_closer(text: &str) -> &str {
    const CLOSER: &str = "</answer>";
    let cut = (1..CLOSER.len()).rev().find_map(|length| {
        let part = CLOSER.get(..length)?;
        text.strip_suffix(part)
    });
    cut.unwrap_or(text)
}
