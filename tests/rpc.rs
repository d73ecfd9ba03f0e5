//! JSON-RPC hygiene: one table for every transport, and properties of the layer that they share.

use glovebox::rpc::{Connection, Received};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use serde_json::{Value, json};

use crate::http::client::{Connection as Http, answer_of, begin, modern, notification, request};
use crate::http::program::Serve;
use crate::support::World;
use crate::support::server::{Server, state};

/// A client of one transport, once its conversation is open.
trait Client {
    /// Sends a message as it is and returns the next one that comes.
    fn reply_to(&mut self, message: &[u8]) -> Value;

    /// Sends a message as it is. Panics if anything comes of it.
    fn expect_nothing(&mut self, message: &[u8]);
}

struct Stdio {
    server: Server,
    _state: tempfile::TempDir,
}

impl Stdio {
    fn open() -> Self {
        let state = state();
        let mut server = Server::start(state.path(), None, &[]);
        server.initialize("2025-11-25");
        Self {
            server,
            _state: state,
        }
    }
}

impl Client for Stdio {
    fn reply_to(&mut self, message: &[u8]) -> Value {
        self.server.send_raw(message);
        self.server.send_raw(b"\n");
        self.server.message()
    }

    fn expect_nothing(&mut self, message: &[u8]) {
        self.server.send_raw(message);
        self.server.send_raw(b"\r\n");
        assert_eq!(
            self.server.settled(),
            Vec::<Value>::new(),
            "{}",
            start_of(message)
        );
    }
}

/// The headers that a request of 2026-07-28 must have; none for any other message.
fn headers_of(message: &Value) -> Vec<(&str, &str)> {
    if message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] != "2026-07-28" {
        return Vec::new();
    }
    let method = message["method"].as_str().unwrap();
    modern(method, "").into_iter().take(2).collect()
}

struct Streamable {
    connection: Http,
    session: String,
    _serve: Serve,
    _world: World,
}

impl Streamable {
    fn open() -> Self {
        let world = World::new();
        let serve = Serve::start(&world, &[]);
        Self {
            session: begin(serve.port, "2025-11-25", &[]),
            connection: Http::open(serve.port),
            _serve: serve,
            _world: world,
        }
    }

    fn post(&mut self, message: &[u8]) -> (u16, String) {
        let read = serde_json::from_slice(message).unwrap_or_default();
        let mut headers = headers_of(&read);
        if headers.is_empty() {
            headers.push(("mcp-session-id", &self.session));
        }
        let (head, body) = self.connection.post_bytes("/mcp", &headers, message);
        (head.status, body)
    }
}

impl Client for Streamable {
    fn reply_to(&mut self, message: &[u8]) -> Value {
        let (status, body) = self.post(message);
        let reply = answer_of(&body);
        let served = reply.get("result").is_some();
        assert!([200, 400, 404].contains(&status), "{status}: {reply}");
        assert!(!served || status == 200, "{status}: {reply}");
        reply
    }

    fn expect_nothing(&mut self, message: &[u8]) {
        let (status, body) = self.post(message);
        assert_eq!((status, body.as_str()), (202, ""), "{}", start_of(message));
    }
}

struct Pair {
    stream: Http,
    connection: Http,
    path: String,
    _serve: Serve,
    _world: World,
}

impl Pair {
    fn open() -> Self {
        let world = World::new();
        let serve = Serve::start(&world, &[]);
        let mut stream = Http::open(serve.port);
        stream.send("GET", "/sse", &[], "");
        assert!(stream.head().is_stream());
        let path = stream.event().unwrap().data.unwrap();
        let mut pair = Self {
            connection: Http::open(serve.port),
            stream,
            path,
            _serve: serve,
            _world: world,
        };
        let params = json!({
            "protocolVersion": "2024-11-05", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let reply = pair.reply_to(request(0, "initialize", params).as_bytes());
        assert_eq!(reply["result"]["protocolVersion"], "2024-11-05");
        pair.expect_nothing(notification("notifications/initialized", json!({})).as_bytes());
        pair
    }

    fn post(&mut self, message: &[u8]) -> (u16, String) {
        let (head, body) = self.connection.post_bytes(&self.path, &[], message);
        (head.status, body)
    }
}

impl Client for Pair {
    fn reply_to(&mut self, message: &[u8]) -> Value {
        let (status, body) = self.post(message);
        if status == 202 {
            let (_, reply) = self.stream.message().unwrap();
            assert!(!reply["id"].is_null(), "{reply}");
            return reply;
        }
        assert_eq!(status, 400, "{}: {body}", start_of(message));
        let reply = serde_json::from_str::<Value>(&body).unwrap();
        // Whoever waits for an answer under an id waits on the stream.
        assert!(reply["id"].is_null(), "{reply}");
        reply
    }

    fn expect_nothing(&mut self, message: &[u8]) {
        let (status, _) = self.post(message);
        assert_eq!(status, 202, "{}", start_of(message));
        let reply = self.reply_to(br#"{"jsonrpc":"2.0","id":"marker","method":"ping"}"#);
        assert_eq!(reply["id"], "marker", "{}: {reply}", start_of(message));
    }
}

fn start_of(message: &[u8]) -> String {
    String::from_utf8_lossy(&message[..message.len().min(120)]).into_owned()
}

const MODERN: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;

/// What is refused: the message, the code, the id.
fn refused() -> Vec<(Vec<u8>, i64, Value)> {
    let null = || Value::Null;
    let seven = || json!(7);
    let text = |message: &str, code, id| (message.as_bytes().to_vec(), code, id);
    let call = |params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#)
    };
    let removed = |method: &str, params: &str| {
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{{params}{MODERN}}}}}"#
        );
        (message.into_bytes(), -32601, seven())
    };
    vec![
        // No JSON: the id is given where it can be read.
        text("{", -32700, null()),
        text("nonsense", -32700, null()),
        text(&"[".repeat(100_000), -32700, null()),
        text(r#"{"jsonrpc":"2.0","id":7,"method":"#, -32700, seven()),
        text(r#"{"jsonrpc":"2.0","id":7"#, -32700, null()),
        text(r#"{"method":"ping",,"params":{"id":1},"id":"a"}"#, -32700, json!("a")),
        text(&call(r#"{"name":"status","arguments":{"a":1e999}}"#), -32700, seven()),
        text(&call(&format!("{}{}", "[".repeat(200), "]".repeat(200))), -32700, seven()),
        text(&call("NaN"), -32700, seven()),
        text(&call("\"a\u{1}b\""), -32700, seven()),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"p\xffng\"}".to_vec(),
            -32700,
            seven(),
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":{\"a\":\"\xed\xa0\x80\"},\"id\":7}".to_vec(),
            -32700,
            seven(),
        ),
        text("\u{feff}{\"id\":7,", -32700, seven()),
        (
            b"\xff{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}".to_vec(),
            -32700,
            seven(),
        ),
        (
            b"\xc3\x28{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"}".to_vec(),
            -32700,
            json!("a"),
        ),
        // JSON, but no message.
        text("[]", -32600, null()),
        text(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, null()),
        text("\"ping\"", -32600, null()),
        text("7", -32600, null()),
        text("null", -32600, null()),
        text(r#"{"id":7,"method":"ping"}"#, -32600, seven()),
        text(r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, -32600, seven()),
        text(r#"{"jsonrpc":2.0,"id":7,"method":"ping"}"#, -32600, seven()),
        text(r#"{"jsonrpc":"2.0","id":7}"#, -32600, seven()),
        text(r#"{"jsonrpc":"2.0","id":7,"method":{}}"#, -32600, seven()),
        text(r#"{"jsonrpc":"2.0","id":7,"method":null}"#, -32600, seven()),
        text(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, null()),
        text(r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600, null()),
        text(r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, -32600, null()),
        text(r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, json!(1.5)),
        text(
            r#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"}"#,
            -32600,
            json!(u64::MAX),
        ),
        // No number of 64 bits: it is not given back rounded.
        text(
            r#"{"jsonrpc":"2.0","id":100000000000000000000000,"method":"ping"}"#,
            -32600,
            null(),
        ),
        text(
            r#"{"jsonrpc":"2.0","id":-9223372036854775809,"method":"ping"}"#,
            -32600,
            null(),
        ),
        text(
            r#"{"jsonrpc":"2.0","method":"ping",,"id":18446744073709551616}"#,
            -32700,
            null(),
        ),
        // No such method.
        text(r#"{"jsonrpc":"2.0","id":7,"method":"no/such","params":{}}"#, -32601, seven()),
        text(r#"{"jsonrpc":"2.0","id":7,"method":""}"#, -32601, seven()),
        text(r#"{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":5}}"#, -32601, seven()),
        // Gone with 2026-07-28, whatever the parameters are.
        removed("ping", ""),
        removed("initialize", "\"protocolVersion\":3,"),
        removed("logging/setLevel", "\"level\":[],"),
        removed("resources/subscribe", ""),
        removed("resources/unsubscribe", "\"uri\":{},"),
        // Parameters that do not fit.
        text(&call("\"x\""), -32602, seven()),
        text(&call("[]"), -32602, seven()),
        text(&call("{\"name\":1}"), -32602, seven()),
        text(&call("{\"name\":\"answers\",\"arguments\":[1]}"), -32602, seven()),
        text(&call("{\"name\":\"no_such_tool\"}"), -32602, seven()),
        text(r#"{"jsonrpc":"2.0","id":"s","method":"tools/call"}"#, -32602, json!("s")),
        text(r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}"#, -32602, seven()),
        text(r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":5}}"#, -32602, seven()),
        text(r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":[]}}"#, -32602, seven()),
        text(r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":5}}"#, -32602, seven()),
        text(r#"{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{}}"#, -32602, seven()),
        text(r#"{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":null}}"#, -32602, seven()),
        text(r#"{"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{"ref":3}}"#, -32602, seven()),
    ]
}

/// What is answered although it looks odd.
const SERVED: [&str; 8] = [
    "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}",
    " \t{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"} \r",
    r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":null}"#,
    r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":{"progressToken":{}}}}"#,
    r#"{"method":"ping","unknown":[1],"jsonrpc":"2.0","id":7}"#,
    r#"{"jsonrpc":"2.0","id":7.0,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"\ud83d"}}"#,
    r#"{"jsonrpc":"2.0","id":7,"method":"\u0070ing","params":{"x":"\udead\ud83d\ude00"}}"#,
];

/// Nothing: a line on stdio may be empty, a body may not.
const EMPTY: [&str; 3] = ["", "   ", "\u{feff}"];

/// What is not answered at all.
const UNANSWERED: [&str; 7] = [
    r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
    r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}"#,
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/no_such"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4711}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}"#,
    r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"answers","arguments":{"query":"unasked"}}}"#,
];

fn check_table(client: &mut impl Client) {
    for (message, code, id) in refused() {
        let reply = client.reply_to(&message);
        let shown = start_of(&message);
        assert_eq!(reply["error"]["code"], code, "{shown}: {reply}");
        assert_eq!(reply.get("id"), Some(&id), "{shown}: {reply}");
        assert!(
            !reply["error"]["message"].as_str().unwrap().is_empty(),
            "{shown}: {reply}"
        );
    }
    for message in SERVED {
        let reply = client.reply_to(message.as_bytes());
        assert!(
            reply["id"] == 7 && reply.get("result").is_some(),
            "{message}: {reply}"
        );
    }
    for message in UNANSWERED {
        client.expect_nothing(message.as_bytes());
    }
    let read = json!({"jsonrpc": "2.0", "id": 7, "method": "resources/read", "params": {"uri": "research://none"}});
    let reply = client.reply_to(read.to_string().as_bytes());
    assert_eq!(reply["error"]["data"]["uri"], "research://none", "{reply}");
}

#[test]
fn the_table_holds_over_stdio() {
    let mut client = Stdio::open();
    check_table(&mut client);
    for message in EMPTY {
        client.expect_nothing(message.as_bytes());
    }
    client.server.leave();
}

#[test]
fn the_table_holds_over_streamable_http() {
    let mut client = Streamable::open();
    check_table(&mut client);
    for message in EMPTY {
        let reply = client.reply_to(message.as_bytes());
        assert_eq!(
            (&reply["error"]["code"], &reply["id"]),
            (&json!(-32700), &json!(null))
        );
    }
}

#[test]
fn the_table_holds_over_the_sse_pair() {
    let mut client = Pair::open();
    check_table(&mut client);
    for message in EMPTY {
        let reply = client.reply_to(message.as_bytes());
        assert_eq!(
            (&reply["error"]["code"], &reply["id"]),
            (&json!(-32700), &json!(null))
        );
    }
}

#[test]
fn a_body_over_the_limit_is_answered_with_the_id_that_was_read() {
    let mut client = Streamable::open();
    let filler = "y".repeat(2 << 20);
    let message =
        format!(r#"{{"jsonrpc":"2.0","id":"first","method":"ping","params":{{"x":"{filler}"}}}}"#);
    // Its length is not known beforehand, so it is read up to the limit.
    let mut text = "POST /mcp HTTP/1.1\r\nhost: localhost:PORT\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
        .replace("PORT", &client._serve.port.to_string());
    text += &format!("{:x}\r\n{message}\r\n0\r\n\r\n", message.len());
    client.connection.raw(text.as_bytes());
    let head = client.connection.head();
    let reply: Value = serde_json::from_str(&client.connection.body(&head)).unwrap();
    assert_eq!(
        (head.status, &reply["error"]["code"]),
        (413, &json!(-32700))
    );
    assert_eq!(reply["id"], "first", "{reply}");
}

#[test]
fn a_line_over_the_limit_is_answered_with_its_id() {
    let mut client = Stdio::open();
    let filler = "y".repeat(10 << 20);
    for (message, id) in [
        (
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"ping","params":{{"x":"{filler}"}}}}"#),
            json!(7),
        ),
        (
            format!(
                r#"{{"method":"ping","params":{{"id":1,"x":"{filler}"}},"jsonrpc":"2.0","id":"last"}}"#
            ),
            json!("last"),
        ),
        (filler.clone(), json!(null)),
    ] {
        let reply = client.reply_to(message.as_bytes());
        assert_eq!(reply["error"]["code"], -32700, "{reply}");
        assert_eq!(reply.get("id"), Some(&id), "{reply}");
    }
    client.server.leave();
}

#[test]
fn a_lone_surrogate_in_an_argument_is_a_replacement_character() {
    let mut client = Stdio::open();
    let message = br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"research_list","arguments":{"state":"cut \ud83d"}}}"#;
    let reply = client.reply_to(message);
    let said = reply["result"]["content"][0]["text"].as_str().unwrap();
    assert!(said.contains("cut \u{fffd}"), "{reply}");
    client.server.leave();
}

#[test]
fn a_byte_order_mark_before_the_first_line_is_skipped() {
    let state = state();
    let mut server = Server::start(state.path(), None, &[]);
    server.send_raw(b"\xef\xbb\xbf");
    assert_eq!(
        server.initialize("2025-11-25")["result"]["protocolVersion"],
        "2025-11-25"
    );
    server.leave();
}

/// Values that spoil a message, or do not. None has an open string or bracket, so what follows can be read.
fn odd_value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(b"1e999".to_vec()),
        Just(b"-".to_vec()),
        Just(b"NaN".to_vec()),
        Just(b"undefined".to_vec()),
        Just(b"'single'".to_vec()),
        Just(b"// comment".to_vec()),
        Just(br#""\ud83d""#.to_vec()),
        Just(br#""\x""#.to_vec()),
        Just(br#""\\\"""#.to_vec()),
        Just(b"\"\xff\xfe\"".to_vec()),
        Just(b"\"\x00\"".to_vec()),
        (100_usize..300).prop_map(|depth| [vec![b'['; depth], vec![b']'; depth]].concat()),
        Just(br#"{"id":99,"a":{"id":98}}"#.to_vec()),
        Just(br#"{"name":"status","arguments":{"a":1e400}}"#.to_vec()),
        Just(br#"{"_meta":[]}"#.to_vec()),
        Just(b"[1,]".to_vec()),
        Just(b"{}".to_vec()),
        Just(b"".to_vec()),
        "\\PC*".prop_map(|text| Value::String(text).to_string().into_bytes()),
    ]
}

fn id() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        "\\PC{0,40}".prop_map(Value::from),
    ]
}

/// A message but for its id, with anything about it spoilt.
#[derive(Clone, Debug)]
struct Parts {
    before: &'static [u8],
    version: &'static str,
    method: &'static str,
    params: Vec<u8>,
    place_of_id: usize,
    after: &'static str,
}

impl Parts {
    fn with_id(&self, id: &Value) -> Vec<u8> {
        let member = |name: &str, value: &[u8]| [format!("\"{name}\":").as_bytes(), value].concat();
        let mut members = vec![
            member("jsonrpc", self.version.as_bytes()),
            member("method", self.method.as_bytes()),
            member("params", &self.params),
        ];
        members.insert(self.place_of_id, member("id", id.to_string().as_bytes()));
        let members = members.join(&b","[..]);
        [self.before, b"{", &members, b"}", self.after.as_bytes()].concat()
    }
}

fn parts() -> impl Strategy<Value = Parts> {
    let before = prop::sample::select(vec![
        &b""[..],
        b"\xef\xbb\xbf",
        b" \t",
        b"\xff",
        b"\xc3\x28",
    ]);
    let version = prop::sample::select(vec!["\"2.0\"", "\"2.0\"", "2"]);
    let method = prop::sample::select(vec![
        "\"ping\"",
        "\"tools/call\"",
        "\"tools/list\"",
        "\"initialize\"",
        "\"no/such\"",
        "{}",
    ]);
    let after = prop::sample::select(vec!["", "\r", " trailing", "}"]);
    (before, version, method, odd_value(), 0_usize..4, after).prop_map(
        |(before, version, method, params, place_of_id, after)| Parts {
            before,
            version,
            method,
            params,
            place_of_id,
            after,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is wrong with it, a message whose id can be read is served or refused under that id.
    #[test]
    fn a_message_with_an_id_is_never_ignored(id in id(), parts in parts()) {
        match Connection::open().receive(&parts.with_id(&id)) {
            Received::Message(message) => prop_assert_eq!(&serde_json::to_value(&message).unwrap()["id"], &id),
            Received::Refused(reply) => prop_assert_eq!(reply.id(), &id, "{:?}", reply),
            Received::Ignored => prop_assert!(false, "ignored"),
        }
    }

    /// Bytes of any kind are read without harm.
    #[test]
    fn any_bytes_can_be_received(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Connection::new().receive(&bytes);
    }
}

#[test]
fn the_program_answers_every_message_with_an_id() {
    const MESSAGES: usize = 500;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut client = Stdio::open();
    let mut sent = Vec::new();
    for number in 0..MESSAGES {
        let id = json!(format!("unlike-{number}"));
        let message = parts().new_tree(&mut runner).unwrap().current();
        client.server.send_raw(&message.with_id(&id));
        client.server.send_raw(b"\n");
        sent.push(id);
    }
    for id in sent {
        client.server.wait_for(|reply| reply["id"] == id);
    }
    client.server.leave();
}
