//! The component: the world `answers` over the library `answers`, and nothing of its own.
//!
//! The bindings take the library's own types for those of the WIT: the two are alike field by field and case by
//! case, and it does not compile when they are not. So nothing is converted.
//!
//! On wasm there is no standard library, only an allocator: a third of the component would else be the machinery
//! that words panics for nobody. A panic, which no input should bring about, is a trap without a message.

#![cfg_attr(target_family = "wasm", no_std)]

extern crate alloc;

#[cfg(target_family = "wasm")]
mod bare;

#[allow(
    missing_docs,
    unused_qualifications,
    clippy::all,
    reason = "generated code"
)]
mod bindings {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "answers",
        export_macro_name: "export_component",
        with: {
            "glovebox:answers/types@0.1.0/mode": ::answers::Mode,
            "glovebox:answers/types@0.1.0/header": ::answers::Header,
            "glovebox:answers/types@0.1.0/location": ::answers::Location,
            "glovebox:answers/types@0.1.0/question": ::answers::Question,
            "glovebox:answers/types@0.1.0/invalid-field": ::answers::InvalidField,
            "glovebox:answers/types@0.1.0/http-request": ::answers::HttpRequest,
            "glovebox:answers/types@0.1.0/limits": ::answers::Limits,
            "glovebox:answers/types@0.1.0/citation": ::answers::Citation,
            "glovebox:answers/types@0.1.0/entity": ::answers::Entity,
            "glovebox:answers/types@0.1.0/analyzing": ::answers::Analyzing,
            "glovebox:answers/types@0.1.0/thinking": ::answers::Thinking,
            "glovebox:answers/types@0.1.0/progress": ::answers::Progress,
            "glovebox:answers/types@0.1.0/cost": ::answers::Cost,
            "glovebox:answers/types@0.1.0/usage": ::answers::Usage,
            "glovebox:answers/types@0.1.0/warning": ::answers::Warning,
            "glovebox:answers/types@0.1.0/event-kind": ::answers::EventKind,
            "glovebox:answers/types@0.1.0/event": ::answers::Event,
            "glovebox:answers/types@0.1.0/stream-error-kind": ::answers::StreamErrorKind,
            "glovebox:answers/types@0.1.0/stream-error": ::answers::StreamError,
            "glovebox:answers/types@0.1.0/batch": ::answers::Batch,
            "glovebox:answers/types@0.1.0/source": ::answers::Source,
            "glovebox:answers/types@0.1.0/outcome-error": ::answers::OutcomeError,
            "glovebox:answers/types@0.1.0/outcome": ::answers::Outcome,
            "glovebox:answers/types@0.1.0/failure-kind": ::answers::FailureKind,
            "glovebox:answers/types@0.1.0/failure": ::answers::Failure,
            "glovebox:answers/types@0.1.0/format": ::answers::Format,
        },
    });
}

use alloc::{string::String, vec::Vec};
use core::cell::RefCell;

use bindings::exports::glovebox::answers::{normalize, reply, request};

/// What the world is exported from.
struct Component;

bindings::export_component!(Component with_types_in bindings);

/// A parser behind a handle. Methods get it shared; `finish` takes it out.
struct Parser(RefCell<answers::Parser>);

impl request::Guest for Component {
    fn build(
        question: answers::Question,
    ) -> Result<answers::HttpRequest, Vec<answers::InvalidField>> {
        answers::build(&question)
    }
}

impl reply::Guest for Component {
    type Parser = Parser;

    fn parse_all(
        mode: answers::Mode,
        headers: Vec<answers::Header>,
        bytes: Vec<u8>,
    ) -> answers::Outcome {
        answers::parse_all(mode, &headers, &bytes)
    }

    fn infer_mode(bytes: Vec<u8>) -> answers::Mode {
        answers::infer_mode(&bytes)
    }

    fn failure(status: u16, headers: Vec<answers::Header>, body: Vec<u8>) -> answers::Failure {
        answers::failure(status, &headers, &body)
    }
}

impl reply::GuestParser for Parser {
    fn new(mode: answers::Mode, limits: answers::Limits) -> Self {
        Self(RefCell::new(answers::Parser::new(mode, limits)))
    }

    fn head(&self, headers: Vec<answers::Header>) {
        self.0.borrow_mut().head(&headers);
    }

    fn push(&self, chunk: Vec<u8>) -> answers::Batch {
        self.0.borrow_mut().push(&chunk)
    }

    fn finish(this: reply::Parser) -> reply::Finished {
        let Self(parser) = this.into_inner();
        let answers::Finished { last, outcome } = parser.into_inner().finish();
        reply::Finished { last, outcome }
    }
}

impl normalize::Guest for Component {
    fn render(outcome: answers::Outcome, format: answers::Format) -> String {
        answers::render(&outcome, format)
    }
}
