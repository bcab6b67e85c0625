//! What holds on every path: methods, browsers, caching, compression, sizes.

use std::io::Read as _;

use super::archive::{Archive, native, token};
use super::client::{Connection, request};
use super::document::operations;
use super::errors::instance;
use super::pages::path;
use super::server::{Served, whole};

const METHODS: &str = "GET, HEAD, OPTIONS";

#[test]
fn nothing_but_reading_reaches_a_route_on_known_and_unknown_paths_alike() {
    let known = operations().map(|(template, _)| instance(template));
    for path in known.chain(["/".to_owned(), "/v1/nothing".to_owned(), "/metrics".to_owned()]) {
        for method in ["POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "get"] {
            let reply = whole().request(method, &path, &[]);
            reply.refuses(405, "METHOD_NOT_ALLOWED");
            assert_eq!(reply.header("allow"), Some(METHODS), "{method} {path}");
        }
        let reply = whole().request("OPTIONS", &path, &[]);
        assert_eq!((reply.status, reply.header("allow"), reply.body.len()), (204, Some(METHODS), 0), "{path}");
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{path}");
    }
    let post =
        whole().request("POST", &path(token()), &[("content-type", "application/json"), ("content-length", "0")]);
    post.refuses(405, "METHOD_NOT_ALLOWED");
}

#[test]
fn head_is_get_without_its_body() {
    for (template, _) in operations() {
        let path = instance(template);
        let (get, head) = (whole().request("GET", &path, &[]), whole().request("HEAD", &path, &[]));
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
        for name in ["content-type", "content-length", "cache-control", "access-control-allow-origin"] {
            assert_eq!(head.header(name), get.header(name), "{name} of {path}");
        }
    }
    assert_eq!(whole().request("HEAD", "/v1/ledgers/1", &[]).status, 404);
}

#[test]
fn every_page_of_a_browser_may_read_v1_and_nothing_else() {
    let origin = [("origin", "https://wallet.example")];
    for path in ["/v1/health", "/v1/nothing", "/v1/ledgers/0"] {
        let reply = whole().request("GET", path, &origin);
        assert_eq!(reply.header("access-control-allow-origin"), Some("*"), "{path}");
        assert_eq!(reply.header("vary"), None, "{path}");
    }
    for path in ["/healthz", "/readyz", "/", "/v1x", "/V1/health"] {
        assert_eq!(whole().request("GET", path, &origin).header("access-control-allow-origin"), None, "{path}");
    }
    let preflight = [("origin", "https://wallet.example"), ("access-control-request-method", "GET")];
    let reply = whole().request("OPTIONS", "/v1/health", &preflight);
    assert_eq!(reply.status, 204);
    assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
    assert_eq!(reply.header("access-control-allow-methods"), Some(METHODS));
    assert_eq!(reply.header("access-control-allow-headers"), Some("*"));
}

#[test]
fn a_list_of_origins_lets_only_these_read() {
    let archive = Archive::of(&["1000:1001"]);
    let origins = ["--allowed-origin", "https://one.example", "--allowed-origin", "http://localhost:3000"];
    let served = Served::over(&archive.data_dir(), &origins);
    let allowed = |origin: &str, method: &str| {
        let reply = served.request(method, "/v1/health", &[("origin", origin)]);
        assert_eq!(reply.header("vary"), Some("origin"));
        reply.header("access-control-allow-origin").map(str::to_owned)
    };
    for method in ["GET", "OPTIONS"] {
        assert_eq!(allowed("https://one.example", method).as_deref(), Some("https://one.example"));
        assert_eq!(allowed("http://localhost:3000", method).as_deref(), Some("http://localhost:3000"));
        for other in ["https://two.example", "http://one.example", "https://one.example.evil", "null", "*"] {
            assert_eq!(allowed(other, method), None, "{other}");
        }
    }
    assert_eq!(served.request("GET", "/v1/health", &[]).header("access-control-allow-origin"), None);
}

#[test]
fn a_long_answer_is_compressed_for_who_asks_for_it() {
    let path = format!("{}?from_ledger=1000&to_ledger=1039&limit=100", path(native()));
    let plain = whole().request("GET", &path, &[]);
    assert_eq!(plain.header("content-encoding"), None);
    for (asked, given) in [("gzip", "gzip"), ("zstd", "zstd"), ("gzip;q=0, zstd;q=0.5", "zstd")] {
        let reply = whole().request("GET", &path, &[("accept-encoding", asked)]);
        assert_eq!(reply.header("content-encoding"), Some(given), "{asked}");
        assert!(reply.body.len() * 2 < plain.body.len(), "{asked}: {} of {}", reply.body.len(), plain.body.len());
        let mut unpacked = Vec::new();
        match given {
            "gzip" => drop(flate2::read::GzDecoder::new(&*reply.body).read_to_end(&mut unpacked).unwrap()),
            _ => unpacked = zstd::decode_all(&*reply.body).unwrap(),
        }
        assert!(unpacked == plain.body, "{asked}: the answers differ");
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{asked}");
    }
    for asked in ["identity", "br", "gzip;q=0"] {
        assert_eq!(whole().request("GET", &path, &[("accept-encoding", asked)]).header("content-encoding"), None);
    }
    let short = whole().request("GET", "/healthz", &[("accept-encoding", "gzip")]);
    assert_eq!(short.header("content-encoding"), None);
}

#[test]
fn who_takes_neither_a_plain_nor_a_coded_answer_is_refused_in_the_one_envelope() {
    for path in [path(native()), "/healthz".to_owned(), "/v1/nowhere".to_owned(), "/v1/ledgers/0".to_owned()] {
        for refusing in ["identity;q=0", "br, *;q=0", "gzip;q=0, zstd;q=0, identity;q=0"] {
            let reply = whole().request("GET", &path, &[("accept-encoding", refusing)]);
            reply.refuses(406, "NOT_ACCEPTABLE");
            assert_eq!(reply.header("cache-control"), Some("no-store"), "{path} {refusing}");
        }
    }
}

#[test]
fn oversized_requests_are_refused_in_the_one_envelope() {
    let address = whole().address;
    for bytes in [60_001, 65_000, 70_000, 120_000] {
        let reply = request(address, "GET", &format!("/v1/health?{}", "x".repeat(bytes)), &[]);
        reply.refuses(414, "URI_TOO_LONG");
    }
    for bytes in [17_000, 100_000, 300_000] {
        request(address, "GET", "/v1/health", &[("x-long", &"x".repeat(bytes))]).refuses(431, "HEADERS_TOO_LARGE");
    }
    for count in [101, 300] {
        let names: Vec<String> = (0..count).map(|number| format!("x-{number}")).collect();
        let headers: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "y")).collect();
        request(address, "GET", "/v1/health", &headers).refuses(431, "HEADERS_TOO_LARGE");
    }
    for headers in [[("content-length", "5")], [("transfer-encoding", "chunked")]] {
        request(address, "GET", "/v1/health", &headers).refuses(413, "BODY_TOO_LARGE");
    }
    whole().get("/healthz").answers();
}

#[test]
fn bytes_that_are_no_request_are_refused_in_the_one_envelope() {
    for bytes in [
        "GET\r\n\r\n",
        "GET /v1/health\r\n\r\n",
        "GET /v1/health HTTP/9.9\r\n\r\n",
        "GET /v1/he alth HTTP/1.1\r\nhost: a\r\n\r\n",
        "GET /v1/health HTTP/1.1\r\nno colon\r\n\r\n",
        "GET /v1/health HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        "\u{1}\u{2}\u{3}\r\n\r\n",
    ] {
        let mut connection = Connection::open(whole().address);
        connection.send(bytes.as_bytes());
        connection.reply(true, 4096).unwrap_or_else(|| panic!("no answer to {bytes:?}")).refuses(400, "BAD_REQUEST");
    }
}

#[test]
fn several_requests_go_over_one_connection_and_a_bad_one_ends_it() {
    let mut connection = Connection::open(whole().address);
    let request = "GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n";
    connection.send(request.repeat(3).as_bytes());
    for _ in 0..3 {
        connection.reply(true, 4096).unwrap().answers();
    }
    connection.send(b"nonsense\r\n\r\n");
    connection.reply(true, 4096).unwrap().refuses(400, "BAD_REQUEST");
    assert_eq!(connection.rest(), b"");
}
