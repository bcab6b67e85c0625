//! A whole network: a chain that closes a ledger whenever it is told to, and the truth about it.

mod schedule;

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use annals_core::{EventsDigest, LedgerHash, LedgerSeq, Network};

use crate::chain::{BuiltLedger, ChainBuilder};
use crate::lake::{LakeLayout, LakeWriter};
use crate::plan::CloseTime;
use crate::rpc::HeldLedgers;
use crate::traffic::TokenTraffic;
use schedule::{Schedule, format_of};

/// How many ledgers' records are kept.
const RECORDS_MAX: usize = 1_000_000;

/// What a network is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkOptions {
    /// Decides everything that is not said here. Networks of two seeds share no hash, whatever their passphrase.
    pub seed: u64,
    /// The passphrase.
    pub passphrase: String,
    /// The first ledger.
    pub first_ledger: LedgerSeq,
    /// The protocol that it begins with; 20 or later.
    pub protocol: u32,
    /// The ledgers that upgrade the protocol, and to which. One that nobody knows yet is possible.
    pub upgrades: Vec<(LedgerSeq, u32)>,
    /// The ledgers that hold one transaction of [`Self::heavy_events`].
    pub heavy_ledgers: Vec<LedgerSeq>,
    /// Events of the one large transaction.
    pub heavy_events: u32,
    /// About how many operation events other ledgers hold that are not quiet.
    pub events_per_ledger: u32,
    /// How many ledgers are kept, by the network and by the nodes that serve it.
    pub retention_ledgers: u32,
    /// About when the first ledger closes, Unix milliseconds; none for a time that its number decides.
    pub first_close_ms: Option<u64>,
}

impl NetworkOptions {
    /// A network that begins with ledger 2 and protocol 28, has a transaction of 12,000 events in ledger 24, and
    /// upgrades to protocol 30 in ledger 40, so that from there on ledgers close in milliseconds and some twice in
    /// a second. It keeps 4,096 ledgers.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        let seq = |number: u32| LedgerSeq::new(number).expect("the number is a small constant");
        Self {
            seed,
            passphrase: "Annals Simulated Network".to_owned(),
            first_ledger: LedgerSeq::FIRST_EXPORTED,
            protocol: 28,
            upgrades: vec![(seq(40), 30)],
            heavy_ledgers: vec![seq(24)],
            heavy_events: 12_000,
            events_per_ledger: 10,
            retention_ledgers: 4096,
            first_close_ms: None,
        }
    }

    /// The same, begun with this ledger: its upgrades and heavy ledgers stand as far from it as from the first one
    /// before. What would come after ledger 2³¹−1 does not.
    #[must_use]
    pub fn beginning_with(self, first_ledger: LedgerSeq) -> Self {
        let moved = |seq: LedgerSeq| {
            let distance = seq.get().checked_sub(self.first_ledger.get())?;
            LedgerSeq::new(first_ledger.get().checked_add(distance)?).ok()
        };
        let upgrades = self.upgrades.iter().filter_map(|(seq, protocol)| Some((moved(*seq)?, *protocol))).collect();
        let heavy_ledgers = self.heavy_ledgers.iter().filter_map(|seq| moved(*seq)).collect();
        Self { first_ledger, upgrades, heavy_ledgers, ..self }
    }
}

/// What is remembered of a ledger after its bytes are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerRecord {
    /// Its number.
    pub seq: LedgerSeq,
    /// Its hash.
    pub hash: LedgerHash,
    /// How many events it holds.
    pub events: usize,
    /// The digest over all of them.
    pub digest: EventsDigest,
}

/// A network that is closed ledger by ledger. The same options, and the same close times where those are given, make
/// the same bytes everywhere.
#[derive(Debug)]
pub struct SimNetwork {
    network: Network,
    chain: ChainBuilder,
    schedule: Schedule,
    retention: usize,
    ledgers: HeldLedgers,
    kept: VecDeque<Arc<BuiltLedger>>,
    records: VecDeque<LedgerRecord>,
    lake: Option<LakeWriter>,
}

impl SimNetwork {
    /// A network as [`NetworkOptions::of_seed`] describes it.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::with(NetworkOptions::of_seed(seed))
    }

    /// A network without ledgers yet.
    ///
    /// # Panics
    /// When `retention_ledgers` is 0, and when the protocol is one without contracts.
    #[must_use]
    pub fn with(options: NetworkOptions) -> Self {
        let network = Network::new(options.passphrase.as_str());
        let format = format_of(options.protocol);
        let mut chain = ChainBuilder::new(&network, options.first_ledger, options.seed, format);
        if let Some(unix_ms) = options.first_close_ms {
            chain = chain.resuming_at(unix_ms);
        }
        Self {
            chain,
            ledgers: HeldLedgers::new(&network, options.retention_ledgers),
            retention: options.retention_ledgers as usize,
            schedule: Schedule::new(&network, options),
            network,
            kept: VecDeque::new(),
            records: VecDeque::new(),
            lake: None,
        }
    }

    /// The same, with every ledger written to a SEP-54 lake too, manifest included. An object is written once the
    /// first ledger behind it has closed, so that the lake lags.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn writing_lake(mut self, folder: impl Into<PathBuf>, layout: LakeLayout) -> io::Result<Self> {
        let folder = folder.into();
        layout.write_manifest(&folder, &self.network)?;
        self.lake = Some(LakeWriter::new(folder, layout));
        Ok(self)
    }

    /// Closes the next ledger, as much later than the one before as its network has it.
    ///
    /// # Panics
    /// When the lake cannot be written, and after ledger 2³¹−1.
    pub fn close_next(&mut self) -> Arc<BuiltLedger> {
        self.close(None)
    }

    /// Closes the next ledger at this time, Unix milliseconds, or as soon after the one before as its protocol allows.
    ///
    /// # Panics
    /// As [`Self::close_next`].
    pub fn close_next_at(&mut self, unix_ms: u64) -> Arc<BuiltLedger> {
        self.close(Some(unix_ms))
    }

    /// Closes so many ledgers, and gives the last one.
    ///
    /// # Panics
    /// As [`Self::close_next`].
    pub fn close_many(&mut self, count: u32) -> Option<Arc<BuiltLedger>> {
        (0..count).map(|_| self.close_next()).last()
    }

    /// Another network with the same ledgers so far, whose next ledger and all behind it are others. It writes no lake.
    #[must_use]
    pub fn forked(&self, seed: u64) -> Self {
        Self {
            network: self.network.clone(),
            chain: self.chain.clone(),
            schedule: self.schedule.forked(seed),
            retention: self.retention,
            ledgers: self.ledgers.copied(),
            kept: self.kept.clone(),
            records: self.records.clone(),
            lake: None,
        }
    }

    fn close(&mut self, at_unix_ms: Option<u64>) -> Arc<BuiltLedger> {
        let last = self.kept.back().map(|ledger| ledger.close_time_ms);
        let mut plan = self.schedule.next(last);
        if let Some(unix_ms) = at_unix_ms {
            let step = if plan.close_time == CloseTime::Milliseconds { 1 } else { 1000 };
            let earliest = last.map_or(0, |last| last + step);
            self.chain = self.chain.clone().resuming_at(unix_ms.max(earliest));
            plan.elapsed_ms = 0;
        }
        let format = format_of(plan.protocol.expect("a schedule names the protocol"));
        self.chain = self.chain.clone().upgraded(format);
        let built = Arc::new(self.chain.push(&plan));
        self.ledgers.push(built.xdr.clone()).expect("a built ledger has a header");
        if let Some(lake) = &mut self.lake {
            lake.push(&built).expect("the lake can be written");
        }
        self.keep(&built);
        built
    }

    fn keep(&mut self, built: &Arc<BuiltLedger>) {
        if self.kept.len() == self.retention {
            self.kept.pop_front();
        }
        self.kept.push_back(Arc::clone(built));
        if self.records.len() == RECORDS_MAX {
            self.records.pop_front();
        }
        self.records.push_back(LedgerRecord {
            seq: built.seq,
            hash: built.hash,
            events: built.events.len(),
            digest: EventsDigest::of(&built.events),
        });
    }

    /// The network.
    #[must_use]
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// What a node of this network holds: every ledger as soon as it closes, for an [`crate::RpcServer`].
    #[must_use]
    pub fn ledgers(&self) -> HeldLedgers {
        self.ledgers.clone()
    }

    /// The latest ledger.
    #[must_use]
    pub fn latest(&self) -> Option<&Arc<BuiltLedger>> {
        self.kept.back()
    }

    /// The ledgers that are kept, ascending, with every event that is true of them.
    pub fn kept(&self) -> impl DoubleEndedIterator<Item = &Arc<BuiltLedger>> {
        self.kept.iter()
    }

    /// What is remembered of every ledger (of the last million), ascending.
    pub fn records(&self) -> impl DoubleEndedIterator<Item = &LedgerRecord> {
        self.records.iter()
    }

    /// The confidential token that is used on the network, with its truth.
    #[must_use]
    pub fn token(&self) -> &TokenTraffic {
        self.schedule.token()
    }

    /// Writes the lake's last object.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn finish_lake(&mut self) -> io::Result<()> {
        self.lake.take().map_or(Ok(()), LakeWriter::finish)
    }
}
