//! A file of any size is read in bounded memory.

use std::io::{Read as _, Write};
use std::process::Stdio;

use serde_json::Value;

use super::inspect;
use crate::support::World;

/// Bytes of the files.
const FILE: usize = 64 << 20;
/// The most memory that a process may need for such a file: two sessions with one exchange each, the compiled component and
/// the program itself. It is less than the size of two files.
const MEMORY_KIB: u64 = 120 << 10;

fn page(number: usize) -> String {
    format!("<p class=\"row\">Item {number}: the quick brown fox jumps over the lazy dogs</p>\n")
        .repeat(400)
}

/// Writes a HAR file of this size, entry by entry, except its end.
fn write_har(out: &mut dyn Write, bytes: usize) -> u64 {
    let head = r#"{"log":{"version":"1.2","creator":{"name":"test","version":"1"},"entries":["#;
    out.write_all(head.as_bytes()).unwrap();
    let (mut written, mut number) = (0, 0);
    while written < bytes {
        let comma = if number == 0 { "" } else { "," };
        let body = Value::String(page(number as usize));
        let entry = format!(
            r#"{comma}{{"request":{{"method":"GET","url":"https://shop.example/items/{number}","headers":[{{"name":"Cookie","value":"sid=abcdef{number}"}}]}},"response":{{"status":200,"headers":[],"content":{{"mimeType":"text/html","text":{body}}}}}}}"#
        );
        out.write_all(entry.as_bytes()).unwrap();
        written += entry.len();
        number += 1;
    }
    number
}

/// Writes a Burp file of this size, item by item, except its end.
fn write_burp(out: &mut dyn Write, bytes: usize) -> u64 {
    out.write_all(b"<?xml version=\"1.1\"?>\n<items burpVersion=\"2026.1\">\n")
        .unwrap();
    let (mut written, mut number) = (0, 0);
    while written < bytes {
        let item = format!(
            "<item><url><![CDATA[https://shop.example/items/{number}]]></url><request><![CDATA[GET /items/{number} HTTP/1.1\r\nHost: shop.example\r\n\r\n]]></request><response><![CDATA[HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{}]]></response></item>\n",
            page(number as usize)
        );
        out.write_all(item.as_bytes()).unwrap();
        written += item.len();
        number += 1;
    }
    number
}

/// The most memory that a process has had so far, in KiB.
fn peak(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Feeds a file to the program, and looks at its memory before its end is fed.
fn read(write: impl Fn(&mut dyn Write, usize) -> u64, end: &[u8]) {
    // Compiling takes memory too; it is done once for all processes.
    assert_eq!(inspect("har-chrome.har", &[]).code, Some(0));
    let world = World::new();
    let mut child = world
        .command(&["traffic", "inspect", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        out.read_to_string(&mut text).unwrap();
        text
    });
    let mut stdin = child.stdin.take().unwrap();
    // A pipe holds 64 KiB, so all else was read by the process before this returns.
    let number = write(&mut stdin, FILE);
    let memory = peak(child.id());
    stdin.write_all(end).unwrap();
    drop(stdin);
    let text = reader.join().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["report"]["taken"], number);
    assert_eq!(value["report"]["complete"], true);
    assert!(
        memory < MEMORY_KIB,
        "{memory} KiB for a file of {FILE} bytes"
    );
}

#[test]
fn a_har_of_64_mb_takes_bounded_memory() {
    read(write_har, b"]}}");
}

#[test]
fn a_burp_file_of_64_mb_takes_bounded_memory() {
    read(write_burp, b"</items>\n");
}
