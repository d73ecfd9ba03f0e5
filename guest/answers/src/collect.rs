//! Turns text and tags into events and, in the end, the outcome.

use crate::citations::{Frame, Sources};
use crate::event::{
    Entity, Event, EventKind, Mode, Progress, StreamError, StreamErrorKind, Thinking, Usage,
    Warning,
};
use crate::fence::Fences;
use crate::json::{Json, Read};
use crate::limits::MAX_WARNINGS;
use crate::links::links;
use crate::outcome::{Outcome, OutcomeError};
use crate::research;
use crate::seen::{Kind, Seen};
use crate::tags::{Sink, Tag};
use crate::text::first_chars;
use crate::usage;
use crate::warnings as code;
use alloc::{borrow::ToOwned, string::String, vec::Vec};

/// Bytes that a kept record takes besides its text, roughly.
const RECORD_BYTES: usize = 64;

/// From this size on a text is given more memory at once. Answers have some 10 KB, reports 100 KB.
const LARGE_TEXT: usize = 1 << 20;

/// Longest detail of a warning, in code points: enough to find the place.
const DETAIL_CHARS: usize = 120;

/// What the stream says about its own end, besides what the tags hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ending {
    /// `[DONE]`, or the end of a whole blocking reply.
    pub done: bool,
    /// The upstream's reason.
    pub finish_reason: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
}

impl Ending {
    pub(crate) fn is_truncated(&self) -> bool {
        self.finish_reason.as_deref() == Some("length")
    }
}

/// Collects one stream.
#[derive(Debug)]
pub(crate) struct Collector {
    mode: Mode,
    /// Offset of the event being read.
    pub at: u64,
    /// Events not yet handed out.
    pub events: Vec<Event>,
    /// What ended the stream.
    pub error: Option<StreamError>,
    /// A usage tag came, and no text after it.
    pub usage_is_last: bool,
    /// Which tags came.
    pub signs: Signs,
    /// Bytes of text that may still be kept.
    room: usize,
    /// Text outside of tags.
    prose: String,
    fences: Fences,
    points: Points,
    sources: Sources,
    entities: Vec<Entity>,
    seen: Seen,
    queries: Vec<String>,
    blindspots: Vec<String>,
    thinking: Vec<Thinking>,
    /// In order of iteration.
    progress: Vec<Progress>,
    usage: Option<Usage>,
    /// Closed answers, and where in the prose each stood; the last is the answer.
    answers: Vec<(usize, String)>,
    warnings: Vec<Warning>,
}

/// Which tags came, for telling the modes apart.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Signs {
    /// A tag of an answer.
    pub answer: bool,
    /// A tag of research, or an answer tag with JSON.
    pub research: bool,
}

/// Code points of a text that only grows, counted when somebody asks.
#[derive(Debug, Default)]
struct Points {
    bytes: usize,
    points: usize,
}

impl Points {
    fn count(&mut self, text: &str) -> u32 {
        let new = text.get(self.bytes..).unwrap_or_default();
        self.points += new.chars().count();
        self.bytes = text.len();
        u32::try_from(self.points).unwrap_or(u32::MAX)
    }
}

impl Collector {
    pub(crate) fn new(mode: Mode, text_limit: usize) -> Self {
        Self {
            mode,
            at: 0,
            events: Vec::new(),
            error: None,
            usage_is_last: false,
            signs: Signs::default(),
            room: text_limit,
            prose: String::new(),
            fences: Fences::default(),
            points: Points::default(),
            sources: Sources::default(),
            entities: Vec::new(),
            seen: Seen::default(),
            queries: Vec::new(),
            blindspots: Vec::new(),
            thinking: Vec::new(),
            progress: Vec::new(),
            usage: None,
            answers: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Ends the stream; the first error stays.
    pub(crate) fn fail(&mut self, kind: StreamErrorKind, message: String, at: u64) {
        if self.error.is_none() {
            self.error = Some(StreamError { kind, message, at });
        }
    }

    /// Notes something odd.
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
        self.events.push(Event { at: self.at, kind });
    }

    /// Takes room for something that is kept; none left ends the stream.
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

    fn citation(&mut self, payload: &Json) {
        self.signs.answer = true;
        // Research has no citations, and its sources are numbered by other rules.
        if self.mode == Mode::Research {
            return self.warn(code::BAD_TAG, "a citation in research");
        }
        let Some(frame) = Frame::read(payload) else {
            return self.warn(code::BAD_CITATION, "a citation without a URL");
        };
        if !crate::url::is_web(frame.url) {
            return self.warn(code::BAD_URL, frame.url);
        }
        if !self.reserve(frame.size() + RECORD_BYTES) {
            return;
        }
        let arrived = self.points.count(&self.prose);
        let (citation, own_position) = self.sources.cite(&frame, arrived);
        self.event(EventKind::Citation(citation));
        if !own_position {
            self.warn(code::BAD_POSITION, frame.url);
        }
    }

    fn entity(&mut self, payload: &Json) {
        self.signs.answer = true;
        let Some((entity, left_out)) = research::entity(payload) else {
            return self.warn(code::BAD_TAG, "enum_item");
        };
        let kept = entity.citations.len() + entity.images.iter().map(String::len).sum::<usize>();
        if !self.reserve(kept + entity.text.len() + RECORD_BYTES) {
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
            if !self.reserve(item.len() + RECORD_BYTES) {
                return;
            }
            let (kind, all) = match tag {
                Tag::Queries => (Kind::Query, &mut self.queries),
                _ => (Kind::Blindspot, &mut self.blindspots),
            };
            if self.seen.is_new(kind, 0, item.as_bytes()) {
                all.push(item.clone());
            }
        }
        self.event(match tag {
            Tag::Queries => EventKind::Queries(list),
            _ => EventKind::Blindspots(list),
        });
    }

    fn thinking(&mut self, payload: &Json) {
        let Some((thinking, left_out)) = research::thinking(payload) else {
            return self.warn(code::BAD_TAG, "thinking");
        };
        let kept = thinking
            .urls_selected
            .iter()
            .map(|url| url.len() + RECORD_BYTES);
        if !self.reserve(kept.sum::<usize>() + thinking.query.len() + RECORD_BYTES) {
            return;
        }
        self.thinking.push(thinking.clone());
        self.event(EventKind::Thinking(thinking));
        self.bad_urls(&left_out);
    }

    fn progress(&mut self, payload: &Json) {
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

    fn usage(&mut self, payload: &Json) {
        let Some(usage) = usage::from_tag(payload) else {
            return self.warn(code::BAD_TAG, "usage");
        };
        self.usage = Some(usage);
        self.usage_is_last = true;
        self.event(EventKind::Usage(usage));
    }

    fn answer(&mut self, payload: &str) {
        let text = match Json::parse(payload) {
            Some(Json::Text(text)) => {
                self.signs.research = true;
                text
            }
            Some(object @ Json::Object(_)) => {
                self.signs.research = true;
                match object.text_of("answer") {
                    Some(text) => text.to_owned(),
                    None => return self.warn(code::BAD_TAG, "answer"),
                }
            }
            _ => payload.to_owned(),
        };
        if !self.reserve(text.len()) || text.trim_ascii().is_empty() {
            return;
        }
        self.answers.push((self.prose.len(), text.clone()));
        self.event(EventKind::Answer(text));
    }

    /// Whether a closed answer came.
    pub(crate) fn has_answer(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Takes an answer that was not closed, as far as it came.
    pub(crate) fn salvage(&mut self, payload: &str) {
        let without = without_cut_closer(payload);
        let read = match Json::read(payload) {
            Read::Bad => Json::read(without),
            read => read,
        };
        let text = match read {
            Read::Whole(Json::Text(text)) | Read::Cut(Json::Text(text)) => text,
            Read::Whole(object @ Json::Object(_)) | Read::Cut(object @ Json::Object(_)) => {
                object.text_of("answer").unwrap_or_default().to_owned()
            }
            _ => without.to_owned(),
        };
        self.warn(code::UNCLOSED_ANSWER, "the answer was not closed");
        if !text.trim_ascii().is_empty() && self.reserve(text.len()) {
            self.answers.push((self.prose.len(), text));
        }
    }

    /// What the headers and the completion say about usage, where no tag did.
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

    /// The outcome. `ended`: the stream came to its own end.
    pub(crate) fn finish(self, ended: bool, salvaged: bool, ending: Ending) -> Outcome {
        let mode = self.mode;
        let answered = match mode {
            Mode::Answer => true,
            Mode::Research => self.has_answer() && !salvaged,
        };
        let complete = ended && answered && self.error.is_none();
        let mut sources = self.sources;
        let (answer, text, draft) = match mode {
            Mode::Answer => (sources.mark(&self.prose), self.prose, String::new()),
            Mode::Research => {
                let (answer, draft) = assemble(&self.prose, self.answers);
                let mut found = Sources::default();
                for url in links(&answer) {
                    found.add(url, true);
                }
                let selected = self
                    .thinking
                    .iter()
                    .flat_map(|thinking| &thinking.urls_selected);
                for url in selected {
                    found.add(url, false);
                }
                sources = found;
                (answer.clone(), answer, draft)
            }
        };
        Outcome {
            mode,
            complete,
            truncated: ending.is_truncated(),
            finish_reason: ending.finish_reason,
            model: ending.model,
            answer,
            text,
            draft,
            sources: sources.finish(),
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
        }
    }
}

impl Sink for Collector {
    fn text(&mut self, text: &str) {
        if self.error.is_some() || text.is_empty() {
            return;
        }
        // Up to the limit, so that nothing before the error is lost.
        let mut end = text.len().min(self.room);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let whole = end == text.len();
        let text = text.get(..end).unwrap_or_default();
        self.usage_is_last &= text.trim_ascii().is_empty();
        self.room -= end;
        append(&mut self.prose, text, Some(self.room));
        let mode = self.mode;
        match self.events.last_mut().map(|event| &mut event.kind) {
            Some(EventKind::Text(last)) if mode == Mode::Answer => append(last, text, None),
            Some(EventKind::Draft(last)) if mode == Mode::Research => append(last, text, None),
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
        if self.fences.is_inside(&self.prose) {
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
        self.signs.research |= !matches!(tag, Tag::Citation | Tag::EnumItem | Tag::Usage);
        match tag {
            Tag::Citation => self.citation(&json),
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

/// Appends to a text that can grow by `room` after that, if that is known. It grows fourfold, and a large one
/// eightfold up to its limit: to move it, and to touch new memory for that, is most of what reading a large
/// stream costs, whereas memory that is not touched costs nothing.
fn append(text: &mut String, more: &str, room: Option<usize>) {
    if text.capacity() - text.len() < more.len() {
        let growth = match text.len() {
            0..LARGE_TEXT => text.len().saturating_mul(3),
            length => room.unwrap_or(length).min(length.saturating_mul(7)),
        };
        text.reserve_exact(more.len().saturating_add(growth));
    }
    text.push_str(more);
}

/// The answer, and the draft: the prose with the superseded answers where they stood.
fn assemble(prose: &str, mut answers: Vec<(usize, String)>) -> (String, String) {
    let answer = answers.pop().map(|(_, answer)| answer).unwrap_or_default();
    let mut draft = String::with_capacity(prose.len());
    let mut from = 0;
    for (at, superseded) in answers {
        draft.push_str(prose.get(from..at).unwrap_or_default());
        draft.push_str(&superseded);
        from = at;
    }
    draft.push_str(prose.get(from..).unwrap_or_default());
    (answer, draft)
}

/// Bare text without the beginning of its closer.
fn without_cut_closer(text: &str) -> &str {
    const CLOSER: &str = "</answer>";
    let cut = (1..CLOSER.len()).rev().find_map(|length| {
        let part = CLOSER.get(..length)?;
        text.strip_suffix(part)
    });
    cut.unwrap_or(text)
}
