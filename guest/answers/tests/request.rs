//! The request builder: what it sends, and everything it refuses.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

use answers::{Location, Question, build};

fn ask() -> Question {
    Question {
        query: "Why is the sky blue?".to_owned(),
        ..Question::default()
    }
}

fn body(question: &Question) -> String {
    String::from_utf8(build(question).unwrap().body).unwrap()
}

/// The fields refused, in order.
fn refused(question: &Question) -> Vec<String> {
    let invalid = build(question).expect_err("a refusal");
    assert!(invalid.iter().all(|field| !field.problem.is_empty()));
    invalid.into_iter().map(|field| field.field).collect()
}

fn text(value: &str) -> Option<String> {
    Some(value.to_owned())
}

#[test]
fn the_least_question() {
    let request = build(&ask()).unwrap();
    assert_eq!(request.method, "POST");
    assert_eq!(request.path, "/res/v1/chat/completions");
    let headers: Vec<_> = request
        .headers
        .iter()
        .map(|header| (&*header.name, &*header.value))
        .collect();
    assert_eq!(
        headers,
        [
            ("accept", "text/event-stream"),
            ("content-type", "application/json")
        ]
    );
    assert_eq!(
        body(&ask()),
        r#"{"messages":[{"role":"user","content":"Why is the sky blue?"}]}"#
    );
}

#[test]
fn a_blocking_reply_is_json() {
    let question = Question {
        stream: Some(false),
        ..ask()
    };
    let request = build(&question).unwrap();
    assert!(
        request
            .headers
            .iter()
            .any(|header| header.value == "application/json" && header.name == "accept")
    );
}

#[test]
fn every_field_of_an_answer_in_its_order() {
    let question = Question {
        model: text("brave"),
        stream: Some(true),
        country: text("ALL"),
        language: text("pt-br"),
        safesearch: text("strict"),
        max_completion_tokens: Some(100),
        metadata: text(r#"{ "b": [1, 2.50], "a": null }"#),
        seed: Some(-7),
        enable_citations: Some(true),
        enable_entities: Some(false),
        enable_research: Some(false),
        search_context_size: text("high"),
        user_location: Some(Location {
            city: text("Wien"),
            country: text("at"),
            region: text("Wien"),
            timezone: text("Europe/Vienna"),
        }),
        ..ask()
    };
    assert_eq!(
        body(&question),
        concat!(
            r#"{"messages":[{"role":"user","content":"Why is the sky blue?"}],"model":"brave","stream":true,"country":"ALL","#,
            r#""language":"pt-br","safesearch":"strict","max_completion_tokens":100,"metadata":{"b":[1,2.50],"a":null},"seed":-7,"#,
            r#""enable_citations":true,"enable_entities":false,"enable_research":false,"web_search_options":{"search_context_size":"high","#,
            r#""user_location":{"type":"approximate","approximate":{"city":"Wien","country":"at","region":"Wien","timezone":"Europe/Vienna"}}}}"#
        )
    );
}

#[test]
fn every_field_of_research_in_its_order() {
    let question = Question {
        query: "a \"b\"\n\u{1f600}".to_owned(),
        enable_research: Some(true),
        research_allow_thinking: Some(false),
        research_maximum_number_of_tokens_per_query: Some(1024),
        research_maximum_number_of_queries: Some(50),
        research_maximum_number_of_iterations: Some(5),
        research_maximum_number_of_seconds: Some(300),
        research_maximum_number_of_results_per_query: Some(60),
        ..Question::default()
    };
    assert_eq!(
        body(&question),
        concat!(
            r#"{"messages":[{"role":"user","content":"a \"b\"\n"#,
            "\u{1f600}",
            r#""}],"enable_research":true,"research_allow_thinking":false,"research_maximum_number_of_tokens_per_query":1024,"#,
            r#""research_maximum_number_of_queries":50,"research_maximum_number_of_iterations":5,"research_maximum_number_of_seconds":300,"#,
            r#""research_maximum_number_of_results_per_query":60}"#
        )
    );
}

#[test]
fn all_bad_fields_at_once_in_their_order() {
    let question = Question {
        query: " \n".to_owned(),
        model: text("gpt"),
        stream: Some(false),
        country: text("Austria"),
        language: text("e"),
        safesearch: text("Off"),
        max_completion_tokens: Some(0),
        metadata: text("[1]"),
        seed: None,
        enable_citations: Some(true),
        enable_entities: Some(true),
        enable_research: Some(true),
        research_allow_thinking: Some(true),
        research_maximum_number_of_tokens_per_query: Some(1023),
        research_maximum_number_of_queries: Some(51),
        research_maximum_number_of_iterations: Some(0),
        research_maximum_number_of_seconds: Some(301),
        research_maximum_number_of_results_per_query: Some(-1),
        search_context_size: text("big"),
        user_location: Some(Location {
            city: text(""),
            country: text("AUT"),
            region: Some("x".repeat(201)),
            timezone: text("now here"),
        }),
    };
    assert_eq!(
        refused(&question),
        [
            "query",
            "model",
            "stream",
            "country",
            "language",
            "safesearch",
            "max_completion_tokens",
            "metadata",
            "enable_citations",
            "enable_entities",
            "research_maximum_number_of_tokens_per_query",
            "research_maximum_number_of_queries",
            "research_maximum_number_of_iterations",
            "research_maximum_number_of_seconds",
            "research_maximum_number_of_results_per_query",
            "search_context_size",
            "user_location.city",
            "user_location.country",
            "user_location.region",
            "user_location.timezone",
        ]
    );
}

#[test]
fn research_fields_need_research() {
    for enable_research in [None, Some(false)] {
        let question = Question {
            enable_research,
            research_allow_thinking: Some(false),
            research_maximum_number_of_queries: Some(5),
            ..ask()
        };
        assert_eq!(
            refused(&question),
            [
                "research_allow_thinking",
                "research_maximum_number_of_queries"
            ]
        );
    }
}

#[test]
fn streaming_is_needed_for_each_of_three() {
    for (citations, entities, research) in [
        (true, false, false),
        (false, true, false),
        (false, false, true),
    ] {
        let question = Question {
            stream: Some(false),
            enable_citations: Some(citations),
            enable_entities: Some(entities),
            enable_research: Some(research),
            ..ask()
        };
        assert_eq!(refused(&question), ["stream"]);
    }
}

#[test]
fn the_edges_of_the_ranges() {
    type Set = fn(&mut Question, i64);
    let fields: [(Set, i64, i64); 5] = [
        (
            |question, value| question.research_maximum_number_of_tokens_per_query = Some(value),
            1024,
            16384,
        ),
        (
            |question, value| question.research_maximum_number_of_queries = Some(value),
            1,
            50,
        ),
        (
            |question, value| question.research_maximum_number_of_iterations = Some(value),
            1,
            5,
        ),
        (
            |question, value| question.research_maximum_number_of_seconds = Some(value),
            1,
            300,
        ),
        (
            |question, value| question.research_maximum_number_of_results_per_query = Some(value),
            1,
            60,
        ),
    ];
    for (set, least, most) in fields {
        for (value, good) in [
            (least - 1, false),
            (least, true),
            (most, true),
            (most + 1, false),
        ] {
            let mut question = ask();
            question.enable_research = Some(true);
            set(&mut question, value);
            assert_eq!(
                build(&question).is_ok(),
                good,
                "{value} of {least} to {most}"
            );
        }
    }
}

#[test]
fn the_edges_of_texts() {
    let with = |set: fn(&mut Question)| {
        let mut question = ask();
        set(&mut question);
        build(&question).is_ok()
    };
    assert!(with(|question| question.query = "x".repeat(400 * 1024)));
    assert!(!with(|question| question.query = "x".repeat(400 * 1024 + 1)));
    assert!(with(|question| question.country = text("de")));
    assert!(!with(|question| question.country = text("all")));
    assert!(!with(|question| question.country = text("d1")));
    assert!(with(|question| question.language = text("zh-hans")));
    assert!(with(|question| question.language = text("en_US")));
    assert!(!with(|question| question.language = text("en-")));
    assert!(!with(|question| question.language = text("deutsch")));
    assert!(with(|question| question.metadata = text("{}")));
    assert!(!with(|question| question.metadata = text("{} x")));
    assert!(!with(
        |question| question.metadata = Some(format!("{{\"a\":\"{}\"}}", "x".repeat(20_000)))
    ));
    assert!(!with(
        |question| question.user_location = Some(Location::default())
    ));
}
