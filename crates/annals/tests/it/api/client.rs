//! A client that shows every byte of an answer, and lets a test write every byte of a request.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// How long a test waits for an answer that must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// One answer.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    /// The one value of a header.
    #[track_caller]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let first = values.next();
        assert_eq!(values.next(), None, "{name} is given twice: {:?}", self.headers);
        first
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The error's code; none where the answer is none.
    pub fn code(&self) -> Option<String> {
        serde_json::from_slice::<Value>(&self.body).ok()?["error"]["code"].as_str().map(str::to_owned)
    }

    /// Requires an error in the one envelope.
    #[track_caller]
    pub fn refuses(&self, status: u16, code: &str) {
        let json = self.json();
        assert_eq!((self.status, json["error"]["code"].as_str()), (status, Some(code)), "{json}");
        assert!(json["error"]["message"].as_str().is_some_and(|message| !message.is_empty()), "{json}");
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(
            (keys(&json), keys(&json["error"])),
            (vec!["error".to_owned()], vec!["code".into(), "message".into()])
        );
        assert_eq!(self.header("cache-control"), Some("no-store"), "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
    }

    /// Requires an answer and returns it.
    #[track_caller]
    pub fn answers(&self) -> Value {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        assert_eq!(self.header("cache-control"), Some("no-store"), "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        self.json()
    }
}

/// A connection.
pub struct Connection {
    pub stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self { stream, buffer: Vec::new() }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Reads more, at most so many bytes; 0 at the end.
    fn fill(&mut self, at_most: usize) -> usize {
        let mut chunk = vec![0; at_most];
        let count = loop {
            match self.stream.read(&mut chunk) {
                Ok(count) => break count,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => break 0,
                // A read that has a deadline is not taken up again by the system.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!("no answer: {error}; so far {:?}", String::from_utf8_lossy(&self.buffer)),
            }
        };
        self.buffer.extend_from_slice(&chunk[..count]);
        count
    }

    /// Everything until the other side ends the connection.
    pub fn rest(mut self) -> Vec<u8> {
        while self.fill(64 << 10) > 0 {}
        self.buffer
    }

    /// Reads one answer; none where the connection ends instead. `chunk` is how many bytes are read at a time.
    pub fn reply(&mut self, has_body: bool, chunk: usize) -> Option<Reply> {
        let head_end = loop {
            if let Some(end) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            if self.fill(chunk) == 0 {
                assert!(self.buffer.is_empty(), "half an answer: {:?}", String::from_utf8_lossy(&self.buffer));
                return None;
            }
        };
        let head: Vec<u8> = self.buffer.drain(..head_end).collect();
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: Vec<(String, String)> = lines
            .filter(|line| !line.is_empty())
            .map(|line| line.split_once(':').unwrap())
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let mut reply = Reply { status, headers, body: Vec::new() };
        if has_body && status != 204 {
            reply.body = match reply.header("content-length") {
                Some(length) => self.take(length.parse().unwrap(), chunk),
                None => self.chunked(chunk),
            };
        }
        Some(reply)
    }

    fn take(&mut self, count: usize, chunk: usize) -> Vec<u8> {
        while self.buffer.len() < count {
            assert!(self.fill(chunk) > 0, "the answer is cut off");
        }
        self.buffer.drain(..count).collect()
    }

    fn chunked(&mut self, chunk: usize) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let line_end = loop {
                if let Some(end) = self.buffer.windows(2).position(|window| window == b"\r\n") {
                    break end;
                }
                assert!(self.fill(chunk) > 0, "the answer is cut off");
            };
            let line: Vec<u8> = self.buffer.drain(..line_end + 2).collect();
            let size = usize::from_str_radix(std::str::from_utf8(&line[..line_end]).unwrap(), 16).unwrap();
            body.extend(self.take(size, chunk));
            self.take(2, chunk);
            if size == 0 {
                return body;
            }
        }
    }
}

/// Sends one request with these header lines and reads its answer.
pub fn request(address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
    let mut connection = Connection::open(address);
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    connection.send((head + "\r\n").as_bytes());
    connection.reply(method != "HEAD", 64 << 10).expect("the server answers")
}

/// GETs a path.
pub fn get(address: SocketAddr, path: &str) -> Reply {
    request(address, "GET", path, &[])
}

/// Writes a value so that it stands for itself in a query.
pub fn encoded(value: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    value.bytes().map(encode).collect()
}
