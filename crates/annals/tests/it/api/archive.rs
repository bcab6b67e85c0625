//! Small archives of known ledgers, filled by the binary.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use annals_core::{Address, ClassicEvents, ContractId, Event, LedgerSeq, Network};
use annals_sim::value::{account, contract, i128, symbol};
use annals_sim::{
    BuiltLedger, ChainBuilder, EventPlan, Format, LakeLayout, LakeWriter, LedgerPlan, Mix, Rng, TxPlan, random_plan,
};
use tempfile::TempDir;

use crate::binary::{Ran, annals, backfill};

pub const PASSPHRASE: &str = "Annals Reading Network";
pub const FIRST: u32 = 1000;
pub const LAST: u32 = 1039;
/// The ledger with [`CROWD`] events of [`token`].
pub const CROWDED: u32 = 1005;
pub const CROWD: u32 = 25;
/// The ledger with events of [`oddity`] with 0, 1, 2 and 4 topics.
pub const ODD: u32 = 1007;

/// A contract with many events; classic and fee events are of others.
pub fn token() -> ContractId {
    contract(1)
}

/// The recipient of every transfer of [`token`] in [`CROWDED`].
pub fn holder() -> Address {
    Address::Account(account(7))
}

/// A contract whose events have few topics.
pub fn oddity() -> ContractId {
    contract(100)
}

/// A contract that never emits.
pub fn silent() -> ContractId {
    contract(999)
}

/// The contract whose events are fees.
pub fn native() -> ContractId {
    Network::new(PASSPHRASE).native_contract()
}

fn odd_event(topics: u32) -> EventPlan {
    EventPlan::new(oddity(), (0..topics).map(|number| symbol(&format!("t{number}"))).collect(), i128(7))
}

fn plan(seq: u32, rng: &mut Rng) -> LedgerPlan {
    let mut plan = random_plan(rng, Mix { contracts: 3, ..Mix::new(Format::V2Meta4) });
    plan.classic_events = ClassicEvents::Present;
    if seq == CROWDED {
        let transfers = (0..CROWD).map(|n| EventPlan::transfer(token(), account(n), account(7), i128::from(n)));
        plan = LedgerPlan::new(vec![TxPlan::invocation(token(), transfers.collect())]);
    }
    if seq == ODD {
        let events = [0, 1, 2, 4].map(odd_event).to_vec();
        plan.transactions.push(TxPlan::invocation(oddity(), events));
    }
    plan
}

/// The ledgers [`FIRST`] to [`LAST`].
pub static CHAIN: LazyLock<Vec<BuiltLedger>> = LazyLock::new(|| {
    let network = Network::new(PASSPHRASE);
    let mut builder = ChainBuilder::new(&network, LedgerSeq::new(FIRST).unwrap(), 5, Format::V2Meta4);
    let mut rng = Rng::new(5);
    (FIRST..=LAST).map(|seq| builder.push(&plan(seq, &mut rng))).collect()
});

/// The events of a contract in some ledgers, in canonical order, as the plans have them.
pub fn events_of(contract: ContractId, from: u32, to: u32) -> Vec<&'static Event> {
    let ledgers = CHAIN.iter().filter(|ledger| (from..=to).contains(&ledger.seq.get()));
    let events = ledgers.flat_map(|ledger| &ledger.events);
    events.filter(|event| event.contract_id == Some(contract)).collect()
}

pub fn ids(events: &[&Event]) -> Vec<String> {
    events.iter().map(|event| event.position.to_string()).collect()
}

/// A lake of the whole chain, and an archive of what a test asks for.
pub struct Archive {
    folder: TempDir,
}

impl Archive {
    /// An archive of some ranges of ledgers, of every contract.
    pub fn of(ranges: &[&str]) -> Self {
        let archive = Self::empty();
        for range in ranges {
            archive.fill(range, &[]);
        }
        archive
    }

    /// A lake and no archive.
    pub fn empty() -> Self {
        Self::of_chain(&CHAIN)
    }

    /// A lake of other ledgers and no archive.
    pub fn of_chain(chain: &[BuiltLedger]) -> Self {
        let archive = Self { folder: tempfile::tempdir().unwrap() };
        let mut writer = LakeWriter::new(archive.lake(), LakeLayout::default());
        chain.iter().for_each(|ledger| writer.push(ledger).unwrap());
        writer.finish().unwrap();
        archive
    }

    /// Backfills a range; for some contracts alone where any is named.
    pub fn fill(&self, range: &str, contracts: &[ContractId]) {
        let mut command = backfill(&self.lake(), &self.data_dir(), PASSPHRASE, range);
        for contract in contracts {
            command.arg("--contract").arg(contract.to_string());
        }
        Ran::of(&mut command).ends_with(0);
    }

    /// Runs `annals contracts declare`.
    pub fn declare(&self, contract: ContractId, said: &[&str]) -> Ran {
        let mut command = annals(["contracts", "declare", "--json"]);
        Ran::of(command.arg(contract.to_string()).args(said).arg("--data-dir").arg(self.data_dir()))
    }

    pub fn lake(&self) -> PathBuf {
        self.folder.path().join("lake")
    }

    pub fn data_dir(&self) -> PathBuf {
        self.folder.path().join("archive")
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}
