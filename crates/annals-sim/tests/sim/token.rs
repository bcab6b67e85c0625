//! The token and its traffic against a wallet that has lost everything but its keys.

use annals_core::{LedgerSeq, Position, check_ledger};
use annals_sim::{
    BuiltLedger, ChainBuilder, EventPlan, Format, Misshape, Payload, Refusal, TokenModel, TokenTraffic, TokenVersion,
    TrafficEvent, TrafficLedger, Wallet, WalletEvent, value,
};
use stellar_xdr::{Limits, ScAddress, ScVal, WriteXdr as _};

use super::{network, seq};

/// The formats with contracts, and a protocol of each.
const WITH_CONTRACTS: [(Format, u32); 4] =
    [(Format::V1Meta3, 20), (Format::V1Meta4, 22), (Format::V2Meta4, 23), (Format::V2Meta4, 26)];

/// Ledgers of traffic on a chain.
pub(crate) struct Run {
    pub(crate) traffic: TokenTraffic,
    pub(crate) ledgers: Vec<(BuiltLedger, TrafficLedger)>,
}

impl Run {
    pub(crate) fn new(mut traffic: TokenTraffic, format: Format, versions: &[TokenVersion], each: u32) -> Self {
        let mut chain = ChainBuilder::new(&network(), seq(100), 1, format);
        let mut ledgers = Vec::new();
        for (index, version) in versions.iter().enumerate() {
            if index > 0 {
                traffic.upgrade(*version);
            }
            for _ in 0..each {
                let planned = traffic.next_ledger();
                ledgers.push((chain.push(&planned.plan), planned));
            }
        }
        Self { traffic, ledgers }
    }

    fn of(version: TokenVersion, seed: u64) -> Self {
        Self::new(TokenTraffic::new(seed, value::contract(1), version), Format::V2Meta4, &[version], 60)
    }

    /// The token's events up to and with each ledger.
    fn history(&self) -> Vec<WalletEvent> {
        self.ledgers.iter().flat_map(|(built, planned)| planned.wallet_events(built.seq)).collect()
    }
}

fn until(history: &[WalletEvent], ledger: LedgerSeq) -> &[WalletEvent] {
    &history[..history.partition_point(|event| event.position.ledger() <= ledger)]
}

/// Holds both ways of a wallet to the truth, for every account at every ledger; how many openings were compared.
fn assert_wallets_find_the_truth(run: &Run) -> usize {
    let history = run.history();
    let mut compared = 0;
    for (built, planned) in &run.ledgers {
        let history = until(&history, built.seq);
        for (address, truth) in &planned.openings {
            let wallet = Wallet::new(run.traffic.keys(address).unwrap());
            assert_eq!(wallet.replay(history), Ok(*truth), "{address:?} at {}", built.seq);
            let window = wallet.replay_window(history).unwrap();
            let checkpoint = window.checkpoint.map(|at| history.iter().find(|event| event.position == at).unwrap());
            let from_anchor: Vec<_> =
                history.iter().filter(|event| event.position.ledger() >= window.anchor.ledger()).cloned().collect();
            assert_eq!(wallet.recover(checkpoint, window.anchor, &from_anchor), Ok(*truth), "{address:?}");
            compared += 1;
        }
    }
    compared
}

#[test]
fn a_wallet_finds_every_opening_at_every_ledger_in_each_version() {
    for version in TokenVersion::ALL {
        for seed in 0..4 {
            assert!(assert_wallets_find_the_truth(&Run::of(version, seed)) > 300);
        }
    }
}

#[test]
fn a_wallet_finds_every_opening_across_upgrades() {
    for seed in 0..4 {
        let traffic = TokenTraffic::new(seed, value::contract(1), TokenVersion::Operator);
        let run = Run::new(traffic, Format::V2Meta4, &TokenVersion::ALL, 20);
        assert!(assert_wallets_find_the_truth(&run) > 400);
    }
}

#[test]
fn planned_events_are_what_the_check_extracts_of_the_token() {
    for (format, protocol) in WITH_CONTRACTS {
        let traffic = TokenTraffic::new(5, value::contract(1), TokenVersion::Operator).of_protocol(protocol);
        let run = Run::new(traffic.with_hidden_transfers(), format, &TokenVersion::ALL, 10);
        let mut seen = 0;
        for (built, planned) in &run.ledgers {
            let checked = check_ledger(&built.xdr, &network()).unwrap();
            assert_eq!(checked.events, built.events);
            let of_token = checked.events.iter().filter(|event| event.contract_id == Some(value::contract(1)));
            let extracted: Vec<(Position, &[u8])> =
                of_token.map(|event| (event.position, event.xdr.as_slice())).collect();
            let expected: Vec<_> =
                planned.events.iter().map(|event| (event.position(built.seq), event.event.xdr())).collect();
            assert!(extracted.iter().map(|(at, xdr)| (*at, xdr.to_vec())).eq(expected), "{format:?} {protocol}");
            seen += extracted.len();
        }
        assert!(seen > 100, "{seen}");
    }
}

#[test]
fn what_lies_in_the_token_is_the_sum_of_all_openings() {
    for version in TokenVersion::ALL {
        let mut traffic = TokenTraffic::new(9, value::contract(1), version);
        let mut moved = false;
        for _ in 0..80 {
            traffic.next_ledger();
            assert_eq!(traffic.model().total(), Some(traffic.model().underlying()), "{version:?}");
            moved |= traffic.model().underlying() > 0;
        }
        assert!(moved);
    }
}

/// A token in which one account has a merge behind its checkpoint in one ledger, and each event of it.
fn merge_behind_a_checkpoint(version: TokenVersion) -> (TokenModel, [ScAddress; 3], Vec<WalletEvent>) {
    let mut token = TokenModel::new(3, value::contract(1), version);
    let [one, other, third] = [1, 2, 3].map(|number| value::account_party(value::account(number)));
    let calls = [
        (1, token.register(&one, 1)),
        (1, token.register(&other, 1)),
        (2, token.deposit(&third, &one, 1000)),
        (3, token.merge(&one)),
        (4, token.deposit(&third, &one, 50)),
        (5, token.transfer(&one, &other, 100)),
        (5, token.merge(&one)),
        (6, token.deposit(&third, &one, 7)),
    ];
    let events = (1..).zip(&calls).map(|(tx, (ledger, call))| {
        let position = Position::op(seq(*ledger), tx, 0, 0).unwrap();
        WalletEvent::new(position, &call.event, call.payload.clone())
    });
    (token.clone(), [one, other, third], events.collect())
}

#[test]
fn a_merge_behind_the_checkpoint_in_its_own_ledger_is_not_t0() {
    for version in TokenVersion::ALL {
        let (token, [one, ..], history) = merge_behind_a_checkpoint(version);
        let wallet = Wallet::new(token.accounts().find(|keys| keys.address == one).unwrap());
        let truth = token.openings(&one).unwrap();
        assert_eq!(truth.spendable.value.amount(), Some(950));
        let (t0, checkpoint, later) = (&history[3], &history[5], &history[6]);
        let window = wallet.replay_window(&history).unwrap();
        assert_eq!((window.anchor, window.checkpoint), (t0.position, Some(checkpoint.position)));
        assert_eq!(wallet.recover(Some(checkpoint), t0.position, &history), Ok(truth));
        let recover = |anchor, window: &[WalletEvent]| wallet.recover(Some(checkpoint), anchor, window);
        assert_eq!(recover(later.position, &history), Err(Refusal::WrongAnchor(checkpoint.position)));
        assert_eq!(recover(history[0].position, &history), Err(Refusal::WrongAnchor(checkpoint.position)));
        assert_eq!(recover(history[4].position, &history), Err(Refusal::NoAnchor(history[4].position)));
        assert_eq!(recover(t0.position, &history[4..]), Err(Refusal::NoAnchor(t0.position)));
        assert_eq!(recover(t0.position, &history[..5]), Err(Refusal::CheckpointMissing(checkpoint.position)));
    }
}

#[test]
fn a_recipients_or_spenders_checkpoint_is_never_the_owners_pair() {
    let mut refused = 0;
    for version in TokenVersion::ALL {
        let run = Run::of(version, 2);
        for (built, planned) in &run.ledgers {
            for (event, served) in planned.events.iter().zip(planned.wallet_events(built.seq)) {
                for (_, party) in &event.parties {
                    let Some(keys) = run.traffic.keys(party) else { continue };
                    let taken = Wallet::new(keys).recover(Some(&served), served.position, &[]);
                    if event.checkpoint_of.as_ref() == Some(party) {
                        // A checkpoint is no T0, so that the answer is about the window and not about the pair.
                        assert_eq!(taken, Err(Refusal::NoAnchor(served.position)));
                    } else {
                        assert_eq!(taken, Err(Refusal::NotItsCheckpoint(served.position)));
                        refused += usize::from(event.checkpoint_of.is_some());
                    }
                }
            }
        }
    }
    assert!(refused > 50, "{refused}");
}

#[test]
fn a_history_that_lacks_one_event_gives_no_wallet_the_truth() {
    let mut dropped = 0;
    for version in TokenVersion::ALL {
        let run = Run::of(version, 7);
        let history = run.history();
        let planned: Vec<_> = run.ledgers.iter().flat_map(|(_, planned)| &planned.events).collect();
        for (address, truth) in &run.ledgers.last().unwrap().1.openings {
            let wallet = Wallet::new(run.traffic.keys(address).unwrap());
            let anchor = wallet.replay_window(&history).unwrap().anchor;
            for at in 0..history.len() {
                // What came in since T0 is in the receiving balance, or was folded behind the checkpoint.
                let received = planned[at].parties.last().is_some_and(|(role, to)| *role == "to" && to == address);
                let is_withdrawal = matches!(&history[at].topics[0], topic if *topic == value::symbol("withdraw"));
                if history[at].position <= anchor || !received || is_withdrawal || is_of_nothing(&history[at]) {
                    continue;
                }
                let mut short = history.clone();
                short.remove(at);
                assert_ne!(wallet.replay(&short), Ok(*truth), "{address:?} without {}", history[at].position);
                dropped += 1;
            }
        }
    }
    assert!(dropped > 30, "{dropped}");
}

/// A deposit of nothing changes nothing.
fn is_of_nothing(event: &WalletEvent) -> bool {
    event.data == value::symbol_map(vec![("amount", value::i128(0))])
}

#[test]
fn a_wallet_refuses_what_it_cannot_verify() {
    let (token, [_, other, _], history) = merge_behind_a_checkpoint(TokenVersion::July);
    let wallet = Wallet::new(token.accounts().find(|keys| keys.address == other).unwrap());
    let truth = token.openings(&other).unwrap();
    assert_eq!(wallet.replay(&history), Ok(truth));
    let at = history[5].position;
    let with_payload = |payload: Option<Vec<u8>>| {
        let mut history = history.clone();
        history[5].payload = payload;
        wallet.replay(&history)
    };
    assert_eq!(with_payload(None), Err(Refusal::PayloadMissing(at)));
    let payload = history[5].payload.clone().unwrap();
    for wrong in [Vec::new(), payload[..payload.len() - 4].to_vec(), [payload.as_slice(), &[0; 4]].concat()] {
        assert_eq!(with_payload(Some(wrong)), Err(Refusal::PayloadMismatch(at)));
    }
    let (mut later, ..) = merge_behind_a_checkpoint(TokenVersion::July);
    let [one, other] = [1, 2].map(|number| value::account_party(value::account(number)));
    let of_another_transfer = later.transfer(&one, &other, 100).payload.unwrap();
    assert_eq!(of_another_transfer.len(), payload.len());
    assert_eq!(with_payload(Some(of_another_transfer)), Err(Refusal::PayloadMismatch(at)));
    let mut swapped = history.clone();
    swapped.swap(1, 2);
    assert_eq!(wallet.replay(&swapped), Err(Refusal::OutOfOrder(history[1].position)));
    let doubled = [&history[..6], &history[5..]].concat();
    assert_eq!(wallet.replay(&doubled), Err(Refusal::OutOfOrder(at)));
    assert_eq!(wallet.replay(&history[2..]), Err(Refusal::NotRegistered));
}

#[test]
fn after_a_hidden_transfer_only_a_merge_and_a_checkpoint_help_a_recipient() {
    let (mut refused, mut recovered) = (0, 0);
    for version in TokenVersion::ALL {
        let traffic = TokenTraffic::new(6, value::contract(1), version).with_hidden_transfers();
        let run = Run::new(traffic, Format::V2Meta4, &[version], 100);
        let history = run.history();
        let planned: Vec<_> = run.ledgers.iter().flat_map(|(_, planned)| &planned.events).collect();
        for (address, truth) in &run.ledgers.last().unwrap().1.openings {
            let wallet = Wallet::new(run.traffic.keys(address).unwrap());
            let hidden = |event: &&TrafficEvent| {
                event.payload == Payload::Unavailable && event.parties.last().is_some_and(|(_, to)| to == address)
            };
            let first = planned.iter().position(&hidden);
            let Some(first) = first else {
                assert_eq!(wallet.replay(&history), Ok(*truth));
                continue;
            };
            assert_eq!(wallet.replay(&history), Err(Refusal::PayloadMissing(history[first].position)));
            refused += 1;
            let window = wallet.replay_window(&history).unwrap();
            let last = planned.iter().rposition(&hidden).unwrap();
            let checkpoint = window.checkpoint.map(|at| history.iter().find(|event| event.position == at).unwrap());
            let recovery = wallet.recover(checkpoint, window.anchor, &history);
            if history[last].position < window.anchor {
                assert_eq!(recovery, Ok(*truth));
                recovered += 1;
            } else {
                assert!(matches!(recovery, Err(Refusal::PayloadMissing(_))), "{recovery:?}");
            }
        }
    }
    assert!(refused > 10 && recovered > 3, "{refused} {recovered}");
}

#[test]
fn a_wallet_reads_an_event_from_its_xdr() {
    let (_, _, history) = merge_behind_a_checkpoint(TokenVersion::Between);
    for event in &history {
        let xdr = |value: &ScVal| value.to_xdr(Limits::none()).unwrap();
        let topics: Vec<_> = event.topics.iter().map(xdr).collect();
        let read = WalletEvent::read(event.position, &topics, &xdr(&event.data), event.payload.clone());
        assert_eq!(read.as_ref(), Ok(event));
        assert!(WalletEvent::read(event.position, &topics, &[0, 0], None).is_err());
    }
}

#[test]
fn a_misshapen_event_is_refused_by_the_wallet_that_it_concerns_or_says_nothing() {
    let (token, [one, ..], history) = merge_behind_a_checkpoint(TokenVersion::July);
    let wallet = Wallet::new(token.accounts().find(|keys| keys.address == one).unwrap());
    let truth = token.openings(&one).unwrap();
    for misshape in [Misshape::TopicFewer, Misshape::TopicOfOtherType, Misshape::UnknownName] {
        let mut history = history.clone();
        let event = EventPlan::new(value::contract(1), history[5].topics.clone(), history[5].data.clone());
        history[5].topics = misshape.of(event).topics;
        assert_ne!(wallet.replay(&history), Ok(truth), "{misshape:?}");
    }
}
