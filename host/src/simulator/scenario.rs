//! What a reply is to be: `NAME` or `NAME+VARIANT+VARIANT`.
//!
//! | name | reply |
//! |---|---|
//! | `auto` | about the question: a cited answer, or research in several iterations |
//! | a golden vector's name, or `fixture/NAME` | that vector |
//! | `error-…`, `html-502`, `redirect` | a refusal |
//! | `reset`, `stall`, `endless`, `huge-line`, `gzip` | about the question, with that fault |
//! | `flood` | about the question, after some thousands of deltas, each within a millisecond of the last |
//! | `open-end` | about the question; after `[DONE]` the connection stays open |
//! | `open-end-comments` | the same, with a comment line a second after `[DONE]` |
//! | `cost-…` | about the question, with that text as its cost, such as `cost-1e300` or `cost-NaN` |
//!
//! Variants: `gzip`, `split` (cut at random places); for replies about the question `openai` (the look of
//! the documentation), `crlf`, `cr`, `bom`, `comments`, `no-space`; for refusals `docs`, `detail` and `text`
//! (other envelopes), `once` (a repeated question is answered) and `always`; for all other replies `status-203`.

use std::fmt;
use std::str::FromStr;

use super::refusal::Refused;
use super::variants::Variants;
use super::vectors;

/// What is played, before variants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Play {
    /// About the question.
    #[default]
    Auto,
    /// A golden vector.
    Vector(String),
    /// A refusal.
    Refuse(Refused),
    /// About the question, broken off after some events.
    Reset,
    /// About the question, silent after some events.
    Stall,
    /// About the question, without an end.
    Endless,
    /// About the question, then a line of many megabytes.
    HugeLine,
    /// About the question, after a flood of deltas.
    Flood,
    /// About the question, with a connection that stays open after the end, silent or with comments.
    OpenEnd {
        /// Whether comments keep coming.
        comments: bool,
    },
    /// About the question, with this text in the place of the cost.
    Cost(String),
}

/// A scenario with its variants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scenario {
    /// What is played.
    pub play: Play,
    /// How.
    pub variants: Variants,
    name: String,
}

/// There is no such scenario or variant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no scenario or variant {0:?}; glovebox simulate --list shows all")]
pub struct UnknownScenario(pub String);

/// The scenarios that are no vectors.
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
    /// The names of all, without variants.
    pub fn names() -> impl Iterator<Item = String> {
        let built_in = BUILT_IN.iter().map(|name| (*name).to_owned());
        built_in.chain(vectors::names())
    }

    /// Takes a scenario off the front of a question: `sim:NAME rest`.
    ///
    /// # Errors
    /// Where it names one that there is not.
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
        let play = match name {
            "" | "auto" => Play::Auto,
            "reset" => Play::Reset,
            "stall" => Play::Stall,
            "endless" => Play::Endless,
            "huge-line" => Play::HugeLine,
            "flood" => Play::Flood,
            "open-end" => Play::OpenEnd { comments: false },
            "open-end-comments" => Play::OpenEnd { comments: true },
            "gzip" => {
                variants.gzip = true;
                Play::Auto
            }
            name => match (Refused::from_name(name), name.strip_prefix("cost-")) {
                (Some(refused), _) => Play::Refuse(refused),
                (None, Some(cost)) => Play::Cost(cost.to_owned()),
                (None, None) => Play::Vector(vector(name)?),
            },
        };
        for part in parts {
            if !variants.set(part) {
                return Err(UnknownScenario(part.to_owned()));
            }
        }
        Ok(Self {
            play,
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
    fn every_name_is_known_and_a_question_may_carry_one() {
        for name in Scenario::names() {
            assert!(name.parse::<Scenario>().is_ok(), "{name}");
        }
        let (scenario, rest) = Scenario::of_question("sim:reset+gzip  why so?").unwrap();
        let scenario = scenario.unwrap();
        assert_eq!(
            (scenario.play.clone(), scenario.variants.gzip, rest),
            (Play::Reset, true, "why so?")
        );
        assert_eq!(scenario.to_string(), "reset+gzip");
        assert_eq!(Scenario::of_question("simple").unwrap(), (None, "simple"));
        assert!(Scenario::of_question("sim:nonsense").is_err());
    }
}
