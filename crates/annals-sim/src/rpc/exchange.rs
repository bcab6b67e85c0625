//! One request and its answer, without the connection.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::RpcOptions;
use super::error::RpcError;
use super::held::HeldLedgers;
use super::method;
use super::replica::Replica;
use super::script::{Misbehaviour, Script};
use super::seen::Seen;

const JSON: &str = "application/json";

/// What a server works with.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) ledgers: Mutex<HeldLedgers>,
    pub(super) script: Mutex<Script>,
    pub(super) seen: Seen,
    pub(super) options: RpcOptions,
}

/// What is to be done with a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) latency: Duration,
    pub(super) act: Act,
}

/// How a request ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// With an answer of HTTP.
    Answer(HttpAnswer),
    /// Never.
    Hang,
    /// With a reset connection.
    Reset,
}

/// An answer of HTTP.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HttpAnswer {
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    pub(super) retry_after_seconds: Option<u32>,
    pub(super) body: Vec<u8>,
    /// How many bytes of the body come, where that is not all.
    pub(super) cut_at: Option<usize>,
}

impl HttpAnswer {
    pub(super) fn plain(status: u16, text: &str) -> Self {
        let content_type = "text/plain; charset=utf-8";
        Self { status, content_type, retry_after_seconds: None, body: text.as_bytes().to_vec(), cut_at: None }
    }

    fn json(answer: &Value) -> Self {
        let body = serde_json::to_vec(answer).expect("a value in memory has text");
        Self { status: 200, content_type: JSON, retry_after_seconds: None, body, cut_at: None }
    }
}

/// A call as JSON-RPC has it.
struct Call<'a> {
    id: &'a Value,
    method: &'a str,
    params: &'a Value,
}

impl<'a> Call<'a> {
    fn read(request: &'a Value) -> Result<Self, RpcError> {
        let method = request["method"].as_str();
        match (request["jsonrpc"].as_str(), method) {
            (Some("2.0"), Some(method)) => Ok(Self { id: &request["id"], method, params: &request["params"] }),
            (Some("2.0"), None) => Err(RpcError::invalid_request("empty method name")),
            _ if request.is_array() => Err(RpcError::invalid_request("this simulated node takes no batches")),
            _ => Err(RpcError::invalid_request("invalid version marker")),
        }
    }
}

impl Exchange {
    /// Answers the body of a POST.
    pub(super) fn reply(&self, body: &[u8]) -> Reply {
        let request: Value = match serde_json::from_slice(body) {
            Ok(request) => request,
            Err(error) => {
                let misbehaviours = self.meet("", &Value::Null);
                return reply(&Value::Null, Err(RpcError::parse(error.to_string())), &misbehaviours);
            }
        };
        let call = match Call::read(&request) {
            Ok(call) => call,
            Err(error) => {
                let misbehaviours = self.meet("", &request);
                return reply(&request["id"], Err(error), &misbehaviours);
            }
        };
        let misbehaviours = self.meet(call.method, call.params);
        let outcome = self.outcome(&call, &misbehaviours);
        if request.get("id").is_none() {
            // Nobody waits for the answer to a notification.
            return Reply { latency: Duration::ZERO, act: Act::Answer(HttpAnswer::plain(204, "")) };
        }
        reply(call.id, outcome, &misbehaviours)
    }

    /// Answers what is no POST of JSON.
    pub(super) fn refuse(&self, status: u16, text: &str) -> Reply {
        let misbehaviours = self.meet("", &Value::Null);
        let mut reply = reply(&Value::Null, Ok(Value::Null), &misbehaviours);
        let replaced = |misbehaviour: &Misbehaviour| matches!(misbehaviour, Misbehaviour::Http { .. });
        if matches!(reply.act, Act::Answer(_)) && !misbehaviours.iter().any(replaced) {
            reply.act = Act::Answer(HttpAnswer::plain(status, text));
        }
        reply
    }

    /// Notes the request, and asks the script.
    fn meet(&self, method: &str, params: &Value) -> Vec<Misbehaviour> {
        let begins_with = method::begins_with(method, params);
        let misbehaviours = self.script.lock().unwrap_or_else(PoisonError::into_inner).take(method, begins_with);
        self.seen.add(method, params, begins_with, !misbehaviours.is_empty());
        misbehaviours
    }

    fn outcome(&self, call: &Call<'_>, misbehaviours: &[Misbehaviour]) -> Result<Value, RpcError> {
        let own = self.ledgers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let other = misbehaviours.iter().rev().find_map(|misbehaviour| match misbehaviour {
            Misbehaviour::OtherChain(ledgers) => Some(ledgers),
            _ => None,
        });
        let held = other.unwrap_or(&own);
        // Nothing is closed or dropped while one answer is gathered.
        let ledgers = held.read();
        let replica = Replica::new(held, &ledgers, misbehaviours);
        let mut result = method::call(call.method, call.params, &replica, &self.options)?;
        for misbehaviour in misbehaviours {
            if let Misbehaviour::EditResult(edit) = misbehaviour {
                (edit.0)(&mut result);
            }
        }
        Ok(result)
    }
}

fn reply(id: &Value, outcome: Result<Value, RpcError>, misbehaviours: &[Misbehaviour]) -> Reply {
    let outcome = misbehaviours.iter().fold(outcome, |outcome, misbehaviour| match misbehaviour {
        Misbehaviour::Error { code, message } => Err(RpcError::new(*code, message.as_str())),
        _ => outcome,
    });
    let others = misbehaviours.iter().any(|misbehaviour| matches!(misbehaviour, Misbehaviour::OtherId));
    let id = if others { json!("of another request") } else { id.clone() };
    let mut act = Act::Answer(HttpAnswer::json(&match outcome {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => {
            let mut object = json!({ "code": error.code, "message": error.message });
            if let Some(data) = error.data {
                object["data"] = data;
            }
            json!({ "jsonrpc": "2.0", "id": id, "error": object })
        }
    }));
    let mut latency = Duration::ZERO;
    for misbehaviour in misbehaviours {
        match misbehaviour {
            Misbehaviour::Latency(more) => latency += *more,
            Misbehaviour::Hang => act = Act::Hang,
            Misbehaviour::Reset => act = Act::Reset,
            Misbehaviour::Http { status, retry_after_seconds, content_type, body } => {
                act = Act::Answer(HttpAnswer {
                    status: *status,
                    content_type,
                    retry_after_seconds: *retry_after_seconds,
                    body: body.as_bytes().to_vec(),
                    cut_at: None,
                });
            }
            Misbehaviour::Truncated { bytes } => {
                if let Act::Answer(answer) = &mut act {
                    answer.cut_at = Some(*bytes);
                }
            }
            _ => {}
        }
    }
    Reply { latency, act }
}
