//! The smallest client that sees everything: status, headers, and a body that may end early.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use annals_sim::RpcServer;
use serde_json::{Value, json};

/// How long an answer may take that is to come.
const PATIENCE: Duration = Duration::from_secs(20);

/// An answer of HTTP.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let prefix = format!("{name}: ");
        self.head.lines().find_map(|line| line.strip_prefix(prefix.as_str()))
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn is_whole(&self) -> bool {
        self.header("content-length").unwrap().parse::<usize>().unwrap() == self.body.len()
    }
}

/// Sends one request on a connection of its own.
pub fn send(server: &RpcServer, method: &str, content_type: &str, body: &[u8]) -> io::Result<Answer> {
    send_within(server, method, content_type, body, PATIENCE)
}

pub fn send_within(
    server: &RpcServer,
    method: &str,
    content_type: &str,
    body: &[u8],
    patience: Duration,
) -> io::Result<Answer> {
    let mut stream = TcpStream::connect(server.address())?;
    stream.set_read_timeout(Some(patience))?;
    let length = body.len();
    write!(
        stream,
        "{method} / HTTP/1.1\r\nhost: sim\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\nconnection: \
         close\r\n\r\n"
    )?;
    stream.write_all(body)?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Ok(Answer { status, head, body: bytes.split_off(end + 4) })
}

/// Posts a call.
pub fn post(server: &RpcServer, method: &str, params: &Value) -> io::Result<Answer> {
    let request = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    send(server, "POST", "application/json", &serde_json::to_vec(&request).unwrap())
}

/// The result of a call that has one.
pub fn result(server: &RpcServer, method: &str, params: &Value) -> Value {
    let answer = post(server, method, params).unwrap();
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    let mut answer = answer.json();
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(7)));
    assert!(answer.get("error").is_none(), "{method} {params}: {answer}");
    answer["result"].take()
}

/// Code and text of a call's error.
pub fn error(server: &RpcServer, method: &str, params: &Value) -> (i64, String) {
    let answer = post(server, method, params).unwrap();
    assert_eq!(answer.status, 200);
    let answer = answer.json();
    assert!(answer.get("result").is_none(), "{method} {params}: {answer}");
    let error = &answer["error"];
    (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
}
