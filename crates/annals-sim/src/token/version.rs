//! The wire versions of the token.

/// In which words the token tells of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TokenVersion {
    /// The oldest: `operator_*` names, fields without `tilde`.
    Operator,
    /// `spender_*` names with the oldest fields.
    Between,
    /// July 2026: `tilde` fields; a revocation is a checkpoint.
    July,
    /// Later: auditors get randomness too; a revocation only folds; compliance.
    Later,
}

impl TokenVersion {
    /// Every version, oldest first.
    pub const ALL: [Self; 4] = [Self::Operator, Self::Between, Self::July, Self::Later];

    /// The version's word for an event, a role or a function that July calls `name`.
    #[must_use]
    pub fn name(self, name: &'static str) -> &'static str {
        if self != Self::Operator {
            return name;
        }
        match name {
            "spender_transfer" => "operator_transfer",
            "set_spender" => "set_operator",
            "revoke_spender" => "revoke_operator",
            "spender" => "operator",
            other => other,
        }
    }

    /// The version's word for a data field that July calls `field`.
    #[must_use]
    pub fn field(self, field: &'static str) -> &'static str {
        match (self, field) {
            (Self::Later, "sigma_a") => "sigma_a_new",
            (Self::July | Self::Later, other) => other,
            (_, "r_e_point") => "r_e",
            (_, "v_tilde_aud_r") => "v_aud_r",
            (_, "r_tilde_aud_r") => "r_aud_r",
            (_, "v_tilde_aud_s") => "v_aud_s",
            (_, "b_tilde_aud_s") => "b_aud_s",
            (_, "a_tilde_aud_s") => "a_aud_s",
            (_, "live_until_ledger") => "expiration_ledger",
            (_, other) => other,
        }
    }

    /// Whether auditors are also told the randomness of what the sender keeps.
    #[must_use]
    pub fn escrows_randomness(self) -> bool {
        self == Self::Later
    }

    /// Whether the compliance extension is there: freezing and clawback.
    #[must_use]
    pub fn has_compliance(self) -> bool {
        self == Self::Later
    }
}
