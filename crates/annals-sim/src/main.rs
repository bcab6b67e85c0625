//! Writes generated ledgers to disk: a SEP-54 lake, or a file of framed ledgers.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use annals_core::{LedgerSeq, Network};
use annals_sim::{BuiltLedger, Ending, Format, FramedWriter, LakeLayout, LakeWriter, Mix, random_chain};
use anyhow::{Context as _, ensure};
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Writes generated Stellar ledgers, the same for the same seed.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write a SEP-54 lake.
    Lake {
        /// The lake's folder.
        #[arg(long)]
        out: PathBuf,
        /// Ledgers in an object.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        ledgers_per_object: u32,
        /// Objects in a partition; 1 for no partitions.
        #[arg(long, default_value_t = 64_000, value_parser = clap::value_parser!(u32).range(1..))]
        objects_per_partition: u32,
        /// End object names with .xdr.zstd, as older exporters did.
        #[arg(long)]
        old_ending: bool,
        /// Write no manifest.
        #[arg(long)]
        no_manifest: bool,
        #[command(flatten)]
        chain: ChainArgs,
    },
    /// Write framed ledgers into one file.
    Framed {
        /// The file; compressed with zstd if its name ends in .zst.
        #[arg(long)]
        out: PathBuf,
        #[command(flatten)]
        chain: ChainArgs,
    },
}

#[derive(Debug, Args)]
struct ChainArgs {
    /// How many ledgers.
    #[arg(long)]
    ledgers: u32,
    /// The first ledger.
    #[arg(long, default_value_t = LedgerSeq::FIRST_EXPORTED)]
    from: LedgerSeq,
    /// Decides what is in them.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The passphrase of their network.
    #[arg(long, default_value = "Annals Simulated Network")]
    network_passphrase: String,
    /// About how many operation events a ledger holds.
    #[arg(long, default_value_t = 10)]
    events_per_ledger: u32,
    /// How many contracts emit them.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    contracts: u32,
    /// In which form they are exported.
    #[arg(long, value_enum, default_value_t = FormatArg::V2)]
    format: FormatArg,
    /// Their protocol [default: 26, or one that the older form carries].
    #[arg(long)]
    protocol: Option<u32>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormatArg {
    /// `LedgerCloseMeta` V0, `TransactionMeta` V0: protocols before 20.
    V0Meta0,
    /// `LedgerCloseMeta` V0, `TransactionMeta` V1: protocols before 20.
    V0Meta1,
    /// `LedgerCloseMeta` V0, `TransactionMeta` V2: protocols before 20.
    V0,
    /// `LedgerCloseMeta` V0, `TransactionMeta` V4: protocols before 20 with classic events.
    V0Backfilled,
    /// `LedgerCloseMeta` V1, `TransactionMeta` V3: protocols 20 to 22.
    V1,
    /// `LedgerCloseMeta` V1, `TransactionMeta` V4: protocols 20 to 22 with asset events backfilled.
    V1Backfilled,
    /// `LedgerCloseMeta` V2, `TransactionMeta` V4: protocol 23 and later.
    V2,
}

impl ChainArgs {
    fn network(&self) -> Network {
        Network::new(self.network_passphrase.as_str())
    }

    fn build(&self) -> anyhow::Result<impl Iterator<Item = BuiltLedger> + use<>> {
        let format = match self.format {
            FormatArg::V0Meta0 => Format::V0Meta0,
            FormatArg::V0Meta1 => Format::V0Meta1,
            FormatArg::V0 => Format::V0Meta2,
            FormatArg::V0Backfilled => Format::V0Meta4,
            FormatArg::V1 => Format::V1Meta3,
            FormatArg::V1Backfilled => Format::V1Meta4,
            FormatArg::V2 => Format::V2Meta4,
        };
        let protocol = self.protocol.unwrap_or(format.default_protocol());
        ensure!(format.carries(protocol), "ledgers of protocol {protocol} do not come in this form");
        let room = LedgerSeq::MAX.get() - self.from.get() + 1;
        ensure!(self.ledgers <= room, "the last ledger would lie above {}", LedgerSeq::MAX);
        let mix = Mix { format, protocol, events_per_ledger: self.events_per_ledger, contracts: self.contracts };
        Ok(random_chain(&self.network(), self.from, self.seed, self.ledgers, mix))
    }
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Lake { out, ledgers_per_object, objects_per_partition, old_ending, no_manifest, chain } => {
            let ending = if old_ending { Ending::Zstd } else { Ending::Zst };
            let layout = LakeLayout { ledgers_per_object, objects_per_partition, ending };
            let ledgers = chain.build()?;
            if !no_manifest {
                layout.write_manifest(&out, &chain.network()).context("writing the manifest")?;
            }
            let mut lake = LakeWriter::new(&out, layout);
            for ledger in ledgers {
                lake.push(&ledger).with_context(|| format!("writing ledger {}", ledger.seq))?;
            }
            lake.finish().context("writing the last object")
        }
        Command::Framed { out, chain } => {
            let ledgers = chain.build()?;
            let file = BufWriter::new(File::create(&out).with_context(|| format!("creating {}", out.display()))?);
            if out.extension().is_some_and(|extension| extension == "zst") {
                write_framed(zstd::Encoder::new(file, 1)?, ledgers)?.finish()?.flush()?;
            } else {
                write_framed(file, ledgers)?;
            }
            Ok(())
        }
    }
}

fn write_framed<W: Write>(writer: W, ledgers: impl Iterator<Item = BuiltLedger>) -> anyhow::Result<W> {
    let mut framed = FramedWriter::new(writer);
    for ledger in ledgers {
        framed.push(&ledger).with_context(|| format!("writing ledger {}", ledger.seq))?;
    }
    Ok(framed.finish()?)
}
