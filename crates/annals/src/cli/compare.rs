//! `annals compare`.

use std::sync::Arc;
use std::time::Duration;

use annals_core::{Address as AccountId, ContractId, LedgerRange, LedgerSeq};
use serde::Serialize;

use super::error::CliError;
use super::outcome::Outcome;
use super::output::{Output, grouped};
use super::{Context, Json};
use crate::compare::{
    self, Asked, Both, Comparison, Deadline, Difference, Fork, HttpArchive, Incomplete, Kind, Ledgers, ProofState,
    Reason, Side, Standing, Verdict,
};
use crate::config::{Ends, parse_ends, parse_seq};
use crate::source::{Address, AddressError};

const AFTER_HELP: &str = "\
Examples:
  annals compare http://127.0.0.1:8787 https://annals.example --contract CAS3…
  annals compare http://127.0.0.1:8787 https://annals.example --contract CAS3… --from 63M:63.1M
  annals compare http://127.0.0.1:8787 https://annals.example --contract CAS3… --account GDZ5… --json

Finds the first ledger in which two archives differ, in a few requests to each however long their histories are, and
says what differs, why, and which of them can prove its version. Without --from and --to those ledgers are compared
that both say they are gap-free over. Neither archive is believed: digests must follow from their parts and from the
events, and only what an archive's own proof proves is called proved. That digests are equal means that both archives
say the same. An archive may take in ledgers meanwhile: a difference is told only where both say the same of its
ledger again at the end.

With --json the line on stdout is {contract_id, account, from_ledger, to_ledger, verdict, events, digest, ledger,
position, difference, reason, a, b}: verdict is equal, undecided or different; reason is {code, message, archive}, its
code GAP, WITHHELD, OTHER_BYTES, OTHER_CHAIN, OTHER_NETWORK, OTHER_ATTRIBUTION, UNCOMMITTED_DIFFERS, NOT_PROVABLE,
BAD_DIGEST, INCONSISTENT or CANNOT_JUDGE; a and b are what each archive says of the ledger and can prove.

Of several reasons the first is told: that an archive contradicts its own proof, that they hold two chains, that one
proves its version, and only then that one says it is not complete (GAP).

Exit codes:
  0  both hold the same, and say that they are complete over all of it
  1  not decidable: one cannot be asked, or both say the same and one is not complete
  2  usage
  3  they differ, or one contradicts itself";

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Arguments {
    /// The first archive: the address of its server
    #[arg(value_name = "URL_A", value_parser = parse_address)]
    a: Address,
    /// The second archive
    #[arg(value_name = "URL_B", value_parser = parse_address)]
    b: Address,
    /// The contract
    #[arg(long, value_name = "C…")]
    contract: ContractId,
    /// Compare only the events of this account
    #[arg(long, value_name = "G…")]
    account: Option<AccountId>,
    /// The first ledger, or a whole range
    #[arg(long, value_name = "LEDGER", value_parser = parse_ends)]
    from: Option<Ends>,
    /// The last ledger
    #[arg(long, value_name = "LEDGER", value_parser = parse_seq)]
    to: Option<LedgerSeq>,
    /// How long the comparison may take in all
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..))]
    deadline: u32,
    #[command(flatten)]
    pub json: Json,
}

impl Arguments {
    fn asked(&self) -> Result<Asked, CliError> {
        let (from, to) = match (self.from, self.to) {
            (Some(Ends::Both(_)), Some(_)) => {
                return Err(CliError::Usage("a whole range in --from needs no --to: leave it out".to_owned()));
            }
            (Some(Ends::Both(range)), None) => (Some(range.from_inclusive()), Some(range.to_inclusive())),
            (Some(Ends::One(from)), to) => (Some(from), to),
            (None, to) => (None, to),
        };
        match (from, to) {
            (Some(from), Some(to)) if from > to => {
                Err(CliError::Usage("--from lies above --to: name the lower ledger first".to_owned()))
            }
            _ => Ok(Asked { contract: self.contract, account: self.account, from, to }),
        }
    }

    fn archive(&self, address: &Address, deadline: &Deadline) -> HttpArchive {
        HttpArchive::new(address.clone(), self.contract, self.account, deadline.clone())
    }
}

fn parse_address(text: &str) -> Result<Address, AddressError> {
    Address::parse(text)
}

pub(super) fn run(arguments: &Arguments, context: &Context) -> Result<Outcome, CliError> {
    let asked = arguments.asked()?;
    let deadline = Deadline::after(Duration::from_secs(arguments.deadline.into()), Arc::clone(&context.clock));
    let (a, b) = (arguments.archive(&arguments.a, &deadline), arguments.archive(&arguments.b, &deadline));
    let comparison = compare::run(&asked, &a, &b)?;
    let judged = Judged::of(&comparison.verdict);
    if context.output.is_json() {
        context.output.object(&Report::of(arguments, &comparison, judged))?;
    } else {
        tell(arguments, &comparison, &context.output)?;
    }
    Ok(match judged {
        Judged::Equal => Outcome::Done,
        Judged::Undecided => Outcome::Incomplete,
        Judged::Different => Outcome::Contradicted,
    })
}

/// What it comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Judged {
    Equal,
    Undecided,
    Different,
}

impl Judged {
    fn of(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Equal { incomplete: Both { a: None, b: None }, .. } => Self::Equal,
            Verdict::Equal { .. } => Self::Undecided,
            Verdict::OtherNetwork(_) | Verdict::Contradicts { .. } | Verdict::Differ(_) => Self::Different,
        }
    }
}

/// Why they differ, for people and programs.
#[derive(Debug, Serialize)]
struct Why {
    code: &'static str,
    message: String,
    archive: Option<&'static str>,
}

impl Why {
    fn of(verdict: &Verdict) -> Option<Self> {
        let (code, message, side) = match verdict {
            Verdict::Equal { .. } => return None,
            Verdict::OtherNetwork(Both { a, b }) => {
                ("OTHER_NETWORK", format!("A is of the network {a:?}, and B of {b:?}"), None)
            }
            Verdict::Contradicts { side, lie } => {
                (lie.code(), format!("{} contradicts itself: {lie}", side.name()), Some(*side))
            }
            Verdict::Differ(difference) => {
                let reason = &difference.reason;
                (reason.code(), reason.to_string(), reason.side())
            }
        };
        Some(Self { code, message, archive: side.map(Side::name) })
    }
}

#[derive(Debug, Serialize)]
struct Report {
    contract_id: String,
    account: Option<String>,
    from_ledger: Option<u32>,
    to_ledger: Option<u32>,
    verdict: Judged,
    events: Option<u64>,
    digest: Option<String>,
    ledger: Option<u32>,
    position: Option<String>,
    difference: Option<&'static str>,
    reason: Option<Why>,
    a: ArchiveReport,
    b: ArchiveReport,
}

#[derive(Debug, Serialize)]
struct ArchiveReport {
    url: String,
    complete: Option<bool>,
    incomplete_reason: Option<String>,
    missing: Option<ReportedLedgers>,
    events: Option<u64>,
    digest: Option<String>,
    ledger_hash: Option<String>,
    anchor: Option<String>,
    proof: Option<ProofReport>,
}

#[derive(Debug, Serialize)]
struct ReportedLedgers {
    from: u32,
    to: u32,
}

#[derive(Debug, Serialize)]
struct ProofReport {
    state: &'static str,
    code: Option<String>,
    anchor: Option<AnchorReport>,
}

#[derive(Debug, Serialize)]
struct AnchorReport {
    ledger: u32,
    hash: String,
}

impl Report {
    fn of(arguments: &Arguments, comparison: &Comparison, verdict: Judged) -> Self {
        let difference = match &comparison.verdict {
            Verdict::Differ(difference) => Some(difference.as_ref()),
            _ => None,
        };
        let equal = match &comparison.verdict {
            Verdict::Equal { events, digest, .. } => Some((*events, digest.to_string())),
            _ => None,
        };
        let (events, digest) = equal.unzip();
        let archive = |side, address: &Address| ArchiveReport::of(side, address, &comparison.verdict);
        Self {
            contract_id: arguments.contract.to_string(),
            account: arguments.account.map(|account| account.to_string()),
            from_ledger: comparison.window.map(|window| window.from_inclusive().get()),
            to_ledger: comparison.window.map(|window| window.to_inclusive().get()),
            verdict,
            events,
            digest,
            ledger: difference.map(|difference| difference.ledger.get()),
            position: difference.map(|difference| difference.position.to_string()),
            difference: difference.map(|difference| difference.kind.as_str()),
            reason: Why::of(&comparison.verdict),
            a: archive(Side::A, &arguments.a),
            b: archive(Side::B, &arguments.b),
        }
    }
}

impl ArchiveReport {
    fn of(side: Side, address: &Address, verdict: &Verdict) -> Self {
        let standing = match verdict {
            Verdict::Differ(difference) => Some(difference.standings.of(side)),
            _ => None,
        };
        let incomplete = match verdict {
            Verdict::Equal { incomplete, .. } => Some(incomplete.of(side)),
            _ => standing.map(|standing| &standing.incomplete),
        };
        let lacks = incomplete.and_then(Option::as_ref);
        let range =
            |range: LedgerRange| ReportedLedgers { from: range.from_inclusive().get(), to: range.to_inclusive().get() };
        Self {
            url: address.to_string(),
            complete: incomplete.map(Option::is_none),
            incomplete_reason: lacks.map(|lacks| lacks.reason.clone()),
            missing: lacks.and_then(|lacks| lacks.missing).map(range),
            events: standing.map(|standing| standing.events),
            digest: standing.map(|standing| standing.digest.to_string()),
            ledger_hash: standing.and_then(|standing| standing.hash).map(|hash| hash.to_string()),
            anchor: standing.map(|standing| standing.anchor.clone()),
            proof: standing.map(|standing| ProofReport::of(&standing.proof)),
        }
    }
}

impl ProofReport {
    fn of(proof: &ProofState) -> Self {
        let (code, anchor) = match proof {
            ProofState::Proved { ledger, hash } => {
                (None, Some(AnchorReport { ledger: ledger.get(), hash: hash.to_string() }))
            }
            ProofState::Absent(code) => (Some(code.clone()), None),
            ProofState::Refuted(code) => (Some((*code).to_owned()), None),
        };
        Self { state: proof.as_str(), code, anchor }
    }
}

fn tell(arguments: &Arguments, comparison: &Comparison, output: &Output) -> Result<(), CliError> {
    let subject = match &arguments.account {
        Some(account) => format!("{account} in {}", arguments.contract),
        None => arguments.contract.to_string(),
    };
    let window = comparison.window.map_or_else(String::new, |window| Ledgers(window).to_string());
    let why = Why::of(&comparison.verdict).map_or_else(String::new, |why| format!("{} [{}]", why.message, why.code));
    match &comparison.verdict {
        Verdict::Equal { events, digest, incomplete } => {
            let word = if incomplete.a.is_none() && incomplete.b.is_none() { "equal" } else { "not decidable" };
            let events = grouped(*events);
            output.line(format_args!("{word}: both say {events} events of {subject} in {window}, digest {digest}"))?;
            for (side, address) in sides(arguments) {
                if let Some(lacks) = incomplete.of(side) {
                    output.line(format_args!("  {} {address} is not complete: {}", side.name(), words(lacks)))?;
                }
            }
            Ok(())
        }
        Verdict::OtherNetwork(_) | Verdict::Contradicts { .. } => output.line(format_args!("different: {why}")),
        Verdict::Differ(difference) => {
            let Difference { ledger, position, kind, .. } = difference.as_ref();
            let what = match kind {
                Kind::OnlyIn(side) => format!("only {} has event {position}", side.name()),
                Kind::OtherBytes => format!("event {position} has other bytes in each"),
            };
            let first = format!("of {subject} in {window}, ledger {ledger} is the first that differs: {what}");
            output.line(format_args!("different: {first}"))?;
            output.line(format_args!("  {why}"))?;
            if let Reason::OtherChain(Fork { differs_from, hashes, .. }) = &difference.reason {
                output.line(format_args!("  ledger {differs_from} is {} in A, {} in B", hashes.a, hashes.b))?;
            }
            for (side, address) in sides(arguments) {
                let standing = standing_words(difference.standings.of(side));
                output.line(format_args!("  {} {address}: {standing}", side.name()))?;
            }
            Ok(())
        }
    }
}

fn sides(arguments: &Arguments) -> [(Side, &Address); 2] {
    [(Side::A, &arguments.a), (Side::B, &arguments.b)]
}

fn words(lacks: &Incomplete) -> String {
    match lacks.missing {
        Some(missing) => format!("{}, {} first", lacks.reason, Ledgers(missing)),
        None => lacks.reason.clone(),
    }
}

fn standing_words(standing: &Standing) -> String {
    let events = if standing.events == 1 { "event" } else { "events" };
    let mut line = format!("{} {events}", grouped(standing.events));
    if let Some(lacks) = &standing.incomplete {
        line.push_str(&format!(", not complete ({})", words(lacks)));
    }
    line.push_str(&match &standing.proof {
        ProofState::Proved { ledger, hash } => {
            format!(
                ", committed events proved relative to ledger {ledger} {hash} (headers hang on: {})",
                standing.anchor
            )
        }
        ProofState::Absent(code) => format!(", no proof ({code})"),
        ProofState::Refuted(code) => format!(", a proof that does not hold ({code})"),
    });
    line
}
