//! Moves values between the library's types and the generated ones.
//!
//! Every record is taken apart field by field, so a field that one side lacks is a compile error.

use crate::bindings::exports::glovebox::answers::{reply, types};

/// A value of one side as one of the other. Lists keep their allocation where the layout allows.
pub(crate) trait Convert<T> {
    /// The value, moved.
    fn convert(self) -> T;
}

impl<A: Convert<B>, B> Convert<Vec<B>> for Vec<A> {
    fn convert(self) -> Vec<B> {
        self.into_iter().map(Convert::convert).collect()
    }
}

impl<A: Convert<B>, B> Convert<Option<B>> for Option<A> {
    fn convert(self) -> Option<B> {
        self.map(Convert::convert)
    }
}

/// A record: the fields that are moved as they are, then those that are converted.
macro_rules! record {
    ($from:ty => $to:ty { $($plain:ident),* $(,)? $(; $($deep:ident),+ $(,)?)? }) => {
        impl Convert<$to> for $from {
            fn convert(self) -> $to {
                type To = $to;
                let Self { $($plain,)* $($($deep,)+)? } = self;
                To { $($plain,)* $($($deep: $deep.convert(),)+)? }
            }
        }
    };
}

/// An enum, case by case.
macro_rules! cases {
    ($from:ty => $to:ty { $($case:ident),* }) => {
        impl Convert<$to> for $from {
            fn convert(self) -> $to {
                type To = $to;
                match self { $(Self::$case => To::$case,)* }
            }
        }
    };
}

/// A record of the same name on both sides that comes in and goes out.
macro_rules! record_both {
    ($name:ident $fields:tt) => {
        record!(types::$name => answers::$name $fields);
        record!(answers::$name => types::$name $fields);
    };
}

// What comes in.
cases!(types::Mode => answers::Mode { Answer, Research });
cases!(types::Format => answers::Format { Markdown, Plain, Json });
record!(types::Header => answers::Header { name, value });
record!(types::Limits => answers::Limits { line_bytes, tag_bytes, text_bytes, stream_bytes });
record!(types::Location => answers::Location { city, country, region, timezone });
record!(types::Question => answers::Question {
    query, model, stream, country, language, safesearch, max_completion_tokens, metadata, seed,
    enable_citations, enable_entities, enable_research, research_allow_thinking,
    research_maximum_number_of_tokens_per_query, research_maximum_number_of_queries,
    research_maximum_number_of_iterations, research_maximum_number_of_seconds,
    research_maximum_number_of_results_per_query, search_context_size;
    user_location
});

// What does both, since an outcome is made by one call and rendered by another.
record_both!(Thinking {
    query,
    urls_analyzed,
    urls_selected,
    chunks_analyzed,
    chunks_selected
});
record_both!(Entity {
    name,
    href,
    text,
    instance_of,
    images,
    citations
});
record_both!(Progress {
    iteration,
    elapsed_seconds,
    queries,
    urls_analyzed,
    snippets_analyzed,
    tokens_in,
    tokens_thinking,
    tokens_out
});
record_both!(Cost {
    requests,
    queries,
    tokens_in,
    tokens_out,
    total
});
record_both!(Usage { requests, queries, tokens_in, tokens_out, cost_usd_estimate; cost_usd });
record_both!(Warning { code, detail });
record_both!(Source {
    number,
    url,
    snippets,
    positions,
    upstream_numbers,
    cited
});
record_both!(OutcomeError { kind, message });
record_both!(Outcome {
    complete, truncated, finish_reason, model, answer, text, draft, queries, blindspots;
    mode, sources, entities, thinking, progress, usage, error, warnings
});

// What goes out.
cases!(answers::Mode => types::Mode { Answer, Research });
cases!(answers::StreamErrorKind => types::StreamErrorKind {
    LineLimit, TextLimit, StreamLimit, UpstreamError, NotAReply
});
cases!(answers::FailureKind => types::FailureKind {
    NoPlan, SpendCap, NotAllowed, NotFound, BadKey, NoKey, InvalidRequest, RateLimited, Quota,
    ServerError, Redirect, Unexpected
});
record!(answers::Header => types::Header { name, value });
record!(answers::HttpRequest => types::HttpRequest { method, path, body; headers });
record!(answers::InvalidField => types::InvalidField { field, problem });
record!(answers::Citation => types::Citation {
    number, upstream_number, url, position, snippet, favicon
});
record!(answers::Analyzing => types::Analyzing { query, urls, new_urls });
record!(answers::Event => types::Event { at; kind });
record!(answers::StreamError => types::StreamError { message, at; kind });
record!(answers::Batch => types::Batch {; events, error });
record!(answers::Finished => reply::Finished {; last, outcome });
record!(answers::Failure => types::Failure {
    status, code, message, detail, fields, retryable, retry_after_seconds, id;
    kind
});

impl Convert<types::EventKind> for answers::EventKind {
    fn convert(self) -> types::EventKind {
        use types::EventKind as To;
        match self {
            Self::Text(text) => To::Text(text),
            Self::Citation(citation) => To::Citation(citation.convert()),
            Self::Entity(entity) => To::Entity(entity.convert()),
            Self::Queries(queries) => To::Queries(queries),
            Self::Analyzing(analyzing) => To::Analyzing(analyzing.convert()),
            Self::Thinking(thinking) => To::Thinking(thinking.convert()),
            Self::Progress(progress) => To::Progress(progress.convert()),
            Self::Blindspots(blindspots) => To::Blindspots(blindspots),
            Self::Draft(draft) => To::Draft(draft),
            Self::Answer(answer) => To::Answer(answer),
            Self::Usage(usage) => To::Usage(usage.convert()),
            Self::Warning(warning) => To::Warning(warning.convert()),
        }
    }
}
