//! A wallet that has lost everything but its keys.

use annals_core::Position;
use stellar_xdr::{Limits, ReadXdr, ScAddress, ScMap, ScVal};

use super::opening::{AccountKeys, Opening, Openings, allowance_mask, allowance_randomness};
use super::payload::{self, entry};
use super::scalar::Scalar;
use crate::plan::EventPlan;

/// One event as an archive serves it to a wallet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalletEvent {
    /// Where it stands.
    pub position: Position,
    /// Its topics.
    pub topics: Vec<ScVal>,
    /// Its data.
    pub data: ScVal,
    /// The content of its invocation's Bytes argument; none where the archive has none to give.
    pub payload: Option<Vec<u8>>,
}

impl WalletEvent {
    /// A planned event at its place.
    #[must_use]
    pub fn new(position: Position, event: &EventPlan, payload: Option<Vec<u8>>) -> Self {
        Self { position, topics: event.topics.clone(), data: event.data.clone(), payload }
    }

    /// Reads an event from the XDR of its topics and of its data.
    ///
    /// # Errors
    /// What the decoder finds wrong.
    pub fn read(
        position: Position,
        topics_xdr: &[impl AsRef<[u8]>],
        data_xdr: &[u8],
        payload: Option<Vec<u8>>,
    ) -> Result<Self, stellar_xdr::Error> {
        let limits = || Limits { depth: 100, len: 1 << 20 };
        let topics = topics_xdr.iter().map(|topic| ScVal::from_xdr(topic, limits()));
        Ok(Self {
            position,
            topics: topics.collect::<Result<_, _>>()?,
            data: ScVal::from_xdr(data_xdr, limits())?,
            payload,
        })
    }

    /// The event's name.
    fn name(&self) -> Option<&[u8]> {
        match self.topics.first() {
            Some(ScVal::Symbol(name)) => Some(name.0.as_slice()),
            _ => None,
        }
    }

    /// The address that is the topic number `index`, the name being number 0.
    fn party(&self, index: usize) -> Option<&ScAddress> {
        match self.topics.get(index) {
            Some(ScVal::Address(address)) => Some(address),
            _ => None,
        }
    }

    fn fields(&self) -> Option<&ScMap> {
        match &self.data {
            ScVal::Map(Some(map)) => Some(map),
            _ => None,
        }
    }

    fn bytes(&self, field: &str) -> Option<&[u8]> {
        match entry(self.fields()?, field)? {
            ScVal::Bytes(bytes) => Some(bytes.0.as_slice()),
            _ => None,
        }
    }

    fn scalar(&self, field: &str) -> Option<Scalar> {
        Scalar::from_bytes(self.bytes(field)?.try_into().ok()?)
    }

    fn amount(&self) -> Option<i128> {
        match entry(self.fields()?, "amount")? {
            ScVal::I128(parts) => Some(i128::from(parts.hi) << 64 | i128::from(parts.lo)),
            _ => None,
        }
    }

    /// The transfer's point, under its name of any version.
    fn ephemeral(&self) -> Option<&[u8]> {
        self.bytes("r_e_point").or_else(|| self.bytes("r_e"))
    }
}

/// Why a wallet does not vouch for a balance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The history does not begin with the account's registration.
    #[error("the history does not begin with the account's registration")]
    NotRegistered,
    /// Two events do not stand in canonical order.
    #[error("the event at {0} does not come after the one before it")]
    OutOfOrder(Position),
    /// An event lacks a topic or a field that its name promises.
    #[error("the event at {0} cannot be read")]
    Unreadable(Position),
    /// A transfer to the account came without payload.
    #[error("the transfer at {0} came without its payload")]
    PayloadMissing(Position),
    /// A payload does not belong to its event.
    #[error("the payload of the transfer at {0} is not its own")]
    PayloadMismatch(Position),
    /// The checkpoint is no checkpoint of this account.
    #[error("the event at {0} is no checkpoint of this account")]
    NotItsCheckpoint(Position),
    /// T0 is no merge, clawback or registration of this account, or does not stand in the window.
    #[error("no merge, clawback or registration of this account stands at {0}")]
    NoAnchor(Position),
    /// T0 is not the last anchor at or before the checkpoint, or comes after it.
    #[error("the window does not begin with the last anchor before the checkpoint at {0}")]
    WrongAnchor(Position),
    /// The window does not hold the checkpoint that it is to go on from.
    #[error("the window does not hold the checkpoint at {0}")]
    CheckpointMissing(Position),
}

/// Where a replay starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayWindow {
    /// The latest checkpoint; none for an account that never spent.
    pub checkpoint: Option<Position>,
    /// T0: the last merge or clawback at or before the checkpoint, else the registration.
    pub anchor: Position,
}

/// What an event means to the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    None,
    Registers,
    Receives(Opening),
    /// The pair of a checkpoint, and what comes back to the account in the same event.
    Checkpoint {
        spendable: Opening,
        receives: Option<Opening>,
    },
    /// Folds what came in, less what is taken.
    Folds {
        taken: Scalar,
    },
    Returns(Opening),
}

/// A wallet of one account: it knows the account's keys, and nothing of the simulator's.
#[derive(Debug, Clone, Copy)]
pub struct Wallet<'a> {
    keys: &'a AccountKeys,
}

impl<'a> Wallet<'a> {
    /// The wallet of these keys.
    #[must_use]
    pub fn new(keys: &'a AccountKeys) -> Self {
        Self { keys }
    }

    /// Adds up the account's whole history, which begins with its registration. Events of others are passed over.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn replay(&self, history: &[WalletEvent]) -> Result<Openings, Refusal> {
        let mut openings = None;
        self.in_order(history, |event, effect| {
            if effect == Effect::Registers {
                openings.get_or_insert_default();
            } else if effect != Effect::None {
                apply(openings.as_mut().ok_or(Refusal::NotRegistered)?, effect, event)?;
            }
            Ok(())
        })?;
        openings.ok_or(Refusal::NotRegistered)
    }

    /// Takes the spendable opening from `checkpoint` and replays the window from `anchor` (T0) on. `window` may
    /// hold events before T0, which are passed over, as the window's first ledger does.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn recover(
        &self,
        checkpoint: Option<&WalletEvent>,
        anchor: Position,
        window: &[WalletEvent],
    ) -> Result<Openings, Refusal> {
        let Some(checkpoint) = checkpoint else {
            let after = window.iter().position(|event| event.position == anchor).ok_or(Refusal::NoAnchor(anchor))?;
            return self.replay(&window[after..]);
        };
        let at = checkpoint.position;
        let Effect::Checkpoint { spendable, .. } = self.effect(checkpoint, false)? else {
            return Err(Refusal::NotItsCheckpoint(at));
        };
        if anchor > at {
            return Err(Refusal::WrongAnchor(at));
        }
        let mut openings = Openings::default();
        let (mut anchored, mut passed) = (false, false);
        let window: Vec<_> = window.iter().filter(|event| event.position >= anchor).cloned().collect();
        self.in_order(&window, |event, effect| {
            if event.position == anchor {
                let anchors = matches!(effect, Effect::Registers | Effect::Folds { .. });
                anchored = anchors;
                return if anchors { Ok(()) } else { Err(Refusal::NoAnchor(anchor)) };
            }
            passed |= event.position == at;
            if event.position < at && matches!(effect, Effect::Folds { .. }) {
                return Err(Refusal::WrongAnchor(at));
            }
            apply(&mut openings, effect, event)?;
            if event.position == at {
                openings.spendable = spendable;
            }
            Ok(())
        })?;
        match (anchored, passed) {
            (false, _) => Err(Refusal::NoAnchor(anchor)),
            (true, false) => Err(Refusal::CheckpointMissing(at)),
            (true, true) => Ok(openings),
        }
    }

    /// Where a replay of `history` can start: what an archive should answer for the ledger of its last event.
    ///
    /// # Errors
    /// [`Refusal`]; a missing payload is no hindrance.
    pub fn replay_window(&self, history: &[WalletEvent]) -> Result<ReplayWindow, Refusal> {
        let (mut registered, mut anchor, mut checkpoint) = (None, None, None);
        for event in history {
            match self.effect(event, false)? {
                Effect::Registers => registered = Some(event.position),
                Effect::Folds { .. } => anchor = Some(event.position),
                Effect::Checkpoint { .. } => checkpoint = Some((event.position, anchor)),
                Effect::None | Effect::Receives(_) | Effect::Returns(_) => {}
            }
        }
        let registered = registered.ok_or(Refusal::NotRegistered)?;
        let anchor = checkpoint.and_then(|(_, anchor)| anchor).unwrap_or(registered);
        Ok(ReplayWindow { checkpoint: checkpoint.map(|(position, _)| position), anchor })
    }

    fn in_order(
        &self,
        events: &[WalletEvent],
        mut step: impl FnMut(&WalletEvent, Effect) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let mut before = None;
        for event in events {
            if before.is_some_and(|before| before >= event.position) {
                return Err(Refusal::OutOfOrder(event.position));
            }
            before = Some(event.position);
            step(event, self.effect(event, true)?)?;
        }
        Ok(())
    }

    /// What `event` means to the account. Without `opens`, what is received is not opened, and is void.
    fn effect(&self, event: &WalletEvent, opens: bool) -> Result<Effect, Refusal> {
        let unreadable = Refusal::Unreadable(event.position);
        let first = || event.party(1).ok_or(unreadable);
        let second = || event.party(2).ok_or(unreadable);
        let own = &self.keys.address;
        let effect = match event.name() {
            Some(b"register") if first()? == own => Effect::Registers,
            Some(b"deposit") if second()? == own => {
                Effect::Receives(Opening::public(event.amount().ok_or(unreadable)?))
            }
            Some(b"merge") if first()? == own => Effect::Folds { taken: Scalar::ZERO },
            Some(b"clawback") if first()? == own => {
                Effect::Folds { taken: Scalar::from_amount(event.amount().ok_or(unreadable)?) }
            }
            Some(b"transfer") => {
                let received = if second()? == own { Some(self.received(event, opens)?) } else { None };
                match received {
                    receives if first()? == own => Effect::Checkpoint { spendable: self.pair(event)?, receives },
                    Some(opening) => Effect::Receives(opening),
                    None => Effect::None,
                }
            }
            Some(b"withdraw" | b"set_spender" | b"set_operator") if first()? == own => {
                Effect::Checkpoint { spendable: self.pair(event)?, receives: None }
            }
            Some(b"spender_transfer" | b"operator_transfer") if event.party(3).ok_or(unreadable)? == own => {
                Effect::Receives(self.received(event, opens)?)
            }
            // A version in which it carries the balance makes it a checkpoint; a later one opens the allowance.
            Some(b"revoke_spender" | b"revoke_operator") if first()? == own => match event.scalar("a_tilde") {
                None => Effect::Checkpoint { spendable: self.pair(event)?, receives: None },
                Some(a_tilde) => {
                    let salt = event.scalar("allowance_salt").ok_or(unreadable)?;
                    let key = self.keys.delegation_key(second()?);
                    let value = a_tilde - allowance_mask(&key, salt);
                    Effect::Returns(Opening { value, randomness: allowance_randomness(&key, salt) })
                }
            },
            _ => Effect::None,
        };
        Ok(effect)
    }

    /// The spendable opening that a checkpoint gives.
    fn pair(&self, event: &WalletEvent) -> Result<Opening, Refusal> {
        let pair = event.scalar("b_tilde").zip(event.scalar("sigma"));
        let (b_tilde, sigma) = pair.ok_or(Refusal::Unreadable(event.position))?;
        Ok(Opening { value: b_tilde - self.keys.balance_mask(sigma), randomness: self.keys.spend_randomness(sigma) })
    }

    fn received(&self, event: &WalletEvent, opens: bool) -> Result<Opening, Refusal> {
        if !opens {
            return Ok(Opening::default());
        }
        let fields = event.ephemeral().zip(event.scalar("v_tilde"));
        let (ephemeral, v_tilde) = fields.ok_or(Refusal::Unreadable(event.position))?;
        let payload = event.payload.as_ref().ok_or(Refusal::PayloadMissing(event.position))?;
        payload::open(self.keys, ephemeral, v_tilde, payload).ok_or(Refusal::PayloadMismatch(event.position))
    }
}

fn apply(openings: &mut Openings, effect: Effect, event: &WalletEvent) -> Result<(), Refusal> {
    match effect {
        Effect::None => {}
        // The token registers an account once.
        Effect::Registers => return Err(Refusal::Unreadable(event.position)),
        Effect::Receives(opening) => openings.receiving += opening,
        Effect::Checkpoint { spendable, receives } => {
            openings.spendable = spendable;
            openings.receiving += receives.unwrap_or_default();
        }
        Effect::Folds { taken } => {
            openings.fold();
            openings.spendable.value -= taken;
        }
        Effect::Returns(opening) => openings.spendable += opening,
    }
    Ok(())
}
