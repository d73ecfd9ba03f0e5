//! A folder that cannot be written, a database that cannot be read, a disk that is full.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

use rusqlite::Connection;
use serde_json::json;

use crate::support::machine::{Machine, PROGRAM, Simulator, stderr, words};

/// A folder in which no user can create files, not even root.
const UNWRITABLE: &str = "/proc/glovebox";

fn machine_without_state() -> Machine {
    let mut machine = Machine::new("https://upstream.invalid");
    machine
        .env
        .push(("GLOVEBOX_STATE_DIR".to_owned(), UNWRITABLE.to_owned()));
    machine
}

#[test]
fn a_folder_that_cannot_be_written_is_reported() {
    let machine = machine_without_state();
    for args in [
        &["jobs"][..],
        &["spend"],
        &["research", "--simulate", "--detach", "q"],
    ] {
        let output = machine.run(args);
        assert_eq!(output.status.code(), Some(1), "{}", words(&output));
        let text = stderr(&output);
        assert!(
            text.contains(UNWRITABLE) && text.contains("GLOVEBOX_STATE_DIR"),
            "{text}"
        );
    }
}

#[test]
fn an_answer_needs_no_store_but_a_budget_does() {
    let machine = machine_without_state();
    let ask = ["ask", "--simulate", "--pace", "0", "what needs a store"];
    let output = machine.run(&ask);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let told = stderr(&output).matches("not stored").count();
    assert_eq!(told, 1, "not reported exactly once: {}", words(&output));
    let output = machine.run(&[&ask[..], &["--budget-usd-per-day", "5"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    assert!(output.stdout.is_empty());
}

#[test]
fn a_damaged_database_is_not_changed() {
    let machine = Machine::new("https://upstream.invalid");
    machine.run(&["ask", "--simulate", "--pace", "0", "before the damage"]);
    let path = machine.state().join("jobs.db");
    // Write all content to the main file.
    let database = Connection::open(&path).unwrap();
    database
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    drop(database);
    let whole = std::fs::read(&path).unwrap();
    let mut torn = whole.clone();
    for byte in &mut torn[100..] {
        *byte ^= 0x5a;
    }
    for damage in [
        b"this is no database, and long enough to be none for sure".repeat(100),
        torn,
    ] {
        std::fs::write(&path, &damage).unwrap();
        let output = machine.run(&["jobs", "list", "--all"]);
        assert_eq!(output.status.code(), Some(1), "{}", words(&output));
        let text = stderr(&output);
        assert!(
            text.contains("damaged") && text.contains("captures"),
            "{text}"
        );
        assert!(
            std::fs::read(&path).unwrap() == damage,
            "nothing was overwritten"
        );
    }
    assert_eq!(
        std::fs::read_dir(machine.state().join("captures"))
            .unwrap()
            .count(),
        1
    );
}

#[test]
fn a_newer_schema_is_refused() {
    let machine = Machine::new("https://upstream.invalid");
    machine.run(&["jobs"]);
    let path = machine.state().join("jobs.db");
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let before = std::fs::read(&path).unwrap();
    let output = machine.run(&["jobs"]);
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    let text = stderr(&output);
    assert!(text.contains("newer") && text.contains("99"), "{text}");
    assert!(std::fs::read(&path).unwrap() == before);
}

#[test]
fn the_database_of_another_program_is_not_changed() {
    let machine = Machine::new("https://upstream.invalid");
    machine.run(&["jobs"]);
    let path = machine.state().join("jobs.db");
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(machine.state().join(format!("jobs.db{suffix}")));
    }
    let database = Connection::open(&path).unwrap();
    database.execute_batch("CREATE TABLE theirs (a)").unwrap();
    drop(database);
    let before = std::fs::read(&path).unwrap();
    let output = machine.run(&["jobs"]);
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    assert!(
        stderr(&output).contains("another program"),
        "{}",
        words(&output)
    );
    assert!(std::fs::read(&path).unwrap() == before);
}

#[test]
fn a_wait_of_any_length_does_not_panic() {
    let machine = Machine::new("https://upstream.invalid");
    let asked = machine.run(&["ask", "--simulate", "--pace", "0", "for ever"]);
    assert_eq!(asked.status.code(), Some(0), "{}", words(&asked));
    let jobs = machine.json(&["jobs", "--all", "--json"]);
    let id = jobs[0]["research_id"].as_str().unwrap();
    for wait in ["1e18", "-1", "nan"] {
        let wait = format!("--wait={wait}");
        let output = machine.run(&["jobs", "result", id, &wait]);
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    }
}

/// Starts an upstream that always sends an answer of `letters` letters and `silence` bytes of comments. Returns its
/// URL.
fn long_reply(letters: usize, silence: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let chunk = |content: &str, finish: Option<&str>| {
        let choice = json!({ "delta": { "role": "assistant", "content": content }, "finish_reason": finish });
        format!(
            "data: {}\n\n",
            json!({ "object": "chat.completion.chunk", "choices": [choice] })
        )
    };
    let usage = r#"<usage>{"X-Request-Requests":1,"X-Request-Queries":1,"X-Request-Total-Cost":0.047875}</usage>"#;
    let body = [
        ": nothing to say\n\n".repeat(silence / 18),
        chunk(&"words of an answer ".repeat(letters / 19), None),
        chunk(usage, None),
        chunk("", Some("stop")),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(body.as_bytes());
        }
    });
    url
}

/// Runs the program with a file size limit of `blocks` blocks of 512 bytes. Writes beyond it fail as on a full disk.
fn on_a_full_disk(machine: &Machine, blocks: usize, args: &[&str]) -> std::process::Output {
    let mut command = Command::new("sh");
    machine.surround(&mut command);
    command
        .args(["-c", r#"trap "" XFSZ; ulimit -f "$0" && exec "$@""#])
        .arg(blocks.to_string())
        .arg(PROGRAM)
        .args(args)
        .output()
        .unwrap()
}

/// Makes the log of the database larger than the file size limit, and keeps it that large.
fn large_log(machine: &Machine) -> Connection {
    let database = Connection::open(machine.state().join("jobs.db")).unwrap();
    database
        .pragma_update(None, "wal_autocheckpoint", 0)
        .unwrap();
    database
        .execute_batch("CREATE TABLE ballast (b); INSERT INTO ballast VALUES (zeroblob(1000000));")
        .unwrap();
    database
}

#[test]
fn a_full_disk_before_the_call_does_not_lose_the_answer() {
    let simulator = Simulator::start("0");
    let machine = Machine::new(&simulator.url);
    machine.run(&["jobs"]);
    let _large = large_log(&machine);
    let output = on_a_full_disk(&machine, 900, &["ask", "is there room"]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert!(stderr(&output).contains("not stored"), "{}", words(&output));
    let output = on_a_full_disk(&machine, 900, &["research", "--detach", "is there room"]);
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    assert_eq!(simulator.log().len(), 1, "the research was not sent");
    assert_eq!(machine.json(&["jobs", "--all", "--json"]), json!([]));
}

#[test]
fn a_capture_that_cannot_grow_does_not_lose_the_answer() {
    let machine = Machine::new(&long_reply(1000, 1_500_000));
    machine.run(&["jobs"]);
    // The limit leaves room for the store and not for the capture.
    let output = on_a_full_disk(&machine, 2000, &["ask", "does it fit"]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let jobs = machine.json(&["jobs", "--all", "--json"]);
    assert_eq!(jobs[0]["state"], "done");
    assert_eq!(jobs[0]["cost_usd"], 0.047_875);
    let note = jobs[0]["note"].as_str().unwrap();
    assert!(note.contains("raw stream could not be kept"), "{note}");
}

#[test]
fn an_end_that_cannot_be_stored_is_recovered_from_the_capture() {
    let machine = Machine::new(&long_reply(150_000, 0));
    machine.run(&["jobs"]);
    // The limit leaves room for the capture and the first writes to the store, and not for the outcome.
    let output = on_a_full_disk(&machine, 900, &["ask", "does it fit"]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert!(output.stdout.len() > 100_000);
    assert!(
        stderr(&output).contains("could not be stored"),
        "{}",
        stderr(&output)
    );
    let jobs = machine.json(&["jobs", "--all", "--json"]);
    assert_eq!(jobs[0]["state"], "done", "{jobs:#}");
    assert_eq!(jobs[0]["cost_usd"], 0.047_875);
    let id = jobs[0]["research_id"].as_str().unwrap();
    let outcome = machine.json(&["jobs", "result", id, "--json"]);
    assert!(outcome["answer"].as_str().unwrap().len() > 100_000);
    assert_eq!(
        machine.json(&["spend", "--json"])["total"]["cost_usd"],
        0.047_875
    );
}
