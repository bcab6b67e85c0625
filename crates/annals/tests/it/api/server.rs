//! Servers under test: the binary over an archive, and the library over any store.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, LazyLock};
use std::thread::JoinHandle;

use annals::api::{Limits, Server};
use annals::clock::{Clock, SystemClock};
use annals::config::AllowedOrigins;
use annals::readiness::Place;
use annals::store::Store;
use serde_json::Value;
use tokio::sync::oneshot;

use super::archive::{Archive, token};
use super::client::{Reply, get, request};
use super::document::check;
use crate::binary::annals;

/// `annals serve` over an archive.
pub struct Served {
    child: Child,
    pub address: SocketAddr,
}

impl Served {
    /// Starts the binary and waits for its first line.
    pub fn over(data_dir: &Path, args: &[&str]) -> Self {
        let mut command = annals(["serve", "--json", "--listen", "127.0.0.1:0", "--log", "warn"]);
        command.args(args).arg("--data-dir").arg(data_dir);
        Self::started(command)
    }

    /// The same, beside a shell that ends it when this process ends, however that happens: nothing that is static is
    /// ever dropped.
    pub fn for_good(data_dir: &Path) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", r#""$@" & server=$!; read -r _; kill -9 "$server""#, "sh"]);
        command.args([env!("CARGO_BIN_EXE_annals"), "serve", "--json", "--listen", "127.0.0.1:0", "--log", "warn"]);
        command.arg("--data-dir").arg(data_dir).current_dir(std::env::temp_dir()).stdin(Stdio::piped());
        Self::started(command)
    }

    fn started(mut command: Command) -> Self {
        command.stderr(Stdio::inherit());
        Self::started_quietly(command)
    }

    /// The same of a command whose log goes where it says.
    pub fn started_quietly(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        let address = said["listening"].as_str().unwrap().parse().unwrap();
        Self { child, address }
    }

    /// GETs a path; the answer must be one that the document describes.
    #[track_caller]
    pub fn get(&self, path: &str) -> Reply {
        let reply = get(self.address, path);
        check(path, &reply);
        reply
    }

    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
        request(self.address, method, path, headers)
    }

    /// Sends the process a signal and waits for its end.
    pub fn ends_by(mut self, signal: &str) -> ExitStatus {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        self.child.wait().unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An archive of the whole chain, and a server over it, for the tests that change neither. The token has a schema, and
/// events that fit none of its shapes.
pub static WHOLE: LazyLock<(Archive, Served)> = LazyLock::new(|| {
    let archive = Archive::of(&["1000:1000"]);
    archive.declare(token(), &["--schema", "token"]).ends_with(0);
    archive.fill("1001:1039", &[]);
    let served = Served::for_good(&archive.data_dir());
    (archive, served)
});

pub fn whole() -> &'static Served {
    &WHOLE.1
}

/// The library's server over any store, in this process.
pub struct Local {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Local {
    pub fn over(store: Arc<dyn Store>, limits: Limits) -> Self {
        Self::in_place(store, Arc::new(SystemClock::new()), limits, Place::nowhere())
    }

    /// The same by another clock, over a store of which it is known where it lies.
    pub fn in_place(store: Arc<dyn Store>, clock: Arc<dyn Clock>, limits: Limits, place: Place) -> Self {
        let server = Server::new(store, clock, AllowedOrigins::Any, limits).unwrap().in_place(place);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let stop = async {
                    let _ = stopped.await;
                };
                server.run(listener, stop).await;
            });
        });
        Self { address, stop: Some(stop), thread: Some(thread) }
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Reply {
        let reply = get(self.address, path);
        check(path, &reply);
        reply
    }

    /// Tells the server to stop.
    pub fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    /// Waits until the server has ended.
    pub fn ended(mut self) {
        self.thread.take().unwrap().join().unwrap();
    }
}
