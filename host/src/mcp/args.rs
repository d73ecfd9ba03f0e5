//! Tool arguments: the parameters of a tool, their schema, and reading what a model sends.
//!
//! Models send `"4"` for 4, `"true"` for true, `en_US` for `en-us`, and null, `"null"` or an empty string for what they
//! leave out, and clients add arguments of their own. All of that is accepted. Everything else is refused in one message,
//! so that one retry suffices.

use serde_json::{Map, Value, json};

use crate::answers::question::Range;
use crate::secrets;

/// The kind of a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Text that may not be blank where it is required.
    Text,
    /// Two letters, or `ALL`. The component checks it too; checked here, it is in the same message as all other problems.
    Country,
    /// A language code such as `en` or `pt-br`.
    Language,
    /// One of a few words.
    OneOf(&'static [&'static str]),
    /// True or false.
    Boolean,
    /// A whole number within bounds, both included.
    Integer(i64, i64),
    /// A whole number. One beyond these bounds is taken as the nearer bound, and the result says so.
    ClampedInteger(i64, i64),
}

/// Whether a parameter can be left out, and what holds then.
#[derive(Clone, Copy, Debug)]
pub enum Presence {
    /// It must be given.
    Required,
    /// It may be left out.
    Optional,
    /// It may be left out, and has this value then.
    DefaultBoolean(bool),
    /// It may be left out, and has this value then.
    DefaultInteger(i64),
}

impl Kind {
    /// Returns the kind of whole numbers in a range.
    #[must_use]
    pub const fn within(range: Range) -> Self {
        Self::Integer(range.least, range.most)
    }
}

impl Presence {
    /// Returns the default of a range.
    #[must_use]
    pub const fn default_of(range: Range) -> Self {
        Self::DefaultInteger(range.default)
    }
}

/// One parameter of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its name, as people have it in their configurations.
    pub name: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Whether it can be left out.
    pub presence: Presence,
    /// One short line for the model.
    pub description: &'static str,
}

/// Returns the input schema of a tool: flat and closed, in the small part of JSON Schema that every client accepts.
#[must_use]
pub fn schema(params: &[Param]) -> Map<String, Value> {
    let properties: Map<String, Value> = params
        .iter()
        .map(|param| (param.name.to_owned(), property(param)))
        .collect();
    let required: Vec<&str> = params
        .iter()
        .filter(|param| is_required(param))
        .map(|param| param.name)
        .collect();
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".into(), json!(required));
    }
    schema.insert("additionalProperties".into(), false.into());
    schema
}

const fn is_required(param: &Param) -> bool {
    matches!(param.presence, Presence::Required)
}

fn property(param: &Param) -> Value {
    let mut property = match param.kind {
        Kind::Text | Kind::Country | Kind::Language => json!({ "type": "string" }),
        Kind::OneOf(words) => json!({ "type": "string", "enum": words }),
        Kind::Boolean => json!({ "type": "boolean" }),
        Kind::Integer(least, most) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        // With bounds in the schema, clients would refuse values that are accepted here.
        Kind::ClampedInteger(..) => json!({ "type": "integer" }),
    };
    if let Some(object) = property.as_object_mut() {
        match param.presence {
            Presence::DefaultBoolean(flag) => object.insert("default".into(), flag.into()),
            Presence::DefaultInteger(number) => object.insert("default".into(), number.into()),
            Presence::Required | Presence::Optional => None,
        };
        let text = description(param);
        if !text.is_empty() {
            object.insert("description".into(), text.into());
        }
    }
    property
}

/// Returns the description of a parameter with its range and default: some clients drop both from the schema.
fn description(param: &Param) -> String {
    let range = match param.kind {
        Kind::Integer(least, most) | Kind::ClampedInteger(least, most) => {
            Some(format!("{least} to {most}"))
        }
        Kind::Text | Kind::Country | Kind::Language | Kind::OneOf(_) | Kind::Boolean => None,
    };
    let default = match param.presence {
        Presence::DefaultBoolean(flag) => Some(format!("default {flag}")),
        Presence::DefaultInteger(number) => Some(format!("default {number}")),
        Presence::Required | Presence::Optional => None,
    };
    let bounds: Vec<String> = range.into_iter().chain(default).collect();
    let parts = [param.description.to_owned(), bounds.join(", ")];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("; ")
}

/// The arguments of a call, with defaults filled in.
#[derive(Clone, Debug, Default)]
pub struct Args {
    values: Map<String, Value>,
    notes: Vec<String>,
}

impl Args {
    /// Reads the arguments of a call.
    ///
    /// # Errors
    /// Everything that is wrong with them, a sentence each.
    pub fn read(params: &[Param], given: &Map<String, Value>) -> Result<Self, Vec<String>> {
        let mut read = Map::new();
        let mut wrong = Vec::new();
        let mut notes = Vec::new();
        for param in params {
            match value_of(param, given.get(param.name)) {
                Ok(Some(value)) => {
                    let (value, note) = clamped(param, value);
                    notes.extend(note);
                    read.insert(param.name.to_owned(), value);
                }
                Ok(None) => {}
                Err(problem) => wrong.push(problem),
            }
        }
        let known: Vec<&str> = params.iter().map(|param| param.name).collect();
        wrong.extend(
            given
                .keys()
                .filter(|name| !known.contains(&name.as_str()) && !is_from_client(name))
                .map(|name| unknown(name, &known)),
        );
        if wrong.is_empty() {
            Ok(Self {
                values: read,
                notes,
            })
        } else {
            Err(wrong)
        }
    }

    /// Returns the arguments as JSON, in one form for all that mean the same.
    #[must_use]
    pub fn canonical(&self) -> String {
        // The members of a map are in the order of their names.
        Value::Object(self.values.clone()).to_string()
    }

    /// Returns what a result has to say about the arguments.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns a text argument.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).and_then(Value::as_str)
    }

    /// Returns a true-or-false argument.
    #[must_use]
    pub fn boolean(&self, name: &str) -> Option<bool> {
        self.values.get(name).and_then(Value::as_bool)
    }

    /// Returns a whole number.
    #[must_use]
    pub fn integer(&self, name: &str) -> Option<i64> {
        self.values.get(name).and_then(Value::as_i64)
    }
}

/// Arguments that clients are known to add to every call, whatever its schema says: Gemini CLI the first, Cline the
/// second.
const FROM_CLIENTS: [&str; 2] = ["wait_for_previous", "task_progress"];

/// Returns whether an argument comes from the client itself and is ignored: a known one, or one whose name begins with `_`.
fn is_from_client(name: &str) -> bool {
    name.starts_with('_') || FROM_CLIENTS.contains(&name)
}

fn unknown(name: &str, known: &[&str]) -> String {
    if known.is_empty() {
        return format!("`{name}` is not an argument of this tool; it takes none");
    }
    format!(
        "`{name}` is not an argument of this tool; it takes {}",
        known.join(", ")
    )
}

/// The longest part of a wrong value that is repeated to the model.
const SHOWN: usize = 40;

fn shown(value: &Value) -> String {
    let whole = value.to_string();
    let text = match value.as_str() {
        Some(text) if secrets::looks_like_key(text) => return secrets::HIDDEN.to_owned(),
        _ => secrets::masked(&whole),
    };
    if text.chars().count() <= SHOWN {
        return text.into_owned();
    }
    let mut short: String = text.chars().take(SHOWN).collect();
    short.push('…');
    short
}

fn value_of(param: &Param, given: Option<&Value>) -> Result<Option<Value>, String> {
    let given = match given {
        None | Some(Value::Null) => return left_out(param),
        Some(Value::String(text)) if text.trim().is_empty() => return left_out(param),
        // A required text may be this word.
        Some(Value::String(text)) if text.trim() == "null" && !is_required(param) => {
            return left_out(param);
        }
        Some(given) => given,
    };
    let read = match param.kind {
        Kind::Text => text(given).map(Value::String),
        Kind::Country => text(given).and_then(country).map(Value::String),
        Kind::Language => text(given).and_then(language).map(Value::String),
        Kind::OneOf(words) => word(words, given).map(Value::from),
        Kind::Boolean => flag(given).map(Value::Bool),
        Kind::Integer(least, most) => whole(given)
            .filter(|number| (least..=most).contains(number))
            .map(Value::from),
        Kind::ClampedInteger(..) => whole(given).map(Value::from),
    };
    read.map(Some).ok_or_else(|| {
        let must = match param.kind {
            Kind::Text => "text".to_owned(),
            Kind::Country => "a two-letter country code, or ALL".to_owned(),
            Kind::Language => "a language code such as en or pt-br".to_owned(),
            Kind::OneOf(words) => format!("one of {}", words.join(", ")),
            Kind::Boolean => "true or false".to_owned(),
            Kind::Integer(least, most) | Kind::ClampedInteger(least, most) => {
                format!("a whole number from {least} to {most}")
            }
        };
        format!("`{}` must be {must}; got {}", param.name, shown(given))
    })
}

/// Returns the value within the bounds of its parameter, and a note where it was changed.
fn clamped(param: &Param, value: Value) -> (Value, Option<String>) {
    let (Kind::ClampedInteger(least, most), Some(number)) = (param.kind, value.as_i64()) else {
        return (value, None);
    };
    let nearest = number.clamp(least, most);
    let note = (nearest != number).then(|| {
        let name = param.name;
        format!("`{name}` is from {least} to {most}; {number} was taken as {nearest}")
    });
    (nearest.into(), note)
}

fn left_out(param: &Param) -> Result<Option<Value>, String> {
    match param.presence {
        Presence::Required => Err(format!(
            "`{}` is required and must not be blank",
            param.name
        )),
        Presence::Optional => Ok(None),
        Presence::DefaultBoolean(flag) => Ok(Some(flag.into())),
        Presence::DefaultInteger(number) => Ok(Some(number.into())),
    }
}

fn text(given: &Value) -> Option<String> {
    match given {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn country(text: String) -> Option<String> {
    if text.eq_ignore_ascii_case("ALL") {
        return Some("ALL".to_owned());
    }
    let letters = text.chars().all(|letter| letter.is_ascii_alphabetic());
    (letters && text.len() == 2).then_some(text)
}

/// Returns a language code in the form that the upstream takes, also from a locale such as `en_US`.
fn language(text: String) -> Option<String> {
    let text = text.replace('_', "-").to_ascii_lowercase();
    let mut parts = text.split('-');
    let first = parts.next().unwrap_or_default();
    let letters = |part: &str| part.chars().all(|letter| letter.is_ascii_alphabetic());
    let code = |part: &str| part.chars().all(|letter| letter.is_ascii_alphanumeric());
    let fits = (2..=3).contains(&first.len())
        && letters(first)
        && parts.all(|part| (2..=8).contains(&part.len()) && code(part));
    fits.then_some(text)
}

fn word(words: &[&'static str], given: &Value) -> Option<&'static str> {
    let given = given.as_str()?.trim();
    words
        .iter()
        .find(|word| word.eq_ignore_ascii_case(given))
        .copied()
}

fn flag(given: &Value) -> Option<bool> {
    match given {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) if text.trim().eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text.trim().eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

fn whole(given: &Value) -> Option<i64> {
    match given {
        Value::Number(number) => number.as_i64().or_else(|| whole_float(number.as_f64()?)),
        Value::String(text) => {
            let text = text.trim();
            text.parse()
                .ok()
                .or_else(|| whole_float(text.parse().ok()?))
        }
        _ => None,
    }
}

/// The largest float below which every whole number is exact. A larger one is not taken as a whole number.
const EXACT: f64 = 9_007_199_254_740_992.0;

#[allow(clippy::cast_possible_truncation)]
fn whole_float(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    const PARAMS: &[Param] = &[
        Param {
            name: "query",
            kind: Kind::Text,
            presence: Presence::Required,
            description: "What",
        },
        Param {
            name: "country",
            kind: Kind::Country,
            presence: Presence::Optional,
            description: "",
        },
        Param {
            name: "language",
            kind: Kind::Language,
            presence: Presence::Optional,
            description: "",
        },
        Param {
            name: "rounds",
            kind: Kind::Integer(1, 5),
            presence: Presence::DefaultInteger(4),
            description: "",
        },
        Param {
            name: "think",
            kind: Kind::Boolean,
            presence: Presence::DefaultBoolean(true),
            description: "",
        },
        Param {
            name: "pause",
            kind: Kind::ClampedInteger(0, 50),
            presence: Presence::DefaultInteger(0),
            description: "Seconds",
        },
        Param {
            name: "state",
            kind: Kind::OneOf(&["done"]),
            presence: Presence::Optional,
            description: "",
        },
    ];

    fn read(given: Value) -> Result<Args, Vec<String>> {
        Args::read(PARAMS, given.as_object().unwrap())
    }

    #[test]
    fn what_a_model_means_is_understood() {
        for rounds in [json!(3), json!("3"), json!(3.0), json!("3.0"), json!(" 3 ")] {
            for think in [json!(false), json!("false"), json!("False")] {
                let args = read(
                    json!({"query": " q ", "rounds": rounds, "think": think, "state": "Done"}),
                )
                .unwrap();
                assert_eq!(args.text("query"), Some("q"));
                assert_eq!(args.integer("rounds"), Some(3));
                assert_eq!(args.boolean("think"), Some(false));
                assert_eq!(args.text("state"), Some("done"));
            }
        }
        for absent in [json!(null), json!(""), json!("null"), json!(" null ")] {
            let args = read(json!({
                "query": "null", "rounds": absent, "think": absent, "country": absent, "language": absent,
            }))
            .unwrap();
            assert_eq!(args.text("query"), Some("null"));
            assert_eq!(args.text("language"), None);
            assert_eq!(args.integer("rounds"), Some(4));
            assert_eq!(args.boolean("think"), Some(true));
            assert_eq!(args.text("country"), None);
        }
    }

    #[test]
    fn a_locale_is_a_language() {
        for (given, sent) in [
            ("en", Some("en")),
            ("en_US", Some("en-us")),
            ("pt-BR", Some("pt-br")),
            ("zh_Hans_CN", Some("zh-hans-cn")),
            ("english", None),
            ("en_", None),
            ("en_US.UTF-8", None),
        ] {
            let args = read(json!({"query": "q", "language": given}));
            let read = args
                .ok()
                .and_then(|args| args.text("language").map(str::to_owned));
            assert_eq!(read.as_deref(), sent, "{given}");
        }
    }

    #[test]
    fn what_clients_add_is_ignored_and_nothing_else() {
        let args = read(json!({
            "query": "q", "wait_for_previous": true, "task_progress": "- [ ] step", "_meta": {}, "_reason": 1,
        }));
        assert_eq!(args.unwrap().text("query"), Some("q"));
        for other in ["wait", "wait_for_previous_", "Task_progress", "reason", ""] {
            let wrong = read(json!({"query": "q", other: 1})).unwrap_err();
            assert!(wrong[0].starts_with(&format!("`{other}`")), "{wrong:?}");
        }
    }

    #[test]
    fn what_is_beyond_a_clamped_range_is_taken_as_its_bound_and_said() {
        for (given, taken, said) in [
            (json!(50), 50, false),
            (json!("120"), 50, true),
            (json!(-1), 0, true),
        ] {
            let args = read(json!({"query": "q", "pause": given})).unwrap();
            assert_eq!(args.integer("pause"), Some(taken));
            assert_eq!(args.notes().len(), usize::from(said), "{args:?}");
        }
        assert!(read(json!({"query": "q", "pause": "long"})).is_err());
    }

    #[test]
    fn descriptions_name_ranges_and_defaults() {
        let schema = schema(PARAMS);
        let about = |name: &str| schema["properties"][name]["description"].clone();
        assert_eq!(about("rounds"), "1 to 5, default 4");
        assert_eq!(about("think"), "default true");
        assert_eq!(about("pause"), "Seconds; 0 to 50, default 0");
        assert_eq!(about("query"), "What");
        assert_eq!(about("state"), Value::Null);
    }

    #[test]
    fn all_that_is_wrong_is_named_at_once() {
        let wrong = read(json!({
            "query": " ", "rounds": 9, "think": "maybe", "state": "lost", "country": [], "depth": 1
        }))
        .unwrap_err();
        for (name, sentence) in ["query", "country", "rounds", "think", "state", "depth"]
            .iter()
            .zip(&wrong)
        {
            assert!(sentence.starts_with(&format!("`{name}`")), "{sentence}");
        }
        assert_eq!(wrong.len(), 6);
        for rounds in [
            json!(1.5),
            json!("many"),
            json!(true),
            json!(0),
            json!(1e300),
        ] {
            assert!(
                read(json!({"query": "q", "rounds": rounds})).is_err(),
                "{rounds}"
            );
        }
    }
}
