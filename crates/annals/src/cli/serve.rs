//! `annals serve`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use super::error::CliError;
use super::outcome::Outcome;
use super::{Context, EXIT_CODES, Json};
use crate::api::{Limits, Server};
use crate::config::{Flags, Key};
use crate::readiness::Place;

/// How long reads that nobody waits for any more may go on once the server has ended.
const READS_GRACE: Duration = Duration::from_secs(1);

const AFTER_HELP: &str = "\
Examples:
  annals serve
  annals serve --listen 127.0.0.1:9000 --allowed-origin https://wallet.example
  curl localhost:8787/v1/health
  token=localhost:8787/v1/tokens/CAS3J7GYLGXMF6TDJBBYYSE3HQ6BBSMLNUQ34T6TZMYMW2EVH34XOWMA
  curl \"$token/events?from_ledger=63092982&to_ledger=63092991&limit=10\"
  curl \"$token/accounts/GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ/checkpoint?at_ledger=63092991\"

Reads beside a backfill in another process. The first line on stdout names the address; the API is described at
/v1/openapi.json, /healthz tells whether the archive can be read, and /readyz whether it can be relied on now. SIGTERM or SIGINT ends it with 0, once the
requests that run are answered.";

#[derive(Debug, clap::Args)]
#[command(after_help = format!("{AFTER_HELP}\n\n{EXIT_CODES}"))]
pub(super) struct Arguments {
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
        flags.give(Key::Listen, self.listen.clone());
        flags.give(Key::Port, self.port.clone());
        flags.give(Key::AllowedOrigin, self.allowed_origin.iter().cloned());
        flags
    }
}

#[derive(Debug, Serialize)]
struct Listening {
    listening: String,
}

pub(super) fn run(context: &Context) -> Result<Outcome, CliError> {
    let settings = &context.settings;
    let (address, origins) = (settings.listen()?, settings.allowed_origins()?);
    let store = Arc::new(context.open_reader()?);
    let place = Place::of(&store);
    let server = Server::new(store, Arc::clone(&context.clock), origins, Limits::default())?.in_place(place);
    let runtime = Runtime::new().map_err(|source| CliError::Listen { address, source })?;
    let ended = runtime.block_on(serve(server, address, context));
    runtime.shutdown_timeout(READS_GRACE);
    ended.map(|()| Outcome::Done)
}

async fn serve(server: Server, address: SocketAddr, context: &Context) -> Result<(), CliError> {
    let failed = |source| CliError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    // Asked for before the address is told, so that whoever reads it can stop the server at once.
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let stop = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping");
    };
    if context.output.is_json() {
        context.output.object(&Listening { listening: bound.to_string() })?;
    } else {
        context.output.line(format_args!("listening on http://{bound}"))?;
    }
    server.run(listener, stop).await;
    Ok(())
}
