//! What happens in the next ledger.

use annals_core::{ClassicEvents, LedgerSeq, Network};
use stellar_xdr::ScVal;

use super::NetworkOptions;
use crate::format::Format;
use crate::generate::{Mix, heavy_tx, random_plan};
use crate::plan::{CloseTime, EventPlan, LedgerPlan, TxPlan};
use crate::rng::Rng;
use crate::token::TokenVersion;
use crate::traffic::TokenTraffic;
use crate::value;

/// The first protocol whose ledgers close in milliseconds.
const MILLISECONDS_SINCE: u32 = 30;

/// Sets the schedule's numbers apart from those of the chain and of the token, which have the same seed.
const SALT: u64 = 0x006e_6574_776f_726b;

/// How exporters hand ledgers of a protocol out; those of 20 to 22 with asset events backfilled.
pub(super) fn format_of(protocol: u32) -> Format {
    match protocol {
        0..20 => panic!("a simulated network has contracts: protocol 20 or later"),
        20..23 => Format::V1Meta4,
        _ => Format::V2Meta4,
    }
}

/// Plans ledger after ledger.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    options: NetworkOptions,
    rng: Rng,
    token: TokenTraffic,
    protocol: u32,
    next: Option<LedgerSeq>,
    /// What sets a fork's first ledger apart.
    mark: Option<u64>,
}

impl Schedule {
    pub(super) fn new(network: &Network, options: NetworkOptions) -> Self {
        let token = TokenTraffic::deployed(options.seed, network, TokenVersion::July).of_protocol(options.protocol);
        let (protocol, next) = (options.protocol, Some(options.first_ledger));
        Self { rng: Rng::new(options.seed ^ SALT), token, protocol, next, mark: None, options }
    }

    /// Goes on from the same ledger in another way.
    pub(super) fn forked(&self, seed: u64) -> Self {
        Self { rng: Rng::new(seed ^ SALT), mark: Some(seed), ..self.clone() }
    }

    pub(super) fn token(&self) -> &TokenTraffic {
        &self.token
    }

    /// Plans the next ledger; the one before closed at `last_close_ms`.
    ///
    /// # Panics
    /// After ledger 2³¹−1.
    pub(super) fn next(&mut self, last_close_ms: Option<u64>) -> LedgerPlan {
        let seq = self.next.expect("a chain ends with ledger 2147483647");
        self.next = seq.next();
        let heavy = self.options.heavy_ledgers.contains(&seq);
        let mut plan = if heavy { self.heavy() } else { self.ordinary() };
        plan.protocol = Some(self.protocol);
        plan.classic_events = ClassicEvents::Present;
        if let Some(seed) = self.mark.take() {
            // Two quiet ledgers of the same moment would be one.
            let event = EventPlan::new(value::contract(0), vec![value::symbol("forked")], ScVal::U64(seed));
            plan.transactions.push(TxPlan::invocation(value::contract(0), vec![event]));
            plan.empty_tx_set = false;
        }
        self.pace(&mut plan, last_close_ms);
        let upgrade = self.options.upgrades.iter().find(|(at, _)| *at == seq);
        if let Some((_, protocol)) = upgrade {
            plan.upgrade_to = Some(*protocol);
            self.protocol = *protocol;
        }
        plan
    }

    fn heavy(&self) -> LedgerPlan {
        LedgerPlan::new(vec![heavy_tx(self.options.heavy_events)])
    }

    fn ordinary(&mut self) -> LedgerPlan {
        let mix = Mix {
            format: format_of(self.protocol),
            protocol: self.protocol,
            events_per_ledger: self.options.events_per_ledger,
            contracts: 8,
        };
        match self.rng.below(100) {
            0..15 => LedgerPlan::new(Vec::new()),
            15..55 => self.token.next_ledger().plan,
            _ => random_plan(&mut self.rng, mix),
        }
    }

    /// Ledgers follow each other after about five seconds. From protocol 30 on they do so in any number of
    /// milliseconds, and some in the second of the one before.
    fn pace(&mut self, plan: &mut LedgerPlan, last_close_ms: Option<u64>) {
        if self.protocol < MILLISECONDS_SINCE {
            plan.close_time = CloseTime::Seconds;
            plan.elapsed_ms = 1000 * (4 + self.rng.below(4));
            return;
        }
        plan.close_time = CloseTime::Milliseconds;
        let into_second = last_close_ms.map_or(0, |last| u32::try_from(last % 1000).expect("a remainder of 1000"));
        let again = self.rng.chance(30) && into_second < 700;
        plan.elapsed_ms = if again { 100 + self.rng.below(200) } else { 700 + self.rng.below(4000) };
    }
}
