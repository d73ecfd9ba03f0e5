//! A component that fails in the middle of a reply. The part that was read before is displayed and stored.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Stdio;

use glovebox::answers::{Answers, AnswersConfig, Mode};
use glovebox::sandbox::{Bounds, CHUNK_BYTES, Sandbox, SandboxError};

use crate::support::guest::{Guest, ONE_EVENT, push};
use crate::support::{KEY, Ran, Served, World, finish, http, read_request};

/// The body of the request that the guests build.
const BODY: &str = r#"{"model":"brave","stream":true,"messages":[]}"#;

/// Returns the answer of the outcome that `render` gets.
const RENDER: &str = "
  (i32.store (i32.const 3000) (i32.load offset=28 (local.get $outcome)))
  (i32.store (i32.const 3004) (i32.load offset=32 (local.get $outcome)))
  (i32.const 3000)";

/// Returns a guest that reads `ok` from each chunk, traps at a `!` in a chunk, and returns everything read in its
/// outcome.
fn guest_that_traps() -> Guest {
    let text = "ok".repeat(100);
    let push = "
  (loop $next
    (if (i32.lt_u (local.get $at) (local.get $length)) (then
      (if (i32.eq (i32.load8_u (i32.add (local.get $bytes) (local.get $at))) (i32.const 33))
        (then unreachable))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br $next))))
  (global.set $pushes (i32.add (global.get $pushes) (i32.const 1)))
  (i32.const 1024)";
    // The answer of the outcome, after the last batch.
    let finish = "
  (i32.store (i32.const 8268) (i32.const 4096))
  (i32.store (i32.const 8272) (i32.mul (i32.const 2) (global.get $pushes)))
  (i32.const 8192)";
    Guest::default()
        .asking(BODY)
        .with("[method]parser.push", push)
        .with("[static]parser.finish", finish)
        .and(ONE_EVENT)
        .and(format!(
            "(global $pushes (mut i32) (i32.const 0)) (data (i32.const 4096) \"{text}\")"
        ))
}

/// Returns a guest that traps at a chunk that begins with `!` and never returns an outcome.
fn guest_without_outcome() -> Guest {
    Guest::default()
        .with("[method]parser.push", push("unreachable"))
        .and(ONE_EVENT)
}

/// Returns `good` harmless bytes, a `!`, and more bytes.
fn reply(good: usize) -> String {
    format!("{}!{}", ".".repeat(good), ".".repeat(1000))
}

fn replay(world: &World, guest: &Guest, bytes: &str, more: &[&str]) -> Ran {
    let (path, guest) = (world.path().join("reply"), guest.write(world.path()));
    std::fs::write(&path, bytes).unwrap();
    let mut arguments = vec![
        "replay",
        path.to_str().unwrap(),
        "--mode",
        "answer",
        "--component",
        guest.to_str().unwrap(),
    ];
    arguments.extend(more);
    world.run(&arguments)
}

#[test]
fn replay_reads_up_to_the_trap() {
    let world = World::new();
    let guest = guest_that_traps().with("render", RENDER);
    // All bytes are in one `push`. Without a second read nothing would be left.
    let ran = replay(&world, &guest, &reply(5000), &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(ran.out, "okokokok\n", "{ran:?}");
    assert!(
        ran.err.contains("sandbox-trap") && ran.err.contains("unreachable"),
        "{ran:?}"
    );
}

#[test]
fn replay_shows_the_events_without_an_outcome() {
    let world = World::new();
    let guest = guest_without_outcome().with("render", RENDER);
    let ran = replay(&world, &guest, &reply(3072), &["--chunk", "1024"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(ran.out, "okokok\n", "{ran:?}");
    assert!(ran.err.contains("sandbox-trap"), "{ran:?}");
}

#[test]
fn replay_shows_the_text_if_rendering_fails() {
    let world = World::new();
    let guest = guest_without_outcome();
    let arguments = ["--chunk", "1024"];
    let ran = replay(&world, &guest, &reply(3072), &arguments);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.starts_with("okokok\n\nthe component"), "{ran:?}");
    let arguments = ["--chunk", "1024", "--json"];
    let json = replay(&world, &guest, &reply(3072), &arguments).json();
    assert_eq!(json["answer"], "okokok");
    assert_eq!(json["error"]["kind"], "sandbox-trap");
}

#[test]
fn a_call_keeps_what_was_read_before_the_trap() {
    let world = World::new();
    let served = Served::start(http(&reply(5000)));
    let guest = guest_that_traps().write(world.path());
    let mut command = world.command(&["ask", "why?"]);
    command
        .env("GLOVEBOX_UPSTREAM", &served.url)
        .env("GLOVEBOX_COMPONENT", &guest)
        .env("BRAVE_API_KEY", KEY);
    let ran = Ran::of(command.output().unwrap());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.out.contains("okok") && ran.err.contains("unreachable"),
        "{ran:?}"
    );
    let id = job_id(&ran.err);
    let result = world.run(&["jobs", "result", &id, "--json"]).json();
    let answer = result["answer"].as_str().unwrap();
    assert!(answer.starts_with("okok"), "{result}");
    assert_eq!(result["error"]["kind"], "sandbox-trap");
    assert_eq!(result["complete"], false);
}

/// Returns the id of the job in a message.
fn job_id(said: &str) -> String {
    let (_, rest) = said.split_once("jobs result ").expect(said);
    let end = rest.find([',', '\n']).unwrap_or(rest.len());
    rest[..end].trim().to_owned()
}

/// A job of a dead owner is settled even if the component fails on its capture.
#[cfg(unix)]
#[test]
fn a_job_whose_capture_traps_is_settled() {
    let world = World::new();
    let served = Served::with(|mut stream| {
        read_request(&mut stream);
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\n";
        let _ = stream.write_all(format!("{head}{}", ".".repeat(5000)).as_bytes());
        let _ = read_request(&mut stream);
    });
    let guest = guest_that_traps().write(world.path());
    let mut command = world.command(&["ask", "why?"]);
    let mut child = command
        .env("GLOVEBOX_UPSTREAM", &served.url)
        .env("GLOVEBOX_COMPONENT", &guest)
        .env("BRAVE_API_KEY", KEY)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    world.wait_for_captures(1, 5000);
    child.kill().unwrap();
    finish(child);
    std::fs::OpenOptions::new()
        .append(true)
        .open(capture(&world))
        .unwrap()
        .write_all(b"!....")
        .unwrap();
    let list = || {
        let mut command = world.command(&["jobs", "list", "--all", "--json"]);
        command.env("GLOVEBOX_COMPONENT", &guest);
        Ran::of(command.output().unwrap())
    };
    let listed = list();
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let jobs = listed.json();
    let job = &jobs.as_array().unwrap()[0];
    assert_eq!(job["state"], "interrupted", "{listed:?}");
    let id = job["research_id"].as_str().or(job["id"].as_str()).unwrap();
    let result = world.run(&["jobs", "result", id, "--json"]).json();
    let answer = result["answer"].as_str().unwrap();
    assert!(answer.starts_with("okok"), "{result}");
}

fn capture(world: &World) -> PathBuf {
    let folder = world.path().join("state/glovebox/captures");
    let mut files = std::fs::read_dir(folder).unwrap();
    files.next().unwrap().unwrap().path()
}

/// The real component at its memory bound. The text read so far is a prefix of the reply.
#[test]
fn the_real_component_at_its_memory_bound() {
    let bounds = Bounds {
        memory_bytes: 3 << 20,
        ..Bounds::default()
    };
    let config = AnswersConfig {
        component: None,
        bounds,
    };
    let answers = Answers::start(&Sandbox::default(), config);
    let text: String = (0..400_000).map(|number| format!("{number} ")).collect();
    let mut reply = String::new();
    for piece in text.as_bytes().chunks(1000) {
        let piece = std::str::from_utf8(piece).unwrap();
        reply.push_str(&format!(
            "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{piece}\"}}}}]}}\n\n"
        ));
    }
    let read = answers.read(Mode::Answer, Vec::new(), reply.as_bytes(), CHUNK_BYTES);
    let read = read.unwrap();
    assert!(
        matches!(read.broken, Some(SandboxError::Memory { .. })),
        "{:?}",
        read.broken
    );
    let outcome = read.outcome;
    assert!(outcome.text.len() > 200_000, "{} bytes", outcome.text.len());
    assert!(text.starts_with(&outcome.text));
    assert!(!outcome.complete);
    assert_eq!(outcome.error.unwrap().kind, "sandbox-memory");
}

/// The host does not limit questions below 400 KB: it sends what the component builds.
#[test]
fn a_long_question_passes_the_host() {
    let world = World::new();
    // Returns the question as the body.
    let copy = "
  (i32.store (i32.const 1564) (i32.load (local.get $question)))
  (i32.store (i32.const 1568) (i32.load offset=4 (local.get $question)))
  (i32.const 1536)";
    let mut guest = Guest::default().asking("").with("build", copy);
    guest.memory = "(memory (export \"memory\") 20)".to_owned();
    let guest = guest.write(world.path());
    let served = Served::with(|mut stream| {
        let head = read_request(&mut stream);
        let refusal = if head.contains("content-length: 400000") {
            "HTTP/1.1 402 Payment Required\r\ncontent-length: 0\r\n\r\n"
        } else {
            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"
        };
        let _ = stream.write_all(refusal.as_bytes());
    });
    let mut command = world.command(&["ask", "-"]);
    let mut child = command
        .env("GLOVEBOX_UPSTREAM", &served.url)
        .env("GLOVEBOX_COMPONENT", &guest)
        .env("BRAVE_API_KEY", KEY)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&vec![b'q'; 400_000]).unwrap();
    drop(stdin);
    let ran = finish(child);
    assert!(ran.err.contains("status 402"), "{ran:?}");
}
