//! Positions: canonical order and identity of an event.
//!
//! A position is `(ledger, transaction, operation, index)`. Its first three numbers are packed into a
//! TOID (SEP-35): `ledger << 32 | transaction << 12 | operation`. As text it is the id that the
//! network's RPC gives the event, `%019d-%010d` of TOID and index; both forms sort alike.

use core::fmt;
use core::str::FromStr;

use crate::ledger_seq::LedgerSeq;

const TX_BITS: u32 = 20;
const OP_BITS: u32 = 12;
const TX_MAX: u32 = (1 << TX_BITS) - 1;
const OP_MAX: u32 = (1 << OP_BITS) - 1;

/// Why numbers or a text are no position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PositionError {
    /// A number has no room in a position.
    #[error("the position's transaction, operation or ledger is out of range")]
    OutOfRange,
    /// The text is no event id.
    #[error("an event id is 19 digits, a hyphen and 10 digits")]
    Malformed,
}

/// When in its ledger an event took place; decides how its position is counted.
///
/// Source: CAP-67, and the event ordering of the RPC's `getEvents`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Fee charges, before all transactions: tx 0, op 0, index over the ledger.
    BeforeAllTxs,
    /// An operation's own events: apply order, operation, index in the operation.
    Op,
    /// After a transaction's operations: op 4095, index in the transaction.
    AfterTx,
    /// Refunds, after all transactions: tx 1048575, op 0, index over the ledger.
    AfterAllTxs,
}

impl Stage {
    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BeforeAllTxs => "before_all_txs",
            Self::Op => "op",
            Self::AfterTx => "after_tx",
            Self::AfterAllTxs => "after_all_txs",
        }
    }
}

/// The position of one event: canonical order *and* identity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    toid: u64,
    index: u32,
}

impl Position {
    /// The operation number that marks "after this transaction".
    pub const OP_AFTER_TX: u32 = OP_MAX;
    /// The transaction number that marks "after all transactions".
    pub const TX_AFTER_ALL: u32 = TX_MAX;

    fn pack(ledger: LedgerSeq, tx: u32, op: u32, index: u32) -> Result<Self, PositionError> {
        if tx > TX_MAX || op > OP_MAX {
            return Err(PositionError::OutOfRange);
        }
        let toid = u64::from(ledger.get()) << 32 | u64::from(tx) << OP_BITS | u64::from(op);
        Ok(Self { toid, index })
    }

    /// The position of a fee charge; `index` counts over the whole ledger.
    #[must_use]
    pub fn before_all_txs(ledger: LedgerSeq, index: u32) -> Self {
        Self { toid: u64::from(ledger.get()) << 32, index }
    }

    /// The position of an operation's event. `tx_order` is 1-based, `op` 0-based.
    ///
    /// # Errors
    /// [`PositionError::OutOfRange`] when `tx_order` is 0 or above 1048574, or `op` above 4094.
    pub fn op(ledger: LedgerSeq, tx_order: u32, op: u32, index: u32) -> Result<Self, PositionError> {
        if tx_order == 0 || tx_order == TX_MAX || op == OP_MAX {
            return Err(PositionError::OutOfRange);
        }
        Self::pack(ledger, tx_order, op, index)
    }

    /// The position of an event after a transaction's operations. `tx_order` is 1-based.
    ///
    /// # Errors
    /// [`PositionError::OutOfRange`] when `tx_order` is 0 or above 1048574.
    pub fn after_tx(ledger: LedgerSeq, tx_order: u32, index: u32) -> Result<Self, PositionError> {
        if tx_order == 0 || tx_order == TX_MAX {
            return Err(PositionError::OutOfRange);
        }
        Self::pack(ledger, tx_order, OP_MAX, index)
    }

    /// The position of a refund after all transactions; `index` counts over the whole ledger.
    #[must_use]
    pub fn after_all_txs(ledger: LedgerSeq, index: u32) -> Self {
        Self { toid: u64::from(ledger.get()) << 32 | u64::from(TX_MAX) << OP_BITS, index }
    }

    /// Takes a stored or received position apart again.
    ///
    /// # Errors
    /// [`PositionError::OutOfRange`] when the TOID's ledger is none or its sentinels contradict each other.
    pub fn from_parts(toid: u64, index: u32) -> Result<Self, PositionError> {
        let ledger = u32::try_from(toid >> 32).map_err(|_| PositionError::OutOfRange)?;
        LedgerSeq::new(ledger).map_err(|_| PositionError::OutOfRange)?;
        let position = Self { toid, index };
        let sentinel = position.tx() == 0 || position.tx() == TX_MAX;
        if sentinel && position.operation() != 0 {
            return Err(PositionError::OutOfRange);
        }
        Ok(position)
    }

    /// Reads the text of a place to go on from, where no event need stand or can: the RPC ends a window with the
    /// operation 4095 of the transaction 1048575, at the index 4294967295.
    ///
    /// Source: `getEvents` of stellar-rpc, its response's `cursor`.
    ///
    /// # Errors
    /// [`PositionError`] for a text of another shape, or of no ledger.
    pub fn bound_from_text(text: &str) -> Result<Self, PositionError> {
        let (toid, index) = text.split_once('-').ok_or(PositionError::Malformed)?;
        let digits = |part: &str, count| part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(toid, 19) || !digits(index, 10) {
            return Err(PositionError::Malformed);
        }
        let toid: u64 = toid.parse().map_err(|_| PositionError::Malformed)?;
        let index = index.parse().map_err(|_| PositionError::Malformed)?;
        let ledger = u32::try_from(toid >> 32).map_err(|_| PositionError::OutOfRange)?;
        LedgerSeq::new(ledger).map_err(|_| PositionError::OutOfRange)?;
        Ok(Self { toid, index })
    }

    /// The smallest position of `ledger`.
    #[must_use]
    pub fn first_of(ledger: LedgerSeq) -> Self {
        Self { toid: u64::from(ledger.get()) << 32, index: 0 }
    }

    /// A bound at or above every position of `ledger`.
    #[must_use]
    pub fn last_of(ledger: LedgerSeq) -> Self {
        Self { toid: u64::from(ledger.get()) << 32 | u64::from(u32::MAX), index: u32::MAX }
    }

    /// `ledger << 32 | transaction << 12 | operation` (SEP-35).
    #[must_use]
    pub fn toid(self) -> u64 {
        self.toid
    }

    /// The event's index, counted as its stage says.
    #[must_use]
    pub fn index(self) -> u32 {
        self.index
    }

    /// The ledger.
    #[must_use]
    pub fn ledger(self) -> LedgerSeq {
        let ledger = u32::try_from(self.toid >> 32).expect("a 64-bit number shifted by 32 fits 32 bits");
        LedgerSeq::new(ledger).expect("a position is only made of a valid ledger")
    }

    /// The transaction's number, sentinels included (0 and 1048575).
    #[must_use]
    pub fn tx(self) -> u32 {
        (self.toid >> OP_BITS) as u32 & TX_MAX
    }

    /// The operation's number, 0-based, sentinel included (4095).
    #[must_use]
    pub fn operation(self) -> u32 {
        self.toid as u32 & OP_MAX
    }

    /// When in its ledger the event took place.
    #[must_use]
    pub fn stage(self) -> Stage {
        match (self.tx(), self.operation()) {
            (0, _) => Stage::BeforeAllTxs,
            (TX_MAX, _) => Stage::AfterAllTxs,
            (_, OP_MAX) => Stage::AfterTx,
            _ => Stage::Op,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:019}-{:010}", self.toid, self.index)
    }
}

impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Position({self})")
    }
}

impl FromStr for Position {
    type Err = PositionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Self { toid, index } = Self::bound_from_text(text)?;
        Self::from_parts(toid, index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(seq: u32) -> LedgerSeq {
        LedgerSeq::new(seq).unwrap()
    }

    #[test]
    fn ids_of_testnet_ledger_4021819_sort_as_printed() {
        let printed: [u64; 4] = [17273581075431424, 17273581075435520, 17273581075435522, 17273581075464192];
        let made = [
            Position::before_all_txs(ledger(4021819), 0),
            Position::op(ledger(4021819), 1, 0, 0).unwrap(),
            Position::op(ledger(4021819), 1, 2, 0).unwrap(),
            Position::op(ledger(4021819), 8, 0, 0).unwrap(),
        ];
        assert_eq!(made.map(Position::toid), printed);
        let mut text: Vec<String> = made.iter().rev().map(ToString::to_string).collect();
        text.sort();
        assert_eq!(text, made.map(|position| position.to_string()));
    }

    #[test]
    fn the_ledger_scoped_marker_0xfffff000_sorts_last() {
        let refund = Position::after_all_txs(ledger(7), 0);
        assert_eq!(refund.toid() as u32, 0xFFFF_F000);
        assert!(refund > Position::after_tx(ledger(7), 1_048_574, u32::MAX).unwrap());
        assert!(refund.to_string() > Position::op(ledger(7), 9, 4094, 3).unwrap().to_string());
        assert!(refund < Position::before_all_txs(ledger(8), 0));
    }

    #[test]
    fn text_and_parts_round_trip_and_sentinels_keep_their_stage() {
        for (position, stage) in [
            (Position::before_all_txs(ledger(1), 5), Stage::BeforeAllTxs),
            (Position::op(ledger(i32::MAX as u32), 3, 4, 5).unwrap(), Stage::Op),
            (Position::after_tx(ledger(9), 3, 0).unwrap(), Stage::AfterTx),
            (Position::after_all_txs(ledger(9), u32::MAX), Stage::AfterAllTxs),
        ] {
            assert_eq!(position.to_string().parse(), Ok(position));
            assert_eq!(Position::from_parts(position.toid(), position.index()), Ok(position));
            assert_eq!(position.stage(), stage);
        }
    }

    #[test]
    fn a_malformed_id_is_refused() {
        for text in [
            "",
            "1-2",
            "0000000429496729600-00000000000",
            "+000000429496729600-0000000000",
            "9999999999999999999-0000000000",
            "0000000000000000000-0000000000",
            "0000000429496729600-9999999999",
        ] {
            assert!(text.parse::<Position>().is_err(), "{text}");
            assert!(Position::bound_from_text(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_bound_may_stand_where_no_event_can() {
        let bound = Position::last_of(ledger(9));
        assert_eq!(Position::bound_from_text(&bound.to_string()), Ok(bound));
        assert_eq!(bound.to_string().parse::<Position>(), Err(PositionError::OutOfRange));
        assert!(Position::after_all_txs(ledger(9), u32::MAX) < bound);
        assert!(bound < Position::first_of(ledger(10)));
    }
}
