//! What a person sees on a terminal: answers laid out to its width.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::support::{GENEROUS, Simulated, World};

/// A terminal of a size, made by `script`, in which the program runs.
struct Terminal {
    child: Child,
    pieces: mpsc::Receiver<Vec<u8>>,
    bytes: Vec<u8>,
    size: (u16, u16),
}

impl Terminal {
    /// Runs the program in so many columns. None where there is no `script`.
    fn start(command: &Command, columns: u16) -> Option<Self> {
        const ROWS: u16 = 200;
        let quoted =
            |text: &std::ffi::OsStr| format!("'{}'", text.to_str().unwrap().replace('\'', "'\\''"));
        let words: Vec<String> = std::iter::once(command.get_program())
            .chain(command.get_args())
            .map(quoted)
            .collect();
        let line = format!("stty cols {columns} rows {ROWS}; exec {}", words.join(" "));
        let mut script = Command::new("script");
        let variables = command.get_envs();
        script
            .args(["-qec", &line, "/dev/null"])
            .env_clear()
            .envs(variables.filter_map(|(name, value)| Some((name, value?))))
            .env("SHELL", "/bin/sh")
            .env("TERM", "xterm-256color")
            .current_dir(command.get_current_dir().unwrap())
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = script.spawn().ok()?;
        let mut output = child.stdout.take().unwrap();
        let (sender, pieces) = mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count) = output.read(&mut buffer)
                && count > 0
                && sender.send(buffer[..count].to_vec()).is_ok()
            {}
        });
        Some(Self {
            child,
            pieces,
            bytes: Vec::new(),
            size: (ROWS, columns),
        })
    }

    /// Waits for the end of the program. Gives its exit status.
    fn end(&mut self) -> Option<i32> {
        while let Ok(piece) = self.pieces.recv_timeout(GENEROUS) {
            self.bytes.extend(piece);
        }
        self.child.wait().unwrap().code()
    }

    /// What the program wrote.
    fn written(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// What the screen shows: its lines, without the empty ones at the end.
    fn screen(&self) -> Vec<String> {
        let (rows, columns) = self.size;
        let size = |number| std::num::NonZero::new(number).unwrap();
        let mut parser = vt100::Parser::new(size(rows), size(columns), 0);
        parser.process(&self.bytes);
        let mut lines: Vec<String> = parser.screen().rows(0, columns).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }
}

/// A captured stream whose answer is this Markdown.
fn stream_of(world: &World, markdown: &str) -> String {
    let delta = serde_json::json!({ "choices": [{ "delta": { "content": markdown } }] });
    let path = world.path().join("stream.sse");
    std::fs::write(&path, format!("data: {delta}\n\ndata: [DONE]\n\n")).unwrap();
    path.to_str().unwrap().to_owned()
}

const MARKDOWN: &str = "\
# Tides

Tides are the **rise and fall** of the sea, caused by the pull of the Moon and, *less so*, of the [Sun](https://example.org/sun).

- a first item that is long enough to be wrapped on a narrow terminal
- a second item
    1. a nested item

| place | range in metres |
|---|---:|
| Bay of Fundy | 16 |
| Mediterranean | 0.3 |

> A quote.

```rust
let tide = 12.4; // hours
```
";

#[test]
fn an_answer_is_laid_out_to_the_width() {
    let world = World::new();
    let stream = stream_of(&world, MARKDOWN);
    for columns in [30, 50, 80, 120] {
        let mut command = world.command(&["replay", &stream]);
        command.env("FORCE_HYPERLINK", "1");
        let Some(mut terminal) = Terminal::start(&command, columns) else {
            return;
        };
        assert_eq!(terminal.end(), Some(0), "{:?}", terminal.written());
        let screen = terminal.screen();
        assert_eq!(screen[0], "Tides", "{columns}: {screen:#?}");
        let text = screen.join(" ");
        for part in [
            "rise and fall",
            "• a first item",
            "1. a nested item",
            "│ A quote.",
        ] {
            assert!(text.contains(part), "{columns}: {part} in {screen:#?}");
        }
        assert!(!text.contains("**") && !text.contains("](") && !text.contains("|--"));
        // The numbers stand below each other at the right edge of their column.
        let row = |name: &str| screen.iter().find(|line| line.contains(name)).unwrap();
        assert!(row("Fundy").ends_with("16") && row("Mediterranean").ends_with("0.3"));
        let written = terminal.written();
        assert!(written.contains("\u{1b}[1m"), "{written:?}");
        assert!(
            written.contains("\u{1b}]8;;https://example.org/sun\u{1b}\\"),
            "{written:?}"
        );
        // No line is left to the terminal to break: between two words there is a space or a line end.
        let wrapped = screen.iter().filter(|line| line.contains("caused by"));
        assert!(wrapped.count() <= 1);
    }
    let mut command = world.command(&["replay", &stream]);
    command.env("NO_COLOR", "1");
    let mut terminal = Terminal::start(&command, 80).unwrap();
    assert_eq!(terminal.end(), Some(0));
    let written = terminal.written();
    assert!(!written.contains('\u{1b}'), "{written:?}");
    assert!(
        written.contains("Sun (https://example.org/sun)"),
        "{written:?}"
    );
}

#[test]
fn an_answer_that_is_shown_as_it_comes_ends_as_the_whole_one_looks() {
    let world = World::new();
    let simulator = Simulated::start(&world, &["--pace", "0.05"]);
    let question = "sim:citations are tides predictable?";
    for columns in [40, 80] {
        let command = world.calling(&simulator, &["ask", question]);
        let Some(mut terminal) = Terminal::start(&command, columns) else {
            return;
        };
        assert_eq!(terminal.end(), Some(0), "{:?}", terminal.written());
        let streamed = terminal.screen();
        let jobs = world.run(&["jobs", "list", "--all", "--json"]).json();
        let id = jobs[0]["research_id"].as_str().unwrap();
        let command = world.command(&["jobs", "result", id]);
        let mut terminal = Terminal::start(&command, columns).unwrap();
        assert_eq!(terminal.end(), Some(0), "{:?}", terminal.written());
        assert_eq!(streamed, terminal.screen(), "{columns}");
        assert!(
            streamed.iter().any(|line| line == "Sources:"),
            "{streamed:#?}"
        );
    }
}

#[test]
fn a_research_without_a_terminal_prints_a_line_now_and_then() {
    let world = World::new();
    let simulator = Simulated::start(&world, &["--scenario", "stall", "--pace", "0"]);
    let mut command = world.calling(&simulator, &["research", "how long does it take?"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let mut line = String::new();
    let mut errors = std::io::BufReader::new(child.stderr.take().unwrap());
    std::io::BufRead::read_line(&mut errors, &mut line).unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(15), "{line}");
    assert!(
        line.starts_with("glovebox: ") && line.contains("/180 s"),
        "{line}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    world.run(&["jobs", "stop", "latest"]);
}
