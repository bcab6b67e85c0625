use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

use super::*;

/// Asks a server that gives `answer` to whatever it is asked.
fn get(answer: Vec<u8>, bytes_max: u64) -> Result<Answer, HttpFault> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(&stream).lines();
        while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
        // A client that has seen enough hangs up.
        stream.write_all(&answer).ok();
    });
    let answered = HttpClient::new(Timeouts::default()).get(&address, bytes_max);
    serving.join().unwrap();
    answered
}

fn with_body(head: &str, body: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 {head}\r\n\r\n").as_bytes(), body].concat()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_body_is_taken_up_to_its_bound_whatever_its_length_says_and_however_it_is_packed() {
    let zeros = gzip(&vec![0; 1 << 20]);
    let chunked = |body: &str| format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()).into_bytes();
    for (head, body, bytes_max) in [
        ("200 OK\r\nContent-Length: 10".to_owned(), b"0123456789".to_vec(), 10),
        ("200 OK\r\nConnection: close".to_owned(), b"0123456789".to_vec(), 10),
        ("200 OK\r\nTransfer-Encoding: chunked".to_owned(), chunked("0123456789"), 10),
        (format!("200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}", zeros.len()), zeros.clone(), 1 << 20),
    ] {
        let answer = get(with_body(&head, &body), bytes_max).unwrap();
        assert_eq!(answer.body.len() as u64, bytes_max, "{head}");
        let fault = get(with_body(&head, &body), bytes_max - 1).unwrap_err();
        assert!(matches!(fault, HttpFault::TooLarge { .. }), "{head}: {fault:?}");
    }
}

#[test]
fn h1_a_body_that_ends_early_is_a_broken_connection_and_never_a_short_body() {
    let cut = gzip(&vec![7; 1 << 16]);
    let half = &cut[..cut.len() / 2];
    for (head, body) in [
        ("200 OK\r\nContent-Length: 10".to_owned(), b"012345678".to_vec()),
        ("200 OK\r\nTransfer-Encoding: chunked".to_owned(), b"a\r\n01234".to_vec()),
        (format!("200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}", half.len()), half.to_vec()),
    ] {
        let fault = get(with_body(&head, &body), 1 << 20).unwrap_err();
        assert!(matches!(fault, HttpFault::Broken(_) | HttpFault::NotHttp(_)), "{head}: {fault:?}");
    }
    let fault = get(b"220 mail.example ESMTP\r\n".to_vec(), 10).unwrap_err();
    assert!(matches!(fault, HttpFault::NotHttp(_) | HttpFault::Broken(_)), "{fault:?}");
}

#[test]
fn a_redirect_is_an_answer_and_is_not_followed() {
    let answer = get(with_body("302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0", b""), 10).unwrap();
    assert_eq!((answer.status, answer.is_success()), (302, false));
}
