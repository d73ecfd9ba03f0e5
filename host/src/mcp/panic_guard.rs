//! A handler that answers requests whose handling panics. Without it, the library never answers them.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use rmcp::model::{ClientNotification, ClientRequest, ProtocolVersion, ServerConfig, ServerResult};
use rmcp::service::{NotificationContext, RequestContext, Service};
use rmcp::{ErrorData, RoleServer};

use super::Server;

/// A [`Server`] that answers -32603 where a handler panics. The panic message is on standard error.
#[derive(Debug)]
pub struct Guarded(pub Server);

impl Service<RoleServer> for Guarded {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let handled = Service::handle_request(&self.0, request, context);
        caught(self.0.service().work().track_future(handled)).await
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

/// Returns the future's result, or error -32603 where it panics.
async fn caught<T>(future: impl Future<Output = Result<T, ErrorData>>) -> Result<T, ErrorData> {
    AssertUnwindSafe(future).catch_unwind().await.unwrap_or_else(|_| {
        Err(ErrorData::internal_error(
            "a defect of glovebox ended this request; the server goes on, and standard error says more",
            None,
        ))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use rmcp::model::ErrorCode;

    use super::*;

    #[tokio::test]
    async fn a_panic_becomes_an_internal_error() {
        let error = caught::<()>(async { panic!("a defect") })
            .await
            .unwrap_err();
        assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
        let error = ErrorData::invalid_params("said", None);
        assert_eq!(caught::<()>(async { Err(error.clone()) }).await, Err(error));
    }
}
