//! Writes generated ledgers to disk: a SEP-54 lake, or a file of framed ledgers. Serves a simulated network.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use annals_core::{LedgerSeq, Network};
use annals_sim::clock::now_unix_ms;
use annals_sim::{
    BuiltLedger, Ending, Format, FramedWriter, LakeLayout, LakeWriter, Mix, NetworkOptions, RpcOptions, RpcServer,
    SimNetwork, random_chain,
};
use anyhow::{Context as _, ensure};
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Ledgers a second that close at the least where any do …
const SPEED_MIN: f64 = 0.001;
/// … and at the most: a network closes no two in one millisecond.
const SPEED_MAX: f64 = 1000.0;

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
    /// Serve a simulated network's RPC until stopped; prints its URL once it serves.
    Rpc(RpcArgs),
}

#[derive(Debug, Args)]
struct RpcArgs {
    /// Where to listen; port 0 for any that is free.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// How many ledgers have closed before it serves.
    #[arg(long, default_value_t = 100)]
    ledgers: u32,
    /// The first ledger.
    #[arg(long, default_value_t = LedgerSeq::FIRST_EXPORTED)]
    from: LedgerSeq,
    /// How many ledgers close in a second from then on; 0 for none.
    #[arg(long, default_value_t = 1.0)]
    speed: f64,
    /// Decides what is in them.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The passphrase of their network.
    #[arg(long, default_value = "Annals Simulated Network")]
    network_passphrase: String,
    /// How many ledgers are kept.
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..))]
    retention: u32,
    /// Write a SEP-54 lake into this folder too.
    #[arg(long)]
    lake: Option<PathBuf>,
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

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // All causes in one line, and no trace of where in the program it was. Nobody is left to tell where it cannot
            // be written.
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
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
        Command::Rpc(args) => serve(&args),
    }
}

/// Ledgers before now close as though they had all along, so that the latest is a fresh one; from then on each closes
/// at the time that it is. After the last possible ledger none closes.
fn serve(args: &RpcArgs) -> anyhow::Result<()> {
    let speed_fits = args.speed == 0.0 || (SPEED_MIN..=SPEED_MAX).contains(&args.speed);
    ensure!(speed_fits, "--speed is 0 or {SPEED_MIN} to {SPEED_MAX} ledgers a second");
    let room = LedgerSeq::MAX.get() - args.from.get() + 1;
    ensure!((1..=room).contains(&args.ledgers), "--ledgers is 1 to {room} from ledger {}", args.from);
    let began = now_unix_ms().saturating_sub(u64::from(args.ledgers) * 5000);
    let mut network = SimNetwork::with(NetworkOptions {
        passphrase: args.network_passphrase.clone(),
        retention_ledgers: args.retention,
        first_close_ms: Some(began),
        ..NetworkOptions::of_seed(args.seed).beginning_with(args.from)
    });
    if let Some(folder) = &args.lake {
        network = network.writing_lake(folder, LakeLayout::default()).context("writing the lake's manifest")?;
    }
    for number in 0..u64::from(args.ledgers) {
        network.close_next_at(began + number * 5000);
    }
    let options = RpcOptions { address: args.listen, ..RpcOptions::default() };
    let server =
        RpcServer::start(network.ledgers(), options).with_context(|| format!("listening on {}", args.listen))?;
    let mut out = std::io::stdout();
    writeln!(out, "{}", server.url())?;
    out.flush()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        if args.speed == 0.0 {
            std::future::pending::<()>().await;
        }
        let mut ticks = tokio::time::interval(Duration::from_secs_f64(1.0 / args.speed));
        loop {
            ticks.tick().await;
            if network.latest().is_some_and(|latest| latest.seq == LedgerSeq::MAX) {
                std::future::pending::<()>().await;
            }
            network.close_next_at(now_unix_ms());
        }
    })
}

fn write_framed<W: Write>(writer: W, ledgers: impl Iterator<Item = BuiltLedger>) -> anyhow::Result<W> {
    let mut framed = FramedWriter::new(writer);
    for ledger in ledgers {
        framed.push(&ledger).with_context(|| format!("writing ledger {}", ledger.seq))?;
    }
    Ok(framed.finish()?)
}
