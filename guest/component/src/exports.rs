//! The functions of `wit/world.wit`, by the names and signatures that the canonical ABI gives them.

use alloc::boxed::Box;
use alloc::string::String;
use core::cell::Cell;

use answers::{Batch, Failure, Finished, Limits, Mode, Outcome, Parser, Question};

use crate::abi::{bytes, give, list, receive, taken};
use crate::types::{Built, Numbered, Rendering};

#[link(wasm_import_module = "[export]glovebox:answers/reply@0.1.0")]
unsafe extern "C" {
    #[link_name = "[resource-new]parser"]
    fn parser_handle(parser: usize) -> u32;
    #[link_name = "[resource-rep]parser"]
    fn parser_behind(handle: u32) -> usize;
    #[link_name = "[resource-drop]parser"]
    fn parser_drop(handle: u32);
}

/// What a parser's handle stands for. It is empty while a call has the parser out, and at the end.
type Slot = Cell<Option<Box<Parser>>>;

/// Lets a call work on the parser of a slot; on an empty one it does nothing.
fn with_parser(slot: &Slot, call: impl FnOnce(&mut Parser)) {
    if let Some(mut parser) = slot.take() {
        call(&mut parser);
        slot.set(Some(parser));
    }
}

/// Memory for what the host passes in. An old block is never grown: every length is known before.
#[unsafe(export_name = "cabi_realloc")]
unsafe extern "C" fn realloc(old: *mut u8, old_size: usize, align: usize, size: usize) -> *mut u8 {
    // SAFETY: the host passes what this function gave before, or nothing.
    unsafe { crate::bare::realloc(old, old_size, align, size) }
}

#[unsafe(export_name = "glovebox:answers/request@0.1.0#build")]
unsafe extern "C" fn build(question: *mut u8) -> *mut u8 {
    // SAFETY: the host laid a question down there.
    let question = unsafe { receive::<Question>(question) };
    give(Built(answers::build(&question)))
}

#[unsafe(export_name = "cabi_post_glovebox:answers/request@0.1.0#build")]
unsafe extern "C" fn build_taken(result: *mut u8) {
    // SAFETY: the host passes what `build` gave.
    unsafe { taken::<Built>(result) }
}

#[unsafe(export_name = "glovebox:answers/reply@0.1.0#[constructor]parser")]
#[expect(clippy::too_many_arguments, reason = "an option comes as two numbers")]
unsafe extern "C" fn new(
    mode: u32,
    has_line: u32,
    line: u32,
    has_tag: u32,
    tag: u32,
    has_text: u32,
    text: u32,
    has_stream: u32,
    stream: u64,
) -> u32 {
    let limits = Limits {
        line_bytes: (has_line != 0).then_some(line),
        tag_bytes: (has_tag != 0).then_some(tag),
        text_bytes: (has_text != 0).then_some(text),
        stream_bytes: (has_stream != 0).then_some(stream),
    };
    let parser = Parser::new(Mode::numbered(mode), limits);
    let slot = Box::new(Slot::new(Some(Box::new(parser))));
    // SAFETY: the box is freed by `dropped` alone.
    unsafe { parser_handle(Box::into_raw(slot) as usize) }
}

#[unsafe(export_name = "glovebox:answers/reply@0.1.0#[dtor]parser")]
unsafe extern "C" fn dropped(slot: *mut Slot) {
    // SAFETY: the host calls this once for each handle that was made.
    drop(unsafe { Box::from_raw(slot) });
}

#[unsafe(export_name = "glovebox:answers/reply@0.1.0#[method]parser.head")]
unsafe extern "C" fn head(slot: *mut Slot, headers: *mut u8, count: usize) {
    // SAFETY: the host passes a live parser and laid the headers down.
    let (slot, headers) = unsafe { (&*slot, list(headers, count)) };
    with_parser(slot, |parser| parser.head(&headers));
}

#[unsafe(export_name = "glovebox:answers/reply@0.1.0#[method]parser.push")]
unsafe extern "C" fn push(slot: *mut Slot, chunk: *mut u8, length: usize) -> *mut u8 {
    // SAFETY: the host passes a live parser and laid the chunk down.
    let (slot, chunk) = unsafe { (&*slot, bytes(chunk, length)) };
    let mut batch = Batch::default();
    with_parser(slot, |parser| batch = parser.push(&chunk));
    give(batch)
}

#[unsafe(export_name = "cabi_post_glovebox:answers/reply@0.1.0#[method]parser.push")]
unsafe extern "C" fn push_taken(batch: *mut u8) {
    // SAFETY: the host passes what `push` gave.
    unsafe { taken::<Batch>(batch) }
}

#[unsafe(export_name = "glovebox:answers/reply@0.1.0#[static]parser.finish")]
unsafe extern "C" fn finish(handle: u32) -> *mut u8 {
    // SAFETY: the host passes a handle that it gives up; the slot lives until it is dropped.
    let parser = unsafe { (*(parser_behind(handle) as *const Slot)).take() };
    // SAFETY: as above. This calls `dropped`.
    unsafe { parser_drop(handle) };
    match parser {
        Some(parser) => give(parser.finish()),
        // No handle stands for an empty slot between calls.
        None => core::arch::wasm32::unreachable(),
    }
}

#[unsafe(export_name = "cabi_post_glovebox:answers/reply@0.1.0#[static]parser.finish")]
unsafe extern "C" fn finish_taken(finished: *mut u8) {
    // SAFETY: the host passes what `finish` gave.
    unsafe { taken::<Finished>(finished) }
}

#[unsafe(export_name = "glovebox:answers/reply@0.1.0#parse-all")]
unsafe extern "C" fn parse_all(
    mode: u32,
    headers: *mut u8,
    count: usize,
    reply: *mut u8,
    length: usize,
) -> *mut u8 {
    // SAFETY: the host laid both down.
    let (headers, reply) = unsafe { (list(headers, count), bytes(reply, length)) };
    give(answers::parse_all(Mode::numbered(mode), &headers, &reply))
}

#[unsafe(export_name = "cabi_post_glovebox:answers/reply@0.1.0#parse-all")]
unsafe extern "C" fn parse_all_taken(outcome: *mut u8) {
    // SAFETY: the host passes what `parse_all` gave.
    unsafe { taken::<Outcome>(outcome) }
}

#[unsafe(export_name = "glovebox:answers/reply@0.1.0#infer-mode")]
unsafe extern "C" fn infer_mode(reply: *mut u8, length: usize) -> u32 {
    // SAFETY: the host laid it down.
    answers::infer_mode(&unsafe { bytes(reply, length) }) as u32
}

#[unsafe(export_name = "glovebox:answers/reply@0.1.0#failure")]
unsafe extern "C" fn failure(
    status: u32,
    headers: *mut u8,
    count: usize,
    body: *mut u8,
    length: usize,
) -> *mut u8 {
    // SAFETY: the host laid both down.
    let (headers, body) = unsafe { (list(headers, count), bytes(body, length)) };
    give(answers::failure(status as u16, &headers, &body))
}

#[unsafe(export_name = "cabi_post_glovebox:answers/reply@0.1.0#failure")]
unsafe extern "C" fn failure_taken(failure: *mut u8) {
    // SAFETY: the host passes what `failure` gave.
    unsafe { taken::<Failure>(failure) }
}

#[unsafe(export_name = "glovebox:answers/normalize@0.1.0#render")]
unsafe extern "C" fn render(rendering: *mut u8) -> *mut u8 {
    // SAFETY: the host laid both down.
    let Rendering { outcome, format } = unsafe { receive(rendering) };
    give(answers::render(&outcome, format))
}

#[unsafe(export_name = "cabi_post_glovebox:answers/normalize@0.1.0#render")]
unsafe extern "C" fn render_taken(text: *mut u8) {
    // SAFETY: the host passes what `render` gave.
    unsafe { taken::<String>(text) }
}
