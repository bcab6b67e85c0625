//! The document is a contract: a stale golden fails, and every answer of a test is held against it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde_json::Value;

use super::client::Reply;
use super::server::whole;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi.json")
}

pub static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(&fs::read_to_string(golden()).unwrap()).unwrap());

/// Every documented path with its GET operation.
pub fn operations() -> impl Iterator<Item = (&'static str, &'static Value)> {
    let paths = DOCUMENT["paths"].as_object().unwrap();
    paths.iter().map(|(path, item)| (path.as_str(), &item["get"]))
}

/// The codes that a response of the document can have.
pub fn codes(response: &Value) -> BTreeSet<&str> {
    response["x-codes"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect()
}

/// Whether a path is one of a template's.
fn is_of(template: &str, path: &str) -> bool {
    let path = path.split('?').next().unwrap();
    let (template, path): (Vec<_>, Vec<_>) = (template.split('/').collect(), path.split('/').collect());
    template.len() == path.len()
        && template.iter().zip(&path).all(|(part, given)| part == given || (part.starts_with('{') && !given.is_empty()))
}

/// Requires that the document describes an answer to a GET of `path`: its status, its code or its fields.
#[track_caller]
pub fn check(path: &str, reply: &Reply) {
    let Some((_, operation)) = operations().find(|(template, _)| is_of(template, path)) else {
        reply.refuses(404, "NOT_FOUND");
        return;
    };
    let response = &operation["responses"][reply.status.to_string()];
    assert!(response.is_object(), "{path} answers the undocumented {}", reply.status);
    if let Some(code) = reply.code() {
        assert!(codes(response).contains(code.as_str()), "{path} answers the undocumented {code}");
        return;
    }
    let schema = &response["content"]["application/json"]["schema"];
    let reference = [&schema["$ref"], &schema["anyOf"][0]["$ref"]].into_iter().find_map(Value::as_str);
    check_fields(reference.unwrap(), &reply.json(), path);
}

/// Requires that an object has all the fields of its schema and no other, and so on inside.
#[track_caller]
fn check_fields(reference: &str, value: &Value, path: &str) {
    let name = reference.rsplit('/').next().unwrap();
    let schema = &DOCUMENT["components"]["schemas"][name];
    let (Some(required), Some(object)) = (schema["required"].as_array(), value.as_object()) else { return };
    if schema["additionalProperties"] != Value::Bool(false) {
        return;
    }
    let documented: BTreeSet<&str> = required.iter().map(|field| field.as_str().unwrap()).collect();
    let given: BTreeSet<&str> = object.keys().map(String::as_str).collect();
    assert_eq!(given, documented, "{name} of {path}");
    for (field, value) in object {
        let property = &schema["properties"][field];
        for reference in [&property["$ref"], &property["anyOf"][0]["$ref"]] {
            if let Some(reference) = reference.as_str() {
                check_fields(reference, value, path);
            }
        }
        if let (Some(reference), Some(items)) = (property["items"]["$ref"].as_str(), value.as_array()) {
            items.iter().for_each(|item| check_fields(reference, item, path));
        }
    }
}

#[test]
fn the_document_is_as_recorded() {
    let served = String::from_utf8(whole().request("GET", "/v1/openapi.json", &[]).body).unwrap();
    if std::env::var_os("ANNALS_BLESS").is_some() {
        fs::write(golden(), &served).unwrap();
    }
    let recorded = fs::read_to_string(golden()).unwrap_or_default();
    assert!(served == recorded, "stale: run with ANNALS_BLESS=1 and read what changed");
    assert_eq!(DOCUMENT["info"]["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn every_documented_path_answers_and_other_paths_are_documented_as_nothing() {
    for (path, _) in operations() {
        assert_ne!(whole().get(&super::errors::instance(path)).code().as_deref(), Some("NOT_FOUND"), "{path}");
    }
    for path in ["/v1", "/v1/", "/v1/health/", "//v1/health", "/v2/health", "/v1/tokens", "/healthz/x", "/v1/%00"] {
        whole().get(path).refuses(404, "NOT_FOUND");
    }
}
