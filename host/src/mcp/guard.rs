//! A handler whose panics are answered: the library would leave the client waiting for ever.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use rmcp::model::{ClientNotification, ClientRequest, ProtocolVersion, ServerConfig, ServerResult};
use rmcp::service::{NotificationContext, RequestContext, Service};
use rmcp::{ErrorData, RoleServer};

use super::Server;

/// A [`Server`] that answers -32603 where a handler panics. The panic itself is told on standard error.
#[derive(Debug)]
pub struct Guarded(pub Server);

impl Service<RoleServer> for Guarded {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let handled = Service::handle_request(&self.0, request, context);
        match AssertUnwindSafe(self.0.service().work().track_future(handled))
            .catch_unwind()
            .await
        {
            Ok(result) => result,
            Err(_) => Err(ErrorData::internal_error(
                "a defect of glovebox ended this request; the server goes on, and standard error says more",
                None,
            )),
        }
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Service::handle_notification(&self.0, notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        Service::get_info(&self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Service::supported_protocol_versions(&self.0)
    }
}
