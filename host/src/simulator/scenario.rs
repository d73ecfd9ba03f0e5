//! Scenarios, written as `NAME` or `NAME+VARIANT+VARIANT`.
//!
//! | name | reply |
//! |---|---|
//! | `auto` | on the question: an answer with citations, or research in several iterations |
//! | the name of a golden vector, or `fixture/NAME` | the vector |
//! | `error-…`, `html-502`, `redirect` | a refusal |
//! | `reset`, `stall`, `endless`, `huge-line`, `gzip` | on the question, with this fault |
//! | `flood` | on the question, after thousands of deltas with less than a millisecond between them |
//! | `open-end` | on the question; the connection stays open after `[DONE]` |
//! | `open-end-comments` | as `open-end`, with a comment every second after `[DONE]` |
//! | `cost-…` | on the question, with this text as its cost, such as `cost-1e300` or `cost-NaN` |
//!
//! Variants: `gzip`, `split` (at random positions); for replies on the question `openai` (the format of the
//! documentation), `crlf`, `cr`, `bom`, `comments`, `no-space`; for refusals `docs`, `detail` and `text` (other
//! response formats), `once` (a repeated question is answered) and `always`; for all other replies `status-203`.

use std::fmt;
use std::str::FromStr;

use super::refusal::Refusal;
use super::variants::Variants;
use super::vectors;

/// The reply of a scenario, without variants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ReplyKind {
    /// An answer or research on the question.
    #[default]
    Auto,
    /// A golden vector.
    Vector(String),
    /// A refusal.
    Refuse(Refusal),
    /// On the question. The connection is reset after some events.
    Reset,
    /// On the question. Nothing more is sent after some events.
    Stall,
    /// On the question, without end.
    Endless,
    /// On the question, followed by a line of many megabytes.
    HugeLine,
    /// On the question, after thousands of deltas.
    Flood,
    /// On the question. The connection stays open after the end.
    OpenEnd {
        /// Whether comments are sent after the end.
        comments: bool,
    },
    /// On the question, with this text as the cost.
    Cost(String),
}

/// A scenario with its variants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scenario {
    /// The reply.
    pub reply: ReplyKind,
    /// The variants.
    pub variants: Variants,
    name: String,
}

/// The name of an unknown scenario or variant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no scenario or variant {0:?}; glovebox simulate --list shows all")]
pub struct UnknownScenario(pub String);

/// All scenarios except the golden vectors.
const BUILT_IN: [&str; 24] = [
    "auto",
    "flood",
    "open-end",
    "open-end-comments",
    "cost-1e300",
    "cost-NaN",
    "reset",
    "stall",
    "endless",
    "huge-line",
    "gzip",
    "error-400-plan",
    "error-402",
    "error-403",
    "error-404",
    "error-422-key",
    "error-422-validation",
    "error-422-option",
    "error-429-rate",
    "error-429-quota",
    "error-500",
    "error-503",
    "html-502",
    "redirect",
];

impl Scenario {
    /// Returns the names of all scenarios, without variants.
    pub fn names() -> impl Iterator<Item = String> {
        let built_in = BUILT_IN.iter().map(|name| (*name).to_owned());
        built_in.chain(vectors::names())
    }

    /// Splits the prefix `sim:NAME` from a question.
    ///
    /// # Errors
    /// If the scenario is unknown.
    pub fn of_question(question: &str) -> Result<(Option<Self>, &str), UnknownScenario> {
        let Some(rest) = question.trim_start().strip_prefix("sim:") else {
            return Ok((None, question));
        };
        let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        Ok((Some(name.parse()?), rest.trim()))
    }
}

impl FromStr for Scenario {
    type Err = UnknownScenario;

    fn from_str(text: &str) -> Result<Self, UnknownScenario> {
        let mut parts = text.split('+');
        let name = parts.next().unwrap_or_default();
        let mut variants = Variants::default();
        let reply = match name {
            "" | "auto" => ReplyKind::Auto,
            "reset" => ReplyKind::Reset,
            "stall" => ReplyKind::Stall,
            "endless" => ReplyKind::Endless,
            "huge-line" => ReplyKind::HugeLine,
            "flood" => ReplyKind::Flood,
            "open-end" => ReplyKind::OpenEnd { comments: false },
            "open-end-comments" => ReplyKind::OpenEnd { comments: true },
            "gzip" => {
                variants.gzip = true;
                ReplyKind::Auto
            }
            name => match (Refusal::from_name(name), name.strip_prefix("cost-")) {
                (Some(refused), _) => ReplyKind::Refuse(refused),
                (None, Some(cost)) => ReplyKind::Cost(cost.to_owned()),
                (None, None) => ReplyKind::Vector(vector(name)?),
            },
        };
        for part in parts {
            if !variants.set(part) {
                return Err(UnknownScenario(part.to_owned()));
            }
        }
        Ok(Self {
            reply,
            variants,
            name: text.to_owned(),
        })
    }
}

fn vector(name: &str) -> Result<String, UnknownScenario> {
    let name = name.strip_prefix("fixture/").unwrap_or(name);
    match vectors::find(name) {
        Some(_) => Ok(name.to_owned()),
        None => Err(UnknownScenario(name.to_owned())),
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.name.is_empty() {
            "auto"
        } else {
            &self.name
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_alone_and_as_a_prefix_of_a_question() {
        for name in Scenario::names() {
            assert!(name.parse::<Scenario>().is_ok(), "{name}");
        }
        let (scenario, rest) = Scenario::of_question("sim:reset+gzip  why so?").unwrap();
        let scenario = scenario.unwrap();
        assert_eq!(
            (scenario.reply.clone(), scenario.variants.gzip, rest),
            (ReplyKind::Reset, true, "why so?")
        );
        assert_eq!(scenario.to_string(), "reset+gzip");
        assert_eq!(Scenario::of_question("simple").unwrap(), (None, "simple"));
        assert!(Scenario::of_question("sim:nonsense").is_err());
    }
}
