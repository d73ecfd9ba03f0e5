//! The events of a stream. Positions in text are Unicode code points, offsets are bytes.

use serde::{Deserialize, Serialize};

/// The kind of request, which decides how its reply is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// A single cited answer: the prose outside the tags is the answer.
    Answer,
    /// Deep research: the last closed `<answer>` is the answer, the prose outside it a draft.
    Research,
}

/// One HTTP header. Names compare without regard to case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The name, as sent or in lower case.
    pub name: String,
    /// The value; bytes that are not UTF-8 are to be replaced by the caller.
    pub value: String,
}

/// One citation frame, as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Citation {
    /// The source's number in the outcome: 1 for the first URL seen, and so on.
    pub number: u32,
    /// The upstream's own number, which may skip or be absent.
    pub upstream_number: Option<u32>,
    /// An http or https URL, exactly as sent.
    pub url: String,
    /// Where the marker belongs: code points into the text without tags.
    pub position: u32,
    /// The passage that was cited.
    pub snippet: Option<String>,
    /// An icon of the site.
    pub favicon: Option<String>,
}

/// An entity named in the answer. Members are JSON text where the upstream's shape varies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entity {
    /// The name.
    pub name: String,
    /// A link about it; http or https only.
    pub href: Option<String>,
    /// The text to show in place of the tag.
    pub text: String,
    /// What kind of thing it is.
    pub instance_of: Option<String>,
    /// URLs of images; http or https only.
    pub images: Vec<String>,
    /// The `citations` member as JSON text; `[]` where absent. In the outcome's JSON it is the value itself.
    #[serde(with = "crate::raw_json")]
    pub citations: String,
}

/// A query whose results are being read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Analyzing {
    /// The query.
    pub query: String,
    /// URLs found.
    pub urls: Option<u32>,
    /// Of these, URLs not seen before.
    pub new_urls: Option<u32>,
}

/// The result of one query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thinking {
    /// The query.
    pub query: String,
    /// URLs read.
    pub urls_analyzed: Option<u32>,
    /// URLs kept; http or https only.
    pub urls_selected: Vec<String>,
    /// Passages read.
    pub chunks_analyzed: Option<u32>,
    /// Passages kept.
    pub chunks_selected: Option<u32>,
}

/// How far an iteration has come.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Which iteration, from 1.
    pub iteration: u32,
    /// Seconds since the start, by the upstream's clock.
    pub elapsed_seconds: Option<f64>,
    /// Queries so far.
    pub queries: Option<u64>,
    /// URLs read so far.
    pub urls_analyzed: Option<u64>,
    /// Passages read so far.
    pub snippets_analyzed: Option<u64>,
    /// Tokens read so far.
    pub tokens_in: Option<u64>,
    /// Tokens spent on thinking so far.
    pub tokens_thinking: Option<u64>,
    /// Tokens written so far.
    pub tokens_out: Option<u64>,
}

/// Money in US dollars. What was not sent is absent, never 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// For the requests.
    pub requests: Option<f64>,
    /// For the queries.
    pub queries: Option<f64>,
    /// For the tokens read.
    pub tokens_in: Option<f64>,
    /// For the tokens written.
    pub tokens_out: Option<f64>,
    /// In total.
    pub total: Option<f64>,
}

/// What a call used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Requests billed.
    pub requests: Option<u64>,
    /// Queries run.
    pub queries: Option<u64>,
    /// Tokens read.
    pub tokens_in: Option<u64>,
    /// Tokens written.
    pub tokens_out: Option<u64>,
    /// As billed.
    pub cost_usd: Cost,
    /// By the published price, only where the total is absent and the figures suffice.
    pub cost_usd_estimate: Option<f64>,
}

/// Something unexpected that was handled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// A stable, hyphenated code.
    pub code: String,
    /// What it was about.
    pub detail: String,
}

/// One thing that happened in a stream.
#[derive(Clone, Debug, PartialEq)]
pub enum EventKind {
    /// Prose, without tags and markers. (Answer mode.)
    Text(String),
    /// A citation.
    Citation(Citation),
    /// An entity.
    Entity(Entity),
    /// The queries of an iteration.
    Queries(Vec<String>),
    /// A query's results are being read.
    Analyzing(Analyzing),
    /// The result of a query.
    Thinking(Thinking),
    /// How far the research has come.
    Progress(Progress),
    /// What could not be found.
    Blindspots(Vec<String>),
    /// Prose outside an answer. (Research mode.)
    Draft(String),
    /// A closed answer; a later one supersedes it. (Research mode.)
    Answer(String),
    /// What the call used; a later one supersedes it.
    Usage(Usage),
    /// A warning.
    Warning(Warning),
}

/// An event and its place in the stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Byte offset of the end of the server-sent event that completed it.
    pub at: u64,
    /// What happened.
    pub kind: EventKind,
}

/// Why a stream ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamErrorKind {
    /// A line is longer than its limit.
    LineLimit,
    /// There is more text than its limit.
    TextLimit,
    /// There are more bytes than the stream's limit.
    StreamLimit,
    /// The upstream reported an error in mid-stream.
    UpstreamError,
    /// The reply is neither an event stream nor a completion.
    NotAReply,
}

impl StreamErrorKind {
    /// The hyphenated name, as it stands in an outcome.
    pub fn name(self) -> &'static str {
        match self {
            Self::LineLimit => "line-limit",
            Self::TextLimit => "text-limit",
            Self::StreamLimit => "stream-limit",
            Self::UpstreamError => "upstream-error",
            Self::NotAReply => "not-a-reply",
        }
    }
}

/// What ended a stream early. Bytes that are pushed later are ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamError {
    /// The kind.
    pub kind: StreamErrorKind,
    /// One sentence for a person.
    pub message: String,
    /// Byte offset at which it was found.
    pub at: u64,
}

/// What one push gave: the events, and the error that came after them if there was one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// In order.
    pub events: Vec<Event>,
    /// The error that ended the stream, if any. Later batches repeat it.
    pub error: Option<StreamError>,
    /// Whether the end of the reply (`[DONE]`) was read. Bytes that are pushed later are ignored.
    pub ended: bool,
}
