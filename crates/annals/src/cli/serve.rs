//! `annals serve`.

use std::sync::Arc;

use super::error::CliError;
use super::follow_log::FollowLog;
use super::following::{FollowPlan, Following, WatchMaker};
use super::outcome::Outcome;
use super::service::{self, Service};
use super::{Context, Json};
use crate::config::{Flags, Key};

const AFTER_HELP: &str = "\
Examples:
  annals serve --network pubnet --rpc https://rpc.example --lake public --from 63M
  annals serve --network testnet --rpc https://soroban-testnet.stellar.org --disk-reserve 2GiB
  annals serve --network local --rpc http://localhost:8000/rpc --contract CAS3…
  annals serve
  annals serve --listen 127.0.0.1:9000 --allowed-origin https://wallet.example
  curl localhost:8787/v1/health
  token=localhost:8787/v1/tokens/CAS3J7GYLGXMF6TDJBBYYSE3HQ6BBSMLNUQ34T6TZMYMW2EVH34XOWMA
  curl \"$token/events?from_ledger=63092982&to_ledger=63092991&limit=10\"
  curl \"$token/accounts/GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ/checkpoint?at_ledger=63092991\"

With --rpc it takes every ledger as it closes, and works off what is missing before from the lakes and from what the
endpoints still keep; the archive is made where there is none. Without, it reads beside a backfill in another process.
The first line on stdout names the address; the API is described at /v1/openapi.json, /healthz tells whether the
archive can be read and /readyz whether all is well, with what is not. What cannot be followed is refused before that. Where
following fails later, it is logged, /readyz answers 503 with its code from then on, and readers are answered on; nothing
new is stored until the server is started again.

SIGTERM or SIGINT ends it within 10 s, once the requests that run are answered; a ledger that was under way is stored whole
or not at all. A second signal ends it at once.

Exit codes:
  0  ended by a signal, whatever state the archive is in: /readyz and `annals status` tell that
  1  could not begin, or was ended at once by a second signal
  2  usage
  3  could not begin: something contradicts the chain";

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Arguments {
    /// Follow the network that the Stellar RPC at this address is of; may be repeated, the first that can serves
    #[arg(long, value_name = "URL")]
    rpc: Vec<String>,
    /// Only ledgers: whoever asks for events is told why not
    #[arg(long, value_name = "ledgers", hide = true)]
    rpc_mode: Option<String>,
    /// Fill gaps from the SEP-54 lake in this folder or at this https:// address; public for pubnet's public one; may be
    /// repeated
    #[arg(long, value_name = "PATH|URL|public")]
    lake: Vec<String>,
    /// The network, by its name: pubnet, testnet, futurenet or local; an archive that has one needs none
    #[arg(long, value_name = "NAME")]
    network: Option<String>,
    /// The network, by its passphrase
    #[arg(long, value_name = "TEXT")]
    network_passphrase: Option<String>,
    /// Have every ledger from this one on [default: where the archive ends, or what closes from now on]
    #[arg(long, value_name = "LEDGER", allow_negative_numbers = true)]
    from: Option<String>,
    /// Keep this contract's events alone; may be repeated [default: all contracts]
    #[arg(long, value_name = "C…")]
    contract: Vec<String>,
    /// Refuse a chain in which this ledger has another hash; may be repeated
    #[arg(long, value_name = "LEDGER:HASH")]
    pin: Vec<String>,
    /// Keep or drop classic and fee events, for good [default: keep]
    #[arg(long, value_name = "keep|drop")]
    classic: Option<String>,
    /// Take lakes whose objects hold different numbers of ledgers
    #[arg(long, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    mixed_layout: Option<String>,
    /// Have every few minutes the history archive at this address confirm what is stored; may be repeated
    #[arg(long, value_name = "URL")]
    history_archive: Vec<String>,
    /// Store nothing while the disk has fewer bytes free, as in 2GiB [default: 512MiB]
    #[arg(long, value_name = "BYTES")]
    disk_reserve: Option<String>,
    /// Where to listen; port 0 takes a free one [default: 127.0.0.1:8787]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// The port on loopback, where no --listen is given [default: 8787]
    #[arg(long)]
    port: Option<String>,
    /// A web page's origin that may read /v1 in a browser; repeatable [default: *, every page]
    #[arg(long, value_name = "ORIGIN")]
    allowed_origin: Vec<String>,
    #[command(flatten)]
    pub json: Json,
}

impl Arguments {
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        flags.give(Key::Rpc, self.rpc.clone());
        flags.give(Key::RpcMode, self.rpc_mode.clone());
        flags.give(Key::Lake, self.lake.clone());
        flags.give(Key::Network, self.network.clone());
        flags.give(Key::NetworkPassphrase, self.network_passphrase.clone());
        flags.give(Key::From, self.from.clone());
        flags.give(Key::Contract, self.contract.clone());
        flags.give(Key::Pin, self.pin.clone());
        flags.give(Key::Classic, self.classic.clone());
        flags.give(Key::MixedLayout, self.mixed_layout.clone());
        flags.give(Key::HistoryArchive, self.history_archive.clone());
        flags.give(Key::DiskReserve, self.disk_reserve.clone());
        flags.give(Key::Listen, self.listen.clone());
        flags.give(Key::Port, self.port.clone());
        flags.give(Key::AllowedOrigin, self.allowed_origin.clone());
        flags
    }
}

pub(super) fn run(context: &Context) -> Result<Outcome, CliError> {
    let settings = &context.settings;
    let (address, origins) = (settings.listen()?, settings.allowed_origins()?);
    let plan = settings.following()?.map(|choice| FollowPlan::of(choice, context)).transpose()?;
    let archive = context.archive()?;
    service::run(address, &context.output, move |stop| {
        let following = match plan {
            Some(mut plan) => {
                let log = Arc::new(FollowLog::new(archive.clock()));
                let filling = Arc::clone(&log);
                plan.options.filled = Arc::new(move |ledgers| filling.filled(ledgers));
                let watch: WatchMaker = Box::new(|_| log);
                let following = Following::prepare(plan, &archive, stop)?;
                if !following.has_witnesses() {
                    tracing::warn!(
                        "nobody beside the source confirms what is stored: name --rpc endpoints of two hosts, or \
                         --history-archive URL"
                    );
                }
                Some((following, watch))
            }
            None => None,
        };
        Service::over(&archive, following, origins)
    })
}
