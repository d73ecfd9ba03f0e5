//! Notices that a resource or a list changed: `resources/subscribe` up to 2025-11-25, `subscriptions/listen` in 2026-07-28.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, SubscriptionContext};
use rmcp::{ErrorData, RoleServer};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Service;
use super::resources::Address;
use crate::jobs::Watch;
use crate::policy::Policy;

/// The least time between two notices of one resource. A client reads the resource again after each.
const APART: Duration = Duration::from_secs(1);

/// The least time between two notices that the list of resources changed. Some clients print each one.
const LISTS_APART: Duration = Duration::from_secs(5);

/// The least time between two notices that the list of tools changed.
const TOOL_LISTS_APART: Duration = Duration::from_millis(250);

/// The most resources that one connection may follow.
const FOLLOWED: usize = 100;

/// The notices of one connection. Its tasks end when it is dropped.
#[derive(Debug)]
pub struct Notices {
    service: Service,
    leaving: CancellationToken,
    followed: Mutex<HashMap<String, DropGuard>>,
    listed: AtomicBool,
    open: CancellationToken,
    _open: DropGuard,
}

impl Notices {
    /// Returns the notices of a connection that has no subscription yet.
    #[must_use]
    pub fn new(service: Service, leaving: CancellationToken) -> Self {
        let open = leaving.child_token();
        Self {
            service,
            leaving,
            followed: Mutex::default(),
            listed: AtomicBool::default(),
            _open: open.clone().drop_guard(),
            open,
        }
    }

    /// Returns the part of a filter that is served.
    #[must_use]
    pub fn accepted(requested: &SubscriptionFilter) -> SubscriptionFilter {
        let mut accepted = SubscriptionFilter::new();
        accepted.resources_list_changed = requested.resources_list_changed;
        accepted.tools_list_changed = requested.tools_list_changed;
        accepted.resource_subscriptions = requested.resource_subscriptions.as_ref().map(|uris| {
            let ours = uris.iter().filter(|uri| Address::parse(uri).is_some());
            ours.take(FOLLOWED).cloned().collect()
        });
        accepted
    }

    /// Serves one `subscriptions/listen` until it is cancelled or its client leaves.
    pub async fn listen(&self, subscription: &SubscriptionContext) {
        let accepted = subscription.accepted();
        let sink = subscription.sink();
        let updates = accepted
            .resource_subscriptions
            .iter()
            .flatten()
            .map(|uri| async move {
                if let Some(mut watch) = self.watch(uri).await {
                    while changed(&mut watch).await {
                        if sink.notify_resource_updated(uri.clone()).await.is_err() {
                            return;
                        }
                        tokio::time::sleep(APART).await;
                    }
                }
            });
        let lists = async {
            let mut new_jobs = self.service.new_jobs();
            while accepted.resources_list_changed == Some(true) && new_job(&mut new_jobs).await {
                if sink.notify_resource_list_changed().await.is_err() {
                    return;
                }
                tokio::time::sleep(LISTS_APART).await;
            }
        };
        let tools = async {
            let mut lists = ToolLists::new(&self.service);
            while accepted.tools_list_changed == Some(true) && lists.changed().await {
                if sink.notify_tool_list_changed().await.is_err() {
                    return;
                }
                tokio::time::sleep(TOOL_LISTS_APART).await;
            }
        };
        let all = async {
            tokio::join!(join_all(updates), lists, tools);
            // The subscription stays open although nothing in it can change any more.
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = all => {}
            () = subscription.cancelled() => {}
            () = self.leaving.cancelled() => {}
        }
    }

    /// Subscribes to a resource, up to 2025-11-25.
    ///
    /// # Errors
    /// When there is no such resource, or too many are followed.
    pub async fn subscribe(&self, uri: String, peer: Peer<RoleServer>) -> Result<(), ErrorData> {
        let Some(mut watch) = self.watch(&uri).await else {
            let message = format!("there is no resource {uri} to follow");
            return Err(ErrorData::resource_not_found(message, None));
        };
        let stop = self.open.child_token();
        {
            let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
            if followed.len() >= FOLLOWED && !followed.contains_key(&uri) {
                let message = format!("no more than {FOLLOWED} resources can be followed at once");
                return Err(ErrorData::invalid_params(message, None));
            }
            followed.insert(uri.clone(), stop.clone().drop_guard());
        }
        tokio::spawn(stop.run_until_cancelled_owned(async move {
            while changed(&mut watch).await {
                let update = ResourceUpdatedNotificationParam::new(uri.clone());
                if peer.notify_resource_updated(update).await.is_err() {
                    return;
                }
                tokio::time::sleep(APART).await;
            }
        }));
        Ok(())
    }

    /// Ends the subscription to a resource.
    pub fn unsubscribe(&self, uri: &str) {
        self.followed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(uri);
    }

    /// Notifies the client of new jobs after it first listed the resources, up to 2025-11-25.
    pub fn resources_listed(&self, peer: Peer<RoleServer>) {
        if self.listed.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut new_jobs = self.service.new_jobs();
        tokio::spawn(self.open.clone().run_until_cancelled_owned(async move {
            while new_job(&mut new_jobs).await {
                if peer.notify_resource_list_changed().await.is_err() {
                    return;
                }
                tokio::time::sleep(LISTS_APART).await;
            }
        }));
    }

    /// Notifies the client of every change of the list of tools, up to 2025-11-25.
    pub fn tools_shown(&self, peer: Peer<RoleServer>) {
        let mut lists = ToolLists::new(&self.service);
        tokio::spawn(self.open.clone().run_until_cancelled_owned(async move {
            while lists.changed().await {
                if peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
                tokio::time::sleep(TOOL_LISTS_APART).await;
            }
        }));
    }

    async fn watch(&self, uri: &str) -> Option<Watch> {
        let address = Address::parse(uri)?;
        self.service.jobs().watch(&address.id).await.ok()
    }
}

/// The list of tools that the client knows.
struct ToolLists {
    policy: watch::Receiver<Arc<Policy>>,
    known: Vec<&'static str>,
}

impl ToolLists {
    fn new(service: &Service) -> Self {
        let mut policy = service.control().changes();
        let known = policy.borrow_and_update().listed();
        Self { policy, known }
    }

    /// Waits until the list differs. Returns false where the policy cannot change any more.
    async fn changed(&mut self) -> bool {
        loop {
            let now = self.policy.borrow_and_update().listed();
            if now != self.known {
                self.known = now;
                return true;
            }
            if self.policy.changed().await.is_err() {
                return false;
            }
        }
    }
}

async fn changed(watch: &mut Watch) -> bool {
    matches!(watch.next().await, Ok(Some(_)))
}

/// Waits for a new job. Several at once count as one.
async fn new_job(new_jobs: &mut broadcast::Receiver<()>) -> bool {
    match new_jobs.recv().await {
        Ok(()) | Err(RecvError::Lagged(_)) => {
            *new_jobs = new_jobs.resubscribe();
            true
        }
        Err(RecvError::Closed) => false,
    }
}
