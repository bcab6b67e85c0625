//! Clients that keep the server waiting, and a server that stops.

use std::io::{ErrorKind, Read as _};
use std::sync::Arc;
use std::time::Duration;

use annals::api::Limits;

use super::archive::native;
use super::client::Connection;
use super::fake::{Fake, Mood};
use super::server::{Local, WHOLE};

const SOON: Duration = Duration::from_millis(100);
const ALIVE: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n";

fn fake() -> Arc<Fake> {
    Arc::new(Fake::new(Mood::Answers))
}

#[test]
fn a_head_that_comes_byte_by_byte_is_cut_off_in_our_words() {
    let local = Local::over(fake(), Limits { head: SOON, ..Limits::default() });
    for begun in ["G", "GET /healthz HTTP/1.1\r\n", "GET /healthz HTTP/1.1\r\nhost: a\r\nx: "] {
        let mut connection = Connection::open(local.address);
        connection.send(begun.as_bytes());
        connection.reply(true, 4096).unwrap().refuses(408, "REQUEST_TIMEOUT");
        assert_eq!(connection.rest(), b"");
    }
}

#[test]
fn an_idle_connection_is_ended_without_a_word() {
    let local = Local::over(fake(), Limits { head: Duration::from_secs(1), ..Limits::default() });
    assert_eq!(Connection::open(local.address).rest(), b"");
    let mut connection = Connection::open(local.address);
    connection.send(ALIVE);
    connection.reply(true, 4096).unwrap().answers();
    assert_eq!(connection.rest(), b"");
}

#[test]
fn connections_beyond_the_bound_wait_for_a_place() {
    let local = Local::over(fake(), Limits { connections: 1, ..Limits::default() });
    let mut first = Connection::open(local.address);
    first.send(ALIVE);
    first.reply(true, 4096).unwrap().answers();
    let mut second = Connection::open(local.address);
    second.send(ALIVE);
    second.stream.set_read_timeout(Some(SOON)).unwrap();
    let early = second.stream.read(&mut [0; 1]).unwrap_err();
    assert!(matches!(early.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted), "{early}");
    second.stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    drop(first);
    second.reply(true, 4096).unwrap().answers();
}

#[test]
fn a_client_that_takes_nothing_loses_its_place() {
    let data_dir = WHOLE.0.data_dir();
    let store =
        annals::store::SqliteStore::open_reader(&data_dir, Arc::new(annals::clock::SystemClock::new())).unwrap();
    let limits = Limits { connections: 1, stall: SOON, ..Limits::default() };
    let local = Local::over(Arc::new(store), limits);
    let mut stalled = Connection::open(local.address);
    let request = format!("GET /v1/contracts/{}/events?limit=1000 HTTP/1.1\r\nhost: a\r\n\r\n", native());
    // More than any socket buffers, and nothing of it is read.
    stalled.send(request.repeat(100).as_bytes());
    let mut next = Connection::open(local.address);
    next.send(ALIVE);
    next.reply(true, 4096).unwrap().answers();
}

#[test]
fn a_reader_who_gave_up_keeps_its_turn_until_its_read_ends() {
    let fake = fake();
    let limits = Limits { reads: 1, answer: SOON, turn: Duration::from_secs(60), ..Limits::default() };
    let local = Local::over(fake.clone(), limits);
    fake.close();
    local.get("/v1/health").refuses(503, "TIMED_OUT");
    fake.wait_for(1);
    local.get("/v1/health").refuses(503, "TIMED_OUT");
    fake.open();
}

#[test]
fn a_crowd_of_readers_is_not_taken_for_a_failure_of_the_archive() {
    let fake = fake();
    let local = Local::over(fake.clone(), Limits { reads: 1, turn: SOON, ..Limits::default() });
    std::thread::scope(|scope| {
        fake.close();
        let reader = scope.spawn(|| local.get("/v1/health"));
        fake.wait_for(1);
        let crowded = local.get("/v1/health");
        crowded.refuses(503, "OVERLOADED");
        assert_eq!(crowded.header("retry-after"), Some("1"));
        let probe = scope.spawn(|| local.get("/healthz"));
        fake.wait_for(2);
        fake.open();
        probe.join().unwrap().answers();
        reader.join().unwrap().answers();
    });
}

#[test]
fn a_server_that_stops_answers_what_runs_and_takes_nothing_new() {
    let fake = fake();
    let mut local = Local::over(fake.clone(), Limits::default());
    fake.close();
    let mut running = Connection::open(local.address);
    running.send(b"GET /v1/health HTTP/1.1\r\nhost: a\r\n\r\n");
    fake.wait_for(1);
    let idle = Connection::open(local.address);
    local.stop();
    assert_eq!(idle.rest(), b"", "an idle connection is ended at once");
    fake.open();
    running.reply(true, 4096).unwrap().answers();
    assert_eq!(running.rest(), b"");
    local.ended();
}
