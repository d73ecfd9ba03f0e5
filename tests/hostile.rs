//! Hostile replies in the component: the time and memory of each kind, and that replies that were paid for are read
//! completely.

use std::hint::black_box;

use glovebox::answers::{Answers, AnswersConfig, Finished, Limits, Mode};
use glovebox::sandbox::{Bounds, Sandbox};

#[path = "../guest/answers/tests/common/clock.rs"]
mod clock;
#[path = "../guest/answers/tests/common/hostile.rs"]
mod replies;

/// The default text limit of a stream in bytes.
const TEXT_BYTES: usize = 8 << 20;

/// The largest time per byte, as a multiple of the time of prose.
const MAX_RATIO: f64 = 10.0;

/// The same limit for replies that consist of tags, each of which becomes an event.
const MAX_RATIO_OF_TAGS: f64 = 30.0;

/// The number of measurements before a ratio fails.
const ATTEMPTS: usize = 4;

/// Returns the component with a memory limit of three times the text limit.
fn component() -> Answers {
    let config = AnswersConfig {
        component: None,
        bounds: Bounds {
            memory_bytes: 3 * TEXT_BYTES,
            ..Bounds::default()
        },
    };
    Answers::start(&Sandbox::default(), config)
}

fn read(answers: &Answers, mode: Mode, bytes: &[u8]) -> Result<Finished, String> {
    let mut parser = answers.parser(mode, Limits::default()).unwrap();
    for part in bytes.chunks(64 << 10) {
        black_box(parser.push(part).map_err(|error| error.to_string())?);
    }
    parser.finish().map_err(|error| error.to_string())
}

fn mode(reply: &replies::Hostile) -> Mode {
    if reply.research {
        Mode::Research
    } else {
        Mode::Answer
    }
}

/// The largest reply that fits in one line needs the most memory, and a longer one the most time.
#[test]
fn no_reply_takes_three_times_the_text_limit_of_memory() {
    let answers = component();
    let mut wrong = String::new();
    for bytes in [1_000_000, 3_000_000, 9_000_000] {
        for reply in replies::all(bytes) {
            if let Err(error) = read(&answers, mode(&reply), &reply.bytes) {
                wrong += &format!(
                    "{bytes} bytes of {} ({:?}): {error}\n",
                    reply.name,
                    mode(&reply)
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn no_reply_takes_much_longer_than_prose() {
    let answers = component();
    let nanoseconds = |mode: Mode, bytes: &[u8]| {
        clock::cost(|| drop(read(&answers, mode, bytes))) * 1e9 / bytes.len() as f64
    };
    let [many, one] = [replies::prose(1_000_000), replies::prose_in_one(1_000_000)].map(|bytes| {
        let all = (0..ATTEMPTS).map(|_| nanoseconds(Mode::Answer, &bytes));
        all.fold(f64::MAX, f64::min)
    });
    let mut slow = String::new();
    for reply in replies::all(1_000_000) {
        let plain = if reply.one_delta { one } else { many };
        let most = if reply.records {
            MAX_RATIO_OF_TAGS
        } else {
            MAX_RATIO
        };
        let mut ratio = f64::MAX;
        for _ in 0..ATTEMPTS {
            ratio = ratio.min(nanoseconds(mode(&reply), &reply.bytes) / plain);
            if ratio <= most {
                break;
            }
        }
        if ratio > most {
            slow += &format!("{ratio:.1} times: {} ({:?})\n", reply.name, mode(&reply));
        }
    }
    assert!(
        slow.is_empty(),
        "prose takes {many:.2} ns a byte, in one delta {one:.2}\n{slow}"
    );
}

/// Regressions: a cost that took 90 µs to parse reached the CPU limit for a reply of 1 MB, and replaced answers reached
/// the memory limit.
#[test]
fn replies_that_were_paid_for_are_complete() {
    let answers = component();
    let costs = r#"<usage>{\"X-Request-Queries\":1,\"X-Request-Total-Cost\":1e-1150}</usage>"#;
    for (research, content, times) in [
        (false, costs, 1_000_000 / costs.len()),
        (true, "<answer>a</answer>", 1_000_000 / 18),
        (true, "<answer>a</answer>", 2_900_000 / 18),
    ] {
        let stream = format!(
            "data: {{\"choices\":[{{\"delta\":{{\"content\":\"Text. {}\"}}}}]}}\n\ndata: [DONE]\n\n",
            content.repeat(times)
        );
        let mode = if research {
            Mode::Research
        } else {
            Mode::Answer
        };
        let finished = read(&answers, mode, stream.as_bytes()).unwrap();
        let outcome = finished.outcome;
        assert!(
            outcome.complete && outcome.error.is_none(),
            "{:?}",
            outcome.error
        );
        if research {
            assert_eq!(outcome.answer, "a");
            assert_eq!(outcome.draft.len(), "Text. ".len() + times - 1);
        } else {
            assert_eq!(outcome.answer, "Text. ");
            assert_eq!(outcome.usage.unwrap().cost_usd.total, Some(0.0));
        }
    }
}
