//! What was spent, and the budget, from outside.

use crate::support::machine::{Machine, Simulator, own_group, stderr, until, words};
use crate::support::{Served, stream};

#[test]
fn nothing_spent_is_said_so() {
    let machine = Machine::new("https://upstream.invalid");
    let output = machine.run(&["spend"]);
    let text = words(&output);
    assert!(
        text.contains("Nothing was spent") && text.contains("No daily budget"),
        "{text}"
    );
    let spend = machine.json(&["spend", "--json"]);
    assert_eq!(spend["days"], serde_json::json!([]));
    assert!(spend["budget"].is_null());
}

#[test]
fn days_tools_and_a_bar() {
    let simulator = Simulator::start("0");
    let machine = Machine::new(&simulator.url);
    for query in ["first", "second"] {
        let output = machine.run(&["ask", query]);
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    }
    let output = machine.run(&["research", "third"]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let jobs = machine.json(&["jobs", "--all", "--json"]);
    let costs: f64 = jobs
        .as_array()
        .unwrap()
        .iter()
        .map(|job| job["cost_usd"].as_f64().unwrap())
        .sum();
    let spend = machine.json(&["spend", "--json", "--budget-usd-per-day", "10"]);
    assert!((spend["total"]["cost_usd"].as_f64().unwrap() - costs).abs() < 1e-9);
    assert_eq!(spend["tools"][0]["tool"], "ask");
    assert_eq!(spend["tools"][0]["calls"], 2);
    assert_eq!(spend["tools"][1]["tool"], "research");
    assert_eq!(spend["days"][0]["day"], spend["today"]);
    let left = spend["budget"]["left_usd"].as_f64().unwrap();
    assert!((left - (10.0 - costs)).abs() < 1e-9);
    let output = machine.run(&["spend", "--budget-usd-per-day", "10"]);
    let text = words(&output);
    assert!(text.contains('█') && text.contains("left"), "{text}");
}

#[test]
fn a_budget_that_could_be_passed_refuses_with_the_sum() {
    let simulator = Simulator::start("0");
    let machine = Machine::new(&simulator.url);
    let budget = ["--budget-usd-per-day", "0.10"];
    let ask = |query| machine.run(&[&["ask", query][..], &budget].concat());
    assert_eq!(ask("one").status.code(), Some(0));
    let refused = ask("two");
    assert_eq!(refused.status.code(), Some(4), "{}", words(&refused));
    let text = stderr(&refused);
    assert!(text.contains("$0.06") && text.contains("$0.10"), "{text}");
    assert_eq!(simulator.log().len(), 1, "it was not sent");
    let dear = machine.run(&["research", "--max-usd", "1", "--queries", "20", "three"]);
    assert_eq!(dear.status.code(), Some(4), "{}", words(&dear));
    assert!(stderr(&dear).contains("$1.60"), "{}", words(&dear));
}

#[test]
fn a_running_call_of_another_process_counts() {
    let simulator = Simulator::start("1");
    let machine = Machine::new(&simulator.url);
    let id = machine.detach("how long does it take");
    let budget = ["--budget-usd-per-day", "1.65"];
    let refused = machine.run(&[&["ask", "now"][..], &budget].concat());
    assert_eq!(refused.status.code(), Some(4), "{}", words(&refused));
    assert!(
        stderr(&refused).contains("$1.60 reserved"),
        "{}",
        words(&refused)
    );
    machine.json(&["jobs", "cancel", &id, "--json"]);
    let spend = machine.json(&["spend", "--json"]);
    assert_eq!(spend["total"]["unknown_calls"], 1, "{spend:#}");
    assert_eq!(spend["total"]["unknown_counted_usd"], 1.6);
}

#[test]
fn a_reservation_of_the_dead_is_given_back() {
    let simulator = Simulator::start("1");
    let machine = Machine::new(&simulator.url);
    let mut command = machine.command(&["ask", "killed before its end"]);
    let mut process = own_group(&mut command).spawn().unwrap();
    until("the request", || simulator.asked("killed before its end"));
    process.kill().unwrap();
    process.wait().unwrap();
    let spend = machine.json(&["spend", "--json"]);
    assert_eq!(spend["total"]["reserved_usd"], 0.0);
    assert_eq!(spend["total"]["unknown_calls"], 1);
    assert_eq!(spend["total"]["unknown_counted_usd"], 0.06);
}

#[test]
fn two_requests_a_second_over_all_processes() {
    let simulator = Simulator::start("0");
    let machine = Machine::new(&simulator.url);
    let children: Vec<_> = (0..8)
        .map(|number| {
            machine
                .command(&["ask", &format!("at once {number}")])
                .spawn()
                .unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    }
    let mut times: Vec<u64> = simulator
        .log()
        .iter()
        .map(|record| record["at_ms"].as_u64().unwrap())
        .collect();
    times.sort_unstable();
    assert_eq!(times.len(), 8);
    for window in times.windows(3) {
        assert!(
            window[2] - window[0] >= 1000,
            "three within a second: {times:?}"
        );
    }
}

#[test]
fn simulated_calls_are_no_money() {
    let machine = Machine::new("https://upstream.invalid");
    let budget = ["--budget-usd-per-day", "0.05"];
    let simulated = ["ask", "--simulate", "--pace", "0", "what costs nothing"];
    for _ in 0..2 {
        let output = machine.run(&[&simulated[..], &budget].concat());
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    }
    let research = ["research", "--simulate", "--pace", "0", "nor this"];
    let output = machine.run(&[&research[..], &budget].concat());
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let jobs = machine.json(&["jobs", "--all", "--json"]);
    for job in jobs.as_array().unwrap() {
        assert_eq!(job["simulated"], true, "{job:#}");
    }
    let listed = words(&machine.run(&["jobs", "--all"]));
    assert_eq!(listed.matches("(simulated)").count(), 3, "{listed}");
    let spend = machine.json(&[&["spend", "--json"][..], &budget].concat());
    assert_eq!(spend["days"], serde_json::json!([]), "{spend:#}");
    assert_eq!(spend["total"]["calls"], 0);
    assert_eq!(spend["budget"]["left_usd"], 0.05);
    assert_eq!(spend["simulated"]["calls"], 3);
    assert!(spend["simulated"]["cost_usd"].as_f64().unwrap() > 0.1);
    let text = words(&machine.run(&["spend"]));
    assert!(
        text.contains("Nothing was spent") && text.contains("Simulated calls, no real money: $"),
        "{text}"
    );
    assert_eq!(text.matches("Simulated").count(), 1, "{text}");
}

#[test]
fn a_cost_that_no_call_can_have_is_unknown_and_breaks_nothing() {
    let simulator = Simulator::start("0");
    let machine = Machine::new(&simulator.url);
    // What is no number in JSON (NaN, 1e999) is absent: then the other figures of the tag give the cost.
    let costs = ["1e300", "1e300", "-1", "1000.01"];
    for cost in costs {
        let output = machine.run(&["ask", &format!("sim:cost-{cost} what does it cost")]);
        assert_eq!(output.status.code(), Some(0), "{cost}: {}", words(&output));
    }
    // The same in the headers of a reply without a usage tag.
    for cost in costs.into_iter().chain(["1e999", "NaN", "inf"]) {
        let reply = String::from_utf8(stream(&["an answer"])).unwrap();
        let header = format!("200 OK\r\nx-request-total-cost: {cost}\r\n");
        let served = Served::start(reply.replacen("200 OK\r\n", &header, 1).into_bytes());
        let mut command = machine.command(&["ask", "what do the headers say"]);
        let output = command
            .env("GLOVEBOX_UPSTREAM", &served.url)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{cost}: {}", words(&output));
    }
    let jobs = machine.json(&["jobs", "--all", "--json"]);
    for job in jobs.as_array().unwrap() {
        assert_eq!(job["state"], "done", "{job:#}");
        assert!(job["cost_usd"].is_null(), "{job:#}");
        assert!(job["note"].as_str().unwrap().contains("unknown"), "{job:#}");
    }
    let spend = machine.json(&["spend", "--json", "--budget-usd-per-day", "10"]);
    assert_eq!(spend["total"]["unknown_calls"], 11, "{spend:#}");
    assert_eq!(spend["total"]["unknown_counted_usd"], 0.66);
    let output = machine.run(&["ask", "--budget-usd-per-day", "10", "and after that"]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
}
