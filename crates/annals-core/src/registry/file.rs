//! How schemas are written down: TOML.
//!
//! ```toml
//! [[schema.my-token.event]]
//! name = "transfer"
//! versions = ["v2"]
//! topics = ["from", "to", { value = "string" }]
//! data = ["i128", { map = ["amount", "to_muxed_id"] }]
//! checkpoint = "from"
//! payload = { function = "send", roles = ["from", "to"], argument = 2 }
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;

use super::choice::is_name;
use super::error::RegistryError;
use super::shape::{DataShape, Mark, PayloadRule, Shape, TopicShape, ValueType};

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
#[serde(untagged)]
enum TopicText {
    Role(String),
    Value(ValueText),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ValueText {
    value: ValueType,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum DataText {
    Any(AnyWord),
    Value(ValueType),
    Map(MapText),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum AnyWord {
    Any,
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
    let file: File = toml::from_str(toml).map_err(|error| RegistryError::Unreadable { message: one_line(&error) })?;
    let mut schemas = Vec::new();
    for (name, text) in file.schema {
        if !is_name(&name) {
            return Err(RegistryError::BadName);
        }
        let shapes = text.event.into_iter().map(|event| shape(&name, event)).collect::<Result<_, _>>()?;
        schemas.push((name, FileSchema { replace: text.replace, shapes }));
    }
    Ok(schemas)
}

/// An error of the parser spans lines; its first says where, its last what.
fn one_line(error: &toml::de::Error) -> String {
    error.to_string().lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

fn shape(schema: &str, text: ShapeText) -> Result<Shape, RegistryError> {
    let bad = |message| RegistryError::BadShape { schema: schema.to_owned(), event: text.name.clone(), message };
    let topics: Vec<TopicShape> = text
        .topics
        .into_iter()
        .map(|topic| match topic {
            TopicText::Role(role) => TopicShape::Role(role),
            TopicText::Value(ValueText { value }) => TopicShape::Value(value),
        })
        .collect();
    let roles: Vec<&str> = topics.iter().filter_map(|topic| topic.role()).collect();
    let marked = [(text.checkpoint, Mark::Checkpoint), (text.fold, Mark::Fold), (text.opening, Mark::Opening)];
    let marks: Vec<(String, Mark)> = marked.into_iter().filter_map(|(role, mark)| Some((role?, mark))).collect();
    let payload =
        text.payload.map(|text| PayloadRule { function: text.function, roles: text.roles, argument: text.argument });
    let distinct = |names: &[&str]| names.iter().enumerate().all(|(place, name)| !names[..place].contains(name));
    let marked: Vec<&str> = marks.iter().map(|(role, _)| role.as_str()).collect();
    if text.data.is_empty() {
        return Err(bad("say what its data can be"));
    }
    if !roles.iter().copied().all(is_name) || !distinct(&roles) {
        return Err(bad("each role has a name of its own"));
    }
    if !marked.iter().all(|role| roles.contains(role)) || !distinct(&marked) {
        return Err(bad("checkpoint, fold and opening name roles of the event, each another one"));
    }
    if payload.as_ref().is_some_and(|rule| !rule.roles.iter().all(|role| roles.contains(&role.as_str()))) {
        return Err(bad("the payload's roles are roles of the event"));
    }
    if !text.versions.iter().all(|version| is_name(version)) {
        return Err(bad("a version is named by letters, digits, -, _ and ."));
    }
    let data = text.data.into_iter().map(data_shape).collect();
    Ok(Shape { name: text.name, versions: text.versions, topics, data, marks, payload })
}

fn data_shape(text: DataText) -> DataShape {
    match text {
        DataText::Any(AnyWord::Any) => DataShape::Any,
        DataText::Value(value) => DataShape::Value(value),
        DataText::Map(MapText { mut map }) => {
            map.sort_unstable();
            map.dedup();
            DataShape::Map(map)
        }
    }
}
