//! A server between an archive and whoever compares it, which edits what passes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use annals_core::decode::EventView;
use annals_core::{ContractId, EventKind, HistoryDigester, LedgerRange, LedgerSeq};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::api::client::{Reply, get};

/// What comes in the place of the archive's answer: its status and its body.
pub type Edited = Option<(u16, Vec<u8>)>;

/// What an edit is made with.
pub struct Upstream(SocketAddr);

impl Upstream {
    pub fn get(&self, path: &str) -> Reply {
        get(self.0, path)
    }

    /// The archive's own answer.
    pub fn json(&self, path: &str) -> Value {
        self.get(path).json()
    }
}

type Edit = Box<dyn Fn(&str, &Upstream) -> Edited + Send + Sync>;

struct Shared {
    upstream: SocketAddr,
    edit: Edit,
    /// What it asks for beside a refusal, seconds.
    retry_after: Option<u32>,
    paths: Mutex<Vec<String>>,
    stopped: AtomicBool,
}

pub struct Proxy {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Stands before `upstream`, and answers by `edit` where that gives an answer.
    pub fn before(upstream: SocketAddr, edit: impl Fn(&str, &Upstream) -> Edited + Send + Sync + 'static) -> Self {
        Self::asking(upstream, None, edit)
    }

    /// The same, which beside each refusal asks to be left alone for so many seconds.
    pub fn asking(
        upstream: SocketAddr,
        retry_after: Option<u32>,
        edit: impl Fn(&str, &Upstream) -> Edited + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (paths, stopped) = (Mutex::default(), AtomicBool::new(false));
        let shared = Arc::new(Shared { upstream, edit: Box::new(edit), retry_after, paths, stopped });
        let serving = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if serving.stopped.load(Ordering::SeqCst) {
                    return;
                }
                // A client that goes away is no failure of the server's.
                serving.serve(&stream.unwrap()).ok();
            }
        });
        Self { address, shared, thread: Some(thread) }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How often it was asked for a path with this in it.
    pub fn count(&self, part: &str) -> usize {
        self.shared.paths.lock().unwrap().iter().filter(|path| path.contains(part)).count()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        self.thread.take().unwrap().join().unwrap();
    }
}

impl Shared {
    fn serve(&self, mut stream: &TcpStream) -> std::io::Result<()> {
        let mut lines = BufReader::new(stream).lines();
        let first = lines.next().unwrap_or_else(|| Ok(String::new()))?;
        while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
        let Some(path) = first.split(' ').nth(1) else { return Ok(()) };
        self.paths.lock().unwrap().push(path.to_owned());
        let upstream = Upstream(self.upstream);
        let (status, body) = (self.edit)(path, &upstream).unwrap_or_else(|| {
            let reply = upstream.get(path);
            (reply.status, reply.body)
        });
        let len = body.len();
        let asked = self.retry_after.filter(|_| status != 200);
        let asked = asked.map_or_else(String::new, |seconds| format!("retry-after: {seconds}\r\n"));
        let head = format!("HTTP/1.1 {status} Edited\r\n{asked}content-length: {len}\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes())?;
        stream.write_all(&body)
    }
}

pub fn answer(json: &Value) -> Edited {
    Some((200, json.to_string().into_bytes()))
}

/// Whether a path is that of a route of the contract or of an account.
pub fn is_route(path: &str, name: &str) -> bool {
    path.split('?').next().unwrap().ends_with(&format!("/{name}")) && path.starts_with("/v1/tokens/")
}

/// Edits events and digests alike, so that they follow from each other as an archive's that holds the edited events.
pub fn edit_history(path: &str, upstream: &Upstream, edit: impl Fn(&mut Vec<Value>)) -> Edited {
    if is_route(path, "events") {
        let mut page = upstream.json(path);
        edit(page["events"].as_array_mut().unwrap());
        return answer(&page);
    }
    is_route(path, "digest").then(|| {
        let digest = digest_of(path, upstream, edit);
        (200, digest.to_string().into_bytes())
    })
}

/// The answer of the digest route, made from the pages of the events route.
pub fn digest_of(path: &str, upstream: &Upstream, edit: impl Fn(&mut Vec<Value>)) -> Value {
    let pages = path.replacen("/digest", "/events", 1);
    let mut page = upstream.json(&format!("{pages}&limit=1000"));
    assert!(page["cursor"].is_null(), "a test has few events");
    let window = [&page["from_ledger"], &page["to_ledger"]].map(|end| LedgerSeq::new(number(end)).unwrap());
    let window = LedgerRange::new(window[0], window[1]).unwrap();
    edit(page["events"].as_array_mut().unwrap());
    let mut digester = HistoryDigester::new(window);
    for event in page["events"].as_array().unwrap() {
        digester.event(event["id"].as_str().unwrap().parse().unwrap(), &xdr(event)).unwrap();
    }
    let found = digester.finish().unwrap();
    let parts = found.parts.iter().map(|part| {
        let (from, to) = (part.range.from_inclusive().get(), part.range.to_inclusive().get());
        json!({"from_ledger": from, "to_ledger": to, "digest": part.digest.to_string(), "events": part.events})
    });
    page["parts"] = parts.collect();
    page["digest"] = found.digest.to_string().into();
    page["events"] = found.events.into();
    page["version"] = 1.into();
    page.as_object_mut().unwrap().remove("cursor");
    page
}

fn number(value: &Value) -> u32 {
    value.as_u64().unwrap().try_into().unwrap()
}

/// The `ContractEvent` of a shown event.
fn xdr(event: &Value) -> Vec<u8> {
    let bytes = |text: &Value| STANDARD.decode(text.as_str().unwrap()).unwrap();
    let contract: ContractId = event["contract_id"].as_str().unwrap().parse().unwrap();
    let kind = EventKind::from_name(event["kind"].as_str().unwrap()).unwrap();
    let topics: Vec<_> = event["topics_xdr"].as_array().unwrap().iter().map(bytes).collect();
    EventView::join(Some(contract), kind, &topics, &bytes(&event["data_xdr"]))
}
