//! Proof bundles over HTTP.

use annals_core::bundle::Undecided;
use annals_core::{ContractId, LedgerHash, LedgerSeq, ProofVerdict, check_ledger, check_proof};

use super::archive::{Archive, CHAIN, CROWD, CROWDED, FIRST, LAST, PASSPHRASE, events_of, native, silent, token};
use super::pages::seq;
use super::server::{Served, whole};

fn hash_of(ledger: u32) -> (LedgerSeq, LedgerHash) {
    let built = CHAIN.iter().find(|built| built.seq.get() == ledger).unwrap();
    (built.seq, built.hash)
}

/// Whether an archive of every contract keeps proof material of a ledger.
fn is_kept(ledger: u32) -> bool {
    let built = CHAIN.iter().find(|built| built.seq.get() == ledger).unwrap();
    built.events.iter().any(|event| event.proof.is_proven())
}

fn ledgers_path(contract: ContractId, from: u32, to: u32) -> String {
    format!("/v1/ledgers/{from}/proof?contract_id={contract}&to_ledger={to}")
}

#[test]
fn every_event_of_a_contract_is_proved_by_its_bundle_alone() {
    for event in events_of(token(), FIRST, FIRST + 9) {
        let reply = whole().get(&format!("/v1/events/{}/proof", event.position));
        reply.answers();
        assert_eq!(reply.header("content-type"), Some("application/json"));
        // The chain's last ledger lies below the next checkpoint.
        let ProofVerdict::Proved(proved) = check_proof(&reply.body, Some(hash_of(LAST.min(1023)))) else {
            panic!("{:?}", check_proof(&reply.body, None))
        };
        assert_eq!(proved.network_passphrase, PASSPHRASE);
        assert_eq!((proved.events[0].position, &proved.events[0].xdr), (event.position, &event.xdr));
    }
}

#[test]
fn the_headers_end_at_the_checkpoint_or_where_the_archive_ends() {
    let last_of = |from: u32, to: u32| {
        let event = events_of(token(), from, to)[0];
        let body = whole().get(&format!("/v1/events/{}/proof", event.position)).answers();
        body["above"]["anchor"]["ledger"].as_u64().unwrap()
    };
    // 1023 is one, and the next, 1087, is not covered.
    assert_eq!(last_of(FIRST, FIRST + 5), 1023);
    assert_eq!(last_of(1024, LAST), u64::from(LAST));
}

#[test]
fn a_fee_is_said_to_be_beyond_proof_and_its_charge_is_shown() {
    let kept = |event: &&&annals_core::Event| is_kept(event.position.ledger().get());
    for event in events_of(native(), FIRST, FIRST + 9).iter().filter(kept) {
        let reply = whole().get(&format!("/v1/events/{}/proof", event.position));
        assert_eq!(reply.answers()["kind"], "unproven");
        let ProofVerdict::Undecided(Undecided::NotCommitted { id, fee: Some(fee) }) = check_proof(&reply.body, None)
        else {
            panic!("{:?}", check_proof(&reply.body, None))
        };
        assert_eq!((id, fee.tx_hash), (event.position, event.tx_hash));
    }
}

#[test]
fn a_contracts_events_are_proved_whole_over_a_range_and_so_is_silence() {
    let run = (FIRST..LAST).find(|from| (*from..*from + 5).all(is_kept)).unwrap();
    for contract in [token(), silent()] {
        for (from, to) in [(run, run), (run, run + 4), (CROWDED, CROWDED)] {
            let reply = whole().get(&ledgers_path(contract, from, to));
            reply.answers();
            let ProofVerdict::Proved(proved) = check_proof(&reply.body, None) else {
                panic!("{:?}", check_proof(&reply.body, None))
            };
            let expected = events_of(contract, from, to);
            let expected = expected.iter().filter(|event| event.proof.is_proven());
            let expected: Vec<_> = expected.map(|event| (event.position, event.xdr.clone())).collect();
            let found: Vec<_> = proved.events.iter().map(|event| (event.position, event.xdr.clone())).collect();
            assert_eq!(found, expected);
            assert!(from != CROWDED || contract != token() || found.len() >= CROWD as usize);
        }
    }
}

#[test]
fn an_archive_of_one_contract_proves_others_where_it_keeps_a_ledger_and_names_where_not() {
    let archive = Archive::empty();
    archive.fill("1000:1009", &[token()]);
    let served = Served::over(&archive.data_dir(), &[]);
    let reply = served.get(&ledgers_path(silent(), CROWDED, CROWDED));
    reply.answers();
    assert!(matches!(check_proof(&reply.body, None), ProofVerdict::Proved(_)));
    let network = annals_core::Network::new(PASSPHRASE);
    let without = CHAIN.iter().take(10).find(|built| {
        let holds = built.events.iter().any(|event| event.contract_id == Some(token()) && event.proof.is_proven());
        let transactions = annals_core::decode::decode(&built.xdr).unwrap().transactions.len();
        check_ledger(&built.xdr, &network).is_ok() && !holds && transactions > 0
    });
    if let Some(built) = without {
        let reply = served.get(&ledgers_path(token(), built.seq.get(), built.seq.get()));
        reply.refuses(404, "NOT_PROVABLE");
        assert!(reply.json()["error"]["message"].as_str().unwrap().contains(&built.seq.to_string()));
    }
}

#[test]
fn ranges_that_no_proof_holds_are_refused() {
    for (from, to, status, code) in [
        (1005, 1004, 400, "BAD_RANGE"),
        (1000, 1064, 400, "BAD_RANGE"),
        (1000, i32::MAX as u32, 400, "BAD_RANGE"),
        (LAST, LAST + 1, 404, "LEDGER_NOT_COVERED"),
        (FIRST - 1, FIRST, 404, "LEDGER_NOT_COVERED"),
    ] {
        let reply = whole().get(&ledgers_path(token(), from, to));
        // A ledger of the run that the archive does not hold is named, whichever comes first.
        reply.refuses(status, code);
    }
    whole().get("/v1/ledgers/1005/proof").refuses(400, "CONTRACT_REQUIRED");
    let beyond = annals_core::Position::after_all_txs(seq(LAST + 1), 0);
    whole().get(&format!("/v1/events/{beyond}/proof")).refuses(404, "LEDGER_NOT_COVERED");
}
