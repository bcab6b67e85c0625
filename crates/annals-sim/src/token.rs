//! A confidential token as a model: openings that add up in a prime field, SHA-256 for every hash, no curve.
//!
//! Lengths, names and shapes on the wire are real in each [`TokenVersion`]; what they hide is the model's own. A
//! [`TokenModel`] knows all secrets. Its operations give [`TokenCall`]s, to be put into transactions as direct or
//! routed invocations, and its [`TokenModel::openings`] are the truth that a [`Wallet`] has to find again from
//! events and payloads alone:
//!
//! ```
//! use annals_core::{LedgerSeq, Position};
//! use annals_sim::{TokenModel, TokenVersion, TxPlan, Wallet, WalletEvent, value};
//!
//! let mut token = TokenModel::new(7, value::contract(1), TokenVersion::July);
//! let [alice, bank] = [1, 2].map(|number| value::account_party(value::account(number)));
//! let calls = [token.register(&alice, 0), token.deposit(&bank, &alice, 500), token.merge(&alice)];
//! let transactions: Vec<_> = calls.iter().map(|call| TxPlan::invoking(call.invocation())).collect();
//!
//! let keys = token.accounts().next().expect("alice is registered");
//! let events = (1..).zip(&calls).map(|(tx, call)| {
//!     let position = Position::op(LedgerSeq::FIRST_EXPORTED, tx, 0, 0).expect("a small position");
//!     WalletEvent::new(position, &call.event, call.payload.clone())
//! });
//! let openings = Wallet::new(keys).replay(&events.collect::<Vec<_>>())?;
//! assert_eq!(openings, token.openings(&alice).expect("alice is registered"));
//! # assert_eq!(transactions.len(), 3);
//! # Ok::<(), annals_sim::Refusal>(())
//! ```
//!
//! The rules that a wallet goes by: a checkpoint (an event with `b_tilde` and `sigma`, owned by its first address
//! topic) gives the spendable opening anew; `merge` folds receiving into spendable, `clawback` does too and takes its
//! amount, a later `revoke_spender` (with `a_tilde`) adds the allowance; deposits add to receiving, and so do
//! transfers, once their payload is there.

mod event;
mod model;
mod opening;
mod payload;
mod scalar;
pub mod settings;
mod version;
mod wallet;

pub use event::TokenCall;
pub use model::TokenModel;
pub use opening::{AccountKeys, Opening, Openings, allowance_mask, allowance_randomness};
pub use scalar::Scalar;
pub use version::TokenVersion;
pub use wallet::{Refusal, ReplayWindow, Wallet, WalletEvent};
