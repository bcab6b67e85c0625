//! Pages of one account's events, and what they say of their window.

use std::fs;
use std::process::{Command, Stdio};

use annals_sim::{AmountForm, AssetEvents, LedgerPlan, Misshape, TokenTraffic, TokenVersion, TxPlan, value};
use serde_json::{Value, json};
use stellar_xdr::{ScAddress, ScVal};

use super::archive::{Archive, token};
use super::client::{encoded, get};
use super::pages::page_ids;
use super::server::{Served, whole};
use super::token::{END, LIFE, Life, ORIGIN, chain_of, life, network, path, strkey};
use crate::binary::{Ran, annals, report};

fn events(account: &ScAddress, query: &str) -> Value {
    life().get(&format!("{}?{query}", path(LIFE.token(), account, "events"))).answers()
}

/// Every page of a query, the last one last.
fn pages(served: &Served, base: &str, query: &str) -> Vec<Value> {
    let mut pages = vec![served.get(&format!("{base}?{query}")).answers()];
    while let Some(cursor) = pages[pages.len() - 1]["cursor"].as_str() {
        assert!(pages.len() < 500, "the pages do not end");
        let limit = query.split('&').find(|part| part.starts_with("limit=")).unwrap_or("limit=200");
        pages.push(served.get(&format!("{base}?{limit}&cursor={cursor}")).answers());
    }
    pages
}

#[test]
fn an_account_is_answered_exactly_its_own_events_whatever_kind_of_address_it_is() {
    let mut letters = std::collections::BTreeSet::new();
    for account in LIFE.accounts() {
        let page = events(account, "limit=1000");
        assert_eq!(page_ids(&page), LIFE.ids_of(account, ORIGIN, END), "{}", strkey(account));
        assert_eq!(
            (&page["from_ledger"], &page["to_ledger"], &page["complete"]),
            (&json!(ORIGIN), &json!(END), &json!(true)),
            "the origin was found in the creation"
        );
        letters.insert(strkey(account).chars().next());
    }
    assert_eq!(letters.len(), 4, "{letters:?}");
    let stranger = value::account_party(value::account(424_242));
    assert_eq!((&events(&stranger, "")["events"], &events(&stranger, "")["complete"]), (&json!([]), &json!(true)));
}

#[test]
fn i1_account_pages_of_every_size_and_direction_together_are_the_unpaged_read() {
    let account = LIFE.busiest();
    let forward = LIFE.ids_of(account, ORIGIN, END);
    let in_one_ledger = |pair: &[String]| pair[0][..19] > *"" && seq_of(&pair[0]) == seq_of(&pair[1]);
    assert!(forward.windows(2).filter(|pair| in_one_ledger(pair)).count() > 5, "boundaries fall inside ledgers");
    let backward: Vec<String> = forward.iter().rev().cloned().collect();
    let base = path(LIFE.token(), account, "events");
    for size in (1..=9).chain([17, 30]) {
        for (order, expected) in [("asc", &forward), ("desc", &backward)] {
            let pages = pages(life(), &base, &format!("order={order}&limit={size}"));
            assert_eq!(&pages.iter().flat_map(page_ids).collect::<Vec<_>>(), expected, "{order} {size}");
            assert_eq!(pages.len(), expected.len().div_ceil(size), "the last page is not an empty one");
            assert!(pages.iter().all(|page| page["complete"] == true), "{order} {size}");
        }
    }
}

fn seq_of(id: &str) -> u64 {
    id[..19].parse::<u64>().unwrap() >> 32
}

#[test]
fn i1_an_accounts_tail_by_the_last_id_never_misses_or_repeats_while_ledgers_arrive() {
    let archive = LIFE.archive(ORIGIN + 3);
    let served = Served::over(&archive.data_dir(), &[]);
    let account = LIFE.busiest();
    let mut seen: Vec<String> = Vec::new();
    for to in [ORIGIN + 3, ORIGIN + 11, ORIGIN + 12, END] {
        archive.fill(&format!("{ORIGIN}:{to}"), &[]);
        loop {
            let after = seen.last().map_or(String::new(), |id| format!("&after_id={id}"));
            let page = served.get(&format!("{}?limit=3{after}", path(LIFE.token(), account, "events"))).answers();
            let fresh = page_ids(&page);
            seen.extend(fresh.iter().cloned());
            if fresh.is_empty() {
                break;
            }
        }
    }
    assert_eq!(seen, LIFE.ids_of(account, ORIGIN, END));
}

#[test]
fn types_are_applied_after_attribution() {
    let account = LIFE.busiest();
    let all = events(account, "limit=1000");
    for name in ["merge", "transfer", "deposit"] {
        let of_type = |event: &&Value| event["event_type"] == name;
        let expected: Vec<&Value> = all["events"].as_array().unwrap().iter().filter(of_type).collect();
        let page = events(account, &format!("limit=1000&types={name}"));
        assert!(!expected.is_empty() && page["complete"] == true, "{name}");
        assert_eq!(page["events"].as_array().unwrap().iter().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn i3_a_cursor_of_another_account_contract_or_route_is_refused() {
    let mut accounts = LIFE.accounts();
    let (one, other) = (accounts.next().unwrap(), accounts.next().unwrap());
    let cursor = |path: &str| life().get(&format!("{path}?limit=1")).answers()["cursor"].as_str().unwrap().to_owned();
    let own = path(LIFE.token(), one, "events");
    let of_contract = format!("/v1/tokens/{}/events", LIFE.token());
    let (of_one, of_all) = (cursor(&own), cursor(&of_contract));
    let elsewhere = path(token(), one, "events");
    for (path, foreign) in [
        (&path(LIFE.token(), other, "events"), &of_one),
        (&of_contract, &of_one),
        (&elsewhere, &of_one),
        (&own, &of_all),
        (&own, &cursor(&path(LIFE.token(), other, "events"))),
    ] {
        life().get(&format!("{path}?cursor={foreign}")).refuses(400, "BAD_CURSOR");
    }
    for text in ["", " ", "0", "NaN", "AAAA", "2000:1:2", "null", &"A".repeat(5000)] {
        life().get(&format!("{own}?cursor={}", encoded(text))).refuses(400, "BAD_CURSOR");
    }
    for place in 0..of_one.len() {
        let other = if of_one.as_bytes()[place] == b'A' { 'B' } else { 'A' };
        let changed = format!("{}{other}{}", &of_one[..place], &of_one[place + 1..]);
        life().get(&format!("{own}?cursor={changed}")).refuses(400, "BAD_CURSOR");
    }
    life().get(&format!("{own}?cursor={of_one}&types=merge")).refuses(400, "CURSOR_MISMATCH");
    let alias = own.replace("/v1/tokens/", "/v1/contracts/");
    assert_eq!(page_ids(&life().get(&format!("{alias}?limit=1&cursor={of_one}")).answers()).len(), 1);
}

#[test]
fn i8_rows_and_completeness_of_an_account_are_of_one_snapshot_while_ledgers_arrive() {
    let archive = LIFE.archive(ORIGIN);
    let served = Served::over(&archive.data_dir(), &[]);
    let account = LIFE.busiest();
    let (events, checkpoint) = (path(LIFE.token(), account, "events"), path(LIFE.token(), account, "checkpoint"));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| archive.fill(&format!("{ORIGIN}:{END}"), &[]));
        let (mut grown, mut last) = (0, false);
        // One read more once everything is there.
        while !last {
            last = writer.is_finished();
            let page = served.get(&format!("{events}?limit=1000")).answers();
            let to = u32::try_from(page["to_ledger"].as_u64().unwrap()).unwrap();
            assert_eq!((&page["complete"], page_ids(&page)), (&json!(true), LIFE.ids_of(account, ORIGIN, to)));
            let whole = served.get(&format!("{events}?limit=1000&to_ledger={END}")).answers();
            assert!(whole["complete"] == false || page_ids(&whole) == LIFE.ids_of(account, ORIGIN, END));
            let latest = served.get(&checkpoint).answers();
            let at = u32::try_from(latest["to_ledger"].as_u64().unwrap()).unwrap();
            assert!(latest["event"]["ledger_seq"].as_u64().is_none_or(|seq| seq <= u64::from(at)), "{latest}");
            grown = grown.max(to);
        }
        assert_eq!(grown, END);
    });
}

#[test]
fn a_muxed_account_names_the_one_to_ask_for_and_nothing_that_is_none_is_repeated() {
    let account = value::account(7);
    let base = |text: &str| format!("/v1/tokens/{}/accounts/{text}", LIFE.token());
    let muxed = stellar_strkey_muxed(account);
    for route in ["events", "checkpoint", "replay-window"] {
        let reply = life().get(&format!("{}/{route}", base(&muxed)));
        reply.refuses(400, "BAD_ACCOUNT");
        let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
        let own = strkey(&value::account_party(account));
        assert!(message.contains(&own) && !message.contains(&muxed), "{message}");
        for text in [SEED, "G", "GABC", &own.to_lowercase(), &format!("{own}A"), "%00", "%F0%9F%92%A9", "XDR'--"] {
            let reply = life().get(&format!("{}/{route}", base(text)));
            reply.refuses(400, "BAD_ACCOUNT");
            assert!(text == "G" || !String::from_utf8_lossy(&reply.body).contains(text), "{text} is repeated");
        }
        life().get(&format!("{}/{route}", base("%FF"))).refuses(400, "BAD_ENCODING");
        life().get(&format!("{}/{route}?at_ledgr=5", base(&own))).refuses(400, "UNKNOWN_PARAMETER");
        let elsewhere = format!("/v1/tokens/GABC/accounts/{own}/{route}");
        life().get(&elsewhere).refuses(400, "BAD_CONTRACT");
    }
    for at in ["0", "-1", "2147483648", "", "five"] {
        life()
            .get(&format!("{}/checkpoint?at_ledger={at}", base(&strkey(&value::account_party(account)))))
            .refuses(400, "BAD_LEDGER");
    }
}

/// A secret seed; of no account that is used.
const SEED: &str = "SBU2RRGLXH3E5CQHTD3ODLDF2BWDCYUSSBLLZ5GNW7JXHDIYKXZWHOKR";

/// The muxed strkey of an account.
fn stellar_strkey_muxed(account: [u8; 32]) -> String {
    let mut bytes = vec![12 << 3];
    bytes.extend(account);
    bytes.extend(9_u64.to_be_bytes());
    bytes.extend(crc16(&bytes).to_le_bytes());
    base32(&bytes)
}

/// CRC-16/XMODEM, as SEP-23 has it.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 })
    })
}

/// Base32 without padding, RFC 4648.
fn base32(bytes: &[u8]) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let bits: Vec<u8> = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect();
    let digit = |bits: &[u8]| (0..5).fold(0, |digit, place| digit << 1 | bits.get(place).copied().unwrap_or(0));
    bits.chunks(5).map(|chunk| char::from(alphabet[usize::from(digit(chunk))])).collect()
}

#[test]
fn no_log_line_holds_an_account() {
    let archive = LIFE.archive(ORIGIN + 3);
    let log = archive.path().join("log");
    let mut command: Command = annals(["serve", "--json", "--listen", "127.0.0.1:0", "--log", "trace"]);
    command.arg("--data-dir").arg(archive.data_dir()).stderr(Stdio::from(fs::File::create(&log).unwrap()));
    let served = Served::started_quietly(command);
    let account = strkey(LIFE.busiest());
    for route in ["events", "checkpoint", "replay-window", "nowhere"] {
        get(served.address, &format!("/v1/tokens/{}/accounts/{account}/{route}", LIFE.token()));
        get(served.address, &format!("/v1/tokens/{}/accounts/{SEED}/{route}", LIFE.token()));
    }
    served.ends_by("-TERM");
    let log = fs::read_to_string(&log).unwrap();
    assert!(log.contains("stopping"), "the log is written: {log}");
    assert!(!log.contains(&account) && !log.contains(SEED), "{log}");
}

#[test]
fn without_a_schema_account_answers_alone_say_so() {
    let account = LIFE.busiest();
    let archive = Archive::of_chain(&LIFE.built);
    archive.fill(&format!("{ORIGIN}:{END}"), &[]);
    let served = Served::over(&archive.data_dir(), &[]);
    for route in ["events", "checkpoint", "replay-window"] {
        let answer = served.get(&path(LIFE.token(), account, route)).answers();
        assert_eq!((&answer["complete"], &answer["incomplete_reason"]), (&json!(false), &json!("no_schema")));
        assert_eq!((&answer["from_ledger"], &answer["missing"]), (&json!(ORIGIN), &json!([])));
    }
    let of_contract = served.get(&format!("/v1/tokens/{}/events", LIFE.token())).answers();
    assert_eq!(of_contract["complete"], true);
    archive.declare(LIFE.token(), &["--schema", "confidential-token"]).ends_with(0);
    let waiting = served.get(&path(LIFE.token(), account, "events")).answers();
    assert_eq!(waiting["incomplete_reason"], "unattributed_events");
    let health = served.get(&format!("/v1/health?contract_id={}", LIFE.token())).answers();
    assert_eq!((&health["schema"], &health["unattributed"]), (&json!("confidential-token"), &json!(true)));
    archive.reattribute(&[]).ends_with(0);
    let told = served.get(&format!("{}?limit=1000", path(LIFE.token(), account, "events"))).answers();
    assert_eq!((&told["complete"], page_ids(&told)), (&json!(true), LIFE.ids_of(account, ORIGIN, END)));
    archive.declare(LIFE.token(), &["--schema", "none"]).ends_with(0);
    let taken_back = served.get(&path(LIFE.token(), account, "events")).answers();
    assert_eq!(taken_back["incomplete_reason"], "no_schema");
}

/// A ledger of this number is built with an event that no shape of the shipped schema fits.
const ODD: u32 = ORIGIN + 9;

fn misshapen(misshape: Misshape) -> Life {
    let traffic = TokenTraffic::deployed(11, &network(), TokenVersion::July).with_steps(8);
    Life::of(traffic, 15, |seq, ledger| {
        if seq == ODD {
            let index = ledger.events.iter().position(|event| event.event.topics.len() > 1).unwrap();
            ledger.misshape(index, misshape);
        }
    })
}

#[test]
fn one_event_in_quarantine_makes_windows_over_it_incomplete_on_account_routes_alone() {
    for misshape in [Misshape::TopicMore, Misshape::TopicFewer, Misshape::UnknownName, Misshape::FieldMore] {
        let odd = misshapen(misshape);
        let archive = odd.archive(ORIGIN + 14);
        let served = Served::over(&archive.data_dir(), &[]);
        for account in odd.accounts() {
            let page = |from: u32, to: u32| {
                let base = path(odd.token(), account, "events");
                served.get(&format!("{base}?from_ledger={from}&to_ledger={to}")).answers()
            };
            for (from, to, complete) in
                [(ORIGIN, ODD - 1, true), (ODD, ODD, false), (ORIGIN, ORIGIN + 14, false), (ODD + 1, ODD + 5, true)]
            {
                let page = page(from, to);
                assert_eq!(page["complete"], complete, "{misshape:?} {page}");
                assert_eq!(page["missing"], json!([]));
                let expected = if complete { Value::Null } else { json!("unattributed_events") };
                assert_eq!(page["incomplete_reason"], expected);
            }
            let before = served.get(&format!("{}?at_ledger={}", path(odd.token(), account, "checkpoint"), ODD - 1));
            assert_eq!(before.answers()["complete"], true);
        }
        assert_eq!(served.get(&format!("/v1/tokens/{}/events", odd.token())).answers()["complete"], true);
        let health = served.get(&format!("/v1/health?contract_id={}", odd.token())).answers();
        assert_eq!((&health["unattributed_events"], &health["unattributed"]), (&json!(1), &json!(false)));
        assert_eq!(report(&["status"], &archive.data_dir()).json()["unattributed_events"], 1);
    }
}

#[test]
fn a_file_that_names_the_shape_and_reattribute_repair_what_was_in_quarantine() {
    let odd = misshapen(Misshape::UnknownName);
    let archive = odd.archive(ORIGIN + 14);
    let index = odd.ledgers[9].events.iter().position(|event| event.event.topics[0] == value::symbol("unheard_of"));
    let event = &odd.ledgers[9].events[index.unwrap()];
    let roles: Vec<String> = (1..event.event.topics.len()).map(|place| format!("\"party{place}\"")).collect();
    let schemas = archive.path().join("own.toml");
    let text = format!(
        "[[schema.confidential-token.event]]\nname = \"unheard_of\"\ntopics = [{}]\ndata = [\"any\"]\n",
        roles.join(", ")
    );
    fs::write(&schemas, text).unwrap();
    let file = schemas.to_str().unwrap();
    let ScVal::Address(party) = &event.event.topics[1] else { panic!("a party is an address") };
    let served = Served::over(&archive.data_dir(), &["--schemas", file]);
    let page = || served.get(&format!("{}?limit=1000", path(odd.token(), party, "events"))).answers();
    let id = event.position(odd.built[9].seq).to_string();
    assert!(page()["complete"] == false && !page_ids(&page()).contains(&id));
    let ran = archive.reattribute(&["--schemas", file]).ends_with(0).json();
    assert_eq!((&ran["contracts"][0]["changed"], &ran["contracts"][0]["quarantined"]), (&json!(1), &json!(0)), "{ran}");
    assert_eq!(
        (&ran["contracts"][0]["done"], &ran["interrupted"], &ran["waiting"]),
        (&json!(true), &json!(false), &json!([]))
    );
    assert!(page()["complete"] == true && page_ids(&page()).contains(&id));
    let own = page()["events"].as_array().unwrap().iter().find(|event| event["id"] == id.as_str()).unwrap().clone();
    assert_eq!(own["roles"], json!(["party1"]));
    // Who comes without the file attributes otherwise from then on, is told, and asks for it anew.
    let lake = archive.lake();
    let mut command = crate::binary::backfill(&lake, &archive.data_dir(), super::archive::PASSPHRASE, "2000:2014");
    let ran = Ran::of(&mut command).ends_with(0);
    assert_eq!(ran.json()["unattributed"], json!([odd.token().to_string()]));
    let warnings = ran.stderr.matches("`annals reattribute`").count();
    assert_eq!(warnings, 1, "{}", ran.stderr);
    assert_eq!(page()["incomplete_reason"], "unattributed_events");
}

#[test]
fn e2_token_events_whose_data_is_a_map_are_attributed_like_those_of_a_number() {
    let contract = value::contract(3);
    let [alice, bob] = [1, 2].map(|number| value::account_party(value::account(number)));
    let events = AssetEvents::sep41(contract);
    let forms = [AmountForm::Number, AmountForm::Map(ScVal::Void), AmountForm::Map(ScVal::U64(9))];
    let mut plans: Vec<_> = forms.iter().map(|form| events.transfer(&alice, &bob, 5, form)).collect();
    plans.extend(forms.iter().map(|form| events.mint(&alice, 100, form)));
    let mut burn = events.burn(&alice, 100);
    plans.push(burn.clone());
    burn.event.data = value::symbol_map(vec![("amount", value::i128(100))]);
    plans.push(burn);
    let mut approve = events.approve(&alice, &bob, 100, 12345);
    plans.push(approve.clone());
    approve.event.data =
        value::symbol_map(vec![("amount", value::i128(100)), ("live_until_ledger", ScVal::U32(12345))]);
    plans.push(approve);
    let invocation = TxPlan::invocation(contract, plans.iter().map(|plan| plan.event.clone()).collect());
    let archive = Archive::of_chain(&chain_of(&[LedgerPlan::new(Vec::new()), LedgerPlan::new(vec![invocation])]));
    archive.fill("2000:2001", &[]);
    let said = ["--schema", "token", "--origin", "2000", "--kind", "wasm"];
    archive.declare(contract, &said).ends_with(0);
    archive.reattribute(&[]).ends_with(0);
    let served = Served::over(&archive.data_dir(), &[]);
    for party in [&alice, &bob] {
        let page = served.get(&path(contract, party, "events")).answers();
        assert_eq!(page["complete"], true, "{page}");
        let roles: Vec<Value> = page["events"].as_array().unwrap().iter().map(|event| event["roles"].clone()).collect();
        let named = plans.iter().map(|plan| plan.parties.iter().filter(|(_, who)| who == party));
        let expected: Vec<Value> = named
            .map(|roles| json!(roles.map(|(role, _)| *role).collect::<Vec<_>>()))
            .filter(|roles| *roles != json!([]))
            .collect();
        assert_eq!(roles, expected);
    }
}

#[test]
fn what_the_archive_does_not_watch_is_no_empty_history() {
    let archive = Archive::empty();
    archive.fill("1000:1009", &[token()]);
    let served = Served::over(&archive.data_dir(), &[]);
    for route in ["events", "checkpoint", "replay-window"] {
        served.get(&path(LIFE.token(), LIFE.busiest(), route)).refuses(404, "UNKNOWN_CONTRACT");
    }
    assert_eq!(whole().get("/v1/contracts").answers()["contracts"][0]["schema"], "token");
}
