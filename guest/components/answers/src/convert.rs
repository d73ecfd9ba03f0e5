//! Conversions between the library's types and the generated ones, which have the same members and cases.

use crate::bindings::exports::glovebox::answers::{reply, types};

/// A value of the library as a value of the bindings, or the other way round. Strings and lists of numbers are moved
/// and not copied.
pub(crate) trait Convert<T> {
    /// Converts the value.
    fn convert(self) -> T;
}

macro_rules! same {
    ($($type:ty),*) => {$(
        impl Convert<$type> for $type {
            fn convert(self) -> $type {
                self
            }
        }
    )*};
}
same!(bool, u8, u16, u32, u64, i64, f64, String);

impl<A: Convert<B>, B> Convert<Option<B>> for Option<A> {
    fn convert(self) -> Option<B> {
        self.map(A::convert)
    }
}

impl<A: Convert<B>, B> Convert<Vec<B>> for Vec<A> {
    fn convert(self) -> Vec<B> {
        self.into_iter().map(A::convert).collect()
    }
}

/// Converts a record member by member.
macro_rules! record {
    ($from:ty => $to:ty { $($field:ident),* $(,)? }) => {
        impl Convert<$to> for $from {
            fn convert(self) -> $to {
                type To = $to;
                To { $($field: self.$field.convert()),* }
            }
        }
    };
}

/// Converts a record in both directions.
macro_rules! both {
    ($name:ident { $($field:ident),* $(,)? }) => {
        record!(answers::$name => types::$name { $($field),* });
        record!(types::$name => answers::$name { $($field),* });
    };
}

/// Converts an enumeration case by case.
macro_rules! cases {
    ($from:ty => $to:ty { $($case:ident),* $(,)? }) => {
        impl Convert<$to> for $from {
            fn convert(self) -> $to {
                type To = $to;
                match self { $(Self::$case => To::$case),* }
            }
        }
    };
}

// What the host passes in.
cases!(types::Mode => answers::Mode { Answer, Research });
record!(types::Header => answers::Header { name, value });
record!(types::Location => answers::Location { city, country, region, timezone });
record!(types::Question => answers::Question { query, model, stream, country, language, safesearch, max_completion_tokens, metadata, seed, enable_citations, enable_entities, enable_research, research_allow_thinking, research_maximum_number_of_tokens_per_query, research_maximum_number_of_queries, research_maximum_number_of_iterations, research_maximum_number_of_seconds, research_maximum_number_of_results_per_query, search_context_size, user_location });
record!(types::Limits => answers::Limits { line_bytes, tag_bytes, text_bytes, stream_bytes });
cases!(types::Format => answers::Format { Markdown, Plain, Json });

// What the host gets back.
record!(answers::HttpRequest => types::HttpRequest { method, path, headers, body });
record!(answers::InvalidField => types::InvalidField { field, problem });
record!(answers::Header => types::Header { name, value });
record!(answers::Citation => types::Citation { number, upstream_number, url, position, snippet, favicon });
record!(answers::Analyzing => types::Analyzing { query, urls, new_urls });
record!(answers::Event => types::Event { at, kind });
record!(answers::StreamError => types::StreamError { kind, message, at });
record!(answers::Batch => types::Batch { events, error, ended });
record!(answers::Failure => types::Failure { kind, status, code, message, detail, fields, retryable, retry_after_seconds, id });
cases!(answers::StreamErrorKind => types::StreamErrorKind { LineLimit, TextLimit, StreamLimit, UpstreamError, NotAReply });
cases!(answers::FailureKind => types::FailureKind { NoPlan, SpendCap, NotAllowed, NotFound, BadKey, NoKey, InvalidRequest, RateLimited, Quota, ServerError, Redirect, Unexpected });
record!(answers::Finished => reply::Finished { last, outcome });

record!(markdown::Span => types::Span { text, style, link });
record!(markdown::Heading => types::Heading { level, spans });
record!(markdown::Item => types::Item { number, spans });
record!(markdown::Code => types::Code { language, text });
record!(markdown::Table => types::Table { columns, rows });
record!(markdown::Block => types::Block { quote, depth, kind });
record!(markdown::Styled => types::Styled { closed, used, open });
cases!(markdown::Alignment => types::Alignment { Left, Center, Right });

record!(markdown::Style => types::Style { strong, emphasis, strikethrough, code });

impl Convert<types::BlockKind> for markdown::BlockKind {
    fn convert(self) -> types::BlockKind {
        use types::BlockKind as To;
        match self {
            Self::Paragraph(it) => To::Paragraph(it.convert()),
            Self::Heading(it) => To::Heading(it.convert()),
            Self::Item(it) => To::Item(it.convert()),
            Self::Code(it) => To::Code(it.convert()),
            Self::Table(it) => To::Table(it.convert()),
            Self::Rule => To::Rule,
        }
    }
}

impl Convert<types::EventKind> for answers::EventKind {
    fn convert(self) -> types::EventKind {
        use types::EventKind as To;
        match self {
            Self::Text(it) => To::Text(it.convert()),
            Self::Citation(it) => To::Citation(it.convert()),
            Self::Entity(it) => To::Entity(it.convert()),
            Self::Queries(it) => To::Queries(it.convert()),
            Self::Analyzing(it) => To::Analyzing(it.convert()),
            Self::Thinking(it) => To::Thinking(it.convert()),
            Self::Progress(it) => To::Progress(it.convert()),
            Self::Blindspots(it) => To::Blindspots(it.convert()),
            Self::Draft(it) => To::Draft(it.convert()),
            Self::Answer(it) => To::Answer(it.convert()),
            Self::Usage(it) => To::Usage(it.convert()),
            Self::Warning(it) => To::Warning(it.convert()),
        }
    }
}

// What passes both ways: an outcome is handed back to be rendered.
cases!(answers::Mode => types::Mode { Answer, Research });
both!(Entity {
    name,
    href,
    text,
    instance_of,
    images,
    citations
});
both!(Thinking {
    query,
    urls_analyzed,
    urls_selected,
    chunks_analyzed,
    chunks_selected
});
both!(Progress {
    iteration,
    elapsed_seconds,
    queries,
    urls_analyzed,
    snippets_analyzed,
    tokens_in,
    tokens_thinking,
    tokens_out
});
both!(Cost {
    requests,
    queries,
    tokens_in,
    tokens_out,
    total
});
both!(Usage {
    requests,
    queries,
    tokens_in,
    tokens_out,
    cost_usd,
    cost_usd_estimate
});
both!(Warning { code, detail });
both!(Source {
    number,
    url,
    snippets,
    positions,
    upstream_numbers,
    cited
});
both!(OutcomeError { kind, message });
both!(Outcome {
    mode,
    complete,
    truncated,
    finish_reason,
    model,
    answer,
    text,
    draft,
    sources,
    entities,
    queries,
    blindspots,
    thinking,
    progress,
    usage,
    error,
    warnings
});
