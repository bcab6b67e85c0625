//! What happens in a ledger of traffic, use by use.

use stellar_xdr::{ContractExecutable, Hash, ScAddress};

use super::ledger::LedgerDraft;
use super::{FIRST_ACCOUNT, TokenTraffic};
use crate::asset::AssetEvents;
use crate::instance::{self, InstanceChange, asset_name};
use crate::plan::{EnvelopeForm, EventPlan, InvocationPlan, TxPlan};
use crate::shape;
use crate::token::{TokenCall, TokenModel, TokenVersion, settings};
use crate::value::{self, account, account_party, bytes};

impl TokenTraffic {
    /// One use of the token, or a few that belong together.
    pub(super) fn step(&mut self, draft: &mut LedgerDraft) {
        if self.registered < 2 || (self.registered < self.parties.len() && self.rng.chance(20)) {
            let call = self.register();
            return self.direct(draft, call);
        }
        match self.rng.below(100) {
            0..4 => self.fail(draft),
            4..10 => self.merge_and_checkpoint(draft),
            10..14 => self.batch(draft),
            14..18 if self.model.version().has_compliance() => self.comply(draft),
            choice => {
                let call = self.call(choice);
                self.submit(draft, call);
            }
        }
    }

    /// One call that the token's state allows.
    fn call(&mut self, choice: u32) -> TokenCall {
        match choice {
            14..30 => self.deposit(),
            30..45 => self.merge(),
            45..62 => self.transfer(false),
            62..68 => self.transfer(true),
            68..74 => self.withdraw(),
            74..82 => self.set_spender(),
            82..92 => self.spender_transfer(),
            _ => self.revoke_spender(),
        }
    }

    fn register(&mut self) -> TokenCall {
        let party = self.parties[self.registered].clone();
        self.registered += 1;
        self.model.register(&party, 1 + self.rng.below(3))
    }

    fn deposit(&mut self) -> TokenCall {
        let Some(to) = self.active() else { return self.register_or_settle() };
        let from = if self.rng.chance(50) { to.clone() } else { self.outsider() };
        let amount = match self.rng.below(20) {
            0 => i128::from(self.rng.bits()) << 20,
            1 => 0,
            _ => i128::from(1 + self.rng.below(1_000_000)),
        };
        self.model.deposit(&from, &to, amount)
    }

    fn merge(&mut self) -> TokenCall {
        let Some(account) = self.active() else { return self.register_or_settle() };
        self.model.merge(&account)
    }

    fn transfer(&mut self, to_itself: bool) -> TokenCall {
        let Some((from, held)) = self.funded() else { return self.deposit() };
        let other = self.active().filter(|_| !to_itself);
        let to = other.unwrap_or_else(|| from.clone());
        let amount = self.part_of(held);
        self.model.transfer(&from, &to, amount)
    }

    fn withdraw(&mut self) -> TokenCall {
        let Some((from, held)) = self.funded() else { return self.deposit() };
        let to = if self.rng.chance(50) { from.clone() } else { self.outsider() };
        let amount = self.part_of(held);
        self.model.withdraw(&from, &to, amount)
    }

    fn set_spender(&mut self) -> TokenCall {
        let Some((owner, held)) = self.funded() else { return self.deposit() };
        let spender = if self.rng.chance(80) { self.active() } else { None };
        let spender = spender.unwrap_or_else(|| self.outsider());
        if self.model.allowance(&owner, &spender).is_some() {
            return self.model.revoke_spender(&owner, &spender);
        }
        let amount = self.part_of(held);
        self.model.set_spender(&owner, &spender, 5_000_000, amount)
    }

    fn spender_transfer(&mut self) -> TokenCall {
        let Some((owner, spender)) = self.delegation() else { return self.set_spender() };
        let held = self.model.allowance(&owner, &spender).and_then(|opening| opening.value.amount());
        let to = self.active().expect("the owner of a delegation is active");
        let amount = self.part_of(held.expect("an allowance is an amount"));
        self.model.spender_transfer(&spender, &owner, &to, amount)
    }

    fn revoke_spender(&mut self) -> TokenCall {
        let Some((owner, spender)) = self.delegation() else { return self.set_spender() };
        self.model.revoke_spender(&owner, &spender)
    }

    /// Where everybody is frozen, somebody thaws.
    fn register_or_settle(&mut self) -> TokenCall {
        if self.registered < self.parties.len() {
            return self.register();
        }
        let party = self.parties[0].clone();
        self.model.set_frozen(&party, false)
    }

    /// A merge and a checkpoint of one account in one ledger, in either order, in two transactions or in one.
    fn merge_and_checkpoint(&mut self, draft: &mut LedgerDraft) {
        let Some((owner, held)) = self.funded() else {
            let call = self.deposit();
            return self.direct(draft, call);
        };
        let to = self.outsider();
        let amount = self.part_of(held);
        let calls = if self.rng.chance(50) {
            [self.model.merge(&owner), self.model.withdraw(&owner, &to, amount)]
        } else {
            [self.model.withdraw(&owner, &to, amount), self.model.merge(&owner)]
        };
        if self.rng.chance(50) {
            return self.routed(draft, &calls);
        }
        for call in calls {
            self.direct(draft, call);
        }
    }

    /// A few calls through the router; transfers among them only where they may be hidden.
    fn batch(&mut self, draft: &mut LedgerDraft) {
        let count = 2 + self.rng.below(3);
        let calls: Vec<_> = (0..count)
            .map(|_| match self.rng.below(4) {
                0 => self.merge(),
                1 if self.hides_transfers => self.transfer(false),
                2 => self.withdraw(),
                _ => self.deposit(),
            })
            .collect();
        self.routed(draft, &calls);
    }

    /// Freezing, clawback and thawing, other settings.
    fn comply(&mut self, draft: &mut LedgerDraft) {
        if self.rng.chance(20) {
            let policy = self.rng.chance(50).then(|| self.imposter());
            let setting = [self.model.compliance_changed(policy, self.rng.chance(50))];
            let tx = self.sealed(InvocationPlan::new(self.model.contract(), setting.to_vec()));
            return draft.push_settings(tx, &setting);
        }
        let frozen = self.parties[..self.registered].iter().find(|party| self.model.is_frozen(party)).cloned();
        let Some(account) = frozen else {
            let account = self.parties[self.rng.below_len(self.registered)].clone();
            let call = self.model.set_frozen(&account, true);
            return self.direct(draft, call);
        };
        if self.rng.chance(70) {
            let openings = self.model.openings(&account).expect("a frozen account is registered");
            let held = (openings.spendable.value + openings.receiving.value).amount().expect("a balance is an amount");
            let destination = self.rng.chance(50).then(|| self.outsider());
            let amount = self.part_of(held);
            let call = self.model.clawback(&account, amount, destination.as_ref());
            self.direct(draft, call);
        }
        let thaw = self.model.set_frozen(&account, false);
        self.direct(draft, thaw);
    }

    /// A transaction that fails: the token is as it was, and nothing of it is published.
    fn fail(&mut self, draft: &mut LedgerDraft) {
        let model = self.model.clone();
        let registered = self.registered;
        let call = self.transfer(false);
        (self.model, self.registered) = (model, registered);
        let tx = self.sealed(call.invocation());
        draft.push(tx.failing());
    }

    /// Calls directly, but for transfers that are to be hidden.
    fn submit(&mut self, draft: &mut LedgerDraft, call: TokenCall) {
        if !self.hides_transfers || call.payload.is_none() || !self.rng.chance(25) {
            return self.direct(draft, call);
        }
        if self.rng.chance(50) {
            return self.routed(draft, &[call]);
        }
        let tx = self.sealed(call.forwarded(self.imposter()));
        draft.push_calls(tx, &[call], false);
    }

    fn direct(&mut self, draft: &mut LedgerDraft, call: TokenCall) {
        let mut invocation = call.invocation();
        if self.noise && self.rng.chance(20) {
            // The asset underneath tells of its own transfer first.
            let [asset, ..] = self.neighbours();
            let moved = EventPlan::transfer(asset, account(1), account(2), i128::from(self.rng.below(1000)));
            invocation.events.insert(0, moved);
        }
        let tx = self.sealed(invocation);
        draft.push_calls(tx, &[call], true);
    }

    fn routed(&mut self, draft: &mut LedgerDraft, calls: &[TokenCall]) {
        let tx = self.sealed(TokenCall::routed(self.router(), calls));
        draft.push_calls(tx, calls, false);
    }

    /// A transaction in any envelope, with or without refund and diagnostics.
    fn sealed(&mut self, invocation: InvocationPlan) -> TxPlan {
        let envelope = if self.rng.chance(30) { EnvelopeForm::FeeBump } else { EnvelopeForm::V1 };
        let refund = if self.rng.chance(80) { 1 + i64::from(self.rng.below(20_000)) } else { 0 };
        TxPlan { refund, diagnostics: self.rng.chance(20), ..TxPlan::invoking(invocation).in_envelope(envelope) }
    }

    /// What the constructors of auditors, verifier and token tell. Where the token is created, its constructor is part
    /// of that from protocol 22 on, and a call of its own before.
    pub(super) fn construct(&mut self, draft: &mut LedgerDraft) {
        let [asset, verifier, auditors] = self.neighbours();
        let beside = vec![
            settings::auditor_registered(&mut self.rng, auditors, 1),
            settings::verification_key_registered(&mut self.rng, verifier, 0),
        ];
        let tx = self.sealed(InvocationPlan::new(self.router(), beside));
        draft.push(tx);
        let told = self.model.constructed(asset, verifier, auditors);
        let args: Vec<_> = [self.router(), asset, verifier, auditors].map(value::contract_address).to_vec();
        match self.creation.take() {
            Some(creation) if self.protocol >= 22 => {
                draft.push_settings(TxPlan::creating(creation.constructing(args, told.clone())), &told);
            }
            creation => {
                if let Some(creation) = creation {
                    draft.push(TxPlan::creating(creation));
                }
                let function = "initialize".to_owned();
                let call =
                    InvocationPlan { function, args, ..InvocationPlan::new(self.model.contract(), told.clone()) };
                let tx = self.sealed(call);
                draft.push_settings(tx, &told);
            }
        }
    }

    /// The host tells of a new executable (CAP-46-05), and the contracts beside the token change with it.
    pub(super) fn upgrade_now(&mut self, draft: &mut LedgerDraft, version: TokenVersion) {
        let contract = self.model.contract();
        let [_, verifier, auditors] = self.neighbours();
        let executable = super::executable(version);
        let updated = EventPlan::executable_update(contract, self.executable, executable);
        let mut events = vec![updated.clone()];
        events.push(settings::verification_key_updated(&mut self.rng, verifier, 0));
        events.push(settings::auditor_rotated(&mut self.rng, auditors, 1));
        let invocation = InvocationPlan {
            function: "upgrade".to_owned(),
            args: vec![bytes(&executable)],
            ..InvocationPlan::new(contract, events)
        };
        let [from, to] = [self.executable, executable].map(|code| ContractExecutable::Wasm(Hash(code)));
        let tx = self.sealed(invocation).changing(InstanceChange::Updated { contract, from, to });
        draft.push_settings(tx, &[updated]);
        self.executable = executable;
        self.model.upgrade(version);
    }

    /// A payment with its classic event, which names the token's accounts.
    pub(super) fn payment(&mut self, draft: &mut LedgerDraft) {
        let [asset, ..] = self.neighbours();
        let [from, to] = [0, 2].map(|number| account(FIRST_ACCOUNT + number));
        let event = EventPlan::transfer(asset, from, to, i128::from(self.rng.below(1000)));
        draft.push(TxPlan::payments(vec![vec![event]]));
    }

    /// Other contracts name the token's accounts too: one that only looks like the token, an asset, and one of odd
    /// events.
    pub(super) fn neighbour(&mut self, draft: &mut LedgerDraft) {
        let [asset, ..] = self.neighbours();
        let imposter = self.imposter();
        let events = match self.rng.below(3) {
            0 => {
                let party = self.parties[self.rng.below_len(self.parties.len())].clone();
                let mut double = TokenModel::new(self.rng.bits(), imposter, self.model.version());
                let calls = [double.register(&party, 1), double.deposit(&party, &party, 77), double.merge(&party)];
                calls.map(|call| call.event).to_vec()
            }
            1 => {
                let events = AssetEvents::asset(asset, asset_name(&instance::asset("SIM", account(1))));
                // Before protocol 23 the administrator is a topic, and a backfilling exporter takes it away.
                let admin = (self.protocol < 23).then(|| account_party(account(1)));
                let events = admin.into_iter().fold(events, AssetEvents::with_admin);
                (0..3).map(|_| events.any(&mut self.rng, &self.parties).event).collect()
            }
            _ => vec![shape::without_topics(imposter), shape::of_twelve_topics(imposter)],
        };
        let rewritten = events.iter().any(|event| event.backfilled().is_some());
        let tx = self.sealed(InvocationPlan::new(imposter, events));
        draft.push(TxPlan { diagnostics: tx.diagnostics || rewritten, ..tx });
    }

    /// A registered account that is not frozen.
    fn active(&mut self) -> Option<ScAddress> {
        let from = self.rng.below_len(self.registered);
        let registered = &self.parties[..self.registered];
        let mut turned = registered.iter().cycle().skip(from).take(self.registered);
        turned.find(|party| !self.model.is_frozen(party)).cloned()
    }

    /// An active account that can spend something, and how much.
    fn funded(&mut self) -> Option<(ScAddress, i128)> {
        let from = self.rng.below_len(self.registered);
        let registered = &self.parties[..self.registered];
        registered.iter().cycle().skip(from).take(self.registered).find_map(|party| {
            let held = self.model.openings(party)?.spendable.value.amount()?;
            (held > 0 && !self.model.is_frozen(party)).then(|| (party.clone(), held))
        })
    }

    /// An active owner and one who may spend for it.
    fn delegation(&mut self) -> Option<(ScAddress, ScAddress)> {
        let from = self.rng.below_len(self.registered);
        let registered = &self.parties[..self.registered];
        registered.iter().cycle().skip(from).take(self.registered).find_map(|owner| {
            let spender = self.model.spenders(owner).next()?;
            (!self.model.is_frozen(owner)).then(|| (owner.clone(), spender.clone()))
        })
    }

    /// Somebody who never registers.
    fn outsider(&mut self) -> ScAddress {
        match self.rng.below(6) {
            0 if self.protocol >= 23 => value::claimable_balance_party(9000 + self.rng.below(4)),
            1 if self.protocol >= 23 => value::liquidity_pool_party(9000 + self.rng.below(4)),
            2 => value::contract_party(value::contract(9000 + self.rng.below(4))),
            _ => account_party(account(9000 + self.rng.below(4))),
        }
    }

    /// Some of what is held; all of it one time in ten.
    fn part_of(&mut self, held: i128) -> i128 {
        if held <= 0 || self.rng.chance(10) { held } else { held - held / i128::from(1 + self.rng.below(9)) }
    }
}
