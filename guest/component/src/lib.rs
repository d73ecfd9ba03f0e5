//! The component: the world `answers` over the library `answers`, and nothing of its own.
//!
//! Values are moved between the library's types and the generated ones, never copied. The two are alike field
//! by field; [`convert`] does not compile when they are not.

mod convert;

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
    });
}

use std::cell::RefCell;

use bindings::exports::glovebox::answers::{normalize, reply, request, types};

use crate::convert::Convert as _;

/// What the world is exported from.
struct Component;

bindings::export_component!(Component with_types_in bindings);

/// A parser behind a handle. Methods get it shared; `finish` takes it out.
struct Parser(RefCell<answers::Parser>);

impl request::Guest for Component {
    fn build(question: types::Question) -> Result<types::HttpRequest, Vec<types::InvalidField>> {
        match answers::build(&question.convert()) {
            Ok(request) => Ok(request.convert()),
            Err(fields) => Err(fields.convert()),
        }
    }
}

impl reply::Guest for Component {
    type Parser = Parser;

    fn parse_all(mode: types::Mode, headers: Vec<types::Header>, bytes: Vec<u8>) -> types::Outcome {
        let headers: Vec<answers::Header> = headers.convert();
        answers::parse_all(mode.convert(), &headers, &bytes).convert()
    }

    fn infer_mode(bytes: Vec<u8>) -> types::Mode {
        answers::infer_mode(&bytes).convert()
    }

    fn failure(status: u16, headers: Vec<types::Header>, body: Vec<u8>) -> types::Failure {
        let headers: Vec<answers::Header> = headers.convert();
        answers::failure(status, &headers, &body).convert()
    }
}

impl reply::GuestParser for Parser {
    fn new(mode: types::Mode, limits: types::Limits) -> Self {
        Self(RefCell::new(answers::Parser::new(
            mode.convert(),
            limits.convert(),
        )))
    }

    fn head(&self, headers: Vec<types::Header>) {
        let headers: Vec<answers::Header> = headers.convert();
        self.0.borrow_mut().head(&headers);
    }

    fn push(&self, chunk: Vec<u8>) -> types::Batch {
        self.0.borrow_mut().push(&chunk).convert()
    }

    fn finish(this: reply::Parser) -> reply::Finished {
        let Self(parser) = this.into_inner();
        parser.into_inner().finish().convert()
    }
}

impl normalize::Guest for Component {
    fn render(outcome: types::Outcome, format: normalize::Format) -> String {
        answers::render(&outcome.convert(), format.convert())
    }
}
