//! Asks a person, through the client, to approve a call: as a request of the server up to 2025-11-25, as a result that
//! needs input in 2026-07-28.

use std::collections::BTreeMap;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientCapabilities, ClientResult, ElicitRequest, InputRequest, InputRequiredResult,
    InputResponses, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::money::Micros;
use crate::policy::Approval;
use crate::secrets;

/// The name of the question among the inputs that a result needs.
const INPUT: &str = "approval";
/// The member of the form that a person sets.
const APPROVE: &str = "approve";
/// The longest part of a call's subject that a person is shown, in characters.
const SUBJECT_CHARACTERS: usize = 500;

/// What a person is asked.
#[derive(Clone, Copy, Debug)]
pub struct ApprovalQuestion<'a> {
    /// The tool.
    pub tool: &'a str,
    /// What the call is about.
    pub subject: &'a str,
    /// The most that it may cost.
    pub worst_cost: Micros,
    /// The cost above which a person is asked.
    pub limit: Micros,
}

/// Returns whether a client with these capabilities can show a form.
#[must_use]
pub fn can_ask(capabilities: Option<&ClientCapabilities>) -> bool {
    let elicitation = capabilities.and_then(|capabilities| capabilities.elicitation.as_ref());
    // A client that names no mode can show forms: that was all there was.
    elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
}

impl ApprovalQuestion<'_> {
    fn message(&self) -> String {
        let subject: String = secrets::masked(self.subject)
            .chars()
            .map(|letter| if letter.is_control() { ' ' } else { letter })
            .take(SUBJECT_CHARACTERS)
            .collect();
        let cut = if self.subject.chars().count() > SUBJECT_CHARACTERS {
            "…"
        } else {
            ""
        };
        format!(
            "Approve a call of {} that can cost up to {}? Calls above {} need an approval. It asks: {subject}{cut}",
            self.tool, self.worst_cost, self.limit
        )
    }

    fn request(&self) -> Option<ElicitRequest> {
        let request = json!({
            "method": "elicitation/create",
            "params": {
                "mode": "form",
                "message": self.message(),
                "requestedSchema": {
                    "type": "object",
                    "properties": {
                        APPROVE: {
                            "type": "boolean",
                            "title": "Approve",
                            "description": format!("Spend up to {} on this call", self.worst_cost),
                        },
                    },
                    "required": [APPROVE],
                },
            },
        });
        serde_json::from_value(request).ok()
    }

    /// Returns the result that asks, with a state that the client sends back. `None` is a defect.
    #[must_use]
    pub fn as_result(&self, state: String) -> Option<InputRequiredResult> {
        let question = InputRequest::Elicitation(self.request()?);
        let inputs = BTreeMap::from([(INPUT.to_owned(), question)]);
        Some(InputRequiredResult::new(Some(inputs), Some(state)))
    }

    /// Asks now and waits for the answer, no longer than `within` and no longer than the client is there.
    pub async fn ask(
        &self,
        context: &RequestContext<RoleServer>,
        leaving: &CancellationToken,
        within: Duration,
    ) -> Approval {
        let Some(request) = self.request() else {
            return Approval::Refused;
        };
        let options = PeerRequestOptions::with_timeout(within);
        let request = ServerRequest::ElicitRequest(request);
        let asking = async {
            let sent = context.peer.send_request_with_option(request, options);
            sent.await?.await_response().await
        };
        let answer = tokio::select! {
            answer = asking => answer,
            () = context.ct.cancelled() => return Approval::NoAnswer(within),
            () = leaving.cancelled() => return Approval::NoAnswer(within),
        };
        match answer {
            Ok(ClientResult::ElicitResult(result)) => {
                approval(&serde_json::to_value(result).unwrap_or_default())
            }
            Ok(_) => Approval::Refused,
            Err(error) => {
                tracing::debug!(%error, "an approval was not answered");
                Approval::NoAnswer(within)
            }
        }
    }
}

/// Returns the answer among the inputs that a client sent.
#[must_use]
pub fn answer(inputs: Option<&InputResponses>) -> Approval {
    let answer = inputs.and_then(|inputs| inputs.get(INPUT));
    answer.map_or(Approval::Refused, approval)
}

/// Reads the answer of a person. All but a plain yes is a refusal.
fn approval(answer: &Value) -> Approval {
    let accepted = answer.get("action").and_then(Value::as_str) == Some("accept");
    let content = answer
        .get("content")
        .and_then(|content| content.get(APPROVE));
    if accepted && content == Some(&Value::Bool(true)) {
        Approval::Given
    } else {
        Approval::Refused
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_approves() {
        let given = json!({ "action": "accept", "content": { "approve": true } });
        assert_eq!(approval(&given), Approval::Given);
        for refused in [
            json!({ "action": "accept", "content": { "approve": false } }),
            json!({ "action": "accept", "content": { "approve": "true" } }),
            json!({ "action": "accept", "content": {} }),
            json!({ "action": "accept" }),
            json!({ "action": "decline", "content": { "approve": true } }),
            json!({ "action": "cancel" }),
            json!(true),
            json!(null),
        ] {
            assert_eq!(approval(&refused), Approval::Refused, "{refused}");
        }
    }

    #[test]
    fn the_question_names_the_tool_and_the_cost_and_is_bounded() {
        let question = ApprovalQuestion {
            tool: "research",
            subject: &"a\n\u{1b}".repeat(1000),
            worst_cost: Micros(1_600_000),
            limit: Micros(500_000),
        };
        let result = question.as_result("state".to_owned()).unwrap();
        let result = serde_json::to_value(result).unwrap();
        let params = &result["inputRequests"]["approval"]["params"];
        let message = params["message"].as_str().unwrap();
        assert!(
            message.contains("research") && message.contains("$1.6"),
            "{message}"
        );
        assert!(
            message.chars().count() < 700 && !message.contains('\n'),
            "{message}"
        );
        assert_eq!(params["requestedSchema"]["required"], json!(["approve"]));
    }
}
