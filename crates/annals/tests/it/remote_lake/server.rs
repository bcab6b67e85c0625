//! A web server of a folder, which a test can make fail.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// What comes in the place of a file.
#[derive(Debug, Clone)]
pub enum Reply {
    /// This status and these header lines, without a body.
    Status(u16, String),
    /// This body.
    Body(Vec<u8>),
    /// A body that ends before its length does.
    Cut,
    /// Nothing; the connection ends.
    Close,
}

impl Reply {
    pub fn status(status: u16, headers: &str) -> Self {
        Self::Status(status, headers.to_owned())
    }
}

/// Says what comes in the place of the file, by its path and how often it was asked for.
type Script = Box<dyn Fn(&str, usize) -> Option<Reply> + Send + Sync>;

struct Shared {
    folder: PathBuf,
    script: Mutex<Script>,
    counts: Mutex<BTreeMap<String, usize>>,
    paths: Mutex<Vec<String>>,
    stopped: AtomicBool,
}

pub struct LakeServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl LakeServer {
    pub fn start(folder: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            folder: folder.to_path_buf(),
            script: Mutex::new(Box::new(|_, _| None)),
            counts: Mutex::default(),
            paths: Mutex::default(),
            stopped: AtomicBool::new(false),
        });
        let serving = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if serving.stopped.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&serving);
                // A client that goes away is no failure of the server's.
                std::thread::spawn(move || shared.serve(&stream.unwrap()).ok());
            }
        });
        Self { address, shared, thread: Some(thread) }
    }

    pub fn url(&self) -> String {
        format!("http://{}/lake", self.address)
    }

    /// Behaves by this script from now on; its counts begin here.
    pub fn play(&self, script: impl Fn(&str, usize) -> Option<Reply> + Send + Sync + 'static) {
        *self.shared.script.lock().unwrap() = Box::new(script);
        self.shared.counts.lock().unwrap().clear();
    }

    /// Every path that was asked for.
    pub fn paths(&self) -> Vec<String> {
        self.shared.paths.lock().unwrap().clone()
    }
}

impl Drop for LakeServer {
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
        let count = {
            let mut counts = self.counts.lock().unwrap();
            let count = counts.entry(path.to_owned()).or_default();
            *count += 1;
            *count
        };
        let scripted = (self.script.lock().unwrap())(path, count);
        let file = path.strip_prefix("/lake/").map(|file| self.folder.join(file));
        let (status, headers, body, len) = match scripted {
            Some(Reply::Close) => return stream.shutdown(Shutdown::Both),
            Some(Reply::Status(status, headers)) => (status, headers, Vec::new(), 0),
            Some(Reply::Body(body)) => (200, String::new(), body.clone(), body.len()),
            Some(Reply::Cut) => (200, String::new(), vec![0; 10], 1_000),
            None => match file.and_then(|file| std::fs::read(file).ok()) {
                Some(body) => (200, String::new(), body.clone(), body.len()),
                None => (404, String::new(), b"absent".to_vec(), 6),
            },
        };
        let head = format!("HTTP/1.1 {status} Scripted\r\nContent-Length: {len}\r\nConnection: close\r\n{headers}\r\n");
        stream.write_all(head.as_bytes())?;
        stream.write_all(&body)
    }
}
