//! Health never looks fresher than the archive is.

use serde_json::{Value, json};

use super::archive::{Archive, CHAIN, LAST, PASSPHRASE, silent, token};
use super::server::{Served, whole};
use crate::binary::{Ran, annals};

#[test]
fn the_whole_archive_says_how_far_it_reaches() {
    let health = whole().get("/v1/health").answers();
    assert_eq!(health["network"], PASSPHRASE);
    assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
    for (field, value) in [
        ("contract_id", Value::Null),
        ("latest_ledger", LAST.into()),
        ("ingested_through", LAST.into()),
        ("verified_through", LAST.into()),
        ("start_ledger", 1000.into()),
        ("origin_ledger", Value::Null),
        ("tip_ledger", Value::Null),
        ("tip_age_seconds", Value::Null),
        ("gaps", json!([])),
        ("incidents", 0.into()),
    ] {
        assert_eq!(health[field], value, "{field}");
    }
}

#[test]
fn i4_lag_is_the_age_of_the_last_gap_free_ledger_and_not_of_the_newest() {
    let archive = Archive::of(&["1000:1009", "1020:1039"]);
    let served = Served::over(&archive.data_dir(), &[]);
    let health = served.get("/v1/health").answers();
    assert_eq!((&health["ingested_through"], &health["latest_ledger"]), (&1009.into(), &1039.into()));
    assert_eq!(health["gaps"], json!([{ "from": 1010, "to": 1019 }]));
    let lag = health["lag_seconds"].as_u64().unwrap();
    let age = |ledger: u32| {
        let closed = CHAIN[(ledger - 1000) as usize].close_time_ms / 1000;
        jiff::Timestamp::from_second(i64::try_from(closed + lag).unwrap()).unwrap()
    };
    let clock = annals::clock::SystemClock::new();
    let now = i64::try_from(annals::clock::Clock::now_unix_ms(&clock) / 1000).unwrap();
    assert!((age(1009).as_second() - now).abs() <= 60, "{lag}");
}

#[test]
fn a_contract_is_judged_by_its_own_coverage() {
    let archive = Archive::empty();
    archive.fill("1000:1009", &[token()]);
    archive.fill("1000:1004", &[silent()]);
    let served = Served::over(&archive.data_dir(), &[]);
    let health = |contract: &str| served.get(&format!("/v1/health?contract_id={contract}")).answers();
    let own = health(&token().to_string());
    assert_eq!((&own["ingested_through"], &own["contract_id"]), (&1009.into(), &token().to_string().into()));
    assert_eq!(health(&silent().to_string())["ingested_through"], 1004);
    served.get("/v1/health").refuses(400, "CONTRACT_REQUIRED");
}

#[test]
fn a_contract_added_later_opens_its_own_coverage_and_claims_nothing_of_the_past() {
    let archive = Archive::empty();
    archive.fill("1000:1009", &[token()]);
    let mut add = annals(["contracts", "add", "--json"]);
    let added = Ran::of(add.arg(silent().to_string()).arg("--data-dir").arg(archive.data_dir())).ends_with(0).json();
    let expected = json!({
        "contract_id": silent().to_string(), "origin_ledger": null, "origin_from": null, "kind": null,
        "kind_from": null, "schema": null, "schema_from": null, "unattributed": false,
    });
    assert_eq!(added, expected);
    let served = Served::over(&archive.data_dir(), &[]);
    let events = |from: u32| {
        let path = format!("/v1/contracts/{}/events?from_ledger={from}&to_ledger=1009", silent());
        served.get(&path).answers()
    };
    assert_eq!(
        (&events(1000)["complete"], &events(1000)["incomplete_reason"]),
        (&false.into(), &"not_yet_ingested".into())
    );
    archive.fill("1005:1009", &[silent()]);
    assert_eq!(events(1005)["complete"], true);
    assert_eq!(events(1000)["incomplete_reason"], "before_coverage");
    let listed = served.get("/v1/contracts").answers();
    assert_eq!(listed["scope"], "contracts");
    let latest = |contract: &str| {
        let contracts = listed["contracts"].as_array().unwrap();
        contracts.iter().find(|listed| listed["contract_id"] == contract).unwrap()["latest_ledger"].clone()
    };
    assert_eq!((latest(&token().to_string()), latest(&silent().to_string())), (1009.into(), 1009.into()));
}

#[test]
fn what_an_operator_declares_is_listed_and_gives_windows_their_beginning() {
    let archive = Archive::of(&["1000:1019"]);
    let served = Served::over(&archive.data_dir(), &[]);
    archive.declare(token(), &["--origin", "1002", "--kind", "wasm"]).ends_with(0);
    let listed = served.get("/v1/contracts").answers();
    assert_eq!(listed["scope"], "all");
    assert_eq!(listed["contracts"][0]["origin_ledger"], 1002);
    assert_eq!(listed["contracts"][0]["kind"], "wasm");
    let health = served.get(&format!("/v1/health?contract_id={}", token())).answers();
    assert_eq!((&health["origin_ledger"], &health["ingested_through"]), (&1002.into(), &1019.into()));
    let page = served.get(&format!("/v1/contracts/{}/events?limit=1000", token())).answers();
    assert_eq!(
        (&page["from_ledger"], &page["to_ledger"], &page["complete"]),
        (&1002.into(), &1019.into(), &true.into())
    );
    let list = Ran::of(annals(["contracts", "list", "--json"]).arg("--data-dir").arg(archive.data_dir())).ends_with(0);
    assert_eq!(list.json()["contracts"][0]["contract_id"], token().to_string());
}

#[test]
fn an_archive_that_was_asked_for_nothing_says_null_and_not_zero() {
    let archive = Archive::empty();
    let made = annals::store::SqliteStore::create_or_open(
        &archive.data_dir(),
        std::sync::Arc::new(annals::clock::SystemClock::new()),
    );
    drop(made.unwrap());
    let served = Served::over(&archive.data_dir(), &[]);
    let health = served.get("/v1/health").answers();
    for field in ["network", "latest_ledger", "ingested_through", "verified_through", "lag_seconds", "start_ledger"] {
        assert_eq!(health[field], Value::Null, "{field}");
    }
    assert_eq!(health["gaps"], json!([]));
    served.get("/healthz").answers();
}
