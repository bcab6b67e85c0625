//! SEP-54 lakes in a local folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use annals_core::{LedgerSeq, Network};

use crate::chain::BuiltLedger;

/// How object names end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// `.xdr.zst`, as SEP-54 has it.
    Zst,
    /// `.xdr.zstd`, as older exporters wrote it.
    Zstd,
}

impl Ending {
    /// The ending itself, from the first dot on.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Zst => ".xdr.zst",
            Self::Zstd => ".xdr.zstd",
        }
    }
}

/// How a lake cuts ledgers into objects, and names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LakeLayout {
    /// Ledgers in an object; at least 1.
    pub ledgers_per_object: u32,
    /// Objects in a partition; 1 for a lake without partitions.
    pub objects_per_partition: u32,
    /// How object names end.
    pub ending: Ending,
}

impl Default for LakeLayout {
    fn default() -> Self {
        Self { ledgers_per_object: 1, objects_per_partition: 64_000, ending: Ending::Zst }
    }
}

impl LakeLayout {
    /// The object that holds `seq`, relative to the lake's folder.
    #[must_use]
    pub fn object_path(self, seq: LedgerSeq) -> PathBuf {
        let object = name(seq.get(), self.ledgers_per_object);
        let partition_ledgers = self.ledgers_per_object.saturating_mul(self.objects_per_partition);
        let folder = if self.objects_per_partition > 1 { name(seq.get(), partition_ledgers) } else { String::new() };
        Path::new(&folder).join(format!("{object}{}", self.ending.as_str()))
    }

    /// The first ledger of the grid cell that holds `seq`; 0 for the network's first ledgers.
    fn cell(self, seq: LedgerSeq) -> u32 {
        seq.get() / self.ledgers_per_object
    }

    /// Writes `.config.json`, the manifest of a lake of `network` laid out like this.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn write_manifest(self, folder: &Path, network: &Network) -> io::Result<()> {
        let manifest = serde_json::json!({
            "networkPassphrase": network.passphrase(),
            "version": "1.0",
            "compression": "zstd",
            "ledgersPerBatch": self.ledgers_per_object,
            "batchesPerPartition": self.objects_per_partition,
        });
        fs::create_dir_all(folder)?;
        fs::write(folder.join(".config.json"), format!("{manifest:#}\n"))
    }
}

/// SEP-54: the start counted down from `u32::MAX` in hexadecimal, so that the newest sorts first, and the aligned range.
fn name(seq: u32, size: u32) -> String {
    let start = seq / size * size;
    let reversed = u32::MAX - start;
    if size == 1 {
        format!("{reversed:08X}--{start}")
    } else {
        format!("{reversed:08X}--{start}-{}", start + (size - 1))
    }
}

/// Writes the objects of a lake, ledger by ledger. Without [`LakeLayout::write_manifest`] it has no manifest.
#[derive(Debug)]
pub struct LakeWriter {
    folder: PathBuf,
    layout: LakeLayout,
    open: Option<OpenObject>,
}

#[derive(Debug)]
struct OpenObject {
    first: LedgerSeq,
    last: LedgerSeq,
    metas: Vec<Vec<u8>>,
}

impl LakeWriter {
    /// Writes into `folder`, which is made when the first object is.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>, layout: LakeLayout) -> Self {
        Self { folder: folder.into(), layout, open: None }
    }

    /// Adds a ledger; ledgers come in ascending order. An object is written once a ledger of the next one comes,
    /// and holds what came: a chain that begins or ends inside an object leaves it partly filled, under its full name.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn push(&mut self, ledger: &BuiltLedger) -> io::Result<()> {
        let same_object = |open: &OpenObject| self.layout.cell(open.first) == self.layout.cell(ledger.seq);
        if self.open.as_ref().is_some_and(|open| !same_object(open)) {
            self.write_open()?;
        }
        let open =
            self.open.get_or_insert_with(|| OpenObject { first: ledger.seq, last: ledger.seq, metas: Vec::new() });
        open.last = ledger.seq;
        open.metas.push(ledger.xdr.clone());
        Ok(())
    }

    /// Writes the last object.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn finish(mut self) -> io::Result<()> {
        self.write_open()
    }

    fn write_open(&mut self) -> io::Result<()> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let path = self.folder.join(self.layout.object_path(open.first));
        write_object(&path, open.first, open.last, &open.metas)
    }
}

/// Writes one object: zstd of a `LedgerCloseMetaBatch` that claims these ledgers and holds these metas.
///
/// # Errors
/// What the file system reports.
pub fn write_object(path: &Path, first: LedgerSeq, last: LedgerSeq, metas: &[Vec<u8>]) -> io::Result<()> {
    let count = u32::try_from(metas.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let head = [first.get(), last.get(), count].map(u32::to_be_bytes).concat();
    let batch = [head.as_slice()].into_iter().chain(metas.iter().map(Vec::as_slice)).collect::<Vec<_>>().concat();
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, zstd::encode_all(batch.as_slice(), 1)?)
}
