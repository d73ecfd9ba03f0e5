//! Jobs as MCP shows them: handed back in time, as tasks, over restarts, and with notices of their changes.

use std::time::{Duration, Instant};

use crate::support::server::{Server, Simulator, modern, state, text};
use serde_json::{Value, json};

const LATEST: &str = "2025-11-25";

fn tasks() -> Value {
    modern(json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}))
}

fn streaming(record: &Value) -> bool {
    record["bytes_sent"].as_u64() > Some(0) && record["end"].is_null()
}

#[test]
fn jobs_and_tasks_survive_a_restart() {
    let simulator = Simulator::start("0.05");
    let state = state();
    let mut first = Server::start(state.path(), Some(&simulator), &[]);
    let call = json!({"name": "research", "arguments": {"query": "as a task"}, "_meta": tasks()});
    let made = first.ask("tools/call", call)["result"].clone();
    assert_eq!(
        (&made["resultType"], &made["status"]),
        (&json!("task"), &json!("working")),
        "{made}"
    );
    assert!(
        made["ttlMs"].is_u64() && made["pollIntervalMs"].is_u64() && made["createdAt"].is_string()
    );
    let task = made["taskId"].clone();
    let call = json!({"name": "research_submit", "arguments": {"query": "as a job"}, "_meta": modern(json!({}))});
    let submitted = first.ask("tools/call", call);
    let research = submitted["result"]["structuredContent"]["research_id"].clone();
    first.leave();

    let mut second = Server::start(state.path(), Some(&simulator), &[]);
    let working = second.ask("tasks/get", json!({"taskId": task, "_meta": tasks()}));
    assert_eq!(working["result"]["taskId"], task, "{working}");
    for id in [&task, &research] {
        let call = json!({
            "name": "research_result", "arguments": {"research_id": id, "wait_seconds": 50}, "_meta": modern(json!({})),
        });
        let result = second.ask("tools/call", call);
        assert_eq!(
            result["result"]["structuredContent"]["state"], "done",
            "{result}"
        );
    }
    let done = second.ask("tasks/get", json!({"taskId": task, "_meta": tasks()}));
    let done = &done["result"];
    assert_eq!(
        (&done["resultType"], &done["status"]),
        (&json!("complete"), &json!("completed"))
    );
    assert_eq!(
        done["result"]["structuredContent"]["state"], "done",
        "{done}"
    );
    assert!(
        done["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("Sources")
    );
    second.leave();
}

#[test]
fn tasks_are_for_clients_that_say_so_on_the_request() {
    let simulator = Simulator::start("1");
    let state = state();
    let mut server = Server::start(state.path(), Some(&simulator), &[]);
    let call = |query: &str, meta: Value| json!({"name": "research", "arguments": {"query": query}, "_meta": meta});
    let plain = server.ask("tools/call", call("sim:error-402 q", modern(json!({}))));
    assert_eq!(plain["result"]["resultType"], "complete", "{plain}");
    let task = server.ask("tools/call", call("sim:stall q", tasks()))["result"]["taskId"].clone();
    simulator.wait_for(streaming);
    let undeclared = server.ask(
        "tasks/get",
        json!({"taskId": task, "_meta": modern(json!({}))}),
    );
    assert_eq!(undeclared["error"]["code"], -32021, "{undeclared}");
    let unknown = server.ask("tasks/get", json!({"taskId": "none", "_meta": tasks()}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    let updated = server.ask(
        "tasks/update",
        json!({"taskId": task, "inputResponses": {}, "_meta": tasks()}),
    );
    assert_eq!(
        updated["result"],
        json!({"resultType": "complete"}),
        "{updated}"
    );
    for _ in 0..2 {
        let stopped = server.ask("tasks/cancel", json!({"taskId": task, "_meta": tasks()}));
        assert_eq!(
            stopped["result"],
            json!({"resultType": "complete"}),
            "{stopped}"
        );
    }
    let ended = server.ask("tasks/get", json!({"taskId": task, "_meta": tasks()}));
    assert_eq!(ended["result"]["status"], "cancelled", "{ended}");
    // A research that fails is a completed task whose result is an error.
    let failed =
        server.ask("tools/call", call("sim:error-402 r", tasks()))["result"]["taskId"].clone();
    let wait = json!({
        "name": "research_result", "arguments": {"research_id": failed, "wait_seconds": 50}, "_meta": modern(json!({})),
    });
    server.ask("tools/call", wait);
    let failed = server.ask("tasks/get", json!({"taskId": failed, "_meta": tasks()}));
    assert_eq!(failed["result"]["status"], "completed", "{failed}");
    assert_eq!(failed["result"]["result"]["isError"], true, "{failed}");
    server.leave();
}

#[test]
fn followed_resources_tell_of_changes_in_the_older_era() {
    let simulator = Simulator::start("0.05");
    let state = state();
    let mut server = Server::start(state.path(), Some(&simulator), &[]);
    server.initialize(LATEST);
    // A client that has not listed the resources hears of no changes of the list.
    server.call("research_submit", json!({"query": "before"}));
    let before = server.settled();
    assert!(
        !before
            .iter()
            .any(|message| message["method"] == "notifications/resources/list_changed")
    );
    server.ask("resources/list", json!({}));
    let submitted = server.call("research_submit", json!({"query": "q"}));
    let id = submitted["structuredContent"]["research_id"]
        .as_str()
        .unwrap()
        .to_owned();
    server.wait_for(|message| message["method"] == "notifications/resources/list_changed");
    let uri = format!("research://{id}");
    let followed = server.ask("resources/subscribe", json!({"uri": uri}));
    assert_eq!(followed["result"], json!({}), "{followed}");
    let update = server.wait_for(|message| message["method"] == "notifications/resources/updated");
    assert_eq!(update["params"]["uri"], json!(uri));
    let unfollowed = server.ask("resources/unsubscribe", json!({"uri": uri}));
    assert_eq!(unfollowed["result"], json!({}), "{unfollowed}");
    let missing = server.ask("resources/subscribe", json!({"uri": "research://none"}));
    assert_eq!(missing["error"]["code"], -32002, "{missing}");
    server.call(
        "research_result",
        json!({"research_id": id, "wait_seconds": 50}),
    );
    let listed = server.ask("resources/list", json!({}));
    assert_eq!(
        listed["result"]["resources"][0]["uri"],
        json!(uri),
        "{listed}"
    );
    let raw = server.ask("resources/read", json!({"uri": format!("{uri}/stream")}));
    let raw = &raw["result"]["contents"][0];
    assert_eq!(raw["mimeType"], "text/event-stream");
    assert!(raw["text"].as_str().unwrap().starts_with("data: "));
    server.leave();
}

#[test]
fn subscriptions_tell_of_changes_in_the_newer_era() {
    let simulator = Simulator::start("0.05");
    let state = state();
    let mut server = Server::start(state.path(), Some(&simulator), &[]);
    let submit = |query: &str| json!({"name": "research_submit", "arguments": {"query": query}, "_meta": modern(json!({}))});
    let submitted = server.ask("tools/call", submit("q"));
    let id = submitted["result"]["structuredContent"]["research_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let uri = format!("research://{id}");
    let listen = server.request(
        "subscriptions/listen",
        json!({
            "notifications": {"resourcesListChanged": true, "resourceSubscriptions": [uri, "file:///etc/passwd"]},
            "_meta": modern(json!({})),
        }),
    );
    let subscription = "io.modelcontextprotocol/subscriptionId";
    let accepted =
        server.wait_for(|message| message["method"] == "notifications/subscriptions/acknowledged");
    assert_eq!(
        accepted["params"]["notifications"]["resourceSubscriptions"],
        json!([uri]),
        "{accepted}"
    );
    let update = server.wait_for(|message| message["method"] == "notifications/resources/updated");
    assert_eq!(update["params"]["uri"], json!(uri));
    assert_eq!(update["params"]["_meta"][subscription], listen, "{update}");
    server.ask("tools/call", submit("another"));
    server.wait_for(|message| message["method"] == "notifications/resources/list_changed");
    // The end of the input ends a subscription at once.
    let at = Instant::now();
    server.close();
    server.rest();
    assert_eq!(server.wait(), Some(0));
    assert!(at.elapsed() < Duration::from_secs(3), "{:?}", at.elapsed());
}

#[test]
fn changes_of_the_list_are_told_at_most_once_in_five_seconds() {
    let simulator = Simulator::start("0");
    let state = state();
    let mut server = Server::start(state.path(), Some(&simulator), &[]);
    server.initialize(LATEST);
    server.ask("resources/list", json!({}));
    let told = |message: &Value| message["method"] == "notifications/resources/list_changed";
    server.call("research_submit", json!({"query": "the first"}));
    server.wait_for(told);
    // Some clients print each notice: the next one takes its time, however many jobs there are.
    let first = Instant::now();
    for query in ["one more", "and another", "and the last"] {
        server.call("research_submit", json!({"query": query}));
    }
    server.wait_for(told);
    assert!(
        first.elapsed() >= Duration::from_millis(4500),
        "{:?}",
        first.elapsed()
    );
    assert!(!server.settled().iter().any(told));
    server.leave();
}

#[test]
fn progress_of_a_wait_counts_the_time_of_the_job() {
    let simulator = Simulator::start("0.05");
    let state = state();
    let mut server = Server::start(state.path(), Some(&simulator), &[]);
    server.initialize(LATEST);
    let submitted = server.call("research_submit", json!({"query": "q"}));
    let research = submitted["structuredContent"]["research_id"].clone();
    server.call(
        "research_status",
        json!({"research_id": research, "wait_seconds": 1}),
    );
    let call = json!({
        "name": "research_result",
        "arguments": {"research_id": research, "wait_seconds": 50},
        "_meta": {"progressToken": 1},
    });
    let id = server.request("tools/call", call);
    let progress = server.wait_for(|message| message["method"] == "notifications/progress");
    let seconds = progress["params"]["progress"].as_f64().unwrap();
    assert!(seconds >= 1.0, "{progress}");
    let message = progress["params"]["message"].as_str().unwrap();
    assert!(!message.starts_with("0 s"), "{progress}");
    server.reply(id);
    server.leave();
}

#[test]
fn a_long_research_hands_back_its_id_before_clients_give_up() {
    let simulator = Simulator::start("1");
    let state = state();
    let mut server = Server::start(state.path(), Some(&simulator), &[]);
    server.initialize(LATEST);
    let from = Instant::now();
    let call = json!({"name": "research", "arguments": {"query": "sim:stall q"}, "_meta": {"progressToken": 1}});
    let id = server.request("tools/call", call);
    let mut last = Instant::now();
    let handed = loop {
        let message = server.message();
        if message["id"] == id {
            break message["result"].clone();
        }
        if message["method"] == "notifications/progress" {
            assert!(
                last.elapsed() < Duration::from_secs(15),
                "silent for {:?}",
                last.elapsed()
            );
            last = Instant::now();
        }
    };
    assert!(
        (49..55).contains(&from.elapsed().as_secs()),
        "{:?}",
        from.elapsed()
    );
    let content = &handed["structuredContent"];
    assert_eq!(content["state"], "running", "{handed}");
    let research = content["research_id"].as_str().unwrap();
    assert!(text(&handed).contains(research) && text(&handed).contains("research_result"));
    let stopped = server.call("research_cancel", json!({"research_id": research}));
    assert_eq!(
        stopped["structuredContent"]["state"], "cancelled",
        "{stopped}"
    );
    server.leave();
}
