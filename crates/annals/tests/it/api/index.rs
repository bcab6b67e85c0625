//! The page that people see who ask for nothing in particular.

use super::server::whole;

const LINKS: [&str; 4] = ["/v1/openapi.json", "/v1/health", "/readyz", "/healthz"];

#[test]
fn browsers_get_a_page_and_everybody_else_text_and_every_link_leads_somewhere() {
    for (accept, kind) in [
        (None, "text/plain; charset=utf-8"),
        (Some("*/*"), "text/plain; charset=utf-8"),
        (Some("text/html;q=0, */*"), "text/plain; charset=utf-8"),
        (Some("text/html"), "text/html; charset=utf-8"),
        (Some("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"), "text/html; charset=utf-8"),
        (Some("application/xml, TEXT/HTML; q=0.5"), "text/html; charset=utf-8"),
    ] {
        let headers: Vec<(&str, &str)> = accept.iter().map(|accept| ("accept", *accept)).collect();
        let page = whole().request("GET", "/", &headers);
        assert_eq!((page.status, page.header("content-type")), (200, Some(kind)), "{accept:?}");
        assert_eq!(page.header("cache-control"), Some("no-store"));
        let text = String::from_utf8(page.body.clone()).unwrap();
        assert_eq!(text.starts_with("<!doctype html>"), kind.starts_with("text/html"), "{text}");
        assert!(!text.contains("<script") && text.contains(env!("CARGO_PKG_VERSION")), "{text}");
        assert!(LINKS.iter().all(|link| text.contains(link)), "{text}");
        let head = whole().request("HEAD", "/", &headers);
        assert_eq!((head.status, head.body.len()), (200, 0));
        assert_eq!(head.header("content-length"), page.header("content-length"), "{accept:?}");
    }
    for link in LINKS {
        whole().get(link).answers();
    }
}

#[test]
fn the_page_is_read_alone_and_takes_no_parameter() {
    whole().request("GET", "/?page=2", &[]).refuses(400, "UNKNOWN_PARAMETER");
    whole().request("POST", "/", &[]).refuses(405, "METHOD_NOT_ALLOWED");
    assert_eq!(whole().request("OPTIONS", "/", &[]).status, 204);
}
