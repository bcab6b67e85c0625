//! `annals check`.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use annals_core::bundle::{Anchor, BUNDLE_BYTES_MAX, Proved, ProvedClaim, is_checkpoint};
use annals_core::{LedgerHash, LedgerSeq, ProofVerdict, check_proof};

use super::error::CliError;
use super::outcome::Outcome;
use super::output::Output;
use super::{Context, Json};

const AFTER_HELP: &str = "\
Examples:
  annals check proof.json
  annals check proof.json --anchor 63092991:5d0c…
  annals prove 0270982294110212096-0000000000 | annals check -
  annals check proof.json --json | jq -r '.events[].id'

Nothing but the file is read: no archive, no network. With --anchor, the hash of a ledger that you trust, the answer is
as good as that hash; without it the answer is relative to the bundle's own last header, whose hash is printed for you to
compare. With --json the line on stdout is the verdict as docs/proof-format.md describes it.

Exit codes:
  0  proved
  1  not decidable here, or failed
  2  usage
  3  refuted";

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Arguments {
    /// The bundle; - is stdin
    file: PathBuf,
    /// The hash of a ledger that you trust, at or above those of the bundle's claim
    #[arg(long, value_name = "LEDGER:HASH", value_parser = parse_anchor)]
    anchor: Option<(LedgerSeq, LedgerHash)>,
    #[command(flatten)]
    pub json: Json,
}

fn parse_anchor(text: &str) -> Result<(LedgerSeq, LedgerHash), &'static str> {
    let parts = text.split_once(':').and_then(|(ledger, hash)| Some((ledger.parse().ok()?, hash.parse().ok()?)));
    parts.ok_or("an anchor is a ledger's number, a colon and its hash in 64 hexadecimal digits")
}

pub(super) fn run(arguments: &Arguments, context: &Context) -> Result<Outcome, CliError> {
    let bundle = read(&arguments.file)?;
    // What writes lines ends a file with one.
    let verdict = check_proof(bundle.strip_suffix(b"\n").unwrap_or(&bundle), arguments.anchor);
    if context.output.is_json() {
        context.output.line(verdict.to_json())?;
    } else {
        tell(&verdict, &context.output)?;
    }
    Ok(match verdict {
        ProofVerdict::Proved(_) => Outcome::Done,
        ProofVerdict::Refuted(_) => Outcome::Contradicted,
        ProofVerdict::Undecided(_) => Outcome::Incomplete,
    })
}

/// Reads a file, or stdin, up to where no bundle reaches.
fn read(path: &Path) -> Result<Vec<u8>, CliError> {
    let bytes_max = BUNDLE_BYTES_MAX as u64 + 2;
    let mut bundle = Vec::new();
    let read = match path.as_os_str() == "-" {
        true => io::stdin().lock().take(bytes_max).read_to_end(&mut bundle),
        false => File::open(path).and_then(|file| file.take(bytes_max).read_to_end(&mut bundle)),
    };
    read.map_err(|source| CliError::Unreadable { path: path.to_path_buf(), source })?;
    Ok(bundle)
}

fn tell(verdict: &ProofVerdict, output: &Output) -> Result<(), CliError> {
    match verdict {
        ProofVerdict::Proved(proved) => output.line(format_args!("proved: {}", proved_words(proved))),
        ProofVerdict::Refuted(fault) => output.line(format_args!("refuted: {fault} [{}]", fault.code())),
        ProofVerdict::Undecided(reason) => output.line(format_args!("not decidable: {reason} [{}]", reason.code())),
    }
}

fn proved_words(proved: &Proved) -> String {
    let network = &proved.network_passphrase;
    let mut words = match proved.claim {
        ProvedClaim::Event => {
            let id = proved.events.first().map(|event| event.position.to_string()).unwrap_or_default();
            format!("event {id} of {network:?}")
        }
        ProvedClaim::AllOfContract { contract, range } => {
            let events = proved.events.len();
            format!("the {events} committed events of {contract} in ledgers {range} of {network:?}, and no other")
        }
    };
    if proved.events.iter().any(|event| event.rewritten_xdr.is_some()) {
        words.push_str(" (as emitted; the rewritten form beside it is the source's word)");
    }
    if proved.events.iter().any(|event| event.index_is_the_sources) {
        words.push_str(" (of protocol 23: the index is the source's word)");
    }
    let Anchor { ledger, hash, given } = proved.anchor;
    let kind = if is_checkpoint(ledger) { "checkpoint" } else { "ledger" };
    words.push_str(&match given {
        true => format!(", by the anchor given, {kind} {ledger}"),
        false => format!(", relative to {kind} {ledger} {hash}: compare this hash with one you trust"),
    });
    words
}
