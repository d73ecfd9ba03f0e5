//! The types of `wit/types.wit`, in its order, as the library has them.

use alloc::string::String;
use alloc::vec::Vec;

use answers::{
    Analyzing, Batch, Citation, Cost, Entity, Event, EventKind, Failure, FailureKind, Finished,
    Format, Header, HttpRequest, InvalidField, Limits, Location, Mode, Outcome, OutcomeError,
    Progress, Question, Source, StreamError, StreamErrorKind, Thinking, Usage, Warning,
};

use crate::abi::{Abi, Cursor, Shape};

/// A record is its fields in order.
macro_rules! record {
    ($name:ident { $($field:ident: $type:ty),* $(,)? }) => {
        impl Abi for $name {
            const SHAPE: Shape = Shape::record(&[$(<$type>::SHAPE),*]);

            unsafe fn store(&mut self, at: *mut u8) {
                let mut cursor = Cursor(at);
                // SAFETY: the caller's promise.
                unsafe { $(cursor.put::<$type>(&mut self.$field);)* }
            }

            unsafe fn load(at: *mut u8) -> Self {
                let mut cursor = Cursor(at);
                // SAFETY: the caller's promise.
                unsafe { Self { $($field: cursor.take::<$type>()),* } }
            }
        }
    };
}

/// An enum is the number of its case.
macro_rules! cases {
    ($name:ident { $($case:ident),* $(,)? }) => {
        impl Abi for $name {
            const SHAPE: Shape = u8::SHAPE;

            unsafe fn store(&mut self, at: *mut u8) {
                // SAFETY: the caller's promise.
                unsafe { (*self as u8).store(at) }
            }

            unsafe fn load(at: *mut u8) -> Self {
                // SAFETY: the caller's promise.
                Self::numbered(unsafe { u8::load(at) }.into())
            }
        }

        impl Numbered for $name {
            fn numbered(number: u32) -> Self {
                let cases = [$(Self::$case),*];
                // The host lets no other number pass.
                cases.get(number as usize).copied().unwrap_or(cases[0])
            }
        }
    };
}

/// An enum that comes as a number, in memory or as a parameter.
pub(crate) trait Numbered {
    fn numbered(number: u32) -> Self;
}

/// A variant is the number of its case and what the case carries.
macro_rules! variant {
    ($name:ident { $($number:literal $case:ident($type:ty)),* $(,)? }) => {
        impl Abi for $name {
            const SHAPE: Shape = Shape::variant(&[$(<$type>::SHAPE),*]);

            unsafe fn store(&mut self, at: *mut u8) {
                let mut cursor = Cursor(at);
                // SAFETY: the caller's promise.
                unsafe {
                    match self {$(
                        Self::$case(value) => {
                            cursor.put::<u8>(&mut $number);
                            cursor.payload(Self::SHAPE.align);
                            cursor.put::<$type>(value);
                        }
                    )*}
                }
            }

            unsafe fn load(at: *mut u8) -> Self {
                let mut cursor = Cursor(at);
                // SAFETY: the caller's promise.
                unsafe {
                    let number = cursor.take::<u8>();
                    cursor.payload(Self::SHAPE.align);
                    match number {
                        $($number => Self::$case(cursor.take::<$type>()),)*
                        // The host lets no other number pass.
                        _ => core::arch::wasm32::unreachable(),
                    }
                }
            }
        }
    };
}

cases!(Mode { Answer, Research });
record!(Header {
    name: String,
    value: String
});
record!(Location { city: Option<String>, country: Option<String>, region: Option<String>, timezone: Option<String> });
record!(Question {
    query: String,
    model: Option<String>,
    stream: Option<bool>,
    country: Option<String>,
    language: Option<String>,
    safesearch: Option<String>,
    max_completion_tokens: Option<i64>,
    metadata: Option<String>,
    seed: Option<i64>,
    enable_citations: Option<bool>,
    enable_entities: Option<bool>,
    enable_research: Option<bool>,
    research_allow_thinking: Option<bool>,
    research_maximum_number_of_tokens_per_query: Option<i64>,
    research_maximum_number_of_queries: Option<i64>,
    research_maximum_number_of_iterations: Option<i64>,
    research_maximum_number_of_seconds: Option<i64>,
    research_maximum_number_of_results_per_query: Option<i64>,
    search_context_size: Option<String>,
    user_location: Option<Location>,
});
record!(InvalidField {
    field: String,
    problem: String
});
record!(HttpRequest { method: String, path: String, headers: Vec<Header>, body: Vec<u8> });
record!(Limits { line_bytes: Option<u32>, tag_bytes: Option<u32>, text_bytes: Option<u32>, stream_bytes: Option<u64> });
record!(Citation {
    number: u32,
    upstream_number: Option<u32>,
    url: String,
    position: u32,
    snippet: Option<String>,
    favicon: Option<String>,
});
record!(Entity {
    name: String,
    href: Option<String>,
    text: String,
    instance_of: Option<String>,
    images: Vec<String>,
    citations: String,
});
record!(Analyzing { query: String, urls: Option<u32>, new_urls: Option<u32> });
record!(Thinking {
    query: String,
    urls_analyzed: Option<u32>,
    urls_selected: Vec<String>,
    chunks_analyzed: Option<u32>,
    chunks_selected: Option<u32>,
});
record!(Progress {
    iteration: u32,
    elapsed_seconds: Option<f64>,
    queries: Option<u64>,
    urls_analyzed: Option<u64>,
    snippets_analyzed: Option<u64>,
    tokens_in: Option<u64>,
    tokens_thinking: Option<u64>,
    tokens_out: Option<u64>,
});
record!(Cost {
    requests: Option<f64>,
    queries: Option<f64>,
    tokens_in: Option<f64>,
    tokens_out: Option<f64>,
    total: Option<f64>,
});
record!(Usage {
    requests: Option<u64>,
    queries: Option<u64>,
    tokens_in: Option<u64>,
    tokens_out: Option<u64>,
    cost_usd: Cost,
    cost_usd_estimate: Option<f64>,
});
record!(Warning {
    code: String,
    detail: String
});
variant!(EventKind {
    0 Text(String),
    1 Citation(Citation),
    2 Entity(Entity),
    3 Queries(Vec<String>),
    4 Analyzing(Analyzing),
    5 Thinking(Thinking),
    6 Progress(Progress),
    7 Blindspots(Vec<String>),
    8 Draft(String),
    9 Answer(String),
    10 Usage(Usage),
    11 Warning(Warning),
});
record!(Event {
    at: u64,
    kind: EventKind
});
cases!(StreamErrorKind {
    LineLimit,
    TextLimit,
    StreamLimit,
    UpstreamError,
    NotAReply
});
record!(StreamError {
    kind: StreamErrorKind,
    message: String,
    at: u64
});
record!(Batch { events: Vec<Event>, error: Option<StreamError>, ended: bool });
record!(Source {
    number: u32,
    url: String,
    snippets: Vec<String>,
    positions: Vec<u32>,
    upstream_numbers: Vec<u32>,
    cited: bool,
});
record!(OutcomeError {
    kind: String,
    message: String
});
record!(Outcome {
    mode: Mode,
    complete: bool,
    truncated: bool,
    finish_reason: Option<String>,
    model: Option<String>,
    answer: String,
    text: String,
    draft: String,
    sources: Vec<Source>,
    entities: Vec<Entity>,
    queries: Vec<String>,
    blindspots: Vec<String>,
    thinking: Vec<Thinking>,
    progress: Vec<Progress>,
    usage: Option<Usage>,
    error: Option<OutcomeError>,
    warnings: Vec<Warning>,
});
record!(Finished {
    last: Batch,
    outcome: Outcome
});
cases!(FailureKind {
    NoPlan,
    SpendCap,
    NotAllowed,
    NotFound,
    BadKey,
    NoKey,
    InvalidRequest,
    RateLimited,
    Quota,
    ServerError,
    Redirect,
    Unexpected,
});
record!(Failure {
    kind: FailureKind,
    status: u16,
    code: Option<String>,
    message: String,
    detail: Option<String>,
    fields: Vec<String>,
    retryable: bool,
    retry_after_seconds: Option<f64>,
    id: Option<String>,
});
cases!(Format {
    Markdown,
    Plain,
    Json
});

/// What `request.build` gives.
pub(crate) struct Built(pub(crate) Result<HttpRequest, Vec<InvalidField>>);

impl Abi for Built {
    const SHAPE: Shape = Shape::variant(&[HttpRequest::SHAPE, <Vec<InvalidField>>::SHAPE]);

    unsafe fn store(&mut self, at: *mut u8) {
        let mut cursor = Cursor(at);
        // SAFETY: the caller's promise.
        unsafe {
            cursor.put(&mut u8::from(self.0.is_err()));
            cursor.payload(Self::SHAPE.align);
            match &mut self.0 {
                Ok(request) => cursor.put(request),
                Err(fields) => cursor.put(fields),
            }
        }
    }

    unsafe fn load(at: *mut u8) -> Self {
        let mut cursor = Cursor(at);
        // SAFETY: the caller's promise.
        unsafe {
            let failed = cursor.take::<u8>() != 0;
            cursor.payload(Self::SHAPE.align);
            Self(if failed {
                Err(cursor.take())
            } else {
                Ok(cursor.take())
            })
        }
    }
}

/// The parameters of `normalize.render`, which are too many to come one by one.
pub(crate) struct Rendering {
    pub(crate) outcome: Outcome,
    pub(crate) format: Format,
}

record!(Rendering {
    outcome: Outcome,
    format: Format
});
