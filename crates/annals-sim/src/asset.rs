//! Events of fungible tokens (SEP-41) and of Stellar assets' contracts (CAP-46-06, CAP-67), in every form.

use annals_core::ContractId;
use stellar_xdr::{ScAddress, ScVal};

use crate::plan::EventPlan;
use crate::rng::Rng;
use crate::value::{bytes, i128, string, symbol, symbol_map, vec};

/// How an event writes its amount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AmountForm {
    /// The number alone.
    Number,
    /// A vector of the number.
    Vec,
    /// A map of `amount` and `to_muxed_id` (CAP-67); the id is a number, a string or bytes, or void.
    Map(ScVal),
}

impl AmountForm {
    /// Every form, the map with each kind of id.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let ids = [ScVal::Void, ScVal::U64(u64::MAX), string(b"memo"), bytes(&[7; 32])];
        [Self::Number, Self::Vec].into_iter().chain(ids.map(Self::Map)).collect()
    }

    fn data(&self, amount: i128) -> ScVal {
        match self {
            Self::Number => i128(amount),
            Self::Vec => vec(vec![i128(amount)]),
            Self::Map(id) => symbol_map(vec![("amount", i128(amount)), ("to_muxed_id", id.clone())]),
        }
    }
}

/// An event and who its topics name, each with its role, in the order of the topics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssetEvent {
    /// The event.
    pub event: EventPlan,
    /// Its parties.
    pub parties: Vec<(&'static str, ScAddress)>,
}

/// A fungible token's events.
#[derive(Debug, Clone)]
pub struct AssetEvents {
    contract: ContractId,
    /// The last topic of an asset's contract: its name.
    asset: Option<String>,
    /// Who stands in front of the party of administrative events, before protocol 23.
    admin: Option<ScAddress>,
}

impl AssetEvents {
    /// Events of a token that is no Stellar asset: no topic names one.
    #[must_use]
    pub fn sep41(contract: ContractId) -> Self {
        Self { contract, asset: None, admin: None }
    }

    /// Events of the contract of the asset `name` (see [`crate::instance::asset_name`]), as of protocol 23.
    #[must_use]
    pub fn asset(contract: ContractId, name: impl Into<String>) -> Self {
        Self { contract, asset: Some(name.into()), admin: None }
    }

    /// The same with an administrator as a topic, as before protocol 23.
    #[must_use]
    pub fn with_admin(self, admin: ScAddress) -> Self {
        Self { admin: Some(admin), ..self }
    }

    /// `transfer(from, to[, asset])`.
    #[must_use]
    pub fn transfer(&self, from: &ScAddress, to: &ScAddress, amount: i128, form: &AmountForm) -> AssetEvent {
        self.event("transfer", &[("from", from), ("to", to)], form.data(amount))
    }

    /// `mint([admin,] to[, asset])`.
    #[must_use]
    pub fn mint(&self, to: &ScAddress, amount: i128, form: &AmountForm) -> AssetEvent {
        self.administrative("mint", ("to", to), form.data(amount))
    }

    /// `burn(from[, asset])`.
    #[must_use]
    pub fn burn(&self, from: &ScAddress, amount: i128) -> AssetEvent {
        self.event("burn", &[("from", from)], i128(amount))
    }

    /// `clawback([admin,] from[, asset])`.
    #[must_use]
    pub fn clawback(&self, from: &ScAddress, amount: i128) -> AssetEvent {
        self.administrative("clawback", ("from", from), i128(amount))
    }

    /// `approve(from, spender[, asset])`, with the last ledger beside the amount.
    #[must_use]
    pub fn approve(&self, from: &ScAddress, spender: &ScAddress, amount: i128, live_until: u32) -> AssetEvent {
        let data = vec(vec![i128(amount), ScVal::U32(live_until)]);
        self.event("approve", &[("from", from), ("spender", spender)], data)
    }

    /// `set_admin(admin[, asset])`, with the one who follows as data.
    #[must_use]
    pub fn set_admin(&self, admin: &ScAddress, next: &ScAddress) -> AssetEvent {
        self.event("set_admin", &[("admin", admin)], ScVal::Address(next.clone()))
    }

    /// `set_authorized([admin,] id[, asset])`.
    #[must_use]
    pub fn set_authorized(&self, id: &ScAddress, authorized: bool) -> AssetEvent {
        self.administrative("set_authorized", ("id", id), ScVal::Bool(authorized))
    }

    /// `fee(from)`, of the native asset's contract alone.
    #[must_use]
    pub fn fee(&self, from: &ScAddress, amount: i128) -> AssetEvent {
        let plain = Self { asset: None, ..self.clone() };
        plain.event("fee", &[("from", from)], i128(amount))
    }

    /// Any of these events between any of `parties`.
    ///
    /// # Panics
    /// When there are no parties.
    pub fn any(&self, rng: &mut Rng, parties: &[ScAddress]) -> AssetEvent {
        let mut party = || parties[rng.below_len(parties.len())].clone();
        let (one, other) = (party(), party());
        let forms = AmountForm::all();
        let form = &forms[rng.below_len(forms.len())];
        let amount = i128::from(rng.below(1_000_000));
        match rng.below(10) {
            0 => self.mint(&one, amount, form),
            1 => self.burn(&one, amount),
            2 => self.clawback(&one, amount),
            3 => self.approve(&one, &other, amount, 5_000_000),
            4 => self.set_admin(&one, &other),
            5 => self.set_authorized(&one, rng.chance(50)),
            _ => self.transfer(&one, &other, amount, form),
        }
    }

    fn administrative(&self, name: &'static str, party: (&'static str, &ScAddress), data: ScVal) -> AssetEvent {
        match &self.admin {
            Some(admin) => self.event(name, &[("admin", admin), party], data),
            None => self.event(name, &[party], data),
        }
    }

    fn event(&self, name: &str, parties: &[(&'static str, &ScAddress)], data: ScVal) -> AssetEvent {
        let addresses = parties.iter().map(|(_, party)| ScVal::Address((*party).clone()));
        let asset = self.asset.iter().map(|name| string(name.as_bytes()));
        let topics = [symbol(name)].into_iter().chain(addresses).chain(asset).collect();
        let parties = parties.iter().map(|(role, party)| (*role, (*party).clone())).collect();
        AssetEvent { event: EventPlan::new(self.contract, topics, data), parties }
    }
}
