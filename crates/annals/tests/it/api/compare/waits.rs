//! Servers that take their time, or ask for some.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use annals::clock::{Clock as _, SystemClock};

use super::proxy::Proxy;
use super::{compare, url};
use crate::api::archive::token;
use crate::api::server::whole;

/// A server whose answers begin at once and come byte by byte, for as long as anybody reads.
struct Trickle {
    address: SocketAddr,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Trickle {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, stopped) = (listener.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
        let stops = Arc::clone(&stopped);
        let thread = std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if stops.load(Ordering::SeqCst) {
                    return;
                }
                trickle(client);
            }
        });
        Self { address, stopped, thread: Some(thread) }
    }
}

fn trickle(mut client: TcpStream) {
    // The pace: whoever waits 20 ms for its next request is sent a byte instead.
    client.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let mut sent = client.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n").is_ok();
    while sent {
        let is_closed = matches!(client.read(&mut [0; 4096]), Ok(0));
        sent = !is_closed && client.write_all(b" ").is_ok();
    }
}

impl Drop for Trickle {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        self.thread.take().unwrap().join().unwrap();
    }
}

#[test]
fn an_archive_that_trickles_holds_nobody_beyond_the_deadline() {
    let trickle = Trickle::start();
    let (slow, honest) = (url(trickle.address), url(whole().address));
    for (a, b, side) in [(&slow, &honest, "A"), (&honest, &slow, "B")] {
        let clock = SystemClock::new();
        let ran = compare(a, b, token(), &["--deadline", "2"]).ends_with(1);
        assert_eq!(ran.json()["error"]["code"], "DEADLINE", "{ran:?}");
        assert!(
            ran.stderr.starts_with(&format!("error: archive {side}: ")) && ran.stderr.contains("--deadline"),
            "{ran:?}"
        );
        let took = clock.monotonic();
        assert!(Duration::from_secs(2) <= took && took < Duration::from_secs(20), "{took:?}");
    }
}

#[test]
fn a_server_that_asks_to_be_left_alone_is_for_as_long_as_there_is_time() {
    for status in [429, 503] {
        let refused = Arc::new(AtomicUsize::new(0));
        let refuses = Arc::clone(&refused);
        let proxy = Proxy::asking(whole().address, Some(1), move |path, _| {
            let is_first = path.contains("/digest?") && refuses.fetch_add(1, Ordering::SeqCst) == 0;
            is_first.then(|| (status, b"hidden".to_vec()))
        });
        let clock = SystemClock::new();
        compare(&url(whole().address), &proxy.url(), token(), &[]).ends_with(0);
        assert!(clock.monotonic() >= Duration::from_secs(1), "it is not asked again before it said");
        assert_eq!(proxy.count("/digest?"), 2);
    }
    for (status, code) in [(429, "RATE_LIMITED"), (503, "OVERLOADED")] {
        // There is no time for a wait so long, and it is not begun.
        let proxy = Proxy::asking(whole().address, Some(3600), move |_, _| Some((status, b"hidden".to_vec())));
        let ran = compare(&url(whole().address), &proxy.url(), token(), &[]).ends_with(1);
        assert_eq!(ran.json()["error"]["code"], code, "{ran:?}");
        assert!(ran.stderr.contains("left alone for 3600 s") && ran.stderr.contains("try again later"), "{ran:?}");
        assert_eq!(proxy.count(""), 1);
        // Who always asks for a little more is not asked for ever.
        let proxy = Proxy::asking(whole().address, Some(0), move |_, _| Some((status, b"hidden".to_vec())));
        let ran = compare(&url(whole().address), &proxy.url(), token(), &["--deadline", "3"]).ends_with(1);
        assert_eq!(ran.json()["error"]["code"], code, "{ran:?}");
        assert!((2..=3).contains(&proxy.count("")), "a second apart: {}", proxy.count(""));
    }
}
