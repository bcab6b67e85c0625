use annals_sim::{NetworkOptions, RpcOptions, RpcServer, SimNetwork};
use serde_json::{Value, json};

use super::client::{error, post, result, send};
use super::served;

#[test]
fn what_is_no_call_is_refused_as_the_node_refuses_it() {
    let (_network, server) = served(1, 5);
    let status = |method, content_type, body: &[u8]| send(&server, method, content_type, body).unwrap().status;
    let call = br#"{"jsonrpc":"2.0","id":1,"method":"getHealth"}"#;
    assert_eq!(status("GET", "application/json", b""), 405);
    assert_eq!(status("POST", "text/plain", call), 415);
    assert_eq!(status("POST", "application/json; charset=utf-8", call), 200);
    assert_eq!(status("POST", "application/json", &vec![b' '; 512 * 1024 + 1]), 500);
    assert_eq!(status("POST", "application/json", br#"{"jsonrpc":"2.0","method":"getHealth"}"#), 204);
    for (body, code) in [("{", -32700), ("[]", -32600), (r#"{"id":1,"method":"getHealth"}"#, -32600)] {
        let answer = send(&server, "POST", "application/json", body.as_bytes()).unwrap();
        assert_eq!((answer.status, answer.json()["error"]["code"].as_i64()), (200, Some(code)), "{body}");
    }
    let named = br#"{"jsonrpc":"2.0","id":"a name","method":"getHealth","params":{}}"#;
    assert_eq!(send(&server, "POST", "application/json", named).unwrap().json()["id"], "a name");
}

#[test]
fn a_node_says_of_itself_what_it_is() {
    let (network, server) = served(1, 50);
    let health = result(&server, "getHealth", &Value::Null);
    assert_eq!(
        (&health["status"], &health["latestLedger"], &health["oldestLedger"]),
        (&json!("healthy"), &json!(51), &json!(2))
    );
    assert!(health["latestLedgerCloseTime"].is_string());
    assert_eq!(health["ledgerRetentionWindow"], 4096);
    let answer = result(&server, "getNetwork", &json!({}));
    assert_eq!(answer, json!({ "passphrase": network.network().passphrase(), "protocolVersion": 30 }));
    assert!(result(&server, "getVersionInfo", &json!({}))["version"].as_str().unwrap().starts_with("28."));
}

#[test]
fn an_empty_node_says_so() {
    let network = SimNetwork::new(1);
    let server = RpcServer::start(network.ledgers(), RpcOptions::default()).unwrap();
    for method in ["getHealth", "getLatestLedger", "getLedgers", "getTransactions", "getNetwork"] {
        assert_eq!(error(&server, method, &json!({})).0, -32603, "{method}");
    }
}

#[test]
fn a_node_remembers_what_it_was_asked() {
    let (_network, server) = served(1, 5);
    result(&server, "getHealth", &json!({}));
    result(&server, "getLedgers", &json!({ "pagination": { "cursor": "3" } }));
    let seen = server.requests();
    assert_eq!(seen.iter().map(|request| request.method.as_str()).collect::<Vec<_>>(), ["getHealth", "getLedgers"]);
    assert_eq!(seen[1].begins_with.map(annals_core::LedgerSeq::get), Some(4));
    assert_eq!((seen[1].number, &seen[1].params["pagination"]["cursor"]), (2, &json!("3")));
    assert!(seen[0].at <= seen[1].at);
    assert!(server.wait_for(std::time::Duration::ZERO, |requests| requests.len() == 2));
    assert!(!server.wait_for(std::time::Duration::ZERO, |requests| requests.len() == 3));
}

#[test]
fn a_dropped_node_listens_no_more_and_its_port_is_free() {
    let (network, server) = served(1, 5);
    let address = server.address();
    drop(server);
    assert!(std::net::TcpStream::connect(address).is_err());
    let again = RpcServer::start(network.ledgers(), RpcOptions { address, ..RpcOptions::default() }).unwrap();
    assert_eq!(post(&again, "getHealth", &json!({})).unwrap().status, 200);
}

#[test]
fn a_node_keeps_no_more_than_its_retention() {
    let options = NetworkOptions { retention_ledgers: 10, heavy_ledgers: Vec::new(), ..NetworkOptions::of_seed(1) };
    let (mut network, server) = super::served_with(options, 30);
    assert_eq!(result(&server, "getHealth", &json!({}))["oldestLedger"], 22);
    assert!(error(&server, "getLedgers", &json!({ "startLedger": 21 })).1.contains("oldest ledger: 22"));
    network.close_next();
    assert!(error(&server, "getLedgers", &json!({ "startLedger": 22 })).1.contains("oldest ledger: 23"));
}
