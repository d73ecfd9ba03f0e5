//! One connection: every method of the protocol that this server serves.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult,
    Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter,
    TASKS_EXTENSION_ID, Tool as Listed, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio_util::sync::CancellationToken;

use super::agent_text::without_flags;
use super::args::Args;
use super::notices::Notices;
use super::reply::{Reply, ToolResult, wrong_arguments};
use super::table::{TOOLS, Tool};
use super::tool_call::ToolCall;
use super::{Service, completion, prompts, resources, tasks};
use crate::answers::cost::answer_price;

/// What a model should know before it calls anything.
const INSTRUCTIONS: &str = concat!(
    "Cited answers and deep research from the live web. `answers` takes seconds and ",
    answer_price!(),
    ". \
For questions that need many sources: `research_submit` returns a research_id at once; call `research_result` with it \
and wait_seconds 50, again while it says running; `research_status` shows progress, `research_cancel` stops it. A \
research takes 1 to 6 minutes and costs money, so do not submit it twice: `research_list` finds a lost research_id."
);

/// One connection.
#[derive(Debug)]
pub struct Server {
    service: Service,
    leaving: CancellationToken,
    notices: Notices,
}

impl Server {
    /// A connection to a service. `leaving` is cancelled when its client has closed its end.
    #[must_use]
    pub fn new(service: Service, leaving: CancellationToken) -> Self {
        let notices = Notices::new(service.clone(), leaving.clone());
        Self {
            service,
            leaving,
            notices,
        }
    }

    /// What all connections share.
    #[must_use]
    pub const fn service(&self) -> &Service {
        &self.service
    }

    /// Whether the client of a request gets structured content.
    fn structured(&self, context: &RequestContext<RoleServer>) -> bool {
        let (version, client) = (context.protocol_version(), context.client_info());
        let structured = self.service.config().structured;
        structured.applies(version.as_ref(), client.as_ref())
    }

    async fn call(&self, tool: &Tool, params: CallToolRequestParams, call: &ToolCall) -> Reply {
        let args = match Args::read(tool.params, &params.arguments.unwrap_or_default()) {
            Ok(args) => args,
            Err(wrong) => return wrong_arguments(&wrong).into(),
        };
        // Better than a job that is there only to fail.
        if tool.policy.spends
            && let Err(missing) = (self.service.config().key)().key
        {
            let missing = without_flags(&missing);
            return ToolResult::failure(format!("Nothing was sent: {missing}.")).into();
        }
        let notes = args.notes().to_vec();
        match (tool.run)(&self.service, args, call).await {
            Reply::ToolResult(told) => told.noted(&notes).into(),
            task => task,
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .enable_completions()
            .build();
        capabilities
            .extensions
            .get_or_insert_default()
            .insert(TASKS_EXTENSION_ID.to_owned(), serde_json::Map::new());
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new("glovebox", env!("CARGO_PKG_VERSION")).with_title("Glovebox"),
            )
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let structured = self.structured(&context);
        let tools = TOOLS.iter().map(|tool| tool.listed(structured)).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    fn get_tool(&self, name: &str) -> Option<Listed> {
        // The library looks at the input alone here.
        Tool::named(name).map(|tool| tool.listed(false))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = Tool::named(&params.name) else {
            let names: Vec<_> = TOOLS.iter().map(|tool| tool.name).collect();
            let message = format!(
                "there is no tool {}; there are {}",
                params.name,
                names.join(", ")
            );
            return Err(ErrorData::invalid_params(message, None));
        };
        let call = ToolCall::of(&context, self.leaving.clone());
        let structured = self.structured(&context);
        let limit = self.service.config().output_bytes;
        match self.call(tool, params, &call).await {
            Reply::ToolResult(told) => {
                let told: ToolResult = *told;
                Ok(told.result(limit, structured).into())
            }
            Reply::Task(task) => Ok(CallToolResponse::Task(*task)),
        }
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        // In the newer era a client says by `subscriptions/listen` what it wants to hear.
        if context.meta.protocol_version().is_none() {
            self.notices.resources_listed(context.peer);
        }
        resources::list(&self.service).await
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(&self.service, &params.uri)
            .await
            .map(ReadResourceResponse::from)
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(prompts::list())
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(&params).map(GetPromptResponse::from)
    }

    async fn complete(
        &self,
        params: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        completion::complete(&self.service, &params).await
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(Notices::accepted(requested))
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        self.notices.listen(&subscription).await;
        Ok(())
    }

    async fn subscribe(
        &self,
        params: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.notices.subscribe(params.uri, context.peer).await
    }

    async fn unsubscribe(
        &self,
        params: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.notices.unsubscribe(&params.uri);
        Ok(())
    }

    async fn get_task(
        &self,
        params: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let structured = self.structured(&context);
        tasks::get(&self.service, &params.task_id, structured).await
    }

    async fn update_task(
        &self,
        params: UpdateTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        tasks::update(&self.service, &params.task_id).await
    }

    async fn cancel_task(
        &self,
        params: CancelTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        tasks::cancel(&self.service, &params.task_id).await
    }
}
