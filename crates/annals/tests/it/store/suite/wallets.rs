//! That a wallet finds its balance again from what the store tells of its account.

use annals::store::{CheckpointQuery, Contract, PageEvent, PageQuery, Store};
use annals_core::decode::EventView;
use annals_core::registry::Payload;
use annals_core::{Address, Batch, ClassicPolicy, ContractId, LedgerSeq, Scope, check_ledger};
use annals_sim::{
    ChainBuilder, Format, Openings, TokenTraffic, TokenVersion, TrafficLedger, Wallet, WalletEvent, value,
};
use stellar_xdr::{ScAddress, ScVal};

use crate::store::fixtures::*;
use crate::store::people::choice;
use crate::store::reader::first_page;

const FIRST: u32 = 100;
/// So many ledgers the token speaks each version.
const LEDGERS_OF_EACH: u32 = 14;

fn token() -> ContractId {
    value::contract(1)
}

fn address(party: &ScAddress) -> Address {
    Address::of_value(&ScVal::Address(party.clone())).unwrap()
}

/// A stored event as a wallet reads it: by the bytes of its topics and data, and by its payload.
fn as_read(shown: &PageEvent) -> WalletEvent {
    let view = EventView::parse(&shown.event.xdr).unwrap();
    let payload = match &shown.payload {
        Payload::Present(bytes) => Some(bytes.clone()),
        _ => None,
    };
    WalletEvent::read(shown.event.position, &view.topics, view.data, payload).unwrap()
}

/// The openings that the account's wallet finds from checkpoint and replay window, which are those of all its history,
/// and whether there was a checkpoint.
fn found(store: &dyn Store, traffic: &TokenTraffic, account: &ScAddress, at: LedgerSeq) -> (Openings, bool) {
    let keys = traffic.keys(account).unwrap();
    let history = |from: LedgerSeq| {
        let query = first_page(token(), Some(from), Some(at), 5_000);
        let page = store.page(&PageQuery { account: Some(address(account)), ..query }).unwrap();
        assert_eq!((page.next, page.unattributed), (None, None));
        page.events.iter().map(as_read).collect::<Vec<_>>()
    };
    let asked = CheckpointQuery { contract: token(), account: address(account), at: Some(at) };
    let answer = store.checkpoint(&asked).unwrap();
    assert_eq!((answer.window.unattributed, answer.replay_window.unattributed), (None, None));
    let t0 = answer.t0.expect("whoever is registered has a T0").event.position;
    let from = answer.replay_window.window.from_inclusive.unwrap();
    assert_eq!(from, t0.ledger());
    let checkpoint = answer.checkpoint.as_ref().map(as_read);
    let wallet = Wallet::new(keys);
    let recovered = wallet.recover(checkpoint.as_ref(), t0, &history(from)).unwrap();
    let replayed = wallet.replay(&history(seq(FIRST))).unwrap();
    assert_eq!(recovered, replayed, "{account:?} at {at}");
    (recovered, checkpoint.is_some())
}

pub fn every_wallet_finds_its_openings_at_every_ledger_in_every_version_and_across_each_upgrade(
    fixture: &mut dyn StoreFixture,
) {
    let store = fixture.store();
    let mut traffic = TokenTraffic::new(5, token(), TokenVersion::Operator).without_noise();
    let mut chain = ChainBuilder::new(&network(), seq(FIRST), 5, Format::V2Meta4);
    let (mut ledgers, mut truth) = (Vec::new(), Vec::<(LedgerSeq, TrafficLedger)>::new());
    for version in TokenVersion::ALL {
        if version != TokenVersion::Operator {
            traffic.upgrade(version);
        }
        for _ in 0..LEDGERS_OF_EACH {
            let planned = traffic.next_ledger();
            let built = chain.push(&planned.plan);
            ledgers.push(check_ledger(&built.xdr, &network()).unwrap());
            truth.push((built.seq, planned));
        }
    }
    let last = FIRST + 4 * LEDGERS_OF_EACH - 1;
    let fence = store.acquire().unwrap();
    store.request(&request(Scope::All, FIRST, last), fence).unwrap();
    let schema = Some(choice("confidential-token"));
    store.declare(&Contract { id: token(), origin: Some(seq(FIRST)), kind: None, schema }, fence).unwrap();
    let batch = Batch::checked(network(), Scope::All, ClassicPolicy::Keep, SOURCE, ledgers).unwrap();
    store.commit(&batch, fence).unwrap();

    let (mut asked, mut anchored) = (0, 0);
    for (at, ledger) in &truth {
        for (account, openings) in &ledger.openings {
            let (found, has_checkpoint) = found(store, &traffic, account, *at);
            assert_eq!(&found, openings, "{account:?} at {at}");
            asked += 1;
            anchored += u32::from(has_checkpoint);
        }
    }
    assert!(anchored > 100 && asked > anchored, "{anchored} of {asked} have a checkpoint");
}
