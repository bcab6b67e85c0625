//! A confidential token's life as a chain, and archives of it whose accounts can be asked for.

use std::sync::LazyLock;

use annals_core::{Address, ContractId, LedgerSeq, Network};
use annals_sim::{BuiltLedger, ChainBuilder, Format, LedgerPlan, TokenTraffic, TokenVersion, TrafficLedger};
use stellar_xdr::{ScAddress, ScVal};

use super::archive::{Archive, PASSPHRASE};
use super::server::Served;
use crate::binary::{Ran, annals};

/// The ledger in which the token is created.
pub const ORIGIN: u32 = 2000;
/// The ledger from which on the token speaks its later version.
pub const UPGRADE: u32 = 2020;
pub const END: u32 = 2039;

/// Traffic, and the ledgers that were built of it.
pub struct Life {
    pub traffic: TokenTraffic,
    pub ledgers: Vec<TrafficLedger>,
    pub built: Vec<BuiltLedger>,
}

impl Life {
    /// Ledgers from [`ORIGIN`] on; `edit` can change the one of each number before it is built.
    pub fn of(mut traffic: TokenTraffic, ledgers: u32, edit: impl Fn(u32, &mut TrafficLedger)) -> Self {
        let mut chain = ChainBuilder::new(&network(), LedgerSeq::new(ORIGIN).unwrap(), 7, Format::V2Meta4);
        let (mut planned, mut built) = (Vec::new(), Vec::new());
        for seq in ORIGIN..ORIGIN + ledgers {
            if seq == UPGRADE {
                traffic.upgrade(TokenVersion::Later);
            }
            let mut ledger = traffic.next_ledger();
            edit(seq, &mut ledger);
            built.push(chain.push(&ledger.plan));
            planned.push(ledger);
        }
        Self { traffic, ledgers: planned, built }
    }

    pub fn token(&self) -> ContractId {
        self.traffic.model().contract()
    }

    /// The ids of the events that name `account`, in canonical order, as the traffic has them.
    pub fn ids_of(&self, account: &ScAddress, from: u32, to: u32) -> Vec<String> {
        let ledgers = self.built.iter().zip(&self.ledgers).filter(|(built, _)| (from..=to).contains(&built.seq.get()));
        let events = ledgers.flat_map(|(built, ledger)| ledger.events.iter().map(|event| (built.seq, event)));
        events.filter(|(_, event)| event.names(account)).map(|(seq, event)| event.position(seq).to_string()).collect()
    }

    /// Everybody who ever registered.
    pub fn accounts(&self) -> impl Iterator<Item = &ScAddress> {
        self.traffic.model().accounts().map(|keys| &keys.address)
    }

    /// Whoever most events name.
    pub fn busiest(&self) -> &ScAddress {
        self.accounts().max_by_key(|account| self.ids_of(account, ORIGIN, END).len()).unwrap()
    }

    /// A lake of it, and an archive of its ledgers up to `to` whose token has its schema.
    pub fn archive(&self, to: u32) -> Archive {
        let archive = Archive::of_chain(&self.built);
        archive.fill(&format!("{ORIGIN}:{ORIGIN}"), &[]);
        archive.declare(self.token(), &["--schema", "confidential-token"]).ends_with(0);
        archive.reattribute(&[]).ends_with(0);
        archive.fill(&format!("{ORIGIN}:{to}"), &[]);
        archive
    }
}

impl Archive {
    /// Runs `annals reattribute`.
    pub fn reattribute(&self, more: &[&str]) -> Ran {
        Ran::of(annals(["reattribute", "--json"]).args(more).arg("--data-dir").arg(self.data_dir()))
    }
}

pub fn network() -> Network {
    Network::new(PASSPHRASE)
}

/// The strkey of an address.
pub fn strkey(address: &ScAddress) -> String {
    Address::of_value(&ScVal::Address(address.clone())).unwrap().to_string()
}

/// The path of one account's route.
pub fn path(contract: ContractId, account: &ScAddress, route: &str) -> String {
    format!("/v1/tokens/{contract}/accounts/{}/{route}", strkey(account))
}

/// Forty ledgers with an upgrade in the middle, and a server over an archive of them.
pub static LIFE: LazyLock<Life> =
    LazyLock::new(|| Life::of(TokenTraffic::deployed(11, &network(), TokenVersion::July), END - ORIGIN + 1, |_, _| {}));

static SERVED: LazyLock<(Archive, Served)> = LazyLock::new(|| {
    let archive = LIFE.archive(END);
    let served = Served::for_good(&archive.data_dir());
    (archive, served)
});

pub fn life() -> &'static Served {
    &SERVED.1
}

/// Ledgers of these plans, from [`ORIGIN`] on.
pub fn chain_of(plans: &[LedgerPlan]) -> Vec<BuiltLedger> {
    let mut chain = ChainBuilder::new(&network(), LedgerSeq::new(ORIGIN).unwrap(), 7, Format::V2Meta4);
    plans.iter().map(|plan| chain.push(plan)).collect()
}
