//! Single events and ledgers, by their names.

use annals_core::registry::Payload;
use annals_core::{Position, check_ledger};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::archive::{Archive, CHAIN, LAST, PASSPHRASE, events_of, native, token};
use super::pages::seq;
use super::server::{Served, whole};

#[test]
fn an_event_is_found_by_the_id_that_the_network_gives_it() {
    for contract in [token(), native()] {
        for event in events_of(contract, 1000, 1009) {
            let answer = whole().get(&format!("/v1/events/{}", event.position)).answers();
            let expected = annals_core::wire::ExportedEvent::new(event, &Payload::NotApplicable).unwrap();
            assert_eq!(answer, serde_json::to_value(expected).unwrap());
        }
    }
}

#[test]
fn an_event_that_is_not_there_is_told_from_one_that_nobody_looked_for() {
    let archive = Archive::empty();
    archive.fill("1000:1009", &[token()]);
    let served = Served::over(&archive.data_dir(), &[]);
    let at = |ledger: u32| format!("/v1/events/{}", Position::after_all_txs(seq(ledger), u32::MAX));
    whole().get(&at(1005)).refuses(404, "EVENT_NOT_FOUND");
    whole().get(&at(LAST + 1)).refuses(404, "LEDGER_NOT_COVERED");
    let not_ruled_out = served.get(&at(1005));
    not_ruled_out.refuses(404, "LEDGER_NOT_COVERED");
    let message = not_ruled_out.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(!message.contains("was not scanned,"), "the ledger was scanned for a contract: {message}");
    for id in ["1-1", "0000000000000000000-0000000000", "9223372036854775807-0000000000", "x", "%20", "0-0-0"] {
        whole().get(&format!("/v1/events/{id}")).refuses(400, "BAD_EVENT_ID");
    }
}

#[test]
fn a_ledger_is_told_by_what_its_own_bytes_say() {
    let network = annals_core::Network::new(PASSPHRASE);
    for built in CHAIN.iter() {
        let checked = check_ledger(&built.xdr, &network).unwrap();
        let answer = whole().get(&format!("/v1/ledgers/{}", built.seq)).answers();
        assert_eq!(answer["ledger_seq"], built.seq.get());
        assert_eq!(answer["hash"], built.hash.to_string());
        assert_eq!(answer["previous_hash"], checked.previous_hash.to_string());
        assert_eq!(answer["close_time"], built.close_time_ms / 1000);
        assert_eq!(answer["closed_at"], annals_core::wire::rfc3339(built.close_time_ms));
        assert_eq!(answer["protocol"], 26);
        assert_eq!(answer["classic_events"], "present");
        assert_eq!(answer["header_xdr"], STANDARD.encode(&checked.header_xdr));
        let census = annals_core::Census::of(&built.events);
        let expected = json!({
            "committed": census.committed, "rewritten": census.rewritten,
            "uncommitted": census.uncommitted, "unverified": census.unverified,
        });
        assert_eq!(answer["census"], expected);
        assert_eq!((&answer["digest_version"], &answer["anchor"]), (&1.into(), &"source".into()));
    }
}

#[test]
fn the_folder_of_the_operators_lake_is_not_told() {
    let reply = whole().get("/v1/ledgers/1000");
    assert_eq!(reply.answers()["source"], Value::from("lake"));
    assert!(
        !String::from_utf8_lossy(&reply.body).contains('/') || !reply.json()["source"].as_str().unwrap().contains('/')
    );
}
