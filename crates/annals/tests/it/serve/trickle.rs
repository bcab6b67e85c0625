//! A proxy before a node of the RPC whose answers come byte by byte.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// How long a byte lets wait for itself: less than a client takes for silence.
const BYTE_EVERY: Duration = Duration::from_millis(200);

/// Hands every request on, and the answer to one that holds `slow` a byte at a time.
pub struct Trickle {
    pub address: SocketAddr,
    slow_began: Receiver<()>,
    /// Its end wakes whoever waits to send the next byte.
    _alive: Sender<()>,
}

impl Trickle {
    pub fn before(node: SocketAddr, slow: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, slow_began) = channel();
        let (alive, gone) = channel();
        std::thread::spawn(move || {
            let gone = std::sync::Arc::new(std::sync::Mutex::new(gone));
            for client in listener.incoming().map_while(Result::ok) {
                let (tell, gone) = (tell.clone(), gone.clone());
                std::thread::spawn(move || pass_on(client, node, slow, &tell, &gone));
            }
        });
        Self { address, slow_began, _alive: alive }
    }

    /// Waits until a slow answer has begun.
    pub fn has_begun(&self) {
        self.slow_began.recv_timeout(super::process::PATIENCE).unwrap();
    }
}

/// One request a connection: the head tells the client so.
fn pass_on(
    mut client: TcpStream,
    node: SocketAddr,
    slow: &str,
    tell: &Sender<()>,
    gone: &std::sync::Mutex<Receiver<()>>,
) {
    let Some(request) = read_request(&mut client) else { return };
    let mut server = TcpStream::connect(node).unwrap();
    let is_slow = request.windows(slow.len()).any(|window| window == slow.as_bytes());
    let end = request.windows(2).position(|window| window == b"\r\n").unwrap() + 2;
    let (first, rest) = request.split_at(end);
    server.write_all(&[first, b"connection: close\r\n", rest].concat()).unwrap();
    let mut answer = Vec::new();
    server.read_to_end(&mut answer).unwrap();
    if !is_slow {
        // A client that went away needs no answer.
        let _ = client.write_all(&answer);
        let _ = client.shutdown(Shutdown::Write);
        return;
    }
    let _ = tell.send(());
    for byte in answer {
        let over = gone.lock().unwrap().recv_timeout(BYTE_EVERY);
        if matches!(over, Err(std::sync::mpsc::RecvTimeoutError::Disconnected)) || client.write_all(&[byte]).is_err() {
            return;
        }
    }
}

fn read_request(client: &mut TcpStream) -> Option<Vec<u8>> {
    let mut request = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        if let Some(head) = request.windows(4).position(|window| window == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&request[..head]).to_ascii_lowercase();
            let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
            if request.len() >= head + 4 + length.unwrap_or(0) {
                return Some(request);
            }
        }
        match client.read(&mut chunk) {
            Ok(0) | Err(_) => return None,
            Ok(count) => request.extend_from_slice(&chunk[..count]),
        }
    }
}
