//! The tree's files and the rules about their names.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context as _;

use super::{Finding, Rule};

/// The folders that hold code.
const ROOMS: [&str; 2] = ["crates", "xtask"];

/// Paths below the workspace, with `/` between their parts.
pub struct Tree {
    paths: Vec<String>,
}

impl Tree {
    /// Lists every file of the rooms that hold code.
    pub fn walk(root: &Path) -> anyhow::Result<Self> {
        let mut paths = Vec::new();
        for room in ROOMS {
            list(root, room, &mut paths)?;
        }
        paths.sort();
        Ok(Self { paths })
    }

    #[cfg(test)]
    pub fn of(paths: &[&str]) -> Self {
        Self { paths: paths.iter().map(|path| (*path).to_owned()).collect() }
    }

    /// The Rust files.
    pub fn rust_files(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(String::as_str).filter(|path| path.ends_with(".rs"))
    }

    /// Checks what files and folders are called.
    pub fn check_names(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for path in self.rust_files() {
            let finding = |rule, what: &str| Finding { rule, path: path.to_owned(), line: 1, what: what.to_owned() };
            if path.ends_with("/mod.rs") {
                findings.push(finding(Rule::ModRs, "mod.rs"));
            }
            let parts = path.trim_end_matches(".rs").split('/');
            findings.extend(parts.filter(|part| is_vague(part)).map(|part| finding(Rule::VagueName, part)));
        }
        findings.extend(self.check_migrations());
        findings
    }

    fn check_migrations(&self) -> Vec<Finding> {
        let mut folders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for path in &self.paths {
            let Some((folder, name)) = path.rsplit_once('/') else { continue };
            if folder.split('/').any(|part| part == "migrations") {
                folders.entry(folder).or_default().push(name);
            }
        }
        let mut findings = Vec::new();
        for (folder, mut names) in folders {
            names.sort_unstable();
            for (expected, name) in (1_usize..).zip(names) {
                let what = match migration_number(name) {
                    None => format!("{name} is no VNNNN__verb_noun.sql"),
                    Some(number) if number != expected => format!("{name} stands where {expected:04} is due"),
                    Some(_) => continue,
                };
                findings.push(Finding { rule: Rule::Migrations, path: format!("{folder}/{name}"), line: 1, what });
            }
        }
        findings
    }
}

/// Whether a name says nothing about what it names.
pub fn is_vague(name: &str) -> bool {
    ["util", "utils", "common", "helper", "helpers", "manager", "managers"].contains(&name)
}

/// The number of a well-named migration.
fn migration_number(name: &str) -> Option<usize> {
    let (number, words) = name.strip_prefix('V')?.strip_suffix(".sql")?.split_once("__")?;
    let digits = number.len() == 4 && number.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = words.split('_');
    let worded = words.contains('_')
        && parts.all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()));
    (digits && worded).then(|| number.parse().ok()).flatten()
}

fn list(root: &Path, folder: &str, paths: &mut Vec<String>) -> anyhow::Result<()> {
    let entries = fs::read_dir(root.join(folder)).with_context(|| format!("{folder} could not be listed"))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{folder}/{name}");
        if entry.file_type()?.is_dir() {
            if name != "target" && !name.starts_with('.') {
                list(root, &path, paths)?;
            }
        } else {
            paths.push(path);
        }
    }
    Ok(())
}
