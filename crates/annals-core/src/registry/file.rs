//! How schemas are written down: TOML.
//!
//! ```toml
//! [[schema.my-token.event]]
//! name = "transfer"                                 # the symbol of topic 0
//! versions = ["v2"]                                 # the contract's versions that emit it; all without this line
//! topics = ["from", "to", { value = "string" }]     # roles of addresses, and types of what is no party
//! data = ["i128", { map = ["amount", "to_muxed_id?"] }]
//! checkpoint = "from"                               # or fold, or opening: for whom the event is one
//! payload = { function = "send", roles = ["from", "to"], argument = 2 }
//! ```
//!
//! A role with a question mark is a topic that may be missing, a key with one a key that may be. What follows the name
//! can be one of several types: `{ value = ["u32", "symbol"] }`. Data is `"any"`, a type, `{ vec = ["i128", "u32"] }` or
//! `{ map = ["key"] }`; each form that it can have is one of the list.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::choice::{NO_SCHEMA, is_name};
use super::data_shape::{DataShape, Key};
use super::error::RegistryError;
use super::shape::{Mark, PayloadRule, Shape, TopicShape};
use super::value_type::ValueType;

/// So many topics of one event may be missing: each doubles its forms.
const OPTIONAL_TOPICS_MAX: usize = 3;
/// So long is a symbol (`SCSYMBOL_LIMIT`, `Stellar-contract.x`).
const SYMBOL_LENGTH_MAX: usize = 32;
/// So long is what an error repeats of the parser's words.
const MESSAGE_LENGTH_MAX: usize = 300;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    schema: BTreeMap<String, SchemaText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SchemaText {
    #[serde(default)]
    replace: bool,
    #[serde(default)]
    event: Vec<ShapeText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShapeText {
    name: String,
    #[serde(default)]
    versions: Vec<String>,
    #[serde(default)]
    topics: Vec<TopicText>,
    data: Vec<DataText>,
    checkpoint: Option<String>,
    fold: Option<String>,
    opening: Option<String>,
    payload: Option<PayloadText>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a topic is a role, or { value = TYPE }, or { value = [TYPE, TYPE] }")]
enum TopicText {
    Role(String),
    Value(ValueText),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ValueText {
    value: TypesText,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum TypesText {
    One(ValueType),
    Some(Vec<ValueType>),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "data is \"any\", a type, { vec = [TYPE, TYPE] } or { map = [KEY, KEY] }")]
enum DataText {
    Any(AnyWord),
    Value(ValueType),
    Vec(VecText),
    Map(MapText),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum AnyWord {
    Any,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VecText {
    vec: Vec<ValueType>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MapText {
    map: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PayloadText {
    function: String,
    roles: Vec<String>,
    argument: usize,
}

/// One schema of a file.
pub(super) struct FileSchema {
    pub(super) replace: bool,
    pub(super) shapes: Vec<Shape>,
}

/// Reads a file of schemas.
pub(super) fn read(toml: &str) -> Result<Vec<(String, FileSchema)>, RegistryError> {
    let file: File =
        toml::from_str(toml).map_err(|error| RegistryError::Unreadable { message: one_line(toml, &error) })?;
    let mut schemas = Vec::new();
    for (name, text) in file.schema {
        if !is_name(&name) {
            return Err(RegistryError::BadName);
        }
        if name == NO_SCHEMA {
            return Err(RegistryError::NamedNone);
        }
        let mut read = FileSchema { replace: text.replace, shapes: Vec::new() };
        for event in text.event {
            read.shapes.extend(shapes(&name, event)?);
        }
        schemas.push((name, read));
    }
    Ok(schemas)
}

/// Where the parser stopped and why. Its own text spans lines, and repeats whatever stands in the file.
fn one_line(toml: &str, error: &toml::de::Error) -> String {
    let line = |at: usize| 1 + toml.bytes().take(at).filter(|byte| *byte == b'\n').count();
    let place = error.span().map(|span| format!("line {}: ", line(span.start))).unwrap_or_default();
    let printable = |character: char| if character == ' ' || character.is_ascii_graphic() { character } else { '?' };
    place.chars().chain(error.message().chars().map(printable).take(MESSAGE_LENGTH_MAX)).collect()
}

/// The shapes of one entry: several where topics may be missing.
fn shapes(schema: &str, text: ShapeText) -> Result<Vec<Shape>, RegistryError> {
    if !is_symbol(&text.name) {
        return Err(RegistryError::BadEventName { schema: schema.to_owned() });
    }
    let bad = |message| RegistryError::BadShape { schema: schema.to_owned(), event: text.name.clone(), message };
    let topics: Vec<(TopicShape, bool)> = text.topics.into_iter().map(topic).collect();
    let mut marks = Vec::new();
    for (owner, mark) in [(text.checkpoint, Mark::Checkpoint), (text.fold, Mark::Fold), (text.opening, Mark::Opening)] {
        marks.extend(owner.map(|owner| (owner, mark)));
    }
    let payload =
        text.payload.map(|text| PayloadRule { function: text.function, roles: text.roles, argument: text.argument });
    check_roles(&topics, &marks, payload.as_ref()).map_err(bad)?;
    if !text.versions.iter().all(|version| is_name(version)) || !distinct(&text.versions) {
        return Err(bad("each version is named once, by letters, digits, -, _ and ."));
    }
    if text.data.is_empty() {
        return Err(bad("say what its data can be"));
    }
    let data = text.data.into_iter().map(data_shape).collect::<Result<Vec<_>, _>>().map_err(bad)?;
    let apart = |(place, own): (usize, &DataShape)| !data[..place].iter().any(|other| other.overlaps(own));
    if !data.iter().enumerate().all(apart) {
        return Err(bad("two forms of its data are one, or one holds the other"));
    }
    let whole = Shape { name: text.name, versions: text.versions, topics: Vec::new(), data, marks, payload };
    Ok(present(&topics).into_iter().map(|topics| Shape { topics, ..whole.clone() }).collect())
}

/// A topic, and whether it may be missing.
fn topic(text: TopicText) -> (TopicShape, bool) {
    match text {
        TopicText::Role(role) => match role.strip_suffix('?') {
            Some(role) => (TopicShape::Role(role.to_owned()), true),
            None => (TopicShape::Role(role), false),
        },
        TopicText::Value(ValueText { value: TypesText::One(value) }) => (TopicShape::Value(vec![value]), false),
        TopicText::Value(ValueText { value: TypesText::Some(values) }) => (TopicShape::Value(values), false),
    }
}

/// Every list of topics that is left when some of those that may be missing are.
fn present(topics: &[(TopicShape, bool)]) -> Vec<Vec<TopicShape>> {
    let mut lists = vec![Vec::new()];
    for (topic, optional) in topics {
        let without = if *optional { lists.clone() } else { Vec::new() };
        lists.iter_mut().for_each(|list| list.push(topic.clone()));
        lists.extend(without);
    }
    lists
}

fn check_roles(
    topics: &[(TopicShape, bool)],
    marks: &[(String, Mark)],
    payload: Option<&PayloadRule>,
) -> Result<(), &'static str> {
    let roles: Vec<&str> = topics.iter().filter_map(|(topic, _)| topic.role()).collect();
    let needed = |role: &String| topics.iter().any(|(topic, optional)| !optional && topic.role() == Some(role));
    let owners: Vec<&String> = marks.iter().map(|(owner, _)| owner).collect();
    if topics.iter().filter(|(_, optional)| *optional).count() > OPTIONAL_TOPICS_MAX {
        return Err("at most three of its topics may be missing");
    }
    let untyped =
        |topic: &TopicShape| matches!(topic, TopicShape::Value(types) if types.is_empty() || !distinct(types));
    if topics.iter().any(|(topic, _)| untyped(topic)) {
        return Err("a topic that is no party has a type, or several, each named once");
    }
    if !roles.iter().copied().all(is_name) || !distinct(&roles) {
        return Err("each role has a name of its own, of letters, digits, -, _ and .");
    }
    if !owners.iter().all(|owner| needed(owner)) || !distinct(&owners) {
        return Err("checkpoint, fold and opening name roles that the event always has, each another one");
    }
    let Some(rule) = payload else { return Ok(()) };
    if !is_symbol(&rule.function) || rule.roles.is_empty() || !rule.roles.iter().all(needed) || !distinct(&rule.roles) {
        return Err("a payload has a function, and roles that the event always has, each once");
    }
    if rule.argument < rule.roles.len() {
        return Err("the payload's argument comes after those of its roles");
    }
    Ok(())
}

fn data_shape(text: DataText) -> Result<DataShape, &'static str> {
    Ok(match text {
        DataText::Any(AnyWord::Any) => DataShape::Any,
        DataText::Value(value) => DataShape::Value(value),
        DataText::Vec(VecText { vec }) => DataShape::Vec(vec),
        DataText::Map(MapText { map }) => {
            let mut keys: Vec<Key> = map.iter().map(|text| key(text)).collect();
            keys.sort_unstable();
            if !keys.iter().all(|key| is_symbol(&key.name)) || !keys.is_sorted_by(|own, next| own.name < next.name) {
                return Err("each key of a map is a symbol, named once");
            }
            DataShape::Map(keys)
        }
    })
}

fn key(text: &str) -> Key {
    let name = text.strip_suffix('?').unwrap_or(text);
    Key { name: name.to_owned(), optional: name.len() != text.len() }
}

fn distinct<T: PartialEq>(names: &[T]) -> bool {
    names.iter().enumerate().all(|(place, name)| !names[..place].contains(name))
}

/// Whether a contract can write a text as a symbol (`SCSymbol`, CAP-46-01).
fn is_symbol(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (1..=SYMBOL_LENGTH_MAX).contains(&text.len()) && text.bytes().all(plain)
}

#[cfg(test)]
mod tests;
