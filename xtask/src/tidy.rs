//! STYLE's limits as a test: what the compiler and clippy do not see.

mod code;
mod layers;
mod size;
mod source_file;
mod sql;
mod tree;
mod words;

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::Context as _;

use source_file::SourceFile;
use tree::Tree;

/// The rules, numbered as in ARCHITECTURE.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The production part of a file ends at 500 lines; files under `generated/` excepted.
    FileLength,
    /// A function ends at 70 lines.
    FunctionLength,
    /// An inline test module ends at 150 lines.
    TestModuleLength,
    /// No file or module is named utils, common, helpers or manager.
    VagueName,
    /// `foo.rs` stands beside `foo/`; there is no mod.rs.
    ModRs,
    /// No `unwrap()` outside tests.
    Unwrap,
    /// No `Result<_, String>`.
    StringError,
    /// No `#[ignore]` without a reason.
    Ignore,
    /// No `#[should_panic]`.
    ShouldPanic,
    /// No `todo!` and no `unimplemented!`.
    Unfinished,
    /// Migrations are dense `VNNNN__verb_noun.sql`.
    Migrations,
    /// Only `store/` knows SQL.
    SqlRoom,
    /// A SQL statement begins with a comment that names a function of the store.
    SqlComment,
    /// annals-core does no I/O and knows no clock.
    PureCore,
    /// Only clock.rs knows the time.
    ClockRoom,
    /// Only `source/` knows where ledgers come from.
    SourceRoom,
    /// `anyhow` stays in main.rs, xtask and tests.
    Anyhow,
    /// A room uses its own layer and those above it in the table of layers.
    Layers,
}

/// Every rule, with its number and its sentence.
pub const RULES: [(Rule, &str, &str); 18] = [
    (Rule::FileLength, "TIDY-1", "the production part of a file ends at 500 lines"),
    (Rule::FunctionLength, "TIDY-2", "a function ends at 70 lines"),
    (Rule::TestModuleLength, "TIDY-3", "an inline test module ends at 150 lines: move it to foo/tests.rs"),
    (Rule::VagueName, "TIDY-4", "nothing is named utils, common, helpers or manager"),
    (Rule::ModRs, "TIDY-5", "foo.rs stands beside foo/: no mod.rs"),
    (Rule::Unwrap, "TIDY-6", "no unwrap() outside tests: expect(\"why it holds\")"),
    (Rule::StringError, "TIDY-7", "errors are typed: no Result<_, String>"),
    (Rule::Ignore, "TIDY-8", "an ignored test says why"),
    (Rule::ShouldPanic, "TIDY-9", "no #[should_panic]"),
    (Rule::Unfinished, "TIDY-10", "no todo! and no unimplemented!"),
    (Rule::Migrations, "TIDY-11", "migrations are dense VNNNN__verb_noun.sql"),
    (Rule::SqlRoom, "TIDY-12", "only store/ knows SQL"),
    (Rule::SqlComment, "TIDY-13", "a SQL statement begins with a comment that names its function"),
    (Rule::PureCore, "TIDY-14", "annals-core does no I/O and knows no clock"),
    (Rule::ClockRoom, "TIDY-15", "only clock.rs knows the time"),
    (Rule::SourceRoom, "TIDY-16", "only source/ knows where ledgers come from"),
    (Rule::Anyhow, "TIDY-17", "anyhow stays in main.rs, xtask and tests"),
    (Rule::Layers, "TIDY-18", "a room uses its own layer and those above it in the table of layers"),
];

/// One place that breaks a rule.
#[derive(Debug)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// The file, below the workspace.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// What stands there.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = RULES.iter().find(|(rule, ..)| *rule == self.rule);
        let (_, number, sentence) = known.expect("the table holds every rule");
        write!(f, "{}:{}: {}: {number}: {sentence}", self.path, self.line, self.what)
    }
}

/// Checks the whole workspace below `root`.
pub fn check(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let tree = Tree::walk(root)?;
    let mut findings = tree.check_names();
    let mut files = Vec::new();
    for path in tree.rust_files() {
        let text = fs::read_to_string(root.join(path)).with_context(|| format!("{path} could not be read"))?;
        files.push(SourceFile::parse(path, &text).with_context(|| format!("{path} is no Rust"))?);
    }
    findings.extend(check_files(&mut files));
    let manifest = fs::read_to_string(root.join(layers::CORE_MANIFEST)).context("annals-core has no manifest")?;
    findings.extend(layers::check_core_manifest(&manifest));
    Ok(findings)
}

fn check_files(files: &mut [SourceFile]) -> Vec<Finding> {
    SourceFile::mark_test_modules(files);
    let files = &*files;
    let functions = sql::store_functions(files);
    let mut findings = Vec::new();
    for file in files {
        findings.extend(size::check(file));
        findings.extend(words::check(file));
        findings.extend(code::check(file));
        findings.extend(sql::check(file, &functions));
        findings.extend(layers::check(file));
    }
    findings
}

#[cfg(test)]
mod tests;
