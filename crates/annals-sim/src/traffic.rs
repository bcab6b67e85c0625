//! Seeded, believable traffic of a confidential token: whole ledgers of it, with the truth beside them.
//!
//! ```
//! use annals_core::{LedgerSeq, Network};
//! use annals_sim::{ChainBuilder, Format, TokenTraffic, TokenVersion, Wallet, WalletEvent, value};
//!
//! let network = Network::new("an example");
//! let mut traffic = TokenTraffic::new(7, value::contract(1), TokenVersion::July);
//! let mut chain = ChainBuilder::new(&network, LedgerSeq::FIRST_EXPORTED, 7, Format::V2Meta4);
//! let mut history: Vec<WalletEvent> = Vec::new();
//! for _ in 0..20 {
//!     let ledger = traffic.next_ledger();
//!     let built = chain.push(&ledger.plan); // what a source serves: `built.xdr`
//!     history.extend(ledger.wallet_events(built.seq));
//!     for (address, openings) in &ledger.openings {
//!         let keys = traffic.keys(address).expect("an account with openings is registered");
//!         assert_eq!(Wallet::new(keys).replay(&history)?, *openings);
//!     }
//! }
//! # Ok::<(), annals_sim::Refusal>(())
//! ```
//!
//! [`TokenTraffic::upgrade`] changes the wire version from the next ledger on. A ledger's `events` say of each event
//! of the token who its parties are, whose checkpoint it is, and whether the envelope carries its payload.

mod ledger;
mod step;

use annals_core::hash::sha256;
use annals_core::{ContractId, Network};
use stellar_xdr::ScAddress;

pub use ledger::{Payload, TrafficEvent, TrafficLedger};

use crate::instance::CreationPlan;
use crate::plan::LedgerPlan;
use crate::rng::Rng;
use crate::token::{AccountKeys, TokenModel, TokenVersion};
use crate::value::{account, account_party, claimable_balance_party, contract, contract_party, liquidity_pool_party};
use ledger::LedgerDraft;

/// The first number of the accounts that take part; others' numbers lie below.
const FIRST_ACCOUNT: u32 = 1000;
/// The first number of the contracts beside the token.
const FIRST_CONTRACT: u32 = 2000;

/// Plans ledgers in which a token is used. The same seed and settings plan the same ledgers.
#[derive(Debug, Clone)]
pub struct TokenTraffic {
    rng: Rng,
    model: TokenModel,
    protocol: u32,
    /// Who may register, in the order of registration.
    parties: Vec<ScAddress>,
    registered: usize,
    steps_per_ledger: u32,
    noise: bool,
    hides_transfers: bool,
    is_constructed: bool,
    creation: Option<CreationPlan>,
    upgrade_to: Option<TokenVersion>,
    executable: [u8; 32],
}

impl TokenTraffic {
    /// Traffic of protocol 26 among twelve accounts of every kind of address, with noise, and without transfers
    /// whose payload the envelope does not carry.
    #[must_use]
    pub fn new(seed: u64, contract: ContractId, version: TokenVersion) -> Self {
        Self {
            rng: Rng::new(seed),
            model: TokenModel::new(seed, contract, version),
            protocol: 26,
            parties: parties(12, 26),
            registered: 0,
            steps_per_ledger: 4,
            noise: true,
            hides_transfers: false,
            is_constructed: false,
            creation: None,
            upgrade_to: None,
            executable: executable(version),
        }
    }

    /// The same traffic of a contract whose creation is the first ledger's first use: its id is derived on
    /// `network`, and its instance is created in the meta.
    #[must_use]
    pub fn deployed(seed: u64, network: &Network, version: TokenVersion) -> Self {
        let salt = sha256(&[b"salt", &seed.to_be_bytes()]);
        let creation = CreationPlan::wasm(account(FIRST_ACCOUNT - 1), salt, executable(version));
        Self { creation: Some(creation.clone()), ..Self::new(seed, creation.contract(network), version) }
    }

    /// The same in ledgers of this protocol. Before protocol 23 no event names a claimable balance or a pool.
    #[must_use]
    pub fn of_protocol(self, protocol: u32) -> Self {
        let count = u32::try_from(self.parties.len()).expect("the parties were counted by a u32");
        Self { protocol, parties: parties(count, protocol), ..self }
    }

    /// The same among `count` accounts.
    ///
    /// # Panics
    /// When there are fewer than two.
    #[must_use]
    pub fn among(self, count: u32) -> Self {
        assert!(count >= 2, "traffic takes two");
        Self { parties: parties(count, self.protocol), ..self }
    }

    /// The same with about `steps` uses of the token in a ledger that is not quiet.
    #[must_use]
    pub fn with_steps(self, steps: u32) -> Self {
        Self { steps_per_ledger: steps.max(1), ..self }
    }

    /// The same without other contracts' transactions and without payments.
    #[must_use]
    pub fn without_noise(self) -> Self {
        Self { noise: false, ..self }
    }

    /// The same with transfers that go through a router, or through another contract that takes the token's own
    /// arguments: their payload is unavailable, and their recipients cannot replay their history from the start.
    #[must_use]
    pub fn with_hidden_transfers(self) -> Self {
        Self { hides_transfers: true, ..self }
    }

    /// The token and its truth as of the last planned ledger.
    #[must_use]
    pub fn model(&self) -> &TokenModel {
        &self.model
    }

    /// The keys of a registered account.
    #[must_use]
    pub fn keys(&self, account: &ScAddress) -> Option<&AccountKeys> {
        self.model.accounts().find(|keys| keys.address == *account)
    }

    /// The contract that batches calls of the token.
    #[must_use]
    pub fn router(&self) -> ContractId {
        contract(FIRST_CONTRACT)
    }

    /// A contract that emits the token's events and takes its arguments, and is another contract.
    #[must_use]
    pub fn imposter(&self) -> ContractId {
        contract(FIRST_CONTRACT + 1)
    }

    /// The contracts beside the token that emit events: the auditors' and the verifier's among them.
    #[must_use]
    pub fn neighbours(&self) -> [ContractId; 3] {
        [2, 3, 4].map(|number| contract(FIRST_CONTRACT + number))
    }

    /// Upgrades the token in place: the next ledger begins with the upgrade, and speaks the other version behind it.
    pub fn upgrade(&mut self, version: TokenVersion) {
        self.upgrade_to = Some(version);
    }

    /// Plans the next ledger.
    pub fn next_ledger(&mut self) -> TrafficLedger {
        let mut draft = LedgerDraft::default();
        if self.noise && self.rng.chance(40) {
            self.payment(&mut draft);
        }
        if !self.is_constructed {
            self.is_constructed = true;
            self.construct(&mut draft);
        }
        if let Some(version) = self.upgrade_to.take() {
            self.upgrade_now(&mut draft, version);
        }
        let quiet = self.registered >= 2 && self.rng.chance(15);
        let steps = if quiet { 0 } else { 1 + self.rng.below(2 * self.steps_per_ledger) };
        for _ in 0..steps {
            self.step(&mut draft);
            if self.noise && self.rng.chance(30) {
                self.neighbour(&mut draft);
            }
        }
        let plan = LedgerPlan::new(draft.transactions).of_protocol(self.protocol);
        let truth = |keys: &AccountKeys| Some((keys.address.clone(), self.model.openings(&keys.address)?));
        TrafficLedger { plan, events: draft.events, openings: self.model.accounts().filter_map(truth).collect() }
    }
}

/// The hash of a version's code.
fn executable(version: TokenVersion) -> [u8; 32] {
    sha256(&[b"executable", &[version as u8]])
}

/// Every kind of address that the protocol has in events, most of them accounts.
fn parties(count: u32, protocol: u32) -> Vec<ScAddress> {
    let party = |number| match number % 6 {
        1 => contract_party(contract(FIRST_ACCOUNT + number)),
        3 if protocol >= 23 => claimable_balance_party(number),
        5 if protocol >= 23 => liquidity_pool_party(number),
        _ => account_party(account(FIRST_ACCOUNT + number)),
    };
    (0..count).map(party).collect()
}
