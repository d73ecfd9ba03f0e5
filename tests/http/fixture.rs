//! Tools for tests, over the real transport and gate: those that the conformance suite wants, and some that wait
//! until a test lets them go on.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use glovebox::jobs::clock::WallClock;
use glovebox::jobs::{SessionStore, SqliteStore};
use glovebox::transport::http::gate::Mode;
use glovebox::transport::http::limits::Limits;
use glovebox::transport::http::listener::{self, ListenAddress};
use glovebox::transport::http::token::TokenFile;
use glovebox::transport::http::{Channel, Config, Endpoint, Http, Start, run};
use rmcp::model::*;
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// A picture of one pixel.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8/5+hHgAHggJ/PchI7wAAAABJRU5ErkJggg==";
/// A sound without samples.
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

/// What tools and tests tell each other, by name.
#[derive(Debug, Default)]
pub struct Control(Mutex<HashMap<String, Arc<Semaphore>>>);

impl Control {
    fn named(&self, name: &str) -> Arc<Semaphore> {
        let mut named = self.0.lock().unwrap();
        let new = || Arc::new(Semaphore::new(0));
        Arc::clone(named.entry(name.to_owned()).or_insert_with(new))
    }

    /// Says that something has happened.
    pub fn tell(&self, name: &str) {
        self.named(name).add_permits(1);
    }

    /// Waits until it has.
    pub async fn wait(&self, name: &str) {
        let happened = tokio::time::timeout(crate::support::GENEROUS, async move {
            self.named(name).acquire_owned().await.unwrap().forget();
        });
        happened
            .await
            .unwrap_or_else(|_| panic!("{name} did not happen"));
    }

    /// How often it has happened and was not waited for.
    pub fn count(&self, name: &str) -> usize {
        self.named(name).available_permits()
    }
}

/// The tools.
#[derive(Debug, Default)]
pub struct Fixture {
    pub control: Arc<Control>,
}

impl Endpoint for Fixture {
    fn serve(
        &self,
        channel: Channel,
        start: Start,
        leaving: CancellationToken,
        stop: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let handler = Handler {
            control: Arc::clone(&self.control),
            leaving,
        };
        run(handler, channel, start, stop).boxed()
    }

    fn gate_denied(&self, _reason: &'static str) {}

    fn input_schema(&self, tool: &str) -> Option<Arc<JsonObject>> {
        let tools = tools();
        let tool = tools.iter().find(|one| one.name == tool)?;
        Some(Arc::clone(&tool.input_schema))
    }

    fn unready(&self) -> BoxFuture<'_, Option<String>> {
        async { None }.boxed()
    }

    fn metrics(&self) -> BoxFuture<'_, String> {
        async { String::new() }.boxed()
    }
}

/// A server in this process.
pub struct Server {
    pub port: u16,
    pub http: Arc<Http>,
    pub control: Arc<Control>,
    pub runtime: tokio::runtime::Runtime,
    _folder: tempfile::TempDir,
}

/// How a server is started.
#[derive(Default)]
pub struct Options {
    pub limits: Limits,
    pub require_token: bool,
    pub state: Option<std::path::PathBuf>,
    pub port: u16,
}

impl Server {
    pub fn start(options: Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = options
            .state
            .clone()
            .unwrap_or_else(|| folder.path().to_owned());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let address: ListenAddress = format!("127.0.0.1:{}", options.port).parse().unwrap();
        let sockets = runtime.block_on(address.bind()).unwrap();
        let port = sockets[0].local_addr().unwrap().port();
        let token = TokenFile::new(state.join("token"));
        token.read_or_make().unwrap();
        let config = Config {
            mode: Mode::Local {
                require_token: options.require_token,
            },
            allowed_origins: vec!["https://app.example".parse().unwrap()],
            limits: options.limits,
            ..Config::local(token)
        };
        let fixture = Fixture::default();
        let control = Arc::clone(&fixture.control);
        let store = store(&state);
        let http = Http::new(
            config,
            port,
            Arc::new(fixture),
            Some(store),
            Arc::new(WallClock),
        );
        let http = Arc::new(http);
        runtime.spawn(listener::serve(Arc::clone(&http), sockets));
        Self {
            port,
            http,
            control,
            runtime,
            _folder: folder,
        }
    }

    /// Waits for something that a tool tells.
    pub fn wait(&self, name: &str) {
        self.runtime.block_on(self.control.wait(name));
    }

    /// Waits until this is so. It is looked at again whenever something may have changed it.
    pub fn until(&self, what: &str, is_so: impl Fn(&Http) -> bool) {
        let end = std::time::Instant::now() + crate::support::GENEROUS;
        while !is_so(&self.http) {
            assert!(
                std::time::Instant::now() < end,
                "not seen: {what}; {:?}",
                self.http
            );
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
}

fn store(folder: &Path) -> Arc<dyn SessionStore> {
    Arc::new(SqliteStore::open(&folder.join("jobs.sqlite")).unwrap())
}

#[derive(Clone, Debug)]
struct Handler {
    control: Arc<Control>,
    leaving: CancellationToken,
}

fn object(value: Value) -> JsonObject {
    value.as_object().unwrap().clone()
}

/// A result as the newer era has it; what older clients do not know is taken out by the library.
fn complete<T: serde::de::DeserializeOwned>(mut value: Value) -> T {
    value["resultType"] = "complete".into();
    from(value)
}

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// The tools without arguments, by name.
const PLAIN: [&str; 29] = [
    "echo",
    "wait",
    "flood",
    "bulk",
    "announce",
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_error_handling",
    "test_tool_with_progress",
    "test_sampling",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_reconnection",
    "test_missing_capability",
    "test_streaming_elicitation",
    "test_logging_tool",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
];

fn tools() -> Vec<Tool> {
    let any = || object(json!({ "type": "object", "properties": {} }));
    let mut tools: Vec<Tool> = PLAIN
        .iter()
        .map(|name| Tool::new(*name, "A tool for tests", any()))
        .collect();
    let headers = json!({
        "type": "object",
        "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "priority": { "type": "integer", "x-mcp-header": "Priority" },
            "verbose": { "type": "boolean", "x-mcp-header": "Verbose" },
        },
    });
    tools.push(Tool::new(
        "test_custom_headers",
        "Arguments as headers",
        object(headers),
    ));
    tools
}

/// A result with one text.
fn text(text: &str) -> CallToolResponse {
    complete::<CallToolResult>(json!({ "content": [{ "type": "text", "text": text }] })).into()
}

fn content(content: Value) -> CallToolResponse {
    complete::<CallToolResult>(json!({ "content": content })).into()
}

/// A result that asks the client for something.
fn ask(requests: Value, state: Option<&str>) -> InputRequiredResult {
    let mut result = json!({ "resultType": "input_required", "inputRequests": requests });
    if let Some(state) = state {
        result["requestState"] = state.into();
    }
    from(result)
}

fn elicit(message: &str, field: &str, kind: &str) -> Value {
    json!({
        "method": "elicitation/create",
        "params": {
            "mode": "form",
            "message": message,
            "requestedSchema": {
                "type": "object",
                "properties": { (field): { "type": kind } },
                "required": [field],
            },
        },
    })
}

fn sample(message: &str) -> Value {
    json!({
        "method": "sampling/createMessage",
        "params": {
            "messages": [{ "role": "user", "content": { "type": "text", "text": message } }],
            "maxTokens": 100,
        },
    })
}

fn roots() -> Value {
    json!({ "method": "roots/list", "params": {} })
}

impl Handler {
    /// Asks a client of an older revision.
    async fn ask_now(
        &self,
        context: &RequestContext<RoleServer>,
        request: Value,
    ) -> Result<CallToolResponse, ErrorData> {
        match context.peer.send_request(from(request)).await {
            Ok(answer) => {
                let answer = serde_json::to_string(&answer).unwrap();
                Ok(text(&format!("The client's answer: {answer}")))
            }
            Err(error) => Err(ErrorData::internal_error(error.to_string(), None)),
        }
    }

    async fn progress(&self, context: &RequestContext<RoleServer>, at: f64, message: &str) {
        if let Some(token) = context.meta.get_progress_token() {
            let progress = ProgressNotificationParam::new(token, at)
                .with_total(100.0)
                .with_message(message.to_owned());
            let _ = context.peer.notify_progress(progress).await;
        }
    }

    #[expect(deprecated, reason = "the conformance suite still wants log messages")]
    async fn log(&self, context: &RequestContext<RoleServer>, message: &str) {
        let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(message));
        let _ = context.peer.notify_logging_message(message).await;
    }

    /// Tells that it runs, and ends when it is told to or is no longer wanted.
    async fn wait(
        &self,
        context: &RequestContext<RoleServer>,
        arguments: &JsonObject,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = arguments["name"].as_str().unwrap();
        if arguments.contains_key("progress") {
            self.progress(context, 1.0, name).await;
        }
        self.control.tell(&format!("{name} runs"));
        let may_end = format!("{name} may end");
        tokio::select! {
            () = self.control.wait(&may_end) => Ok(text(name)),
            () = self.leaving.cancelled() => Ok(text("the server leaves")),
            () = context.ct.cancelled() => {
                self.control.tell(&format!("{name} is cancelled"));
                Err(ErrorData::internal_error("cancelled", None))
            }
        }
    }

    /// Answers what was asked in rounds.
    fn rounds(
        &self,
        params: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let answered = |key: &str| {
            let answers = serde_json::to_value(&params.input_responses).unwrap();
            answers[key].is_object()
        };
        let state = params.request_state.as_deref();
        let wrong_state = || {
            Err(ErrorData::invalid_params(
                "the request's state is not mine",
                None,
            ))
        };
        let asked = match params.name.as_ref() {
            "test_input_required_result_elicitation" if !answered("user_name") => ask(
                json!({ "user_name": elicit("What is your name?", "name", "string") }),
                None,
            ),
            "test_input_required_result_sampling" if !answered("capital_question") => ask(
                json!({ "capital_question": sample("What is the capital of France?") }),
                None,
            ),
            "test_input_required_result_list_roots" if !answered("client_roots") => {
                ask(json!({ "client_roots": roots() }), None)
            }
            "test_input_required_result_request_state"
            | "test_input_required_result_tampered_state" => {
                if !answered("confirm") {
                    let confirm = elicit("Please confirm", "ok", "boolean");
                    ask(json!({ "confirm": confirm }), Some("sealed"))
                } else if state == Some("sealed") {
                    return Ok(text("state-ok"));
                } else {
                    return wrong_state();
                }
            }
            "test_input_required_result_multiple_inputs" if !answered("user_name") => ask(
                json!({
                    "user_name": elicit("What is your name?", "name", "string"),
                    "greeting": sample("Generate a greeting"),
                    "client_roots": roots(),
                }),
                Some("sealed"),
            ),
            "test_input_required_result_multi_round" => match state {
                None => ask(
                    json!({ "step1": elicit("Step 1: What is your name?", "name", "string") }),
                    Some("round 1"),
                ),
                Some("round 1") if answered("step1") => {
                    let step = elicit("Step 2: What is your favorite color?", "color", "string");
                    ask(json!({ "step2": step }), Some("round 2"))
                }
                Some("round 2") if answered("step2") => return Ok(text("done")),
                Some(_) => return wrong_state(),
            },
            "test_input_required_result_capabilities" => {
                let can = serde_json::to_value(context.client_capabilities()).unwrap();
                let mut requests = object(json!({}));
                if can.get("sampling").is_some_and(Value::is_object) {
                    requests.insert("sample".into(), sample("Anything"));
                }
                if can.get("elicitation").is_some_and(Value::is_object) {
                    requests.insert("elicit".into(), elicit("Anything", "name", "string"));
                }
                ask(Value::Object(requests), None)
            }
            _ => return Ok(text("complete")),
        };
        Ok(CallToolResponse::InputRequired(asked))
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = json!({
            "tools": {}, "prompts": {}, "logging": {}, "completions": {},
            "resources": { "subscribe": true, "listChanged": true },
        });
        ServerConfig::new(from(capabilities)).with_server_info(Implementation::new("fixture", "1"))
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = params.arguments.clone().unwrap_or_default();
        match params.name.as_ref() {
            "echo" => Ok(text(&Value::Object(arguments).to_string())),
            "wait" => self.wait(&context, &arguments).await,
            "flood" => {
                let count = arguments["count"].as_u64().unwrap();
                let bulk = "x".repeat(1000);
                for at in 0..count {
                    self.progress(&context, at as f64, &bulk).await;
                }
                self.control.tell("the flood is over");
                Ok(text("flooded"))
            }
            "bulk" => {
                let bytes = arguments["bytes"].as_u64().unwrap();
                self.control.tell("bulk is made");
                Ok(text(&"x".repeat(bytes as usize)))
            }
            "announce" => {
                let _ = context.peer.notify_resource_list_changed().await;
                Ok(text("announced"))
            }
            "test_simple_text" => Ok(text("This is a simple text response for testing.")),
            "test_image_content" => Ok(content(
                json!([{ "type": "image", "data": PICTURE, "mimeType": "image/png" }]),
            )),
            "test_audio_content" => Ok(content(
                json!([{ "type": "audio", "data": SOUND, "mimeType": "audio/wav" }]),
            )),
            "test_embedded_resource" => Ok(content(json!([{ "type": "resource", "resource": {
                "uri": "test://embedded-resource",
                "mimeType": "text/plain",
                "text": "This is an embedded resource content.",
            } }]))),
            "test_multiple_content_types" => Ok(content(json!([
                { "type": "text", "text": "Multiple content types test:" },
                { "type": "image", "data": PICTURE, "mimeType": "image/png" },
                { "type": "resource", "resource": {
                    "uri": "test://mixed-content-resource",
                    "mimeType": "application/json",
                    "text": "{\"test\":\"data\",\"value\":123}",
                } },
            ]))),
            "test_tool_with_logging" | "test_logging_tool" => {
                let modern = context.protocol_version() >= Some(ProtocolVersion::V_2026_07_28);
                let wanted = !modern || context.meta.log_level().is_some();
                if wanted {
                    for message in [
                        "Tool execution started",
                        "Tool processing data",
                        "Tool execution completed",
                    ] {
                        self.log(&context, message).await;
                    }
                }
                Ok(text("Logging test completed"))
            }
            "test_error_handling" => {
                let result = json!({
                    "content": [{ "type": "text", "text": "This tool intentionally returns an error for testing" }],
                    "isError": true,
                });
                Ok(complete::<CallToolResult>(result).into())
            }
            "test_tool_with_progress" => {
                for (at, message) in [(0.0, "Starting"), (50.0, "Halfway"), (100.0, "Complete")] {
                    self.progress(&context, at, message).await;
                }
                Ok(text("Progress test completed"))
            }
            "test_sampling" => {
                let prompt = arguments
                    .get("prompt")
                    .and_then(Value::as_str)
                    .unwrap_or("Hello");
                self.ask_now(&context, sample(prompt)).await
            }
            "test_elicitation" => {
                let message = arguments
                    .get("message")
                    .and_then(Value::as_str)
                    .unwrap_or("Who?");
                self.ask_now(&context, elicit(message, "username", "string"))
                    .await
            }
            "test_elicitation_sep1034_defaults" => self.ask_now(&context, defaults()).await,
            "test_elicitation_sep1330_enums" => self.ask_now(&context, enums()).await,
            "test_missing_capability" => {
                let can = serde_json::to_value(context.client_capabilities()).unwrap();
                if can.get("sampling").is_some_and(Value::is_object) {
                    return Ok(text("the client samples"));
                }
                let required = from(json!({ "sampling": {} }));
                Err(ErrorData::missing_required_client_capability(required))
            }
            "test_streaming_elicitation" => {
                let asked = ask(json!({ "name": elicit("Who?", "name", "string") }), None);
                Ok(CallToolResponse::InputRequired(asked))
            }
            "test_reconnection" | "test_custom_headers" => Ok(text("done")),
            name if name.starts_with("test_input_required_result_") => {
                self.rounds(&params, &context)
            }
            name => Err(ErrorData::invalid_params(
                format!("there is no tool {name}"),
                None,
            )),
        }
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(complete(json!({ "resources": [
            { "uri": "test://static-text", "name": "text", "mimeType": "text/plain" },
            { "uri": "test://static-binary", "name": "binary", "mimeType": "image/png" },
            { "uri": "test://watched-resource", "name": "watched", "mimeType": "text/plain" },
        ] })))
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(complete(json!({ "resourceTemplates": [
            { "uriTemplate": "test://template/{id}/data", "name": "template" },
        ] })))
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = params.uri.as_str();
        let content = match uri {
            "test://static-text" | "test://watched-resource" => json!({
                "uri": uri, "mimeType": "text/plain",
                "text": "This is the content of the static text resource.",
            }),
            "test://static-binary" => {
                json!({ "uri": uri, "mimeType": "image/png", "blob": PICTURE })
            }
            _ => match uri
                .strip_prefix("test://template/")
                .and_then(|id| id.strip_suffix("/data"))
            {
                Some(id) => json!({
                    "uri": uri, "mimeType": "application/json",
                    "text": json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") }).to_string(),
                }),
                None => {
                    let message = format!("there is no resource {uri}");
                    let data = json!({ "uri": uri });
                    return Err(ErrorData::resource_not_found(message, Some(data)));
                }
            },
        };
        Ok(complete::<ReadResourceResult>(json!({ "contents": [content] })).into())
    }

    async fn subscribe(
        &self,
        params: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.control.tell(&format!("{} is followed", params.uri));
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _params: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        self.control.tell("a subscription is open");
        tokio::select! {
            () = subscription.cancelled() => self.control.tell("a subscription is cancelled"),
            () = self.leaving.cancelled() => {}
        }
        Ok(())
    }

    async fn on_initialized(&self, _context: NotificationContext<RoleServer>) {
        self.control.tell("a session began");
    }

    #[expect(deprecated, reason = "older revisions have it")]
    async fn set_level(
        &self,
        params: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.control.tell(&format!("level {:?}", params.level));
        Ok(())
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(complete(json!({ "prompts": [
            { "name": "test_simple_prompt", "description": "A prompt for tests" },
            { "name": "test_prompt_with_arguments", "description": "A prompt for tests", "arguments": [
                { "name": "arg1", "required": true }, { "name": "arg2", "required": true },
            ] },
            { "name": "test_prompt_with_embedded_resource", "description": "A prompt for tests", "arguments": [
                { "name": "resourceUri", "required": true },
            ] },
            { "name": "test_prompt_with_image", "description": "A prompt for tests" },
            { "name": "test_input_required_result_prompt", "description": "A prompt for tests" },
        ] })))
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = params.arguments.clone().unwrap_or_default();
        let argument = |name: &str| {
            arguments
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let said = |content: Value| json!({ "role": "user", "content": content });
        let words = |words: &str| said(json!({ "type": "text", "text": words }));
        let messages = match params.name.as_str() {
            "test_simple_prompt" => json!([words("This is a simple prompt for testing.")]),
            "test_prompt_with_arguments" => {
                let (first, second) = (argument("arg1"), argument("arg2"));
                json!([words(&format!(
                    "Prompt with arguments: arg1='{first}', arg2='{second}'"
                ))])
            }
            "test_prompt_with_embedded_resource" => json!([
                said(json!({ "type": "resource", "resource": {
                    "uri": argument("resourceUri"), "mimeType": "text/plain",
                    "text": "Embedded resource content for testing.",
                } })),
                words("Please process the embedded resource above."),
            ]),
            "test_prompt_with_image" => json!([
                said(json!({ "type": "image", "data": PICTURE, "mimeType": "image/png" })),
                words("Please analyze the image above."),
            ]),
            "test_input_required_result_prompt" => {
                if params.input_responses.is_none() {
                    let context =
                        elicit("What context should the prompt use?", "context", "string");
                    let asked = ask(json!({ "user_context": context }), None);
                    return Ok(GetPromptResponse::InputRequired(asked));
                }
                json!([words("With context.")])
            }
            name => {
                let message = format!("there is no prompt {name}");
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        Ok(complete::<GetPromptResult>(json!({ "messages": messages })).into())
    }

    async fn complete(
        &self,
        _params: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let values = json!(["paris", "park", "party"]);
        Ok(complete(
            json!({ "completion": { "values": values, "total": 3, "hasMore": false } }),
        ))
    }
}

/// SEP-1034: a form with defaults of every type.
fn defaults() -> Value {
    json!({ "method": "elicitation/create", "params": {
        "message": "Please review and update the form fields with defaults",
        "requestedSchema": { "type": "object", "required": [], "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
            "verified": { "type": "boolean", "default": true },
        } },
    } })
}

/// SEP-1330: enumerations of every form.
fn enums() -> Value {
    let titled = |word: &str| {
        json!([
            { "const": "value1", "title": format!("First {word}") },
            { "const": "value2", "title": format!("Second {word}") },
            { "const": "value3", "title": format!("Third {word}") },
        ])
    };
    json!({ "method": "elicitation/create", "params": {
        "message": "Please select options from the enum fields",
        "requestedSchema": { "type": "object", "required": [], "properties": {
            "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
            "titledSingle": { "type": "string", "oneOf": titled("Option") },
            "legacyEnum": {
                "type": "string", "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": ["option1", "option2", "option3"] } },
            "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
        } },
    } })
}
