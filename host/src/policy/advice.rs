//! Advice: combinations of settings that are allowed and risky.

use serde::Serialize;

/// Days before a certificate's end from which on it is advised to renew it.
const CERTIFICATE_DAYS: i64 = 14;
/// Characters of a token below which it can be guessed: 128 bits as base64.
const STRONG_TOKEN: usize = 22;

/// A piece of advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// Its name, for programs.
    pub id: &'static str,
    /// What is risky and which setting changes it, in a sentence.
    pub text: String,
}

/// Who can reach the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// The client that started it.
    #[default]
    Client,
    /// Processes of this machine.
    Local,
    /// Other machines.
    External {
        /// Whether web origins are named that may use it.
        has_allowed_origins: bool,
    },
}

/// What the advice depends on.
#[derive(Clone, Debug, Default)]
pub struct Situation {
    /// Who can reach the server.
    pub reach: Reach,
    /// Whether an unsafe tool is allowed.
    pub allows_unsafe: bool,
    /// Whether a day's spending is limited.
    pub has_budget: bool,
    /// Whether a simulator takes the upstream's place.
    pub is_simulated: bool,
    /// Whether there is an audit log.
    pub is_audited: bool,
    /// How many events could not be written to it.
    pub events_lost: u64,
    /// Characters of the token, where there is one.
    pub token_length: Option<usize>,
    /// Days until the certificate ends, where there is one.
    pub certificate_days: Option<i64>,
    /// Files with keys that other users of the machine can read.
    pub readable_keys: Vec<String>,
    /// Why the settings that are there now are not in force.
    pub settings_problem: Option<String>,
    /// What is odd about the environment.
    pub environment: Vec<String>,
}

/// Returns the advice for a situation.
#[must_use]
pub fn advice(now: &Situation) -> Vec<Advice> {
    let mut all = Vec::new();
    let mut add = |id, text: String| all.push(Advice { id, text });
    for text in &now.environment {
        add("environment", text.clone());
    }
    if let Some(problem) = &now.settings_problem {
        add(
            "settings-refused",
            format!("the changed settings are not in force, those from before are: {problem}"),
        );
    }
    if let Reach::External {
        has_allowed_origins,
    } = now.reach
    {
        if !has_allowed_origins {
            add(
                "external-origins",
                "other machines can reach the server and no web origin is named; --allowed-origin names those that may use it".to_owned(),
            );
        }
        if now.allows_unsafe {
            add(
                "external-unsafe",
                "other machines can reach the server and unsafe tools are allowed; remove --allow-unsafe and --allow-unsafe-tool".to_owned(),
            );
        }
        if !now.has_budget && !now.is_simulated {
            add(
                "external-budget",
                "other machines can reach the server and spending is not limited; --budget-usd-per-day limits it".to_owned(),
            );
        }
        if !now.is_audited {
            add(
                "external-audit",
                "other machines can reach the server and nothing is recorded; --audit records calls".to_owned(),
            );
        }
    }
    if now.is_simulated && now.reach != Reach::Client {
        add(
            "simulated",
            "answers come from the simulator and are made up; remove --simulate to call the upstream".to_owned(),
        );
    }
    if now.token_length.is_some_and(|length| length < STRONG_TOKEN) {
        add(
            "weak-token",
            format!(
                "the bearer token has fewer than {STRONG_TOKEN} characters and can be guessed; glovebox token new makes another"
            ),
        );
    }
    match now.certificate_days {
        Some(days) if days < 0 => add(
            "certificate-ended",
            "the certificate has ended and clients refuse it; renew the file of --tls-cert"
                .to_owned(),
        ),
        Some(days) if days < CERTIFICATE_DAYS => add(
            "certificate",
            format!("the certificate ends in {days} days; renew the file of --tls-cert"),
        ),
        _ => {}
    }
    for path in &now.readable_keys {
        add(
            "readable-key",
            format!("other users of this machine can read {path}: chmod 600 it"),
        );
    }
    if now.events_lost > 0 {
        add(
            "audit-lost",
            format!(
                "{} audit events could not be written; --audit refuses calls that cannot be recorded",
                now.events_lost
            ),
        );
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(situation: &Situation) -> Vec<&'static str> {
        advice(situation)
            .into_iter()
            .map(|advice| advice.id)
            .collect()
    }

    #[test]
    fn each_risk_has_its_advice_and_a_safe_situation_has_none() {
        let safe = Situation {
            has_budget: true,
            is_audited: true,
            token_length: Some(43),
            certificate_days: Some(14),
            reach: Reach::External {
                has_allowed_origins: true,
            },
            ..Situation::default()
        };
        assert!(ids(&safe).is_empty());
        let local = Situation {
            reach: Reach::Local,
            ..safe.clone()
        };
        let external = Reach::External {
            has_allowed_origins: false,
        };
        for (situation, expected) in [
            (
                Situation {
                    reach: external,
                    ..safe.clone()
                },
                "external-origins",
            ),
            (
                Situation {
                    allows_unsafe: true,
                    ..safe.clone()
                },
                "external-unsafe",
            ),
            (
                Situation {
                    has_budget: false,
                    ..safe.clone()
                },
                "external-budget",
            ),
            (
                Situation {
                    is_audited: false,
                    ..safe.clone()
                },
                "external-audit",
            ),
            (
                Situation {
                    is_simulated: true,
                    ..local
                },
                "simulated",
            ),
            (
                Situation {
                    token_length: Some(8),
                    ..safe.clone()
                },
                "weak-token",
            ),
            (
                Situation {
                    certificate_days: Some(13),
                    ..safe.clone()
                },
                "certificate",
            ),
            (
                Situation {
                    certificate_days: Some(-1),
                    ..safe.clone()
                },
                "certificate-ended",
            ),
            (
                Situation {
                    readable_keys: vec!["k".to_owned()],
                    ..safe.clone()
                },
                "readable-key",
            ),
            (
                Situation {
                    events_lost: 1,
                    ..safe.clone()
                },
                "audit-lost",
            ),
            (
                Situation {
                    settings_problem: Some("p".to_owned()),
                    ..safe.clone()
                },
                "settings-refused",
            ),
            (
                Situation {
                    environment: vec!["e".to_owned()],
                    ..safe
                },
                "environment",
            ),
        ] {
            assert_eq!(ids(&situation), [expected], "{situation:?}");
        }
    }
}
