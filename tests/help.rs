//! Every page of the help, as a person reads it at 80 columns.

use crate::support::World;

/// The pages: the words before `--help`.
const PAGES: [&str; 29] = [
    "",
    "ask",
    "research",
    "jobs",
    "jobs list",
    "jobs status",
    "jobs result",
    "jobs wait",
    "jobs cancel",
    "jobs delete",
    "jobs prune",
    "spend",
    "connect",
    "doctor",
    "serve",
    "token",
    "token show",
    "token new",
    "traffic",
    "traffic inspect",
    "replay",
    "web",
    "run",
    "simulate",
    "component",
    "stdio",
    "completions",
    "man",
    "help",
];

#[test]
fn every_page_of_the_help() {
    let world = World::new();
    for page in PAGES {
        let words: Vec<&str> = page.split_whitespace().chain(["--help"]).collect();
        let words = if page == "help" { vec!["help"] } else { words };
        let mut command = world.command(&words);
        let ran = crate::support::Ran::of(command.env("COLUMNS", "80").output().unwrap());
        assert_eq!(ran.code, Some(0), "{page}: {ran:?}");
        let name = if page.is_empty() {
            "glovebox".to_owned()
        } else {
            page.replace(' ', "-")
        };
        insta::assert_snapshot!(format!("help-{name}"), ran.out);
        for line in ran.out.lines() {
            assert!(line.chars().count() <= 80, "{page}: {line}");
        }
    }
}

#[test]
fn a_short_page_says_the_same() {
    let world = World::new();
    let page = |flag| world.run(&["research", flag]).out;
    assert!(page("-h").contains("--detach"));
    assert!(page("--help").starts_with("Research a question for minutes"));
}

#[test]
fn completions_and_manual_pages_are_written() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = world.run(&["completions", shell]);
        assert_eq!(script.code, Some(0), "{script:?}");
        assert!(script.out.contains("research"), "{shell}");
    }
    let folder = world.path().join("man");
    let ran = world.run(&["man", folder.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let page = std::fs::read_to_string(folder.join("glovebox-research.1")).unwrap();
    assert!(page.contains("Research a question"), "{page}");
    assert!(!folder.join("glovebox-worker.1").exists(), "it is hidden");
}
