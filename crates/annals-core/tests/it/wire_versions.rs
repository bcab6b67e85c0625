//! The confidential token's events as its four versions wrote them, held against the schema that reads them.

use annals_core::{Mark, Registry, Schema, ShapeFault};
use annals_sim::EventPlan;
use annals_sim::value::{account_address, contract, symbol};
use stellar_xdr::{ScMap, ScMapEntry, ScVal};

const VERSIONS: [&str; 4] = ["operator", "spender", "july-2026", "proofless-revoke"];

/// Versions (O, S, J, P, in their order), event, topics behind the name, data. Whose checkpoint it is has a `*`, whose
/// fold a `+`, whose opening a `^`.
const EVENTS: [&str; 31] = [
    "OSJP register account^ | auditor_id",
    "OSJP deposit from to | amount",
    "OSJP merge account+ |",
    "OS   withdraw from* to | amount r_e sigma b_tilde b_aud_s",
    "J    withdraw from* to | amount r_e_point sigma b_tilde b_tilde_aud_s",
    "P    withdraw from* to | amount r_e_point sigma b_tilde b_tilde_aud_s r_tilde_aud_s",
    "OS   transfer from* to | r_e v_tilde sigma b_tilde v_aud_r r_aud_r v_aud_s b_aud_s",
    "J    transfer from* to | r_e_point v_tilde sigma b_tilde v_tilde_aud_r r_tilde_aud_r v_tilde_aud_s b_tilde_aud_s",
    "P    transfer from* to | r_e_point v_tilde sigma b_tilde v_tilde_aud_r r_tilde_aud_r v_tilde_aud_s b_tilde_aud_s \
         r_tilde_aud_s",
    "O    operator_transfer operator from to | r_e v_tilde sigma_a v_aud_r r_aud_r v_aud_s a_aud_s",
    "S    spender_transfer spender from to | r_e v_tilde sigma_a v_aud_r r_aud_r v_aud_s a_aud_s",
    "J    spender_transfer spender from to | r_e_point v_tilde sigma_a v_tilde_aud_r r_tilde_aud_r v_tilde_aud_s \
         a_tilde_aud_s",
    "P    spender_transfer spender from to | r_e_point v_tilde sigma_a_new v_tilde_aud_r r_tilde_aud_r v_tilde_aud_s \
         a_tilde_aud_s r_tilde_aud_s",
    "O    set_operator account* operator | expiration_ledger r_e sigma b_tilde v_aud_s b_aud_s",
    "S    set_spender account* spender | expiration_ledger r_e sigma b_tilde v_aud_s b_aud_s",
    "S    set_spender account* spender | live_until_ledger r_e sigma b_tilde v_aud_s b_aud_s",
    "J    set_spender account* spender | live_until_ledger r_e_point sigma b_tilde v_tilde_aud_s b_tilde_aud_s",
    "P    set_spender account* spender | live_until_ledger r_e_point sigma b_tilde v_tilde_aud_s b_tilde_aud_s \
         r_tilde_aud_s r_a_tilde_aud_s",
    "O    revoke_operator account* operator | r_e sigma b_tilde v_aud_s b_aud_s",
    "S    revoke_spender account* spender | r_e sigma b_tilde v_aud_s b_aud_s",
    "J    revoke_spender account* spender | r_e_point sigma b_tilde v_tilde_aud_s b_tilde_aud_s",
    "P    revoke_spender account spender | a_tilde allowance_salt",
    "P    clawback account+ | amount destination",
    "P    clawback account+ | amount",
    "OSJP frozen account |",
    "OSJP unfrozen account |",
    "OSJP verifier_set | verifier",
    "OSJP auditor_set | auditor",
    "OSJP underlying_asset_set | underlying_asset",
    "OSJP address_as_field_set | address_as_field",
    "OSJP compliance_config_changed | sac_passthrough",
];

fn schema(version: Option<&str>) -> Schema {
    let choice = version.map_or("confidential-token".to_owned(), |version| format!("confidential-token@{version}"));
    Registry::builtin().schema(&choice.parse().unwrap()).unwrap()
}

fn map(keys: &[&str]) -> ScVal {
    let mut keys = keys.to_vec();
    keys.sort_unstable();
    let entries: Vec<_> = keys.into_iter().map(|key| ScMapEntry { key: symbol(key), val: ScVal::U32(1) }).collect();
    ScVal::Map(Some(ScMap(entries.try_into().unwrap())))
}

/// Role and mark of a topic.
fn party(word: &str) -> (&str, Option<Mark>) {
    let mark = match word.chars().last() {
        Some('*') => Some(Mark::Checkpoint),
        Some('+') => Some(Mark::Fold),
        Some('^') => Some(Mark::Opening),
        _ => None,
    };
    (word.trim_end_matches(['*', '+', '^']), mark)
}

#[test]
fn every_event_of_every_version_is_read_by_the_versions_that_write_it_and_by_no_other() {
    for line in EVENTS {
        let (front, keys) = line.split_once('|').unwrap();
        let mut words = front.split_whitespace();
        let (versions, name) = (words.next().unwrap(), words.next().unwrap());
        let expected: Vec<_> = words.map(party).collect();
        let keys: Vec<&str> = keys.split_whitespace().collect();
        let addresses = (1..).zip(&expected).map(|(byte, _)| account_address([byte; 32]));
        let topics = [symbol(name)].into_iter().chain(addresses).collect();
        let xdr = EventPlan::new(contract(1), topics, map(&keys)).xdr();
        let any = schema(None);
        let parties = any.attribute(&xdr).unwrap_or_else(|fault| panic!("{line}: {fault:?}"));
        let found: Vec<_> = parties.iter().map(|party| (party.role, party.mark)).collect();
        assert_eq!(found, expected, "{line}");
        for (letter, version) in "OSJP".chars().zip(VERSIONS) {
            let pinned = schema(Some(version));
            match pinned.attribute(&xdr) {
                Ok(own) => assert!(own == parties && versions.contains(letter), "{line} in {version}"),
                Err(fault) => {
                    assert!(!versions.contains(letter), "{line} in {version}: {fault:?}");
                    assert!([ShapeFault::UnknownName, ShapeFault::UnknownData].contains(&fault));
                }
            }
        }
    }
}

#[test]
fn a_merge_says_nothing_in_either_of_the_ways_to_say_nothing() {
    let topics = vec![symbol("merge"), account_address([1; 32])];
    for data in [map(&[]), ScVal::Void] {
        let xdr = EventPlan::new(contract(1), topics.clone(), data).xdr();
        assert_eq!(schema(None).attribute(&xdr).unwrap()[0].mark, Some(Mark::Fold));
    }
    let xdr = EventPlan::new(contract(1), topics, map(&["amount"])).xdr();
    assert_eq!(schema(None).attribute(&xdr), Err(ShapeFault::UnknownData));
}
