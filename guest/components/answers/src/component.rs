//! The exported functions, each a call of the library with its types converted.

use core::cell::RefCell;

use crate::bindings::exports::glovebox::answers::{normalize, reply, request, types};
use crate::convert::Convert as _;

/// Implements every interface of the world.
pub(crate) struct Component;

impl request::Guest for Component {
    fn build(
        question: request::Question,
    ) -> Result<request::HttpRequest, Vec<request::InvalidField>> {
        let built = answers::build(&question.convert());
        built
            .map(|request| request.convert())
            .map_err(|fields| fields.convert())
    }
}

impl reply::Guest for Component {
    type Parser = Parser;

    fn parse_all(mode: reply::Mode, headers: Vec<reply::Header>, bytes: Vec<u8>) -> reply::Outcome {
        let headers: Vec<_> = headers.convert();
        answers::parse_all(mode.convert(), &headers, &bytes).convert()
    }

    fn infer_mode(bytes: Vec<u8>) -> reply::Mode {
        answers::infer_mode(&bytes).convert()
    }

    fn failure(status: u16, headers: Vec<reply::Header>, body: Vec<u8>) -> types::Failure {
        let headers: Vec<_> = headers.convert();
        answers::failure(status, &headers, &body).convert()
    }
}

/// The resource `reply.parser`. Its methods take `&self`, so the library's parser is in a cell; the component has one
/// thread and no method calls another, so the cell is never borrowed twice.
pub(crate) struct Parser(RefCell<answers::Parser>);

impl reply::GuestParser for Parser {
    fn new(mode: reply::Mode, limits: reply::Limits) -> Self {
        let parser = answers::Parser::new(mode.convert(), limits.convert());
        Self(RefCell::new(parser))
    }

    fn head(&self, headers: Vec<reply::Header>) {
        let headers: Vec<_> = headers.convert();
        self.0.borrow_mut().head(&headers);
    }

    fn push(&self, chunk: Vec<u8>) -> reply::Batch {
        self.0.borrow_mut().push(&chunk).convert()
    }

    fn finish(this: reply::Parser) -> reply::Finished {
        let parser = this.into_inner::<Self>();
        parser.0.into_inner().finish().convert()
    }
}

impl normalize::Guest for Component {
    fn render(outcome: normalize::Outcome, format: normalize::Format) -> String {
        answers::render(&outcome.convert(), format.convert())
    }

    fn spans(text: String, last: bool) -> normalize::Styled {
        markdown::spans(&text, last).convert()
    }
}
