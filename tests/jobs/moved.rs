//! A state folder that is moved, replaced or removed while a process uses it. Later spending would be invisible to
//! other processes.

use std::path::Path;

use serde_json::json;

use crate::support::server::{Server, Simulator, state, text};

fn check(change: impl Fn(&Path, &Path)) {
    let simulator = Simulator::start("0");
    let home = state();
    let folder = home.path().join("state");
    let mut server = Server::start(home.path(), Some(&simulator), &[]);
    server.initialize("2025-11-25");
    let first = server.call("answers", json!({"query": "before the move"}));
    assert_ne!(first["isError"], true, "{first}");
    let asked = simulator.log().len();
    change(&folder, &home.path().join("moved"));
    for tool in ["answers", "research", "research_submit"] {
        let refused = server.call(tool, json!({"query": "after the move"}));
        assert_eq!(refused["isError"], true, "{tool}: {refused}");
        let words = text(&refused);
        assert!(
            words.contains("moved, replaced or removed") && words.contains("Restart"),
            "{tool}: {words}"
        );
    }
    assert_eq!(simulator.log().len(), asked, "a request was sent");
    server.leave();
}

#[test]
fn a_folder_that_was_moved_away() {
    check(|from, to| std::fs::rename(from, to).unwrap());
}

#[test]
fn a_folder_that_was_replaced() {
    check(|from, to| {
        std::fs::rename(from, to).unwrap();
        std::fs::create_dir(from).unwrap();
        std::fs::copy(to.join("jobs.db"), from.join("jobs.db")).unwrap();
    });
}

#[test]
fn a_folder_that_was_removed() {
    check(|from, _| std::fs::remove_dir_all(from).unwrap());
}
