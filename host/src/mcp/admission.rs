//! The way of a call from its request to its result: arguments, decision, approval, place, audit, run.
//!
//! This is the one place where the policy decides about calls.

use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResponse, JsonObject, ProtocolVersion};
use rmcp::service::RequestContext;
use tokio::time::Instant;

use super::Server;
use super::agent_text::without_flags;
use super::args::Args;
use super::elicitation::{self, ApprovalQuestion};
use super::family::Family;
use super::reply::{Reply, ToolResult};
use super::tool::Tool;
use super::tool_call::ToolCall;
use crate::jobs::SingleUse;
use crate::jobs::clock;
use crate::policy::audit::{Event, Kind, Recorder};
use crate::policy::{Approval, Binding, CallFacts, Client, Decision, Denial, Place, decide};

/// A call that asks to be admitted.
struct Candidate<'a> {
    tool: &'static Tool,
    args: Args,
    wrong_arguments: Vec<String>,
    /// Bytes and HMAC of the arguments as they came, where calls are recorded.
    recorded_arguments: Option<(usize, String)>,
    client: Client,
    number: u64,
    context: &'a RequestContext<RoleServer>,
}

/// What became of a candidate.
enum Admitted {
    /// It runs, in its place, with the approval that it uses up.
    Run {
        place: Option<Place>,
        approved: bool,
        approval: Option<SingleUse>,
    },
    /// The client has to ask a person first.
    Asks(Box<rmcp::model::InputRequiredResult>),
}

impl Server {
    /// Serves one call of a tool.
    pub(super) async fn admit(
        &self,
        family: &'static Family,
        tool: &'static Tool,
        params: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResponse {
        let structured = self.structured(context);
        let limit = self.service.config().output_bytes;
        let given = params.arguments.clone().unwrap_or_default();
        let candidate = self.candidate(tool, &given, context);
        match self.decided(&candidate, &params).await {
            Ok(Admitted::Run {
                place,
                approved,
                approval,
            }) => match self.run(&candidate, place, approved, approval).await {
                Ok(Reply::ToolResult(result)) => {
                    result.result(limit, &family.bounds, structured).into()
                }
                Ok(Reply::Task(task)) => CallToolResponse::Task(*task),
                Err(denial) => self.denied(&candidate, &denial, limit, family).await,
            },
            Ok(Admitted::Asks(question)) => CallToolResponse::InputRequired(*question),
            Err(denial) => self.denied(&candidate, &denial, limit, family).await,
        }
    }

    fn candidate<'a>(
        &self,
        tool: &'static Tool,
        given: &JsonObject,
        context: &'a RequestContext<RoleServer>,
    ) -> Candidate<'a> {
        let (args, wrong_arguments) = match Args::read(tool.params, given) {
            Ok(args) => (args, Vec::new()),
            Err(wrong) => (Args::default(), wrong),
        };
        let control = self.service.control();
        let recorded_arguments = control.audit().map(|audit| {
            let bytes = serde_json::to_vec(given).unwrap_or_default();
            (bytes.len(), audit.log().mac(&bytes))
        });
        let client = context.client_info();
        let client = client.map(|client| Client::new(&client.name, &client.version));
        Candidate {
            tool,
            args,
            wrong_arguments,
            recorded_arguments,
            client: client.unwrap_or_default(),
            number: control.number_call(),
            context,
        }
    }

    /// Decides about a call, asks a person where that is needed, and takes a place where one is needed.
    async fn decided(
        &self,
        candidate: &Candidate<'_>,
        params: &CallToolRequestParams,
    ) -> Result<Admitted, Denial> {
        let (tool, control) = (candidate.tool, self.service.control());
        let spending = tool
            .spending
            .filter(|_| candidate.wrong_arguments.is_empty());
        let worst_cost = spending.map(|spending| (spending.worst_cost)(&candidate.args));
        let missing = self.missing(tool);
        let capabilities = candidate.context.client_capabilities();
        let (approval, single_use) = self.sent_approval(candidate, params, worst_cost).await?;
        let mut facts = CallFacts {
            wrong_arguments: &candidate.wrong_arguments,
            missing: missing.as_deref(),
            worst_cost,
            approval,
            can_ask: elicitation::can_ask(capabilities.as_ref()),
        };
        loop {
            // Looked at anew after a person was asked: the policy may be another one by then.
            let policy = control.policy();
            match decide(&policy, &tool.facts(), &facts) {
                Decision::Deny(denial) => return Err(denial),
                Decision::Run {
                    takes_place,
                    approved,
                } => {
                    let place = match takes_place {
                        true => Some(control.take_place(policy.max_concurrent()).await?),
                        false => None,
                    };
                    return Ok(Admitted::Run {
                        place,
                        approved,
                        approval: single_use,
                    });
                }
                Decision::Ask { worst_cost, limit } => {
                    let subject =
                        spending.and_then(|spending| candidate.args.text(spending.subject));
                    let question = ApprovalQuestion {
                        tool: tool.name,
                        subject: subject.unwrap_or_default(),
                        worst_cost,
                        limit,
                    };
                    if is_stateless(candidate.context) {
                        return self.sealed(candidate, &question).await;
                    }
                    let within = self.service.config().ask_within;
                    let asked = question.ask(candidate.context, &self.leaving, within);
                    facts.approval = asked.await;
                }
            }
        }
    }

    /// Returns what the tool needs and does not have.
    fn missing(&self, tool: &Tool) -> Option<String> {
        // Better than a job that is there only to fail.
        let key = tool.flags.spends.then(|| (self.service.config().key)().key);
        key.and_then(Result::err)
            .map(|missing| without_flags(&missing))
    }

    /// Returns the approval that the client sent back with the call, and what of it is used up.
    async fn sent_approval(
        &self,
        candidate: &Candidate<'_>,
        params: &CallToolRequestParams,
        worst_cost: Option<crate::money::Micros>,
    ) -> Result<(Approval, Option<SingleUse>), Denial> {
        let (Some(state), Some(worst_cost)) = (&params.request_state, worst_cost) else {
            return Ok((Approval::NotAsked, None));
        };
        let arguments = candidate.args.canonical();
        let binding = self.binding(candidate, &arguments, worst_cost);
        let approvals = self.service.approvals().await.map_err(store_unusable)?;
        Ok(match approvals.open(state, &binding, clock::now()) {
            Err(invalid) => (Approval::Invalid(invalid.text()), None),
            Ok(single_use) => match elicitation::answer(params.input_responses.as_ref()) {
                Approval::Given => (Approval::Given, Some(single_use)),
                other => (other, None),
            },
        })
    }

    /// Returns the question as a result, with a state that only this call can be made with.
    async fn sealed(
        &self,
        candidate: &Candidate<'_>,
        question: &ApprovalQuestion<'_>,
    ) -> Result<Admitted, Denial> {
        let arguments = candidate.args.canonical();
        let binding = self.binding(candidate, &arguments, question.worst_cost);
        let approvals = self.service.approvals().await.map_err(store_unusable)?;
        let state = approvals.seal(&binding, clock::now());
        let asks = state.and_then(|state| question.as_result(state));
        let asks = asks.ok_or_else(|| {
            Denial::NotReady("the system gives no random bytes for an approval".to_owned())
        })?;
        Ok(Admitted::Asks(Box::new(asks)))
    }

    fn binding<'a>(
        &'a self,
        candidate: &'a Candidate<'_>,
        arguments: &'a str,
        worst_cost: crate::money::Micros,
    ) -> Binding<'a> {
        Binding {
            caller: &self.caller,
            client: &candidate.client,
            tool: candidate.tool.name,
            arguments,
            worst_cost,
        }
    }

    /// Records the call's start, runs it and records its end.
    async fn run(
        &self,
        candidate: &Candidate<'_>,
        place: Option<Place>,
        approved: bool,
        approval: Option<SingleUse>,
    ) -> Result<Reply, Denial> {
        let mut ending = None;
        if let Some(audit) = self.service.control().audit() {
            let mut start = self.event(Kind::ToolStart, candidate);
            start.decision = Some(if approved { "approved" } else { "allowed" });
            audit
                .require(start)
                .await
                .map_err(|error| Denial::Audit(error_without_path(&error)))?;
            ending = Some(Ending {
                audit: audit.clone(),
                began: Instant::now(),
                event: Some(self.event(Kind::ToolEnd, candidate)),
            });
        }
        let call = ToolCall::of(candidate.context, self.leaving.clone(), approval);
        let (tool, args) = (candidate.tool, candidate.args.clone());
        let reply = (tool.run)(&self.service, args, &call).await;
        drop(place);
        let reply = match reply {
            Reply::ToolResult(result) => result.noted(candidate.args.notes()).into(),
            task => task,
        };
        if let Some(ending) = ending {
            ending.record(&reply, call.cancel.is_cancelled()).await;
        }
        Ok(reply)
    }

    /// Records a denial and returns the result that tells it.
    async fn denied(
        &self,
        candidate: &Candidate<'_>,
        denial: &Denial,
        limit: usize,
        family: &Family,
    ) -> CallToolResponse {
        if let Some(audit) = self.service.control().audit() {
            let mut event = self.event(Kind::ToolDenied, candidate);
            event.decision = Some("denied");
            event.reason = Some(denial.reason().to_owned());
            audit.record(event).await;
        }
        let text = denial.sentence(candidate.tool.name);
        ToolResult::failure(text)
            .result(limit, &family.bounds, false)
            .into()
    }

    fn event(&self, kind: Kind, candidate: &Candidate<'_>) -> Event {
        let (bytes, mac) = candidate.recorded_arguments.clone().unzip();
        let named = |name: &String| Some(name.clone()).filter(|name| !name.is_empty());
        Event {
            transport: Some(self.caller.transport),
            session: self.caller.session.clone(),
            client: named(&candidate.client.name),
            client_version: named(&candidate.client.version),
            tool: Some(candidate.tool.name),
            call: Some(candidate.number),
            arguments_bytes: bytes,
            arguments_hmac: mac,
            ..Event::new(kind)
        }
    }
}

/// The event of a call's end. Where the call is dropped, its end is recorded as that.
struct Ending {
    audit: Recorder,
    began: Instant,
    event: Option<Event>,
}

impl Ending {
    async fn record(mut self, reply: &Reply, is_cancelled: bool) {
        let Some(mut event) = self.event.take() else {
            return;
        };
        event.duration_ms = Some(self.elapsed_ms());
        event.decision = Some(match reply {
            _ if is_cancelled => "cancelled",
            Reply::ToolResult(result) if result.is_error => "error",
            _ => "ok",
        });
        if let Reply::ToolResult(result) = reply {
            event.result_bytes = Some(result.text.len());
            event.result_hmac = Some(self.audit.log().mac(result.text.as_bytes()));
            event = event.costing(result.cost);
        }
        self.audit.record(event).await;
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(mut event) = self.event.take() {
            event.duration_ms = Some(self.elapsed_ms());
            event.decision = Some("cancelled");
            self.audit.record_later(event);
        }
    }
}

/// Returns whether the request is of a revision in which a server asks by its result.
fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

fn store_unusable(error: crate::jobs::JobsError) -> Denial {
    Denial::NotReady(without_flags(&super::reply::error_text(&error)))
}

/// Returns why an event cannot be written, without the path of the log, which is no business of a client.
fn error_without_path(error: &crate::policy::audit::AuditError) -> String {
    use crate::policy::audit::AuditError;
    match error {
        AuditError::File { source, .. } => source.to_string(),
        AuditError::Key { .. } => "it is kept with another key".to_owned(),
        AuditError::KeyFile { .. } => "its key cannot be read".to_owned(),
        AuditError::Defect(defect) => defect.clone(),
    }
}
