//! Where SQL stands and how a statement begins.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};

use super::source_file::{SourceFile, Token};
use super::{Finding, Rule};

const VERBS: [&str; 10] =
    ["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "WITH", "ALTER", "DROP", "REPLACE", "PRAGMA"];
/// Statements about the connection, which no statement log needs to tell apart.
const COMMENTLESS: &str = "PRAGMA";

/// The names of the functions in `store/`.
pub fn store_functions(files: &[SourceFile]) -> BTreeSet<String> {
    let mut functions = Functions::default();
    for file in files.iter().filter(|file| file.is_in_room("store")) {
        functions.visit_file(&file.syntax);
    }
    functions.names
}

/// Checks the SQL of a file.
pub fn check(file: &SourceFile, functions: &BTreeSet<String>) -> Vec<Finding> {
    if file.path.starts_with("xtask/") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (number, token) in file.tokens.iter().enumerate() {
        if !token.is_string || file.is_test_line(token.line) || is_doc(&file.tokens, number) {
            continue;
        }
        let (comment, statement) = split_comment(&token.text);
        let Some(verb) = VERBS.into_iter().find(|verb| begins_with(statement, verb)) else { continue };
        let finding = |rule, what| Finding { rule, path: file.path.clone(), line: token.line, what };
        if !file.is_in_room("store") {
            findings.push(finding(Rule::SqlRoom, format!("\"{verb} …\"")));
        } else if verb != COMMENTLESS && !comment.is_some_and(|name| functions.contains(last_part(name))) {
            findings.push(finding(Rule::SqlComment, format!("\"{verb} …\" without /* its function */")));
        }
    }
    findings
}

/// Whether the token is the text of a doc comment.
fn is_doc(tokens: &[Token], number: usize) -> bool {
    number >= 2 && tokens[number - 1].text == "=" && tokens[number - 2].text == "doc"
}

/// The leading comment of a statement, and the rest.
fn split_comment(text: &str) -> (Option<&str>, &str) {
    let text = text.trim_start();
    match text.strip_prefix("/*").and_then(|rest| rest.split_once("*/")) {
        Some((comment, statement)) => (Some(comment.trim()), statement.trim_start()),
        None => (None, text),
    }
}

/// `version` of `schema::version`.
fn last_part(name: &str) -> &str {
    name.rsplit_once("::").map_or(name, |(_, last)| last)
}

fn begins_with(statement: &str, verb: &str) -> bool {
    statement.strip_prefix(verb).is_some_and(|rest| rest.starts_with(char::is_whitespace))
}

#[derive(Default)]
struct Functions {
    names: BTreeSet<String>,
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.names.insert(signature.ident.to_string());
        visit::visit_signature(self, signature);
    }
}
