use super::*;
use crate::EnvelopeFault;
use crate::digest::EventsDigest;
use crate::event::EventKind;
use crate::hash::{LedgerHash, TxHash};
use crate::ledger::{Census, ClassicEvents, NetworkProof};
use crate::proof::ProofMaterial;

fn seq(number: u32) -> LedgerSeq {
    LedgerSeq::new(number).unwrap()
}

fn range(from: u32, to: u32) -> LedgerRange {
    LedgerRange::new(seq(from), seq(to)).unwrap()
}

fn network() -> Network {
    Network::new("batches")
}

fn contract(letter: u8) -> ContractId {
    ContractId([letter; 32])
}

/// An event of contract `letter` at operation index `index` of the ledger's first transaction.
fn event(ledger: u32, index: u32, letter: u8, proof: ProofClass) -> Event {
    Event {
        position: Position::op(seq(ledger), 1, 0, index).unwrap(),
        tx_hash: TxHash([1; 32]),
        tx_order: 1,
        successful: true,
        close_time_ms: 1000,
        contract_id: Some(contract(letter)),
        kind: EventKind::Contract,
        xdr: vec![letter; 4],
        proof,
        rewritten_xdr: None,
    }
}

/// A ledger whose hash is its number; it links to the number below.
fn ledger(number: u32, events: Vec<Event>) -> CheckedLedger {
    let name = |number: u32| LedgerHash([u8::try_from(number).unwrap(); 32]);
    CheckedLedger {
        seq: seq(number),
        hash: name(number),
        previous_hash: name(number - 1),
        close_time_ms: 1000,
        protocol: 26,
        header_xdr: Vec::new(),
        network_proof: NetworkProof::Proven,
        classic_events: ClassicEvents::Present,
        census: Census::of(&events),
        digest: EventsDigest::of(&events),
        creations: Vec::new(),
        events,
        proof: ProofMaterial { results_xdr: Vec::new(), invocations: Vec::new() },
    }
}

fn checked(scope: Scope, classic: ClassicPolicy, ledgers: Vec<CheckedLedger>) -> Result<Batch, BatchError> {
    Batch::checked(network(), scope, classic, "a lake", ledgers)
}

fn keep_all(ledgers: Vec<CheckedLedger>) -> Result<Batch, BatchError> {
    checked(Scope::All, ClassicPolicy::Keep, ledgers)
}

/// What a batch holds, as `ledger.index` and the contract's letter.
fn held(batch: &Batch) -> Vec<String> {
    let letter = |event: &Event| event.contract_id.map_or('-', |contract| contract.0[0] as char);
    let name = |event: &Event| format!("{}.{}{}", event.position.ledger(), event.position.index(), letter(event));
    batch.events().map(name).collect()
}

#[test]
fn a_batch_holds_its_ledgers_events_in_canonical_order_and_knows_its_range() {
    use ProofClass::{Committed, Rewritten, Uncommitted};
    let events = vec![event(10, 2, b'a', Committed), event(10, 0, b'b', Uncommitted), event(10, 1, b'a', Rewritten)];
    let batch =
        keep_all(vec![ledger(10, events), ledger(11, Vec::new()), ledger(12, vec![event(12, 0, b'c', Committed)])]);
    let batch = batch.unwrap();
    assert_eq!(held(&batch), ["10.0b", "10.1a", "10.2a", "12.0c"]);
    assert_eq!((batch.range(), batch.duplicates(), batch.source()), (range(10, 12), 0, "a lake"));
    assert_eq!((batch.classic(), batch.scope().keys()), (ClassicPolicy::Keep, vec![ScopeKey::All]));
}

#[test]
fn f3_a_duplicate_inside_one_batch_is_left_out_and_counted() {
    let twice = event(10, 0, b'a', ProofClass::Committed);
    let events = vec![twice.clone(), event(10, 1, b'a', ProofClass::Committed), twice.clone(), twice.clone()];
    let batch = keep_all(vec![ledger(10, events)]).unwrap();
    assert_eq!((held(&batch), batch.duplicates()), (vec!["10.0a".to_owned(), "10.1a".to_owned()], 2));
    let unverified = event(10, 0, b'a', ProofClass::Unverified);
    let batch = Batch::unverified(network(), Scope::All, "rpc", range(10, 11), vec![unverified.clone(), unverified]);
    let batch = batch.unwrap();
    assert_eq!((batch.events().count(), batch.duplicates(), batch.range()), (1, 1, range(10, 11)));
}

#[test]
fn f3_a_duplicate_that_says_something_else_is_an_error_that_names_the_event() {
    let one = event(10, 7, b'a', ProofClass::Committed);
    let edits: [fn(&mut Event); 5] = [
        |event| event.xdr.push(0),
        |event| event.tx_hash = TxHash([2; 32]),
        |event| event.successful = false,
        |event| event.contract_id = None,
        |event| event.proof = ProofClass::Uncommitted,
    ];
    for edit in edits {
        let mut other = one.clone();
        edit(&mut other);
        for events in [vec![one.clone(), other.clone()], vec![other.clone(), one.clone(), one.clone()]] {
            let refused = keep_all(vec![ledger(10, events)]);
            assert_eq!(refused, Err(BatchError::ConflictingEvent { position: one.position }));
        }
    }
    assert!(BatchError::ConflictingEvent { position: one.position }.to_string().contains(&one.position.to_string()));
}

#[test]
fn a_scope_of_contracts_takes_theirs_alone_and_none_of_nobodys() {
    let mut nobodys = event(10, 2, b'a', ProofClass::Committed);
    nobodys.contract_id = None;
    let events = vec![event(10, 0, b'a', ProofClass::Committed), event(10, 1, b'b', ProofClass::Committed), nobodys];
    let of = |letters: &[u8], events: &[Event]| {
        let scope = Scope::Contracts(letters.iter().copied().map(contract).collect());
        held(&checked(scope, ClassicPolicy::Keep, vec![ledger(10, events.to_vec())]).unwrap())
    };
    assert_eq!(of(b"a", &events), ["10.0a"]);
    assert_eq!(of(b"ab", &events), ["10.0a", "10.1b"]);
    assert_eq!(of(b"c", &events), Vec::<String>::new());
    assert_eq!(of(b"", &events), Vec::<String>::new());
    assert_eq!(held(&keep_all(vec![ledger(10, events)]).unwrap()).len(), 3);
}

#[test]
fn dropping_classic_events_leaves_out_what_is_uncommitted_and_nothing_else() {
    let events = vec![
        event(10, 0, b'a', ProofClass::Uncommitted),
        event(10, 1, b'a', ProofClass::Committed),
        event(10, 2, b'a', ProofClass::Rewritten),
    ];
    let batch = checked(Scope::All, ClassicPolicy::Drop, vec![ledger(10, events)]).unwrap();
    assert_eq!((held(&batch), batch.classic()), (vec!["10.1a".to_owned(), "10.2a".to_owned()], ClassicPolicy::Drop));
    let BatchLedgers::Checked(ledgers) = batch.ledgers() else { panic!("checked ledgers") };
    assert_eq!(ledgers[0].census.total(), 3, "the census counts what the ledger holds, whatever is kept");
}

#[test]
fn a_foreign_event_or_one_that_claims_another_proof_than_its_batch_gives_is_refused() {
    let foreign = event(11, 0, b'a', ProofClass::Committed);
    let position = foreign.position;
    assert_eq!(keep_all(vec![ledger(10, vec![foreign.clone()])]), Err(BatchError::ForeignEvent { position }));
    // Another ledger of the same batch is foreign too.
    let misplaced = vec![ledger(10, vec![foreign.clone()]), ledger(11, Vec::new())];
    assert_eq!(keep_all(misplaced), Err(BatchError::ForeignEvent { position }));
    let unverified = event(11, 0, b'a', ProofClass::Unverified);
    assert_eq!(keep_all(vec![ledger(11, vec![unverified.clone()])]), Err(BatchError::ForeignEvent { position }));
    let of_events = |range, event| Batch::unverified(network(), Scope::All, "rpc", range, vec![event]);
    assert_eq!(of_events(range(11, 11), foreign), Err(BatchError::ForeignEvent { position }));
    assert_eq!(of_events(range(12, 20), unverified.clone()), Err(BatchError::ForeignEvent { position }));
    assert_eq!(of_events(range(1, 10), unverified.clone()), Err(BatchError::ForeignEvent { position }));
    assert!(of_events(range(10, 11), unverified).is_ok());
}

#[test]
fn ledgers_that_are_none_or_not_consecutive_or_do_not_link_make_no_batch() {
    let make = |numbers: &[u32]| keep_all(numbers.iter().map(|number| ledger(*number, Vec::new())).collect());
    assert_eq!(make(&[]), Err(BatchError::Empty));
    assert_eq!(make(&[10, 12]), Err(BatchError::NotConsecutive { before: seq(10), found: seq(12) }));
    assert_eq!(make(&[11, 10]), Err(BatchError::NotConsecutive { before: seq(11), found: seq(10) }));
    assert_eq!(make(&[10, 10]), Err(BatchError::NotConsecutive { before: seq(10), found: seq(10) }));
    let mut fork = ledger(11, Vec::new());
    fork.previous_hash = LedgerHash([0xFF; 32]);
    let ledgers = vec![ledger(10, Vec::new()), fork, ledger(12, Vec::new())];
    assert_eq!(keep_all(ledgers), Err(BatchError::BrokenLink { seq: seq(11) }));
    assert!(make(&[10]).is_ok_and(|batch| batch.range() == range(10, 10)));
}

#[test]
fn the_words_of_scopes_and_policies_name_them_again() {
    for key in [ScopeKey::All, ScopeKey::Contract(contract(b'a'))] {
        assert_eq!(key.to_string().parse(), Ok(key));
    }
    for text in ["", "**", "contract", &contract(b'a').to_string()[1..]] {
        assert!(text.parse::<ScopeKey>().is_err(), "{text}");
    }
    for policy in [ClassicPolicy::Keep, ClassicPolicy::Drop] {
        assert_eq!(ClassicPolicy::from_name(policy.as_str()), Some(policy));
    }
    assert_eq!(ClassicPolicy::from_name("Keep"), None);
}

#[test]
fn envelopes_are_of_transactions_with_an_unverified_event() {
    // An empty classic transaction of a V0 envelope: its hash is that of the tagged transaction.
    let envelope =
        |xdr: Vec<u8>, hash| CheckedEnvelope::check(network().id(), TransactionKey { ledger: seq(10), hash }, xdr);
    let xdr = [vec![0; 32], 100_u32.to_be_bytes().to_vec(), vec![0; 8 + 4 + 4 + 4 + 4 + 4]].concat();
    let xdr = [vec![0; 4], xdr].concat();
    let Err(EnvelopeFault::OtherTransaction { found }) = envelope(xdr.clone(), TxHash([0; 32])) else {
        panic!("{xdr:?}")
    };
    let brought = envelope(xdr, found).unwrap();
    let of_it = |ledger, proof| Event { tx_hash: found, ..event(ledger, 0, b'a', proof) };
    let unverified = |events| Batch::unverified(network(), Scope::All, "an rpc", range(10, 11), events).unwrap();
    let batch = unverified(vec![of_it(10, ProofClass::Unverified)]).with_envelopes(vec![brought.clone()]).unwrap();
    let BatchLedgers::Unverified { envelopes, .. } = batch.ledgers() else { panic!("{batch:?}") };
    assert_eq!(envelopes, core::slice::from_ref(&brought));
    let foreign = Err(BatchError::ForeignEnvelope { transaction: brought.transaction() });
    for other in [
        unverified(vec![event(10, 0, b'a', ProofClass::Unverified)]),
        unverified(vec![of_it(11, ProofClass::Unverified)]),
        keep_all(vec![ledger(10, vec![of_it(10, ProofClass::Committed)])]).unwrap(),
    ] {
        assert_eq!(other.with_envelopes(vec![brought.clone()]), foreign);
    }
}
