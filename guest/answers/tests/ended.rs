//! When a reply says that it is over: with the line of `[DONE]`, wherever it is cut, and never before.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

use answers::{Limits, Mode, Parser};

const CHUNK: &str =
    "data: {\"choices\":[{\"delta\":{\"content\":\"so\"},\"finish_reason\":null}]}\n\n";

/// The number of bytes after which each way of cutting the reply gave `ended` for the first time.
fn ended_after(reply: &[u8], step: usize) -> Option<usize> {
    let mut parser = Parser::new(Mode::Answer, Limits::default());
    let mut pushed = 0;
    for chunk in reply.chunks(step) {
        pushed += chunk.len();
        if parser.push(chunk).ended {
            return Some(pushed);
        }
    }
    None
}

#[test]
fn the_line_of_done_ends_it() {
    for end in ["\n", "\r\n", "\r"] {
        for space in ["", " "] {
            for rest in ["", end, ": a comment\n\n"] {
                let body = CHUNK.replace('\n', end);
                let line = format!("data:{space}[DONE]{end}");
                let reply = format!("{body}{line}{rest}");
                let first = body.len() + line.trim_end().len() + 1;
                assert_eq!(ended_after(reply.as_bytes(), 1), Some(first), "{reply:?}");
                for step in 2..reply.len() {
                    let after = ended_after(reply.as_bytes(), step).unwrap();
                    assert!((first..first + step).contains(&after), "{reply:?} {step}");
                }
                // It stays.
                let mut parser = Parser::new(Mode::Answer, Limits::default());
                parser.push(format!("{body}{line}{end}").as_bytes());
                assert!(parser.push(b"data: more\n\n").ended);
            }
        }
    }
}

#[test]
fn nothing_else_ends_it() {
    for reply in [
        CHUNK.to_owned(),
        format!("{CHUNK}data: [DONE]"),
        format!("{CHUNK}data: [DONE"),
        format!("{CHUNK}data: \"[DONE]\"\n\n"),
        format!("{CHUNK}event: [DONE]\n\n"),
        format!("{CHUNK}data: no\ndata: [DONE]\n\n"),
        CHUNK.replace("so", "[DONE]"),
        "{\"object\":\"chat.completion\"}".to_owned(),
    ] {
        assert_eq!(ended_after(reply.as_bytes(), 1), None, "{reply:?}");
    }
}
