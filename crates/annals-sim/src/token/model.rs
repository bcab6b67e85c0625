//! The token's state, and what each of its functions does to it.

use std::collections::BTreeMap;

use annals_core::ContractId;
use annals_core::hash::sha256;
use stellar_xdr::{ScAddress, ScVal};

use super::event::{Draft, TokenCall};
use super::opening::{AccountKeys, Opening, Openings, allowance_mask, allowance_randomness};
use super::payload;
use super::scalar::Scalar;
use super::version::TokenVersion;
use crate::rng::Rng;
use crate::value::{bytes, i128};
use crate::xdr::encode;

/// A confidential token that knows every secret of its accounts. Each operation changes the state and gives back
/// the call that tells of it; one that the token would refuse is an error of the test that asks for it, and panics.
#[derive(Debug, Clone)]
pub struct TokenModel {
    pub(super) contract: ContractId,
    pub(super) version: TokenVersion,
    secret: u64,
    rng: Rng,
    accounts: BTreeMap<ScAddress, Account>,
    underlying: i128,
}

#[derive(Debug, Clone)]
struct Account {
    keys: AccountKeys,
    openings: Openings,
    allowances: BTreeMap<ScAddress, Allowance>,
    frozen: bool,
}

#[derive(Debug, Clone, Copy)]
struct Allowance {
    opening: Opening,
    salt: Scalar,
}

/// What a transfer tells its recipient: in the event `ephemeral` and `v_tilde`, in the payload the rest.
struct Sent {
    ephemeral: [u8; 64],
    v_tilde: Scalar,
    payload: Vec<u8>,
}

impl TokenModel {
    /// A token without accounts.
    #[must_use]
    pub fn new(seed: u64, contract: ContractId, version: TokenVersion) -> Self {
        let rng = Rng::new(seed ^ 0x0074_6F6B_656E);
        Self { contract, version, secret: seed, rng, accounts: BTreeMap::new(), underlying: 0 }
    }

    /// The token's contract.
    #[must_use]
    pub fn contract(&self) -> ContractId {
        self.contract
    }

    /// In which words it speaks.
    #[must_use]
    pub fn version(&self) -> TokenVersion {
        self.version
    }

    /// Upgrades the contract in place: the same state, told in other words from now on.
    pub fn upgrade(&mut self, version: TokenVersion) {
        self.version = version;
    }

    /// The registered accounts' keys, by address.
    pub fn accounts(&self) -> impl Iterator<Item = &AccountKeys> {
        self.accounts.values().map(|account| &account.keys)
    }

    /// The truth about an account; none of one that is not registered.
    #[must_use]
    pub fn openings(&self, account: &ScAddress) -> Option<Openings> {
        self.accounts.get(account).map(|account| account.openings)
    }

    /// What `owner` still lets `spender` spend; none without a delegation.
    #[must_use]
    pub fn allowance(&self, owner: &ScAddress, spender: &ScAddress) -> Option<Opening> {
        self.accounts.get(owner)?.allowances.get(spender).map(|allowance| allowance.opening)
    }

    /// Who may spend for `owner`.
    pub fn spenders(&self, owner: &ScAddress) -> impl Iterator<Item = &ScAddress> {
        self.accounts.get(owner).into_iter().flat_map(|account| account.allowances.keys())
    }

    /// Whether an account may not move anything.
    #[must_use]
    pub fn is_frozen(&self, account: &ScAddress) -> bool {
        self.accounts.get(account).is_some_and(|account| account.frozen)
    }

    /// What lies in the contract: all that was deposited and not taken out.
    #[must_use]
    pub fn underlying(&self) -> i128 {
        self.underlying
    }

    /// The sum of all accounts' spendable and receiving values and allowances; what lies in the contract, unless
    /// the model errs.
    #[must_use]
    pub fn total(&self) -> Option<i128> {
        let accounts = self.accounts.values();
        let values =
            accounts.flat_map(|Account { openings: Openings { spendable, receiving }, allowances, .. }| {
                [spendable.value, receiving.value].into_iter().chain(allowances.values().map(|one| one.opening.value))
            });
        values.fold(Scalar::ZERO, |sum, value| sum + value).amount()
    }

    /// `register(account, auditor_id, data)`.
    ///
    /// # Panics
    /// When the account is registered.
    pub fn register(&mut self, account: &ScAddress, auditor_id: u32) -> TokenCall {
        let viewing_key = sha256(&[b"viewing key", &self.secret.to_be_bytes(), &encode(account)]);
        let keys = AccountKeys { address: account.clone(), viewing_key };
        let state = Account { keys, openings: Openings::default(), allowances: BTreeMap::new(), frozen: false };
        let previous = self.accounts.insert(account.clone(), state);
        assert!(previous.is_none(), "an account registers once");
        let args = vec![address(account), ScVal::U32(auditor_id), self.proof()];
        Draft::new(self.version, "register", &[("account", account)]).with("auditor_id", ScVal::U32(auditor_id)).call(
            self.contract,
            "register",
            args,
        )
    }

    /// `deposit(from, to, amount)`; `from` need not be registered.
    ///
    /// # Panics
    /// When `to` is not registered, or the amount is negative.
    pub fn deposit(&mut self, from: &ScAddress, to: &ScAddress, amount: i128) -> TokenCall {
        assert!(amount >= 0, "a deposit is not negative");
        self.active(to).openings.receiving += Opening::public(amount);
        self.underlying += amount;
        Draft::new(self.version, "deposit", &[("from", from), ("to", to)]).with("amount", i128(amount)).call(
            self.contract,
            "deposit",
            vec![address(from), address(to), i128(amount)],
        )
    }

    /// `merge(account)`: what came in can be spent.
    ///
    /// # Panics
    /// When the account is not registered.
    pub fn merge(&mut self, account: &ScAddress) -> TokenCall {
        self.active(account).openings.fold();
        Draft::new(self.version, "merge", &[("account", account)]).call(self.contract, "merge", vec![address(account)])
    }

    /// `withdraw(from, to, amount, data)`: a checkpoint of `from`; `to` need not be registered.
    ///
    /// # Panics
    /// When `from` cannot spend the amount.
    pub fn withdraw(&mut self, from: &ScAddress, to: &ScAddress, amount: i128) -> TokenCall {
        self.underlying -= amount;
        let draft = Draft::new(self.version, "withdraw", &[("from", from), ("to", to)]).with("amount", i128(amount));
        let draft = self.checkpoint(draft, from, -amount);
        let draft = self.ephemeral(draft);
        let args = vec![address(from), address(to), i128(amount), self.proof()];
        checkpoint_of(from, draft.call(self.contract, "withdraw", args))
    }

    /// `confidential_transfer(from, to, data)`: a checkpoint of `from`, who may be `to`.
    ///
    /// # Panics
    /// When `from` cannot spend the amount or `to` is not registered.
    pub fn transfer(&mut self, from: &ScAddress, to: &ScAddress, amount: i128) -> TokenCall {
        let draft = Draft::new(self.version, "transfer", &[("from", from), ("to", to)]);
        let draft = self.checkpoint(draft, from, -amount);
        let sent = self.send(to, amount);
        let draft = self.auditors(draft, &["v_tilde_aud_r", "r_tilde_aud_r", "v_tilde_aud_s"]);
        let draft = draft.with_bytes("r_e_point", &sent.ephemeral).with_bytes("v_tilde", &sent.v_tilde.to_bytes());
        let args = vec![address(from), address(to), bytes(&sent.payload)];
        let call = draft.call(self.contract, "confidential_transfer", args);
        checkpoint_of(from, TokenCall { payload: Some(sent.payload), ..call })
    }

    /// `confidential_transfer_from(spender, from, to, data)`: spends `from`'s allowance, and is nobody's checkpoint.
    ///
    /// # Panics
    /// When the allowance is too small or `to` is not registered.
    pub fn spender_transfer(
        &mut self,
        spender: &ScAddress,
        from: &ScAddress,
        to: &ScAddress,
        amount: i128,
    ) -> TokenCall {
        let salt = self.scalar();
        let owner = self.active(from);
        let key = owner.keys.delegation_key(spender);
        let allowance = owner.allowances.get_mut(spender).expect("a spender has a delegation");
        let left = spend(allowance.opening.value, amount);
        *allowance = Allowance { opening: Opening { value: left, randomness: allowance_randomness(&key, salt) }, salt };
        let sent = self.send(to, amount);
        let parties = [("spender", spender), ("from", from), ("to", to)];
        let draft = Draft::new(self.version, "spender_transfer", &parties)
            .with_bytes("sigma_a", &salt.to_bytes())
            .with_bytes("r_e_point", &sent.ephemeral)
            .with_bytes("v_tilde", &sent.v_tilde.to_bytes());
        let draft = self.auditors(draft, &["v_tilde_aud_r", "r_tilde_aud_r", "v_tilde_aud_s", "a_tilde_aud_s"]);
        let draft = self.escrow(draft, &["r_tilde_aud_s"]);
        let args = vec![address(spender), address(from), address(to), bytes(&sent.payload)];
        let call = draft.call(self.contract, "confidential_transfer_from", args);
        TokenCall { payload: Some(sent.payload), ..call }
    }

    /// `set_spender(account, spender, live_until_ledger, data)`: a checkpoint of `account`, whose spendable balance
    /// the amount leaves.
    ///
    /// # Panics
    /// When the delegation exists, or `account` cannot spend the amount.
    pub fn set_spender(
        &mut self,
        account: &ScAddress,
        spender: &ScAddress,
        live_until_ledger: u32,
        amount: i128,
    ) -> TokenCall {
        let live_until = ScVal::U32(live_until_ledger);
        let draft = Draft::new(self.version, "set_spender", &[("account", account), ("spender", spender)])
            .with("live_until_ledger", live_until.clone());
        let draft = self.checkpoint(draft, account, -amount);
        let draft = self.ephemeral(draft);
        let draft = self.auditors(draft, &["v_tilde_aud_s"]);
        let draft = self.escrow(draft, &["r_a_tilde_aud_s"]);
        let salt = self.scalar();
        let owner = self.active(account);
        let randomness = allowance_randomness(&owner.keys.delegation_key(spender), salt);
        let opening = Opening { value: Scalar::from_amount(amount), randomness };
        let previous = owner.allowances.insert(spender.clone(), Allowance { opening, salt });
        assert!(previous.is_none(), "a delegation is revoked before it is set again");
        let args = vec![address(account), address(spender), live_until, self.proof()];
        checkpoint_of(account, draft.call(self.contract, "set_spender", args))
    }

    /// `revoke_spender(account, spender[, data])`: the allowance goes back. A checkpoint of `account`, but later a
    /// fold only, which opens the allowance instead.
    ///
    /// # Panics
    /// When there is no delegation.
    pub fn revoke_spender(&mut self, account: &ScAddress, spender: &ScAddress) -> TokenCall {
        let owner = self.active(account);
        let key = owner.keys.delegation_key(spender);
        let Allowance { opening, salt } = owner.allowances.remove(spender).expect("a spender has a delegation");
        let draft = Draft::new(self.version, "revoke_spender", &[("account", account), ("spender", spender)]);
        let mut args = vec![address(account), address(spender)];
        if self.version == TokenVersion::Later {
            self.active(account).openings.spendable += opening;
            let a_tilde = opening.value + allowance_mask(&key, salt);
            return draft
                .with_bytes("a_tilde", &a_tilde.to_bytes())
                .with_bytes("allowance_salt", &salt.to_bytes())
                .call(self.contract, "revoke_spender", args);
        }
        let returned = opening.value.amount().expect("an allowance is an amount");
        let draft = self.checkpoint(draft, account, returned);
        let draft = self.ephemeral(draft);
        let draft = self.auditors(draft, &["v_tilde_aud_s"]);
        args.push(self.proof());
        checkpoint_of(account, draft.call(self.contract, "revoke_spender", args))
    }

    /// `clawback(account, amount, destination)` of the compliance extension: what came in is folded, and the amount
    /// taken from what can be spent. Not a checkpoint.
    ///
    /// # Panics
    /// Before the later version, and when the account does not hold the amount.
    pub fn clawback(&mut self, account: &ScAddress, amount: i128, destination: Option<&ScAddress>) -> TokenCall {
        assert!(self.version.has_compliance(), "{:?} has no clawback", self.version);
        let state = self.accounts.get_mut(account).expect("the account is registered");
        state.openings.fold();
        let spendable = &mut state.openings.spendable;
        spendable.value = spend(spendable.value, amount);
        self.underlying -= amount;
        let destination = destination.map_or(ScVal::Void, address);
        Draft::new(self.version, "clawback", &[("account", account)])
            .with("amount", i128(amount))
            .with("destination", destination.clone())
            .call(self.contract, "clawback", vec![address(account), i128(amount), destination])
    }

    /// `freeze(account)` or `unfreeze(account)` of the compliance extension.
    ///
    /// # Panics
    /// Before the later version, and when the account is not registered.
    pub fn set_frozen(&mut self, account: &ScAddress, frozen: bool) -> TokenCall {
        assert!(self.version.has_compliance(), "{:?} freezes nothing", self.version);
        self.accounts.get_mut(account).expect("the account is registered").frozen = frozen;
        let (event, function) = if frozen { ("frozen", "freeze") } else { ("unfrozen", "unfreeze") };
        Draft::new(self.version, event, &[("account", account)]).call(self.contract, function, vec![address(account)])
    }

    fn active(&mut self, account: &ScAddress) -> &mut Account {
        let state = self.accounts.get_mut(account).expect("the account is registered");
        assert!(!state.frozen, "a frozen account moves nothing");
        state
    }

    /// Changes what `owner` can spend by `change`, under new randomness, and says so in `draft`.
    fn checkpoint(&mut self, draft: Draft, owner: &ScAddress, change: i128) -> Draft {
        let sigma = self.scalar();
        let Account { keys, openings, .. } = self.active(owner);
        let value = spend(openings.spendable.value, -change);
        openings.spendable = Opening { value, randomness: keys.spend_randomness(sigma) };
        let b_tilde = value + keys.balance_mask(sigma);
        let draft = draft.with_bytes("sigma", &sigma.to_bytes()).with_bytes("b_tilde", &b_tilde.to_bytes());
        let draft = self.auditors(draft, &["b_tilde_aud_s"]);
        self.escrow(draft, &["r_tilde_aud_s"])
    }

    fn send(&mut self, to: &ScAddress, amount: i128) -> Sent {
        let ephemeral = self.rng.bytes::<64>();
        let opening = Opening { value: Scalar::from_amount(amount), randomness: self.scalar() };
        let recipient = self.active(to);
        recipient.openings.receiving += opening;
        let v_tilde = opening.value + recipient.keys.value_mask(&ephemeral);
        Sent { ephemeral, v_tilde, payload: payload::write(&recipient.keys, &ephemeral, opening) }
    }

    fn ephemeral(&mut self, draft: Draft) -> Draft {
        draft.with_bytes("r_e_point", &self.rng.bytes::<64>())
    }

    /// Fields that only auditors read: scalars that mean nothing here.
    fn auditors(&mut self, draft: Draft, fields: &[&'static str]) -> Draft {
        fields.iter().fold(draft, |draft, field| draft.with_bytes(field, &self.scalar().to_bytes()))
    }

    /// The same, where the version has them.
    fn escrow(&mut self, draft: Draft, fields: &[&'static str]) -> Draft {
        if self.version.escrows_randomness() { self.auditors(draft, fields) } else { draft }
    }

    fn scalar(&mut self) -> Scalar {
        Scalar::from_hash(self.rng.bytes())
    }

    /// An argument that nobody here reads.
    fn proof(&mut self) -> ScVal {
        bytes(&self.rng.bytes::<96>())
    }
}

fn checkpoint_of(owner: &ScAddress, call: TokenCall) -> TokenCall {
    TokenCall { checkpoint_of: Some(owner.clone()), ..call }
}

fn spend(value: Scalar, amount: i128) -> Scalar {
    let left = value - Scalar::from_amount(amount);
    assert!(left.amount().is_some(), "nobody spends more than there is");
    left
}

fn address(address: &ScAddress) -> ScVal {
    ScVal::Address(address.clone())
}
