//! Nothing that reaches a terminal commands it: the program runs on a real one, made by `script`.

use std::process::Command;

use crate::support::command;
use crate::support::{KEY, Ran, Served, World, stream};

/// Text that a hostile upstream, guest or user would like to see on a terminal, as JSON writes it.
const HOSTILE_JSON: &str = r"a\u001b[31mb\u001b]0;title\u0007c\u009b2Jd\u009d0;t\u009ce\u202ef\u2066g\u2069h\u2028i\u007fj\u0008k\u200fl";

fn hostile() -> String {
    serde_json::from_str(&format!("\"{HOSTILE_JSON}\"")).unwrap()
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Runs the program on a terminal, with `redirect` as the shell takes it, and gives what the terminal got. `None` where
/// there is no `script` to make one.
fn on_terminal(command: &Command, redirect: &str) -> Option<String> {
    let words: Vec<String> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| quoted(word.to_str().unwrap()))
        .collect();
    let mut script = Command::new("script");
    script
        .args([
            "-qec",
            &format!("{} {redirect}", words.join(" ")),
            "/dev/null",
        ])
        .env_clear()
        .envs(
            command
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .env("SHELL", "/bin/sh")
        .env("TERM", "xterm")
        .current_dir(command.get_current_dir().unwrap())
        .stdin(std::process::Stdio::null());
    let output = script.output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What commands a terminal, apart from the line ends that the terminal itself makes.
fn commands(letter: &char) -> bool {
    let line_end = matches!(letter, '\r' | '\n' | '\t');
    letter.is_control() && !line_end
        || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text without the sequences that the program itself writes: its few styles, links to web addresses, and what draws
/// the open lines of an answer again.
fn without_own_sequences(shown: &str) -> String {
    let mut out = String::new();
    let mut rest = shown;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        out.push_str(before);
        rest = match own_sequence(after) {
            Some(length) => &after[length..],
            None => {
                out.push('\u{1b}');
                after
            }
        };
    }
    out + rest
}

/// How long the sequence is that begins a text, if it is one of the program's own.
fn own_sequence(text: &str) -> Option<usize> {
    for style in ["[0m", "[1m", "[2m", "[3m", "[9m", "[36m", "[J"] {
        if text.starts_with(style) {
            return Some(style.len());
        }
    }
    if let Some(link) = text.strip_prefix("]8;;") {
        let end = link.find("\u{1b}\\")?;
        let address = &link[..end];
        let web =
            address.is_empty() || address.starts_with("http://") || address.starts_with("https://");
        return (web && !address.chars().any(|letter| letter.is_control())).then_some(4 + end + 2);
    }
    let lines = text.strip_prefix('[')?;
    let digits = lines.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0 && lines[digits..].starts_with('A')).then_some(digits + 2)
}

fn assert_harmless(what: &str, shown: &str) {
    let shown = without_own_sequences(shown);
    let found: Vec<char> = shown.chars().filter(commands).collect();
    assert!(found.is_empty(), "{what}: {found:?} in {shown:?}");
}

#[test]
fn no_command_prints_what_commands_a_terminal() {
    let world = World::new();
    let served = Served::start(stream(&[&format!("The answer {HOSTILE_JSON} ends.")]));
    let with_key = |args: &[&str]| {
        let mut command = world.command(args);
        command
            .env("GLOVEBOX_UPSTREAM", &served.url)
            .env("BRAVE_ANSWERS_KEY", KEY);
        command
    };
    let question = hostile();
    let Some(asked) = on_terminal(&with_key(&["ask", &question]), "2>/dev/null") else {
        return;
    };
    assert!(
        asked.contains("The answer ab") && asked.contains("ends."),
        "{asked:?}"
    );
    assert_harmless("ask", &asked);
    let jobs = world.run(&["jobs", "list", "--all", "--json"]).json();
    let id = jobs[0]["research_id"].as_str().unwrap().to_owned();
    // As a program reads it, the question is as it was asked.
    assert_eq!(jobs[0]["query"], question);
    let stream_file = world.path().join("stream.sse");
    std::fs::write(
        &stream_file,
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{HOSTILE_JSON}\"}}}}]}}\n\ndata: [DONE]\n\n"),
    )
    .unwrap();
    let stream_file = stream_file.to_str().unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["ask", "--json", &question], "2>/dev/null"),
        (&["ask", "--markdown", &question], "2>/dev/null"),
        (&["ask", "--dry-run", &question], "2>/dev/null"),
        (&["ask", "--dry-run", "--json", &question], "2>/dev/null"),
        (
            &["ask", "--json", "--output", "/dev/tty", &question],
            "2>/dev/null",
        ),
        (&["jobs", "list", "--all"], ""),
        (&["jobs", "list", "--all", "--json"], ""),
        (&["jobs", "status", &id], ""),
        (&["jobs", "status", &id, "--json"], ""),
        (&["jobs", "result", &id], ""),
        (&["jobs", "result", &id, "--json"], ""),
        (&["jobs", "result", &id, "--markdown"], ""),
        (&["jobs", "cancel", &id, "--json"], ""),
        (&["replay", stream_file], ""),
        (&["replay", stream_file, "--json"], ""),
        (&["doctor", "--offline"], ""),
        (&["ask", "--country", &question, "x"], ">/dev/null"),
        (&["ask", "--max-usd", &question, "x"], ">/dev/null"),
        (&["jobs", "status", &question], ">/dev/null"),
        (&["replay", &question], ">/dev/null"),
        (
            &[
                "connect", "cursor", "--write", "--path", &question, "--json",
            ],
            "",
        ),
        (&["--keep", &question, "doctor"], ">/dev/null"),
    ];
    for (args, redirect) in cases {
        let mut shown = on_terminal(&with_key(args), redirect).unwrap();
        if *redirect == ">/dev/null" {
            // What the program's own live line is drawn with.
            for own in ["\u{1b}[2K", "\u{1b}[36m", "\u{1b}[0m"] {
                shown = shown.replace(own, "");
            }
        }
        assert!(!shown.trim().is_empty(), "{args:?}");
        assert_harmless(&format!("{args:?}"), &shown);
    }
}

#[test]
fn a_guest_neither_commands_the_terminal_nor_speaks_for_the_host() {
    let world = World::new();
    let guest = command::printing(
        world.path(),
        &[
            (1, &hostile()),
            (1, "\n"),
            (1, "glovebox run: all is well\n"),
            (2, "\u{1b}[2K\rglove"),
            (2, "box run: refused nothing\n"),
            (2, "\u{200f} Glovebox: done\n"),
            (1, "glove"),
        ],
    );
    let command = world.command(&["run", &guest]);
    // In a pipe, standard output is what the guest wrote, and no line on standard error passes for the host's.
    let piped = Ran::of(world.command(&["run", &guest]).output().unwrap());
    assert_eq!(piped.code, Some(0), "{piped:?}");
    assert_eq!(
        piped.out,
        format!("{}\nglovebox run: all is well\nglove", hostile())
    );
    assert!(
        piped.err.contains("component: glovebox run: refused"),
        "{piped:?}"
    );
    for redirect in ["", "2>/dev/null", ">/dev/null"] {
        let Some(shown) = on_terminal(&command, redirect) else {
            return;
        };
        assert_harmless(redirect, &shown);
        let host = |line: &&str| line.trim_start().to_lowercase().starts_with("glovebox");
        let lines: Vec<&str> = shown.split(['\n', '\r']).filter(host).collect();
        assert!(lines.is_empty(), "{redirect}: {shown:?}");
        assert!(shown.contains("component: "), "{redirect}: {shown:?}");
    }
}

#[test]
fn a_message_of_the_host_begins_a_line_of_its_own() {
    let world = World::new();
    let guest = command::printing(world.path(), &[(2, "no line end"), (3, "")]);
    let ran = Ran::of(world.command(&["run", &guest]).output().unwrap());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("no line end\nglovebox run: "), "{ran:?}");
}
