//! The token and its traffic against a wallet that has lost everything but its keys.

use annals_core::{LedgerSeq, Position, check_ledger};
use annals_sim::{
    BuiltLedger, ChainBuilder, Format, TokenTraffic, TokenVersion, TrafficLedger, Wallet, WalletEvent, value,
};

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
