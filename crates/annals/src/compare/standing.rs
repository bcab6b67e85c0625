//! What one archive shows of one ledger, and how much of it its own proof proves.

use std::collections::BTreeMap;

use annals_core::bundle::{BundleFault, Proved, ProvedClaim};
use annals_core::decode::EventView;
use annals_core::{
    Address, HistoryDigest, HistoryDigester, LedgerHash, LedgerRange, LedgerSeq, Network, Position, ProofVerdict,
    check_proof,
};

use super::{Halt, Incomplete, Lie, Pair, ShownEvent, ShownProof, Side, Whose, WindowDigest};

/// What one archive says of the ledger, and can prove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// How many events it shows in the ledger.
    pub events: u64,
    /// The digest of the ledger.
    pub digest: HistoryDigest,
    /// What it says it lacks in the ledger.
    pub incomplete: Option<Incomplete>,
    /// The ledger's hash, where it holds the header.
    pub hash: Option<LedgerHash>,
    /// What it says its headers hang on: its own word.
    pub anchor: String,
    /// What its proof of the ledger is worth.
    pub proof: ProofState,
}

/// What an archive's proof of a ledger is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProofState {
    /// It proves all committed events of the contract in the ledger, relative to this ledger's header.
    Proved {
        /// The ledger.
        ledger: LedgerSeq,
        /// Its hash.
        hash: LedgerHash,
    },
    /// It gives none, or one that proves nothing here, by this code.
    Absent(String),
    /// It gives one that does not hold, by this code.
    Refuted(&'static str),
}

impl ProofState {
    /// The word for it.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Proved { .. } => "proved",
            Self::Absent(_) => "absent",
            Self::Refuted(_) => "refuted",
        }
    }
}

/// The committed events of the contract that a proof proves.
pub(super) type ProvedEvents = BTreeMap<Position, Vec<u8>>;

/// The events of the subject that an archive shows in a ledger; they hash to its digest.
pub(super) fn events(
    pair: &Pair<'_>,
    side: Side,
    ledger: LedgerSeq,
    digest: &WindowDigest,
) -> Result<Vec<ShownEvent>, Halt> {
    let events = pair.ask(side, |_, archive| archive.events(ledger, Whose::Subject))?;
    let mut digester = HistoryDigester::new(LedgerRange::single(ledger));
    let ordered =
        events.iter().all(|event| is_of(event, ledger, pair) && digester.event(event.position, &event.xdr).is_ok());
    let found = digester.finish().ok().filter(|_| ordered);
    if found.is_none_or(|found| (found.events, found.digest) != (digest.events, digest.digest)) {
        return Err(Halt::Lie(side, Lie::Events(ledger)));
    }
    match pair.asked.account.is_none_or(|account| events.iter().all(|event| names(event, account))) {
        true => Ok(events),
        false => Err(Halt::Lie(side, Lie::NotNamed(ledger))),
    }
}

/// Whether an address stands among an event's topics, as that of every party does under any schema.
fn names(event: &ShownEvent, account: Address) -> bool {
    let named = |view: EventView<'_>| view.topics.iter().any(|topic| Address::of_xdr(topic) == Some(account));
    EventView::parse(&event.xdr).is_ok_and(named)
}

/// All events of the contract that an archive shows in a ledger; those of the account are among them.
pub(super) fn contract_events(
    pair: &Pair<'_>,
    side: Side,
    ledger: LedgerSeq,
    of_account: &[ShownEvent],
) -> Result<Vec<ShownEvent>, Halt> {
    let events = pair.ask(side, |_, archive| archive.events(ledger, Whose::Contract))?;
    let ordered = events.windows(2).all(|two| two[0].position < two[1].position);
    if !ordered || !events.iter().all(|event| is_of(event, ledger, pair)) {
        return Err(Halt::Lie(side, Lie::Events(ledger)));
    }
    match of_account.iter().all(|event| events.contains(event)) {
        true => Ok(events),
        false => Err(Halt::Lie(side, Lie::Account(ledger))),
    }
}

fn is_of(event: &ShownEvent, ledger: LedgerSeq, pair: &Pair<'_>) -> bool {
    let contract = EventView::parse(&event.xdr).ok().and_then(|view| view.contract_id);
    event.position.ledger() == ledger && contract == Some(pair.asked.contract)
}

/// What an archive's proof of the ledger is worth, and what it proves.
pub(super) fn proof(
    pair: &Pair<'_>,
    side: Side,
    ledger: LedgerSeq,
    hash: Option<LedgerHash>,
    network: Option<&str>,
) -> Result<(ProofState, Option<ProvedEvents>), Halt> {
    let bundle = match pair.ask(side, |_, archive| archive.proof(ledger))? {
        ShownProof::Bundle(bundle) => bundle,
        ShownProof::Absent(code) => return Ok((ProofState::Absent(code), None)),
    };
    // The header that the archive shows of the ledger is the anchor, so that the proof hangs on no other.
    let proved = match check_proof(&bundle, hash.map(|hash| (ledger, hash))) {
        ProofVerdict::Proved(proved) => proved,
        ProofVerdict::Refuted(BundleFault::AnchorContradicted { .. }) => {
            return Err(Halt::Lie(side, Lie::Header(ledger)));
        }
        ProofVerdict::Refuted(fault) => return Ok((ProofState::Refuted(fault.code()), None)),
        ProofVerdict::Undecided(reason) => return Ok((ProofState::Absent(reason.code().to_owned()), None)),
    };
    if !is_claim(&proved, pair, ledger, network) {
        return Ok((ProofState::Refuted(OTHER_CLAIM), None));
    }
    // What it would tell whoever trusts no header yet.
    let anchor = match check_proof(&bundle, None) {
        ProofVerdict::Proved(alone) => alone.anchor,
        ProofVerdict::Refuted(_) | ProofVerdict::Undecided(_) => proved.anchor,
    };
    let events = proved.events.into_iter().map(|event| (event.position, event.xdr)).collect();
    Ok((ProofState::Proved { ledger: anchor.ledger, hash: anchor.hash }, Some(events)))
}

/// The code of a proof of something else.
const OTHER_CLAIM: &str = "OTHER_CLAIM";

/// Whether what was proved is what was asked for.
fn is_claim(proved: &Proved, pair: &Pair<'_>, ledger: LedgerSeq, network: Option<&str>) -> bool {
    let claim = ProvedClaim::AllOfContract { contract: pair.asked.contract, range: LedgerRange::single(ledger) };
    proved.claim == claim && network == Some(Network::new(&proved.network_passphrase).to_string().as_str())
}
