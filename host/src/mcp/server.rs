//! The handler of one connection: the methods of the protocol.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult,
    Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter,
    TASKS_EXTENSION_ID, Tool as Listed, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio_util::sync::CancellationToken;

use super::family::Families;
use super::notices::Notices;
use super::{Service, completion, prompts, resources, tasks};
use crate::policy::Caller;

/// The handler of one connection.
#[derive(Debug)]
pub struct Server {
    pub(super) service: Service,
    families: Families,
    pub(super) caller: Caller,
    pub(super) leaving: CancellationToken,
    notices: Notices,
}

impl Server {
    /// Returns the handler of a connection to a service with these tools. `leaving` is cancelled when its client has closed its end.
    #[must_use]
    pub fn new(
        service: Service,
        families: Families,
        caller: Caller,
        leaving: CancellationToken,
    ) -> Self {
        let notices = Notices::new(service.clone(), leaving.clone());
        Self {
            service,
            families,
            caller,
            leaving,
            notices,
        }
    }

    /// Returns what all connections share.
    #[must_use]
    pub const fn service(&self) -> &Service {
        &self.service
    }

    fn serves_research(&self) -> bool {
        let policy = self.service.control().policy();
        self.families.serve_research(&policy)
    }

    /// Returns whether the client of a request gets structured content.
    pub(super) fn structured(&self, context: &RequestContext<RoleServer>) -> bool {
        let (version, client) = (context.protocol_version(), context.client_info());
        let structured = self.service.config().structured;
        structured.applies(version.as_ref(), client.as_ref())
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
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
            .with_instructions(self.families.instructions(&self.service.control().policy()))
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let structured = self.structured(&context);
        let policy = self.service.control().policy();
        let tools = self.families.tools();
        let listed = tools.filter(|(_, tool)| policy.lists(tool.name));
        let listed = listed.map(|(_, tool)| tool.listed(structured)).collect();
        Ok(ListToolsResult::with_all_items(listed))
    }

    fn get_tool(&self, name: &str) -> Option<Listed> {
        // The library reads the input schema only.
        let (_, tool) = self.families.tool(name)?;
        Some(tool.listed(false))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some((family, tool)) = self.families.tool(&params.name) else {
            let names = self.service.control().policy().listed();
            let message = format!(
                "there is no tool {}; there are {}",
                params.name,
                names.join(", ")
            );
            return Err(ErrorData::invalid_params(message, None));
        };
        Ok(self.admit(family, tool, params, &context).await)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.notices.tools_shown(context.peer);
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        // In 2026-07-28 a client subscribes with `subscriptions/listen`.
        if context.meta.protocol_version().is_none() {
            self.notices.resources_listed(context.peer);
        }
        if !self.serves_research() {
            return Ok(ListResourcesResult::with_all_items(Vec::new()));
        }
        resources::list(&self.service).await
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        if !self.serves_research() {
            return Ok(ListResourceTemplatesResult::with_all_items(Vec::new()));
        }
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if !self.serves_research() {
            let message = format!("there is no resource {}", params.uri);
            return Err(ErrorData::resource_not_found(message, None));
        }
        resources::read(&self.service, &params.uri)
            .await
            .map(ReadResourceResponse::from)
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        if !self.serves_research() {
            return Ok(ListPromptsResult::with_all_items(Vec::new()));
        }
        Ok(prompts::list())
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if !self.serves_research() {
            let message = format!("there is no prompt {}", params.name);
            return Err(ErrorData::invalid_params(message, None));
        }
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
        tasks::get(
            &self.service,
            &params.task_id,
            &self.families.research_bounds(),
            structured,
        )
        .await
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
