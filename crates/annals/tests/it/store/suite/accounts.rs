//! Whom events belong to, and what accounts are told of them.

use annals::store::{Bound, Contract, ContractKind, Page, PageQuery, Store, StoreError, Unattributed};
use annals_core::{
    Address, ClassicEvents, ContractId, Creation, Executable, IncompleteReason, LedgerSeq, Position, ProofClass, Scope,
};

use crate::store::fixtures::*;
use crate::store::people::*;
use crate::store::reader::{events_of, first_page, judge};

use ClassicEvents::Present;

fn said(id: ContractId, schema: &str) -> Contract {
    Contract { id, origin: None, kind: None, schema: Some(choice(schema)) }
}

fn account_page(of: ContractId, account: Address, from: u32, to: u32) -> PageQuery {
    PageQuery { account: Some(account), ..first_page(of, Some(seq(from)), Some(seq(to)), 500) }
}

/// One event of contract 1 in each of the ledgers from 1 on.
fn told(events: &[(&str, &[Address])]) -> annals_core::Batch {
    let ledgers = (1..).zip(events).map(|(number, (name, parties))| {
        let at = Position::op(seq(number), 1, 0, 0).unwrap();
        let event = event(at, 1, Some(contract(1)), ProofClass::Committed);
        let xdr = event_xdr(contract(1), name, parties, number);
        ledger_with(number, Present, vec![annals_core::Event { xdr, ..event }])
    });
    batch_of(Scope::All, ledgers.collect())
}

fn reason(page: &Page) -> Option<IncompleteReason> {
    judge(page).reason
}

/// Reads all that waits, in steps of two.
fn read_all(store: &dyn Store, of: ContractId, fence: annals::store::Fence) {
    let mut after = None;
    loop {
        after = store.reattribute(of, after, 2, fence).unwrap().next;
        if after.is_none() {
            return;
        }
    }
}

pub fn an_account_is_told_its_roles_in_the_order_of_the_topics_and_each_event_once(fixture: &mut dyn StoreFixture) {
    fixture.reopen_with(registry(0));
    let store = fixture.store();
    let fence = begin(store, 1, 9);
    store.declare(&said(contract(1), "test"), fence).unwrap();
    let [one, two, three, four, five] = accounts();
    let events: [(&str, &[Address]); 5] = [
        ("move", &[two, one]),
        ("move", &[one, one]),
        ("spend", &[one, two, one]),
        ("note", &[]),
        ("spend", &[three, four, five]),
    ];
    store.commit(&told(&events), fence).unwrap();
    let roles = |account| {
        let page = store.page(&account_page(contract(1), account, 1, 5)).unwrap();
        assert_eq!(reason(&page), None);
        let told = page.events.into_iter().map(|shown| (shown.event.position.ledger().get(), shown.roles.join(" ")));
        told.collect::<Vec<_>>()
    };
    let expected =
        |told: &[(u32, &str)]| told.iter().map(|(seq, roles)| (*seq, (*roles).to_owned())).collect::<Vec<_>>();
    assert_eq!(roles(one), expected(&[(1, "from"), (2, "to from"), (3, "spender to")]));
    assert_eq!(roles(two), expected(&[(1, "to"), (3, "from")]));
    assert_eq!(roles(three), expected(&[(5, "spender")]), "a contract is a party");
    assert_eq!(roles(four), expected(&[(5, "from")]), "a claimable balance is a party");
    assert_eq!(roles(five), expected(&[(5, "to")]), "a liquidity pool is a party");
    assert_eq!(roles(Address::Account([9; 32])), []);
    let all = store.page(&first_page(contract(1), Some(seq(1)), Some(seq(5)), 500)).unwrap();
    assert!(all.events.iter().all(|shown| shown.roles.is_empty()), "nobody was asked for");
}

pub fn quarantine_makes_answers_to_accounts_incomplete_and_nothing_else(fixture: &mut dyn StoreFixture) {
    fixture.reopen_with(registry(0));
    let store = fixture.store();
    let fence = begin(store, 1, 9);
    store.declare(&said(contract(1), "test"), fence).unwrap();
    let [one, two, ..] = accounts();
    let events: [(&str, &[Address]); 4] = [("move", &[one, two]), ("odd", &[one]), ("open", &[two]), ("fold", &[one])];
    store.commit(&told(&events), fence).unwrap();
    let of_account = |from, to| reason(&store.page(&account_page(contract(1), two, from, to)).unwrap());
    let unattributed = Some(IncompleteReason::UnattributedEvents);
    assert_eq!([of_account(1, 4), of_account(2, 2), of_account(1, 2)], [unattributed; 3]);
    assert_eq!([of_account(1, 1), of_account(3, 4)], [None; 2]);
    let contracts_own = store.page(&first_page(contract(1), Some(seq(1)), Some(seq(4)), 500)).unwrap();
    assert_eq!((reason(&contracts_own), contracts_own.events.len()), (None, 4));
    assert_eq!(store.status().unwrap().quarantined, 1);
    let begun = store.page(&PageQuery { limit: 1, ..account_page(contract(1), two, 1, 4) }).unwrap();

    // The operator's next file knows the event.
    fixture.reopen_with(registry(1));
    let store = fixture.store();
    assert_eq!(store.adopt(fence).unwrap(), [contract(1)]);
    let page = store.page(&account_page(contract(1), one, 1, 4)).unwrap();
    assert_eq!((page.unattributed, page.events.len()), (Some(Unattributed::Events), 2));
    read_all(store, contract(1), fence);
    let page = store.page(&account_page(contract(1), one, 1, 4)).unwrap();
    assert_eq!((reason(&page), store.status().unwrap().quarantined), (None, 0));
    assert_eq!(page.events[0].roles, ["who"], "the first address of a move is no party any more");
    let bound = Some(Bound { as_of: begun.view.as_of, window: begun.window });
    let later = PageQuery { bound, behind: begun.next, ..account_page(contract(1), two, 1, 4) };
    let later = store.page(&later).unwrap();
    assert_eq!((reason(&later), later.events[0].roles.clone()), (unattributed, vec!["account".to_owned()]));
}

pub fn a_schema_that_is_declared_late_changed_and_taken_back_is_never_taken_for_read(fixture: &mut dyn StoreFixture) {
    fixture.reopen_with(registry(0));
    let store = fixture.store();
    let fence = begin(store, 1, 9);
    let [one, two, ..] = accounts();
    let told_of = |store: &dyn Store| store.page(&account_page(contract(1), one, 1, 2)).unwrap();
    store.commit(&told(&[("move", &[two, one]), ("fold", &[one])]), fence).unwrap();
    assert_eq!(reason(&told_of(store)), Some(IncompleteReason::NoSchema));
    let unknown = store.declare(&said(contract(1), "nonsense"), fence);
    assert!(matches!(unknown, Err(StoreError::UnknownSchema(_))), "{unknown:?}");
    assert!(store.contracts().unwrap().is_empty());

    store.declare(&said(contract(1), "test"), fence).unwrap();
    assert_eq!(told_of(store).unattributed, Some(Unattributed::Events));
    let step = store.reattribute(contract(1), None, 1, fence).unwrap();
    assert_eq!((step.events, step.changed), (1, 1));
    assert_eq!(told_of(store).unattributed, Some(Unattributed::Events), "half of it was read");
    // Another schema in between: what was read does not count for it.
    store.declare(&said(contract(1), "token"), fence).unwrap();
    let step = store.reattribute(contract(1), step.next, 500, fence).unwrap();
    assert_eq!((step.events, step.quarantined, step.next), (2, 2, None));
    assert_eq!(told_of(store).unattributed, Some(Unattributed::Events), "both fit no shape of it");
    store.declare(&said(contract(1), "test"), fence).unwrap();
    assert_eq!(store.status().unwrap().unattributed, [contract(1)]);
    read_all(store, contract(1), fence);
    let page = told_of(store);
    assert_eq!((reason(&page), page.events.len()), (None, 2));
    store.declare(&said(contract(1), "none"), fence).unwrap();
    let page = told_of(store);
    assert_eq!((reason(&page), page.events.len()), (Some(IncompleteReason::NoSchema), 0));
    assert!(store.status().unwrap().unattributed.is_empty());
    let known = store.contracts().unwrap();
    assert_eq!(known, [Contract { id: contract(1), origin: None, kind: None, schema: None }]);

    // Over a contract of which nothing is stored there is nothing to read.
    store.declare(&said(contract(3), "test"), fence).unwrap();
    assert!(store.status().unwrap().unattributed.is_empty());
    assert_eq!(reason(&store.page(&account_page(contract(3), one, 1, 2)).unwrap()), None);
}

pub fn an_asset_contract_is_recognised_by_its_events_and_begins_with_the_network(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = begin(store, 1, 30);
    let [one, ..] = accounts();
    let asset = asset_contract();
    let page = store.page(&account_page(asset, one, 2, 20)).unwrap();
    assert_eq!(page.unattributed, Some(Unattributed::NoSchema));
    store.commit(&peopled_batch(Scope::All, 1, 20, Present), fence).unwrap();
    let known = store.contract(asset).unwrap().contract.unwrap();
    let schema = Some(choice("asset"));
    assert_eq!(known, Contract { id: asset, origin: Some(seq(2)), kind: Some(ContractKind::Asset), schema });
    assert!(store.contracts().unwrap().is_empty(), "nobody named it");
    let events = events_of(&store.page(&first_page(asset, Some(seq(2)), Some(seq(20)), 500)).unwrap());
    assert!(!events.is_empty());
    // The operator's word goes first, and takes nothing away from what was found.
    store.declare(&Contract { origin: Some(seq(5)), ..said(asset, "token") }, fence).unwrap();
    let known = store.contract(asset).unwrap().contract.unwrap();
    assert_eq!((known.origin, known.schema), (Some(seq(5)), Some(choice("token"))));
    store.declare(&said(asset, "none"), fence).unwrap();
    let known = store.contract(asset).unwrap().contract.unwrap();
    assert_eq!((known.origin, known.schema), (Some(seq(5)), Some(choice("asset"))));
}

pub fn a_creation_tells_origin_and_kind_and_brings_nothing_into_scope(fixture: &mut dyn StoreFixture) {
    let store = fixture.store();
    let fence = store.acquire().unwrap();
    store.request(&request(contracts(&[2]), 1, 30), fence).unwrap();
    let mut ledgers: Vec<_> = (1..=9).map(|number| ledger(number, ClassicEvents::Absent)).collect();
    ledgers[3].creations = vec![Creation { contract: contract(1), executable: Executable::Wasm }];
    ledgers[4].creations = vec![Creation { contract: contract(5), executable: Executable::Asset }];
    store.commit(&batch_of(contracts(&[2]), ledgers[..3].to_vec()), fence).unwrap();
    let begun = store.page(&first_page(contract(1), Some(seq(1)), Some(seq(3)), 1)).unwrap();
    store.commit(&batch_of(contracts(&[2]), ledgers.clone()), fence).unwrap();
    let view = store.contract(contract(1)).unwrap();
    let created = Contract { id: contract(1), origin: Some(seq(4)), kind: Some(ContractKind::Wasm), schema: None };
    assert_eq!((view.contract, view.in_scope), (Some(created.clone()), false));
    let asset = store.contract(contract(5)).unwrap().contract.unwrap();
    assert_eq!((asset.origin, asset.kind), (Some(seq(2)), Some(ContractKind::Asset)));
    assert_eq!(store.contracts().unwrap().iter().map(|known| known.id).collect::<Vec<_>>(), [contract(2)]);
    // Committing the same again finds nothing anew.
    let position = store.status().unwrap().feed_position;
    store.commit(&batch_of(contracts(&[2]), ledgers), fence).unwrap();
    assert_eq!(store.status().unwrap().feed_position, position);

    // Whoever watches it now has its origin, and its answers lack no classic events.
    store.request(&request(contracts(&[1]), 1, 9), fence).unwrap();
    assert!(store.contracts().unwrap().contains(&created));
    let again = (1..=9).map(|number| ledger(number, ClassicEvents::Absent)).collect();
    store.commit(&batch_of(contracts(&[1]), again), fence).unwrap();
    let page = store.page(&first_page(contract(1), None, None, 500)).unwrap();
    let window = (page.window.from_inclusive, page.window.to_inclusive);
    assert_eq!((window, reason(&page)), ((Some(seq(4)), Some(seq(9))), None));
    let bound = Some(Bound { as_of: begun.view.as_of, window: begun.window });
    let later = store.page(&PageQuery { bound, ..first_page(contract(1), None, None, 1) }).unwrap();
    assert_eq!(later.view.contract.and_then(|known| known.origin).map(LedgerSeq::get), None, "nobody knew it then");
}
