//! Who may know what: the pure core, the clock, the sources.

use syn::visit::{self, Visit};

use super::source_file::{SourceFile, Token};
use super::words::reads;
use super::{Finding, Rule};

/// annals-core's manifest.
pub const CORE_MANIFEST: &str = "crates/annals-core/Cargo.toml";

const CORE: &str = "crates/annals-core/src/";
const IMPURE_STD: [&str; 7] = ["fs", "net", "time", "env", "process", "thread", "os"];
const IMPURE_CRATES: [&str; 7] = ["tokio", "reqwest", "rusqlite", "refinery", "rand", "tempfile", "annals"];
const CLOCKS: [&str; 2] = ["SystemTime", "Instant"];
const CLOCK_CALLS: [[&str; 4]; 3] =
    [["thread", ":", ":", "sleep"], ["Timestamp", ":", ":", "now"], ["Zoned", ":", ":", "now"]];

/// The rooms of crates/annals by layer, as in ARCHITECTURE.md; what is not named is no room.
const ROOMS: [(&str, u8); 18] = [
    ("clock", 1),
    ("disk", 1),
    ("source", 1),
    ("store", 1),
    ("anchor", 2),
    ("backfill", 2),
    ("reattribute", 2),
    ("follow", 2),
    ("export", 2),
    ("verify", 2),
    ("prove", 2),
    ("compare", 2),
    ("marks", 2),
    ("readiness", 2),
    ("config", 2),
    ("api", 3),
    ("cli", 4),
    ("main", 4),
];

/// Checks who knows what.
pub fn check(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    if file.path.starts_with(CORE) {
        findings.extend(check_core(file));
    }
    if !file.path.ends_with("/clock.rs") {
        findings.extend(check_clock(file));
    }
    findings.extend(check_layers(file));
    if !file.is_in_room("source") {
        let runs = file.production_runs(2);
        let hits = runs.filter(|run| reads(run, &["LedgerSource", "for"]));
        findings.extend(hits.map(|run| finding(file, Rule::SourceRoom, run, "an implementation of LedgerSource")));
    }
    findings
}

/// Checks that annals-core's dependencies are pure.
pub fn check_core_manifest(manifest: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut in_dependencies = false;
    for (number, line) in manifest.lines().enumerate() {
        if let Some(section) = line.strip_prefix('[') {
            in_dependencies = section.starts_with("dependencies");
        }
        let name = line.split(['.', '=', ' ']).next().unwrap_or(line);
        if in_dependencies && IMPURE_CRATES.contains(&name) {
            let path = CORE_MANIFEST.to_owned();
            findings.push(Finding { rule: Rule::PureCore, path, line: number + 1, what: name.to_owned() });
        }
    }
    findings
}

fn finding(file: &SourceFile, rule: Rule, run: &[Token], what: &str) -> Finding {
    Finding { rule, path: file.path.clone(), line: run[0].line, what: what.to_owned() }
}

fn check_core(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for run in file.production_runs(4) {
        if reads(run, &["std", ":", ":"]) && IMPURE_STD.contains(&run[3].text.as_str()) {
            findings.push(finding(file, Rule::PureCore, run, &format!("std::{}", run[3].text)));
        }
    }
    let mut uses = GroupedUses { file, findings: Vec::new() };
    uses.visit_file(&file.syntax);
    findings.extend(uses.findings);
    for run in file.production_runs(3) {
        if reads(&run[1..], &[":", ":"]) && IMPURE_CRATES.contains(&run[0].text.as_str()) {
            findings.push(finding(file, Rule::PureCore, run, &run[0].text));
        }
    }
    findings
}

fn check_clock(file: &SourceFile) -> Vec<Finding> {
    let names = file.production_runs(1).filter(|run| CLOCKS.contains(&run[0].text.as_str()) && !run[0].is_string);
    let calls = file.production_runs(4).filter(|run| CLOCK_CALLS.iter().any(|call| reads(run, call)));
    names.chain(calls).map(|run| finding(file, Rule::ClockRoom, run, &run[0].text)).collect()
}

fn layer(room: &str) -> Option<u8> {
    ROOMS.iter().find(|(name, _)| *name == room).map(|(_, layer)| *layer)
}

/// Checks that a file of crates/annals names no room below its own in the table of layers.
fn check_layers(file: &SourceFile) -> Vec<Finding> {
    let below = file.path.strip_prefix("crates/annals/src/").and_then(|path| path.split(['/', '.']).next());
    let Some(own) = below.and_then(layer) else { return Vec::new() };
    let mut findings = Vec::new();
    for (at, run) in file.tokens.windows(4).enumerate() {
        if !reads(run, &["crate", ":", ":"]) || file.is_test_line(run[0].line) {
            continue;
        }
        for room in named_rooms(&file.tokens[at + 3..]) {
            if layer(room).is_some_and(|other| other > own) {
                findings.push(finding(file, Rule::Layers, run, &format!("crate::{room}")));
            }
        }
    }
    findings
}

/// The rooms that follow `crate::`: one, or those of a group.
fn named_rooms(tokens: &[Token]) -> Vec<&str> {
    let [first, rest @ ..] = tokens else { return Vec::new() };
    if first.text != "{" {
        return vec![first.text.as_str()];
    }
    let mut rooms = Vec::new();
    let mut depth = 1_usize;
    let mut begins = true;
    for token in rest {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            "," if depth == 1 => begins = true,
            name if begins && depth == 1 => {
                rooms.push(name);
                begins = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    rooms
}

/// Finds `use std::{fs, …}`, where the two words do not stand side by side.
struct GroupedUses<'a> {
    file: &'a SourceFile,
    findings: Vec<Finding>,
}

impl<'ast> Visit<'ast> for GroupedUses<'_> {
    fn visit_use_path(&mut self, path: &'ast syn::UsePath) {
        if path.ident == "std"
            && let syn::UseTree::Group(group) = &*path.tree
        {
            for tree in &group.items {
                let first = match tree {
                    syn::UseTree::Path(path) => &path.ident,
                    syn::UseTree::Name(name) => &name.ident,
                    syn::UseTree::Rename(rename) => &rename.ident,
                    syn::UseTree::Glob(_) | syn::UseTree::Group(_) => continue,
                };
                let line = first.span().start().line;
                if IMPURE_STD.iter().any(|module| first == module) && !self.file.is_test_line(line) {
                    let what = format!("std::{first}");
                    self.findings.push(Finding { rule: Rule::PureCore, path: self.file.path.clone(), line, what });
                }
            }
        }
        visit::visit_use_path(self, path);
    }
}
