//! Separates text and tags in the concatenated contents of a stream, byte by byte.
//!
//! After a known opener comes a payload of the kind that the tag has, then optional white space, then
//! the exact closer. At the first byte that cannot continue this, only the opener is text, and reading
//! goes on right after it.
//!
//! **Linear time.** After a candidate has failed, reading goes back to just after its opener, but each byte is read at most
//! three times. An opener inside the JSON of a candidate is inside a string of that JSON, while the candidate that begins
//! there is outside of a string. So at each later byte the two disagree on whether it is in a string, and no third candidate
//! can agree with neither: at most two are valid at a byte. For the bare text of an answer, the scanner remembers how far it
//! has looked for the closer. Tags after an unclosed answer are looked for up to the first, and reading goes on from there.

mod tag;

use crate::json::scanner::{Scan, Scanner, is_space};
use crate::json::text::unescape_in_parts;
use memchr::memchr;

pub use tag::Tag;
use tag::{Kind, MAX_WORD};

/// Most memory in bytes that is kept for the next possible tag. Most tags have some hundred bytes.
const KEPT_BYTES: usize = 64 << 10;

/// Receives the parts of the content.
pub trait Sink {
    /// Receives text outside of tags.
    fn text(&mut self, text: &str);
    /// Receives a closed tag. White space after the payload can be part of it.
    fn tag(&mut self, tag: Tag, payload: &str);
    /// Is told that the payload of a tag is over the limit, so that its opener becomes text.
    fn over_limit(&mut self, tag: Tag);
}

/// The opener that begins at a `<`.
enum Opener {
    Known(Tag),
    /// The bytes end too early to tell.
    Undecided,
    No,
}

/// What is being read of a possible tag. Indexes count from the candidate's `<`.
#[derive(Debug)]
enum PayloadState {
    /// A JSON value.
    Json(Scanner),
    /// White space or the closer, after the payload.
    Closing { payload_end: usize },
    /// A word.
    Word,
    /// The bare text of an answer.
    Bare,
}

/// A possible tag.
#[derive(Debug)]
struct Candidate {
    tag: Tag,
    state: PayloadState,
    /// The index of the next byte to read.
    at: usize,
}

/// The result of reading a candidate.
enum CandidateResult {
    /// It can still become a tag.
    More,
    /// It is no tag.
    Fail,
    /// Its payload is over the limit.
    OverLimit,
    /// It is a tag.
    Done { payload_end: usize, end: usize },
}

/// Cuts content, which comes in pieces of any size, into text and tags.
#[derive(Debug)]
pub struct TagScanner {
    /// The tags that are recognised; all else is text.
    tags: &'static [Tag],
    /// Longest payload in bytes.
    limit: usize,
    /// Content that is held back, from `start` on. It begins with the `<` of a possible tag.
    held: String,
    start: usize,
    candidate: Option<Candidate>,
    /// The number of bytes of content before `held`.
    base: u64,
    /// Memory for contents without their escapes.
    unescaped: String,
    /// No `</answer>` begins before this byte of the content (from where it was last looked for).
    no_answer_end_before: u64,
}

impl TagScanner {
    /// Creates a scanner for these tags, whose payloads have at most `limit` bytes.
    pub fn new(tags: &'static [Tag], limit: usize) -> Self {
        Self {
            tags,
            limit,
            held: String::new(),
            start: 0,
            candidate: None,
            base: 0,
            unescaped: String::new(),
            no_answer_end_before: 0,
        }
    }

    /// Returns whether a possible tag is held back.
    pub fn is_holding(&self) -> bool {
        self.start < self.held.len()
    }

    /// Reads the next content, given as the inside of a JSON string. Bytes that are not UTF-8 are replaced.
    // Not inlined, since a caller that is compiled for size would compile it for size too.
    #[inline(never)]
    pub fn feed_json(&mut self, raw: &[u8], escaped: bool, sink: &mut dyn Sink) {
        let lossy;
        let raw = match std::str::from_utf8(raw) {
            Ok(raw) => raw,
            Err(_) => {
                lossy = String::from_utf8_lossy(raw).into_owned();
                &lossy
            }
        };
        if !escaped {
            return self.feed(raw, sink);
        }
        let mut unescaped = std::mem::take(&mut self.unescaped);
        unescape_in_parts(raw, &mut unescaped, |part| self.feed(part, sink));
        self.unescaped = unescaped;
    }

    /// Reads the next content.
    pub fn feed(&mut self, content: &str, sink: &mut dyn Sink) {
        if !self.is_holding() {
            let keep = self.scan(content, sink);
            self.base += keep as u64;
            self.held.clear();
            self.start = 0;
            self.held.push_str(content.get(keep..).unwrap_or_default());
            return;
        }
        self.held.push_str(content);
        self.scan_held(sink);
    }

    /// Reads what is held back.
    pub fn scan_held(&mut self, sink: &mut dyn Sink) {
        let held = std::mem::take(&mut self.held);
        let done = self.scan(held.get(self.start..).unwrap_or_default(), sink);
        self.held = held;
        self.start += done;
        self.base += done as u64;
        // The rest is moved to the front only if it is the smaller half, which keeps this linear.
        if self.start == self.held.len() {
            self.held.clear();
            self.held.shrink_to(KEPT_BYTES);
            self.start = 0;
        } else if self.start > self.held.len() / 2 {
            self.held.drain(..self.start);
            self.start = 0;
        }
    }

    /// Reads an open answer as bare text, at the end of the content: its JSON has no end, but it may have a closer.
    pub fn end_as_bare_answer(&mut self, sink: &mut dyn Sink) {
        while let Some(candidate) = &mut self.candidate
            && candidate.tag == Tag::Answer
            && !matches!(candidate.state, PayloadState::Bare)
        {
            candidate.state = PayloadState::Bare;
            self.scan_held(sink);
        }
    }

    /// Passes the held opener on as text, at the end of the content, and reads on after it.
    pub fn end_as_text(&mut self, sink: &mut dyn Sink) {
        if !self.is_holding() {
            return;
        }
        let opener = match self.candidate.take() {
            Some(candidate) => {
                // No closer comes after a bare answer that is open at the end, so no later answer has one either.
                if matches!(candidate.state, PayloadState::Bare) {
                    self.tags = Tag::OF_AN_ANSWER;
                }
                candidate.tag.opener_len()
            }
            // The beginning of an opener: only its first byte is a `<`.
            None => self.held.len() - self.start,
        };
        let end = self.start + opener;
        sink.text(self.held.get(self.start..end).unwrap_or_default());
        self.start = end;
        self.base += opener as u64;
        self.scan_held(sink);
    }

    /// Returns whether an unclosed answer is held back.
    pub fn holds_answer(&self) -> bool {
        let candidate = self.candidate.as_ref();
        candidate.is_some_and(|candidate| candidate.tag == Tag::Answer)
    }

    /// Returns whether an unclosed answer is held back that is JSON so far.
    pub fn holds_json_answer(&self) -> bool {
        let bare = |candidate: &Candidate| matches!(candidate.state, PayloadState::Bare);
        self.holds_answer() && !self.candidate.as_ref().is_some_and(bare)
    }

    /// Removes the held tag, at the end of the content. Returns it, if its opener was whole, and its payload so far. Of an
    /// answer, the payload ends before the tags that follow it.
    pub fn take_open(&mut self) -> (Option<Tag>, String) {
        let held = std::mem::take(&mut self.held);
        let tag = self.candidate.take().map(|candidate| candidate.tag);
        let from = self.start + tag.map_or(0, Tag::opener_len);
        let payload = held.get(from..).unwrap_or_default();
        let length = match tag {
            Some(Tag::Answer) => self.answer_length(payload),
            _ => payload.len(),
        };
        let taken = payload.get(..length).unwrap_or_default().to_owned();
        self.base += (from + length - self.start) as u64;
        self.start = from + length;
        self.held = held;
        (tag, taken)
    }

    /// Returns the length of an unclosed answer: all before the first whole tags that are not inside its JSON. An upstream
    /// that stops early does not close its answer but still sends its usage.
    fn answer_length(&mut self, payload: &str) -> usize {
        let bytes = payload.as_bytes();
        let json = match Scanner::new().run(bytes) {
            _ if !begins(Kind::Answer, bytes) => 0,
            Scan::Done(end) | Scan::Bad(end) => end,
            Scan::More => return bytes.len(),
        };
        let tags = std::mem::replace(&mut self.tags, Tag::OF_AN_ANSWER);
        // Tags with nothing between them begin at `run`; the last of them ends at `last`.
        let (mut run, mut last, mut at) = (0, 0, 0);
        let length = loop {
            let Some(found) = memchr(b'<', bytes.get(at..).unwrap_or_default()) else {
                break bytes.len();
            };
            at += found;
            let rest = bytes.get(at..).unwrap_or_default();
            if let Opener::Known(tag) = self.opener(rest)
                && let CandidateResult::Done { end, .. } =
                    self.read_on(&mut Candidate::new(tag), rest, at)
            {
                let between = bytes.get(last..at).unwrap_or_default();
                if last == 0 || !between.trim_ascii().is_empty() {
                    run = at;
                }
                at += end;
                last = at;
                if last > json {
                    break run;
                }
            } else {
                at += 1;
            }
        };
        self.tags = tags;
        length
    }

    /// Reads `content`, which begins with the candidate if there is one. Returns the index from which it must be held back.
    fn scan(&mut self, content: &str, sink: &mut dyn Sink) -> usize {
        let bytes = content.as_bytes();
        // Text that was not passed on begins at `text`; `at` is the next byte to read.
        let (mut text, mut at) = (0, 0);
        loop {
            let mut candidate = if let Some(candidate) = self.candidate.take() {
                candidate
            } else {
                // A search takes some time to start, which adds up where a `<` follows another.
                if bytes.get(at) != Some(&b'<') {
                    let Some(found) = memchr(b'<', bytes.get(at..).unwrap_or_default()) else {
                        emit(content, text, content.len(), sink);
                        return content.len();
                    };
                    at += found;
                }
                match self.opener(bytes.get(at..).unwrap_or_default()) {
                    Opener::No => {
                        at += 1;
                        continue;
                    }
                    Opener::Undecided => {
                        emit(content, text, at, sink);
                        return at;
                    }
                    Opener::Known(tag) => Candidate::new(tag),
                }
            };
            let from = bytes.get(at..).unwrap_or_default();
            match self.read_on(&mut candidate, from, at) {
                CandidateResult::More => {
                    self.candidate = Some(candidate);
                    emit(content, text, at, sink);
                    return at;
                }
                CandidateResult::Fail => at += candidate.tag.opener_len(),
                CandidateResult::OverLimit => {
                    at += candidate.tag.opener_len();
                    emit(content, text, at, sink);
                    text = at;
                    sink.over_limit(candidate.tag);
                }
                CandidateResult::Done { payload_end, end } => {
                    emit(content, text, at, sink);
                    let payload = at + candidate.tag.opener_len()..at + payload_end;
                    sink.tag(candidate.tag, content.get(payload).unwrap_or_default());
                    at += end;
                    text = at;
                }
            }
        }
    }

    fn opener(&self, from: &[u8]) -> Opener {
        let rest = from.get(1..).unwrap_or_default();
        // The next byte decides for most `<`: the openers begin with these letters.
        if let Some(first) = rest.first()
            && !matches!(first, b'a'..=b'u')
        {
            return Opener::No;
        }
        let mut undecided = rest.is_empty();
        for &tag in self.tags {
            let opener = tag.opener_rest().as_bytes();
            let same = opener.iter().zip(rest).take_while(|(a, b)| a == b).count();
            if same == opener.len() {
                return Opener::Known(tag);
            }
            undecided |= same == rest.len();
        }
        if undecided {
            Opener::Undecided
        } else {
            Opener::No
        }
    }

    /// Reads the next bytes of a candidate. `bytes` begin at its `<`, which is at `at` in the content being scanned.
    fn read_on(&mut self, candidate: &mut Candidate, bytes: &[u8], at: usize) -> CandidateResult {
        let opener = candidate.tag.opener_len();
        // Bytes of the payload beyond the limit are not read, so the result does not depend on how they were cut.
        let last = bytes.len().min(opener + self.limit);
        loop {
            match &mut candidate.state {
                PayloadState::Json(scanner) => {
                    let rest = bytes.get(candidate.at..last).unwrap_or_default();
                    let kind = candidate.tag.kind();
                    let wrong = scanner.is_fresh() && !begins(kind, rest);
                    match scanner.run(rest) {
                        Scan::Done(end) if !wrong => {
                            candidate.at += end;
                            candidate.state = PayloadState::Closing {
                                payload_end: candidate.at,
                            };
                        }
                        Scan::More if !wrong => {
                            candidate.at = last;
                            return over(bytes.len() > last);
                        }
                        _ if kind == Kind::Answer => {
                            candidate.state = PayloadState::Bare;
                            candidate.at = opener;
                        }
                        _ => return CandidateResult::Fail,
                    }
                }
                PayloadState::Closing { payload_end } => {
                    let payload_end = *payload_end;
                    match close(candidate, bytes, last) {
                        CandidateResult::Fail if candidate.tag == Tag::Answer => {
                            candidate.state = PayloadState::Bare;
                            candidate.at = opener;
                        }
                        CandidateResult::Done { end, .. } => {
                            return CandidateResult::Done { payload_end, end };
                        }
                        result => return result,
                    }
                }
                PayloadState::Word => {
                    let rest = bytes.get(opener..).unwrap_or_default();
                    let letters = rest.iter().take_while(|byte| byte.is_ascii_lowercase());
                    let length = letters.take(MAX_WORD + 1).count();
                    if length > MAX_WORD {
                        return CandidateResult::Fail;
                    }
                    if length == rest.len() {
                        return CandidateResult::More;
                    }
                    candidate.at = opener + length;
                    candidate.state = PayloadState::Closing {
                        payload_end: candidate.at,
                    };
                }
                PayloadState::Bare => return self.bare(opener, bytes, at),
            }
        }
    }

    /// Looks for the closer of a bare answer.
    fn bare(&mut self, opener: usize, bytes: &[u8], at: usize) -> CandidateResult {
        let closer = Tag::Answer.closer().as_bytes();
        let here = self.base + at as u64;
        let looked = self.no_answer_end_before.saturating_sub(here) as usize;
        let from = looked.clamp(opener, bytes.len().max(opener));
        if let Some(found) = find(bytes.get(from..).unwrap_or_default(), closer) {
            let payload_end = from + found;
            self.no_answer_end_before = here + payload_end as u64;
            if payload_end - opener > self.limit {
                return CandidateResult::OverLimit;
            }
            return CandidateResult::Done {
                payload_end,
                end: payload_end + closer.len(),
            };
        }
        let clear = (bytes.len() + 1).saturating_sub(closer.len()).max(from);
        self.no_answer_end_before = here + clear as u64;
        over(clear > opener + self.limit)
    }
}

impl Candidate {
    fn new(tag: Tag) -> Self {
        let opener = tag.opener_len();
        Self {
            tag,
            at: opener,
            state: match tag.kind() {
                Kind::Word => PayloadState::Word,
                Kind::Empty => PayloadState::Closing {
                    payload_end: opener,
                },
                Kind::Object | Kind::List | Kind::Answer => PayloadState::Json(Scanner::new()),
            },
        }
    }
}

/// Returns where a closer begins.
fn find(bytes: &[u8], closer: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = bytes.get(at..)?;
        let found = memchr(b'<', rest)?;
        if rest.get(found..)?.starts_with(closer) {
            return Some(at + found);
        }
        at += found + 1;
    }
}

fn over(over: bool) -> CandidateResult {
    if over {
        CandidateResult::OverLimit
    } else {
        CandidateResult::More
    }
}

/// Returns whether a payload that begins so can be of the kind.
fn begins(kind: Kind, payload: &[u8]) -> bool {
    match payload.iter().find(|&&byte| !is_space(byte)) {
        None | Some(b'{') => true,
        Some(b'[') => kind == Kind::List,
        Some(b'"') => kind == Kind::Answer,
        Some(_) => false,
    }
}

/// Reads white space and the closer. The white space counts as payload, so that its length is bounded.
fn close(candidate: &mut Candidate, bytes: &[u8], last: usize) -> CandidateResult {
    let rest = bytes.get(candidate.at..last).unwrap_or_default();
    candidate.at += rest.iter().take_while(|&&byte| is_space(byte)).count();
    let closer = candidate.tag.closer().as_bytes();
    let rest = bytes.get(candidate.at..).unwrap_or_default();
    if rest.starts_with(closer) {
        return CandidateResult::Done {
            payload_end: candidate.at,
            end: candidate.at + closer.len(),
        };
    }
    if closer.starts_with(rest) {
        CandidateResult::More
    } else if candidate.at == last && rest.first().copied().is_some_and(is_space) {
        CandidateResult::OverLimit
    } else {
        CandidateResult::Fail
    }
}

fn emit(content: &str, from: usize, to: usize, sink: &mut dyn Sink) {
    if from < to {
        sink.text(content.get(from..to).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests;
