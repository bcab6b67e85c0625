//! Words that no file holds.

use super::source_file::{SourceFile, Token};
use super::{Finding, Rule};

/// A run of tokens that no file holds, and whether tests may.
const BANNED: [(Rule, &[&str], bool); 6] = [
    (Rule::Unwrap, &[".", "unwrap", "(", ")"], true),
    (Rule::Ignore, &["#", "[", "ignore", "]"], false),
    (Rule::ShouldPanic, &["[", "should_panic"], false),
    (Rule::Unfinished, &["todo", "!"], false),
    (Rule::Unfinished, &["unimplemented", "!"], false),
    (Rule::Anyhow, &["anyhow"], true),
];

/// Checks for words.
pub fn check(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (rule, words, tests_may) in BANNED {
        if rule == Rule::Anyhow && (file.path.ends_with("/main.rs") || file.path.starts_with("xtask/")) {
            continue;
        }
        let runs = file.tokens.windows(words.len());
        let hits = runs.filter(|run| reads(run, words) && !(tests_may && file.is_test_line(run[0].line)));
        findings.extend(hits.map(|run| Finding {
            rule,
            path: file.path.clone(),
            line: run[0].line,
            what: words.concat(),
        }));
    }
    findings
}

/// Whether the run reads as these words.
pub fn reads(run: &[Token], words: &[&str]) -> bool {
    run.iter().zip(words).all(|(token, word)| !token.is_string && token.text == *word)
}
