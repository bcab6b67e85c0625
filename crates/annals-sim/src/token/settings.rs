//! Events of configuration and compliance, of the token and of the contracts beside it.

use annals_core::ContractId;
use stellar_xdr::ScVal;

use super::model::TokenModel;
use crate::plan::EventPlan;
use crate::rng::Rng;
use crate::value::{bytes, contract_address, symbol, symbol_map};

impl TokenModel {
    /// What the constructor tells: the asset underneath, the verifier, the auditors' contract and the token's own
    /// address as a number; later the compliance settings too. No party.
    #[must_use]
    pub fn constructed(&self, asset: ContractId, verifier: ContractId, auditor: ContractId) -> Vec<EventPlan> {
        let mut events = vec![
            self.setting("underlying_asset_set", vec![("underlying_asset", contract_address(asset))]),
            self.setting("verifier_set", vec![("verifier", contract_address(verifier))]),
            self.setting("auditor_set", vec![("auditor", contract_address(auditor))]),
            self.setting("address_as_field_set", vec![("address_as_field", bytes(&field_of(self.contract)))]),
        ];
        if self.version.has_compliance() {
            events.push(self.compliance_changed(None, false));
        }
        events
    }

    /// `compliance_config_changed`; `policy` is optional on the wire too.
    #[must_use]
    pub fn compliance_changed(&self, policy: Option<ContractId>, sac_passthrough: bool) -> EventPlan {
        let policy = policy.map_or(ScVal::Void, contract_address);
        let fields = vec![("policy", policy), ("sac_passthrough", ScVal::Bool(sac_passthrough))];
        self.setting("compliance_config_changed", fields)
    }

    fn setting(&self, name: &str, fields: Vec<(&str, ScVal)>) -> EventPlan {
        EventPlan::new(self.contract, vec![symbol(name)], symbol_map(fields))
    }
}

/// `auditor_registered`, of the auditors' own contract.
pub fn auditor_registered(rng: &mut Rng, auditors: ContractId, auditor_id: u32) -> EventPlan {
    let topics = vec![symbol("auditor_registered"), ScVal::U32(auditor_id)];
    EventPlan::new(auditors, topics, symbol_map(vec![("point", point(rng))]))
}

/// `auditor_rotated`, of the auditors' own contract.
pub fn auditor_rotated(rng: &mut Rng, auditors: ContractId, auditor_id: u32) -> EventPlan {
    let topics = vec![symbol("auditor_rotated"), ScVal::U32(auditor_id)];
    let fields = vec![("old_point", point(rng)), ("new_point", point(rng))];
    EventPlan::new(auditors, topics, symbol_map(fields))
}

/// `verification_key_registered`, of the verifier's own contract.
pub fn verification_key_registered(rng: &mut Rng, verifier: ContractId, circuit: u32) -> EventPlan {
    let topics = vec![symbol("verification_key_registered"), ScVal::U32(circuit)];
    EventPlan::new(verifier, topics, symbol_map(vec![("verification_key", verification_key(rng))]))
}

/// `verification_key_updated`, of the verifier's own contract.
pub fn verification_key_updated(rng: &mut Rng, verifier: ContractId, circuit: u32) -> EventPlan {
    let topics = vec![symbol("verification_key_updated"), ScVal::U32(circuit)];
    let keys = [("old_verification_key", verification_key(rng)), ("new_verification_key", verification_key(rng))];
    EventPlan::new(verifier, topics, symbol_map(keys.to_vec()))
}

fn point(rng: &mut Rng) -> ScVal {
    bytes(&rng.bytes::<64>())
}

/// A verification key is a few KiB.
fn verification_key(rng: &mut Rng) -> ScVal {
    bytes(&rng.bytes::<1760>())
}

/// A contract's address as a canonical scalar.
fn field_of(contract: ContractId) -> [u8; 32] {
    super::Scalar::from_hash(contract.0).to_bytes()
}
