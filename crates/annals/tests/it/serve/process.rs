//! A server in a process of its own, whose lines a test waits for.

use std::io::{BufRead as _, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use annals::clock::{Clock as _, SystemClock};
use serde_json::Value;

use crate::api::client::{Reply, get};
use crate::binary::{annals, report};

/// How long a test waits for what must come.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// How long a process may take to end once it is told to.
pub const END_MAX: Duration = Duration::from_secs(10);

pub const PASSPHRASE: &str = "Annals Simulated Network";

/// A process, and the lines that it writes.
pub struct Process {
    child: Child,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
    clock: SystemClock,
}

/// How a process ended, and what it had still to say on stderr.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub took: Duration,
    pub stderr: Vec<String>,
}

/// The lines of a stream, until it ends.
fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        // Whoever waits for no more lines has seen enough.
        lines.map_while(|line| tell.send(line).ok()).for_each(drop);
    });
    told
}

impl Process {
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdout, stderr) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
        Self { child, stdout, stderr, clock: SystemClock::new() }
    }

    /// The next line on stdout.
    #[track_caller]
    pub fn line(&self) -> String {
        self.stdout.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("{error}: {:?}", self.said()))
    }

    /// What it has still to say on stdout, which it has to end in time.
    #[track_caller]
    pub fn rest_of_stdout(&self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            match self.stdout.recv_timeout(PATIENCE) {
                Ok(line) => lines.push(line),
                Err(RecvTimeoutError::Disconnected) => return lines,
                Err(RecvTimeoutError::Timeout) => panic!("it goes on: {lines:#?}"),
            }
        }
    }

    /// What was said on stderr by now.
    fn said(&self) -> Vec<String> {
        self.stderr.try_iter().collect()
    }

    /// Waits until it listens.
    #[track_caller]
    pub fn listens(&self) -> SocketAddr {
        self.try_listens().unwrap_or_else(|| panic!("it does not listen: {:?}", self.said()))
    }

    /// The same; none where it says something else first, or nothing more.
    #[track_caller]
    pub fn try_listens(&self) -> Option<SocketAddr> {
        match self.stdout.recv_timeout(PATIENCE) {
            Ok(line) => line.strip_prefix("listening on http://").map(|address| address.parse().unwrap()),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("it says nothing: {:?}", self.said()),
        }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line on stderr that holds `text`.
    #[track_caller]
    pub fn says(&self, text: &str) -> String {
        let mut passed = Vec::new();
        loop {
            match self.stderr.recv_timeout(PATIENCE) {
                Ok(line) if line.contains(text) => return line,
                Ok(line) => passed.push(line),
                Err(error) => panic!("{error} before {text:?}: {passed:#?}"),
            }
        }
    }

    pub fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// Waits for its end, which must not take longer than `at_most`.
    #[track_caller]
    pub fn ends_within(mut self, at_most: Duration) -> Ended {
        let began = self.clock.monotonic();
        let mut stderr = Vec::new();
        loop {
            let left = at_most.saturating_sub(self.clock.monotonic() - began);
            match self.stderr.recv_timeout(left) {
                Ok(line) => stderr.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it has not ended in {at_most:?}: {stderr:#?}"),
            }
        }
        let code = self.child.wait().unwrap().code();
        assert!(!stderr.iter().any(|line| line.contains("panicked")), "{stderr:#?}");
        Ended { code, took: self.clock.monotonic() - began, stderr }
    }

    /// Sends a signal and waits for the end that it must bring in time.
    #[track_caller]
    pub fn ends_by(self, signal: &str) -> Ended {
        self.signal(signal);
        self.ends_within(END_MAX)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `annals serve` that follows the simulated network by these endpoints.
pub fn follower(urls: &[&str], data_dir: &Path, args: &[&str]) -> Command {
    let mut command = annals(["serve", "--listen", "127.0.0.1:0", "--network-passphrase", PASSPHRASE]);
    urls.iter().for_each(|url| _ = command.args(["--rpc", url]));
    command.args(args).arg("--data-dir").arg(data_dir);
    command
}

/// What an archive holds, apart from what passes with time.
pub fn held(data_dir: &Path) -> [Value; 3] {
    let status = report(&["status"], data_dir).ends_with(0).json();
    ["coverage", "events", "feed_position"].map(|part| status[part].clone())
}

/// Asks for the archive's state until it is as it must become.
#[track_caller]
pub fn wait_for(address: SocketAddr, path: &str, is_so: impl Fn(&Reply) -> bool) -> Value {
    let clock = SystemClock::new();
    loop {
        let reply = get(address, path);
        if is_so(&reply) {
            return reply.json();
        }
        assert!(clock.monotonic() < PATIENCE, "{path}: {}", String::from_utf8_lossy(&reply.body));
        std::thread::yield_now();
    }
}

/// Waits until all ledgers up to this one are archived.
#[track_caller]
pub fn wait_for_ledger(address: SocketAddr, seq: u32) -> Value {
    wait_for(address, "/v1/health", |reply| {
        reply.status == 200 && reply.json()["verified_through"].as_u64() >= Some(seq.into())
    })
}
