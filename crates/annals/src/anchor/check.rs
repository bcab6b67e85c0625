//! Asking witnesses for the newest stored ledgers that they can confirm.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use annals_core::{Batch, CheckedLedger, LedgerHash, LedgerRange, LedgerSeq, Network, Scope, check_ledger};

use super::AnchorError;
use crate::backfill::whole_chain;
use crate::clock::Clock;
use crate::source::{Address, HistoryArchive, ObjectFault, RequestFault, RpcWitness, Timeouts};
use crate::store::{Anchor, AnchorKind, Fence, Status, Store, StoreError};

/// How long a witness may take; less than a source may, which a reader waits for.
const TIMEOUTS: Timeouts =
    Timeouts { connect: Duration::from_secs(5), read: Duration::from_secs(10), total: Duration::from_secs(60) };
/// Of so many chains, the newest first, archives are asked in one check.
const CHAINS_MAX: usize = 16;

/// Who is asked beside the source.
#[derive(Debug)]
pub struct Witnesses {
    archives: Vec<HistoryArchive>,
    endpoints: Vec<RpcWitness>,
}

impl Witnesses {
    /// Takes history archives and RPC endpoints; nothing is asked yet. `clock` is what waits between tries of an archive:
    /// give one whose sleep ends when the caller is stopped.
    #[must_use]
    pub fn new(archives: &[Address], endpoints: &[Address], clock: &Arc<dyn Clock>) -> Self {
        let seeds = clock.now_unix_ms()..;
        let archive =
            |(address, seed): (&Address, u64)| HistoryArchive::new(address.clone(), TIMEOUTS, seed, Arc::clone(clock));
        let endpoint = |address: &Address| RpcWitness::new(address.clone(), TIMEOUTS, Arc::clone(clock));
        Self {
            archives: archives.iter().zip(seeds).map(archive).collect(),
            endpoints: endpoints.iter().map(endpoint).collect(),
        }
    }

    /// Whether they can confirm anything: there is an archive, or there are endpoints of two hosts.
    #[must_use]
    pub fn can_confirm(&self) -> bool {
        !self.archives.is_empty() || self.has_two_hosts()
    }

    fn has_two_hosts(&self) -> bool {
        self.endpoints.iter().any(|endpoint| endpoint.host() != self.endpoints[0].host())
    }
}

/// A witness that said nothing that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unheard {
    /// The witness, as it may be shown.
    pub witness: String,
    /// Why, as a stable code.
    pub code: &'static str,
    /// Why, in one sentence.
    pub message: String,
}

/// What a check came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Anchored {
    /// What was confirmed anew, and is recorded.
    pub recorded: Vec<Anchor>,
    /// The witnesses that said nothing that counts.
    pub unheard: Vec<Unheard>,
}

/// Has the newest stored ledgers confirmed that the witnesses can confirm, and records it. What is confirmed already is not
/// asked for again. Ends: every witness is asked a bounded number of times.
///
/// # Errors
/// [`AnchorError::Contradicted`] when a witness gives a stored ledger another hash. Of an RPC endpoint the whole ledger is
/// offered to the store first, which records the incident. [`AnchorError::Store`]. What was recorded before stays.
pub fn check(
    store: &dyn Store,
    fence: Fence,
    witnesses: &Witnesses,
    clock: &dyn Clock,
) -> Result<Anchored, AnchorError> {
    let status = store.status()?;
    let Some(passphrase) = status.passphrase.clone() else { return Ok(Anchored::default()) };
    let network = Network::new(passphrase);
    let mut check = Check { store, fence, clock, status, network, anchored: Anchored::default() };
    for archive in &witnesses.archives {
        check.ask_archive(archive)?;
    }
    if witnesses.has_two_hosts() {
        check.ask_endpoints(&witnesses.endpoints)?;
    }
    Ok(check.anchored)
}

struct Check<'a> {
    store: &'a dyn Store,
    fence: Fence,
    clock: &'a dyn Clock,
    status: Status,
    network: Network,
    anchored: Anchored,
}

impl Check<'_> {
    /// Compares the newest ledger of each chain that the archive reaches.
    fn ask_archive(&mut self, archive: &HistoryArchive) -> Result<(), AnchorError> {
        let state = match archive.state() {
            Ok(state) => state,
            Err(fault) => {
                self.unheard(archive.name(), fault_of(&fault));
                return Ok(());
            }
        };
        if let Some(claimed) = state.passphrase.filter(|claimed| claimed != self.network.passphrase()) {
            let message = format!("it is of the network \"{claimed}\"");
            self.unheard(archive.name(), ("OTHER_NETWORK", message));
            return Ok(());
        }
        let due = self.due(state.latest);
        for ledger in due {
            match archive.hash_of(ledger) {
                Ok(Some(hash)) => self.record(ledger, hash, AnchorKind::HistoryArchive, archive.name())?,
                Ok(None) => {
                    let message = format!("it has no file that holds ledger {ledger}");
                    self.unheard(archive.name(), ("NOT_IN_ARCHIVE", message));
                }
                Err(fault) => self.unheard(archive.name(), fault_of(&fault)),
            }
        }
        Ok(())
    }

    /// The ledgers to ask an archive for that reaches up to `latest`: of each chain the newest one, unless it is confirmed.
    fn due(&self, latest: LedgerSeq) -> Vec<LedgerSeq> {
        let newest = |range: &LedgerRange| (range.from_inclusive() <= latest).then(|| range.to_inclusive().min(latest));
        let is_new = |ledger: &LedgerSeq| !self.is_confirmed(*ledger, AnchorKind::HistoryArchive);
        self.status.verified.ranges().iter().rev().take(CHAINS_MAX).filter_map(newest).filter(is_new).collect()
    }

    fn is_confirmed(&self, ledger: LedgerSeq, kind: AnchorKind) -> bool {
        let chain = self.status.verified.ranges().iter().find(|range| range.contains(ledger));
        let reaches = |anchor: &Anchor| chain.is_some_and(|chain| chain.contains(anchor.ledger));
        self.status.anchors.iter().any(|anchor| anchor.kind == kind && anchor.ledger >= ledger && reaches(anchor))
    }

    /// Compares what the endpoints give for the newest stored ledger that two of their hosts have come to.
    fn ask_endpoints(&mut self, endpoints: &[RpcWitness]) -> Result<(), AnchorError> {
        let mut tips: BTreeMap<&str, LedgerSeq> = BTreeMap::new();
        let mut answering = Vec::new();
        for endpoint in endpoints {
            match endpoint.tip() {
                Ok(tip) => {
                    let highest = tips.entry(endpoint.host()).or_insert(tip.latest);
                    *highest = tip.latest.max(*highest);
                    answering.push((endpoint, tip.latest));
                }
                Err(fault) => self.unheard(endpoint.name(), refusal_of(&fault)),
            }
        }
        let mut tips: Vec<LedgerSeq> = tips.into_values().collect();
        tips.sort_unstable();
        let Some(reached) = tips.iter().rev().nth(1) else { return Ok(()) };
        let below = LedgerRange::new(LedgerSeq::MIN, *reached).map(|range| self.status.verified.within(range));
        let Some(ledger) = below.ok().and_then(|held| held.latest()) else { return Ok(()) };
        if self.is_confirmed(ledger, AnchorKind::SourcesAgree) {
            return Ok(());
        }
        let Some(stored) = self.stored_hash(ledger)? else { return Ok(()) };
        let mut agreeing: BTreeMap<&str, String> = BTreeMap::new();
        for (endpoint, _) in answering.into_iter().filter(|(_, latest)| *latest >= ledger) {
            let Some(given) = self.ledger_of(endpoint, ledger) else { continue };
            if given.hash != stored {
                return Err(self.offer(given, stored, endpoint.name())?);
            }
            agreeing.entry(endpoint.host()).or_insert_with(|| endpoint.name());
        }
        if agreeing.len() > 1 {
            let said_by = agreeing.into_values().collect::<Vec<_>>().join(", ");
            self.record(ledger, stored, AnchorKind::SourcesAgree, said_by)?;
        }
        Ok(())
    }

    fn stored_hash(&self, ledger: LedgerSeq) -> Result<Option<LedgerHash>, StoreError> {
        Ok(self.store.ledgers(ledger, 1)?.first().filter(|row| row.seq == ledger).map(|row| row.hash))
    }

    /// The ledger as an endpoint gives it, where all its hashes hold.
    fn ledger_of(&mut self, endpoint: &RpcWitness, seq: LedgerSeq) -> Option<CheckedLedger> {
        let object = match endpoint.ledger(self.network.passphrase(), seq) {
            Ok(Some(object)) => object,
            Ok(None) => return None,
            Err(fault) => {
                self.unheard(endpoint.name(), refusal_of(&fault));
                return None;
            }
        };
        let sound = object.into_ledgers().ok().and_then(|raw| raw.into_iter().next());
        let checked = sound.map(|raw| check_ledger(&raw.bytes, &self.network));
        match checked {
            Some(Ok(ledger)) if ledger.seq == seq => return Some(ledger),
            Some(Err(fault)) => self.unheard(endpoint.name(), (fault.code(), format!("its ledger {seq}: {fault}"))),
            _ => self.unheard(endpoint.name(), ("UNDECODABLE_OBJECT", format!("its ledger {seq} is none"))),
        }
        None
    }

    /// Offers a ledger of another hash to the store, so that both versions are kept.
    fn offer(&self, given: CheckedLedger, stored: LedgerHash, said_by: String) -> Result<AnchorError, AnchorError> {
        let (ledger, said) = (given.seq, given.hash.to_string());
        let source = format!("rpc:{said_by}");
        let batch = Batch::checked(self.network.clone(), Scope::All, self.status.classic, source, vec![given])?;
        let incident = match self.store.commit(&batch, self.fence) {
            Err(StoreError::Incident { id, .. }) => Some(id),
            Err(StoreError::PinContradicted { .. }) | Ok(_) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(AnchorError::Contradicted { ledger, stored: stored.to_string(), said, said_by, incident })
    }

    fn record(
        &mut self,
        ledger: LedgerSeq,
        hash: LedgerHash,
        kind: AnchorKind,
        said_by: String,
    ) -> Result<(), AnchorError> {
        let anchor = Anchor { ledger, hash, kind, said_by, seen_at_ms: self.clock.now_unix_ms() };
        match self.store.record_anchor(&anchor, self.fence) {
            Ok(()) => self.anchored.recorded.push(anchor),
            Err(StoreError::AnchorContradicted { ledger, stored, said, said_by }) => {
                return Err(AnchorError::Contradicted { ledger, stored, said, said_by, incident: None });
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn unheard(&mut self, witness: String, (code, message): (&'static str, String)) {
        self.anchored.unheard.push(Unheard { witness, code, message });
    }
}

fn fault_of(fault: &ObjectFault) -> (&'static str, String) {
    (fault.code(), whole_chain(fault))
}

fn refusal_of(fault: &RequestFault) -> (&'static str, String) {
    ("NOT_SERVED", fault.to_string())
}
