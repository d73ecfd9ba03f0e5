//! Puts one server into a configuration and leaves everything else as it is, comments too.

use anyhow::{Context as _, bail};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;
use toml_edit::{DocumentMut, Item, Table, TableLike};

use super::arguments;
use super::clients::{Entry, Format};
use super::lines;

/// The name of the server in every client.
const NAME: &str = "glovebox";

/// The byte order mark that some editors begin a file with.
const MARK: &str = "\u{feff}";

/// The text with the entry in it. What a user changed in an entry of ours beyond what starts it is kept, and every
/// other line stays as it is: byte order mark and line ends too.
///
/// # Errors
/// Where the text is not what the client could read either.
pub fn merged(text: &str, entry: &Entry) -> anyhow::Result<String> {
    let (mark, body) = match text.strip_prefix(MARK) {
        Some(rest) => (MARK, rest),
        None => ("", text),
    };
    let plain = lines::plain(body);
    let edited = match entry.format {
        Format::Json => merged_json(&plain, entry)?,
        Format::Toml => merged_toml(&plain, entry)?,
    };
    Ok(format!("{mark}{}", lines::restored(body, &edited)))
}

/// Returns the text without our entry, or `None` where it has none. Every other line stays as it is.
///
/// # Errors
/// Where the text is not what the client could read either.
pub fn without_entry(text: &str, entry: &Entry) -> anyhow::Result<Option<String>> {
    let (mark, body) = match text.strip_prefix(MARK) {
        Some(rest) => (MARK, rest),
        None => ("", text),
    };
    let plain = lines::plain(body);
    let edited = match entry.format {
        Format::Json => json_without_entry(&plain, entry)?,
        Format::Toml => toml_without_entry(&plain, entry)?,
    };
    Ok(edited.map(|edited| format!("{mark}{}", lines::restored(body, &edited))))
}

fn json_without_entry(text: &str, entry: &Entry) -> anyhow::Result<Option<String>> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let root = CstRootNode::parse(text, &JSONC).context("the file is not valid JSON")?;
    let mut servers = root.object_value();
    for key in &entry.servers {
        servers = servers.and_then(|servers| member(&servers, key)?.object_value());
        if let Some(map) = servers
            .as_ref()
            .filter(|map| *key == "mcp" && is_map_of_servers(map))
        {
            servers = member(map, "servers").and_then(|inner| inner.object_value());
        }
    }
    let Some(ours) = servers.and_then(|servers| member(&servers, NAME)) else {
        return Ok(None);
    };
    ours.remove();
    Ok(Some(root.to_string()))
}

fn toml_without_entry(text: &str, entry: &Entry) -> anyhow::Result<Option<String>> {
    let mut document: DocumentMut = text.parse().context("the file is not valid TOML")?;
    let mut table: Option<&mut dyn TableLike> = Some(document.as_table_mut());
    for key in &entry.servers {
        table = table.and_then(|table| table.get_mut(key)?.as_table_like_mut());
    }
    let removed = table.and_then(|table| table.remove(NAME)).is_some();
    Ok(removed.then(|| document.to_string()))
}

/// What clients accept: comments and trailing commas, and no further looseness.
const JSONC: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

fn merged_json(text: &str, entry: &Entry) -> anyhow::Result<String> {
    let fresh = text.trim().is_empty();
    let root = CstRootNode::parse(if fresh { "{}\n" } else { text }, &JSONC)
        .context("the file is not valid JSON")?;
    let mut servers = root
        .object_value_or_create()
        .context("the file is not a JSON object")?;
    for key in &entry.servers {
        servers = object_in(&servers, key).with_context(|| format!("`{key}` is not an object"))?;
        // opencode nests its servers one deeper since its second version; the shape there is followed.
        if *key == "mcp" && is_map_of_servers(&servers) {
            servers = object_in(&servers, "servers").context("`mcp.servers` is not an object")?;
        }
    }
    let mut ours =
        object_in(&servers, NAME).with_context(|| format!("`{NAME}` is not an object"))?;
    if let Some(within) = entry.within {
        ours = object_in(&ours, within)
            .with_context(|| format!("`{NAME}.{within}` is not an object"))?;
    }
    for key in obsolete(entry) {
        if let Some(present) = member(&ours, key) {
            present.remove();
        }
    }
    for (key, value) in &entry.members {
        set_member(&ours, key, value);
    }
    Ok(root.to_string())
}

/// Members that start a server, or say how a running one is reached. Only one kind can be in an entry.
const WAYS: [&str; 11] = [
    "command",
    "args",
    "env",
    "environment",
    "env_vars",
    "url",
    "httpUrl",
    "headers",
    "http_headers",
    "bearer_token_env_var",
    "oauth",
];

/// The members of the other kind than the entry's.
fn obsolete(entry: &Entry) -> impl Iterator<Item = &'static str> {
    let of_entry = |key: &str| entry.members.iter().any(|(name, _)| *name == key);
    let starts = of_entry("command");
    let others = if starts {
        WAYS.split_at(5).1
    } else {
        WAYS.split_at(5).0
    };
    let replaces = entry.replaces;
    others.iter().copied().filter(move |_| replaces)
}

/// The member of that name. Of several, it is the last, which is the one that readers take.
fn member(object: &CstObject, name: &str) -> Option<CstObjectProp> {
    let mut members = object.properties().into_iter().rev();
    members.find(|member| member.decoded_name().as_deref() == Some(name))
}

/// The object under that name, made where there is none; `None` where there is something else.
fn object_in(object: &CstObject, name: &str) -> Option<CstObject> {
    let member = member(object, name)
        .unwrap_or_else(|| object.append(name, CstInputValue::Object(Vec::new())));
    member.object_value()
}

fn is_map_of_servers(mcp: &CstObject) -> bool {
    let servers = member(mcp, "servers").and_then(|servers| servers.object_value());
    servers.is_some_and(|servers| {
        member(&servers, "type").is_none() && member(&servers, "command").is_none()
    })
}

fn set_member(object: &CstObject, key: &str, value: &Value) {
    match (member(object, key), value) {
        (Some(present), Value::Object(members)) if present.object_value().is_some() => {
            if let Some(inner) = present.object_value() {
                for (key, value) in members
                    .iter()
                    .filter(|(key, _)| member(&inner, key).is_none())
                {
                    inner.append(key, input(value));
                }
            }
        }
        (Some(present), _) => {
            let before = present.value().and_then(|node| node.to_serde_value());
            let value = combined(key, before.as_ref(), value);
            // Setting an equal value would still rewrite how the user laid it out.
            if before.as_ref() != Some(&value) {
                present.set_value(input(&value));
            }
        }
        (None, _) => {
            object.append(key, input(value));
        }
    }
}

/// The value of a member that is there already: what a person added to its lists stays.
fn combined(key: &str, present: Option<&Value>, wanted: &Value) -> Value {
    let (Some(present), Some(list)) = (present.and_then(texts), texts(wanted)) else {
        return wanted.clone();
    };
    match (key, list.split_first()) {
        ("args", _) => arguments::merged(&present, &list).into(),
        // The program and its arguments in one list.
        ("command", Some((program, arguments))) => {
            let present = present.get(1..).unwrap_or_default();
            let all = arguments::merged(present, arguments);
            std::iter::once(program.clone()).chain(all).collect()
        }
        // A person may have left some out.
        ("tools", _) => present.into(),
        ("env_vars", _) => {
            let missing = list.iter().filter(|name| !present.contains(name));
            present.iter().chain(missing).cloned().collect()
        }
        _ => wanted.clone(),
    }
}

/// A list of texts.
fn texts(value: &Value) -> Option<Vec<String>> {
    let items = value.as_array()?.iter();
    items.map(|item| item.as_str().map(str::to_owned)).collect()
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => CstInputValue::Object(
            members
                .iter()
                .map(|(key, value)| (key.clone(), input(value)))
                .collect(),
        ),
    }
}

fn merged_toml(text: &str, entry: &Entry) -> anyhow::Result<String> {
    let mut document: DocumentMut = text.parse().context("the file is not valid TOML")?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for key in &entry.servers {
        table = table
            .entry(key)
            .or_insert_with(|| {
                let mut parent = Table::new();
                parent.set_implicit(true);
                Item::Table(parent)
            })
            .as_table_like_mut()
            .with_context(|| format!("`{key}` is not a table"))?;
    }
    let ours = table
        .entry(NAME)
        .or_insert_with(|| Item::Table(Table::new()))
        .as_table_like_mut()
        .with_context(|| format!("`{NAME}` is not a table"))?;
    for key in obsolete(entry) {
        ours.remove(key);
    }
    for (key, value) in &entry.members {
        set_toml(ours, key, value)?;
    }
    Ok(document.to_string())
}

fn set_toml(table: &mut dyn TableLike, key: &str, value: &Value) -> anyhow::Result<()> {
    if let Value::Object(members) = value {
        let inner = table
            .entry(key)
            .or_insert_with(|| {
                let mut inner = Table::new();
                // A table that holds nothing but tables needs no header of its own.
                inner.set_implicit(members.values().all(Value::is_object));
                Item::Table(inner)
            })
            .as_table_like_mut()
            .with_context(|| format!("`{key}` is not a table"))?;
        return members
            .iter()
            .try_for_each(|(key, value)| set_toml(inner, key, value));
    }
    // What a person set beside these stays.
    if table.contains_key(key)
        && !matches!(
            key,
            "command" | "args" | "env_vars" | "url" | "bearer_token_env_var"
        )
    {
        return Ok(());
    }
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(present) => {
            let before = json_texts(present);
            let value = toml_value(&combined(key, before.as_ref(), value))?;
            if !same(present, &value) {
                let decor = present.decor().clone();
                *present = value;
                *present.decor_mut() = decor;
            }
        }
        None => {
            table.insert(key, Item::Value(toml_value(value)?));
        }
    }
    Ok(())
}

/// A list of texts, as JSON has it.
fn json_texts(value: &toml_edit::Value) -> Option<Value> {
    let items = value.as_array()?.iter();
    items
        .map(|item| item.as_str().map(Value::from))
        .collect::<Option<Vec<_>>>()
        .map(Value::from)
}

fn same(present: &toml_edit::Value, wanted: &toml_edit::Value) -> bool {
    let bare = |value: &toml_edit::Value| {
        let mut value = value.clone();
        value.decor_mut().clear();
        if let Some(array) = value.as_array_mut() {
            array.fmt();
        }
        value.to_string()
    };
    bare(present) == bare(wanted)
}

fn toml_value(value: &Value) -> anyhow::Result<toml_edit::Value> {
    Ok(match value {
        Value::String(text) => text.as_str().into(),
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => number.as_i64().context("a number out of range")?.into(),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(toml_value).collect::<Result<_, _>>()?;
            items.into_iter().collect::<toml_edit::Array>().into()
        }
        Value::Null | Value::Object(_) => bail!("no such value is ever written to TOML"),
    })
}
