//! The OpenAPI document, written from the table of routes and the schemas beside this file.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use super::code::Code;
use super::route::{self, Parameter, Route};

/// `components.schemas`, but for the codes.
const SCHEMAS: &str = include_str!("openapi/schemas.json");

const ABOUT: &str = "Reads an archive of Stellar contract events. Every answer about events says whether its window \
    is gap-free (`complete`) and what ties each event to the ledger headers (`proof`): two statements. GET and HEAD \
    answer, OPTIONS says so; every other method is refused. No answer may be cached. Ledgers are numbers, ids are \
    texts. In a query a plus sign stands for itself.";

/// The document.
pub(super) fn document() -> Value {
    let mut paths = Map::new();
    for route in route::ALL {
        paths.insert(route.path.to_owned(), path_item(route, route.operation.to_owned()));
        for (number, alias) in (2..).zip(route.aliases) {
            paths.insert((*alias).to_owned(), path_item(route, format!("{}{number}", route.operation)));
        }
    }
    let mut schemas: Map<String, Value> = serde_json::from_str(SCHEMAS).expect("a test reads the same file");
    schemas.insert("ErrorCode".to_owned(), error_code());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Annals",
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": { "schemas": schemas },
    })
}

/// All codes, each with its status and its sentence.
fn error_code() -> Value {
    let line = |code: Code| format!("`{}` ({}): {}.", code.as_str(), code.status().as_u16(), code.sentence());
    json!({
        "type": "string",
        "description": Code::ALL.map(line).join("\n"),
        "enum": Code::ALL.map(Code::as_str).as_slice(),
    })
}

fn path_item(route: &Route, operation: String) -> Value {
    let in_path = route.in_path.iter().map(|parameter| described(parameter, "path"));
    let in_query = route.in_query.iter().map(|parameter| described(parameter, "query"));
    let parameters: Vec<Value> = in_path.chain(in_query).collect();
    let mut responses = Map::new();
    responses.insert("200".to_owned(), answer("The answer.", reference(route.answer)));
    for (status, codes) in by_status(route.all_codes()) {
        let about: Vec<String> =
            codes.iter().map(|code| format!("`{}`: {}.", code.as_str(), code.sentence())).collect();
        let mut response = answer(&about.join("\n"), reference("Error"));
        // Beside the schema, so that generated clients have one type of error and not one for each status of a route.
        response["x-codes"] = codes.iter().map(|code| code.as_str()).collect();
        if status == StatusCode::METHOD_NOT_ALLOWED {
            response["headers"] = json!({ "allow": { "schema": { "const": "GET, HEAD, OPTIONS" }, "required": true } });
        }
        if route.fails && status == StatusCode::SERVICE_UNAVAILABLE {
            let schemas = [reference(route.answer), reference("Error")];
            response["content"]["application/json"]["schema"] = json!({ "anyOf": schemas });
        }
        responses.insert(status.as_str().to_owned(), response);
    }
    json!({
        "get": {
            "operationId": operation,
            "summary": route.about,
            "parameters": parameters,
            "responses": responses,
        },
    })
}

fn described(parameter: &Parameter, place: &str) -> Value {
    json!({
        "name": parameter.name,
        "in": place,
        "required": place == "path",
        "description": parameter.about,
        "schema": reference(parameter.schema),
    })
}

fn by_status(codes: impl Iterator<Item = Code>) -> BTreeMap<StatusCode, Vec<Code>> {
    let mut by_status: BTreeMap<StatusCode, Vec<Code>> = BTreeMap::new();
    for code in codes {
        by_status.entry(code.status()).or_default().push(code);
    }
    by_status
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

fn answer(about: &str, schema: Value) -> Value {
    json!({
        "description": about,
        "headers": { "cache-control": { "schema": { "const": "no-store" }, "required": true } },
        "content": { "application/json": { "schema": schema } },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_leads_somewhere_and_every_code_is_some_routes() {
        let document = document();
        let text = document.to_string();
        for reference in text.split("\"#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap();
            assert!(document["components"]["schemas"].get(name).is_some(), "{name}");
        }
        let given: Vec<Code> = route::ALL.into_iter().flat_map(Route::all_codes).collect();
        for code in Code::ALL {
            assert!(given.contains(&code), "{code:?} is no route's");
        }
    }
}
