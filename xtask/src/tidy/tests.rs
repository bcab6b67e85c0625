use super::*;

const ANY: &str = "crates/annals/src/any.rs";
const STORE: &str = "crates/annals/src/store/sqlite.rs";
const CORE: &str = "crates/annals-core/src/any.rs";

/// The rules that a file of this text breaks, each finding once.
fn broken(path: &str, text: &str) -> Vec<Rule> {
    let file = SourceFile::parse(path, text).unwrap();
    check_files(&mut [file]).into_iter().map(|finding| finding.rule).collect()
}

fn broken_names(paths: &[&str]) -> Vec<Rule> {
    Tree::of(paths).check_names().into_iter().map(|finding| finding.rule).collect()
}

#[test]
fn the_house_is_tidy() {
    let findings = check(&crate::root()).unwrap();
    let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
    assert!(lines.is_empty(), "{} findings\n{}", lines.len(), lines.join("\n"));
}

#[test]
fn every_rule_has_a_number_of_its_own() {
    for (number, (_, name, _)) in RULES.iter().enumerate() {
        assert_eq!(*name, format!("TIDY-{}", number + 1));
    }
    let architecture = fs::read_to_string(crate::root().join("ARCHITECTURE.md")).unwrap();
    for (_, name, sentence) in RULES {
        assert!(architecture.contains(&format!("| {name} |")), "ARCHITECTURE.md lacks {name}: {sentence}");
    }
}

#[test]
fn a_file_of_501_production_lines_is_too_long_and_tests_do_not_count() {
    let long = "const A: u8 = 0;\n".repeat(501);
    assert_eq!(broken(ANY, &long), [Rule::FileLength]);
    assert_eq!(broken("crates/annals/src/generated/any.rs", &long), []);
    assert_eq!(broken("crates/annals/tests/it/any.rs", &long), []);
    let full = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", "const A: u8 = 0;\n".repeat(500), "// b\n".repeat(9));
    assert_eq!(broken(ANY, &full), []);
    let buried = format!("#[cfg(test)]\nmod tests {{}}\n{}", "const A: u8 = 0;\n".repeat(500));
    assert_eq!(broken(ANY, &buried), [Rule::FileLength], "only a trailing test module is left out");
}

#[test]
fn a_function_of_71_lines_is_too_long_wherever_it_stands() {
    let function = |lines: usize| format!("fn long() {{\n{}}}\n", "    // a\n".repeat(lines - 2));
    assert_eq!(broken(ANY, &function(70)), []);
    assert_eq!(broken(ANY, &function(71)), [Rule::FunctionLength]);
    assert_eq!(broken(ANY, &format!("impl A {{\n{}}}\n", function(71))), [Rule::FunctionLength]);
    assert_eq!(broken(ANY, &format!("trait A {{\n{}}}\n", function(71))), [Rule::FunctionLength]);
    assert_eq!(broken("crates/annals/tests/it/any.rs", &function(71)), [Rule::FunctionLength]);
}

#[test]
fn an_inline_test_module_of_151_lines_is_too_long() {
    let module = |lines: usize| format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "// a\n".repeat(lines - 3));
    assert_eq!(broken(ANY, &module(150)), []);
    assert_eq!(broken(ANY, &module(151)), [Rule::TestModuleLength]);
}

#[test]
fn vague_names_and_mod_rs_are_found() {
    assert_eq!(broken_names(&["crates/annals/src/utils.rs"]), [Rule::VagueName]);
    assert_eq!(broken_names(&["crates/annals/tests/it/common/server.rs"]), [Rule::VagueName]);
    assert_eq!(broken_names(&["crates/annals/src/store/mod.rs"]), [Rule::ModRs]);
    assert_eq!(broken_names(&["crates/annals/src/store.rs", "crates/annals/src/store/commit.rs"]), []);
    assert_eq!(broken(ANY, "mod helpers { }"), [Rule::VagueName]);
    assert_eq!(broken(ANY, "mod manager;"), [Rule::VagueName]);
}

#[test]
fn unwrap_is_found_outside_tests_alone() {
    assert_eq!(broken(ANY, "fn a() { b().unwrap(); }"), [Rule::Unwrap]);
    assert_eq!(broken(ANY, "fn a() { format!(\"{}\", b().unwrap()); }"), [Rule::Unwrap]);
    assert_eq!(broken(ANY, "fn a() { b().unwrap_or(0); c(\".unwrap()\"); } // d.unwrap()"), []);
    assert_eq!(broken(ANY, "#[test]\nfn a() { b().unwrap(); }"), []);
    assert_eq!(broken(ANY, "#[cfg(test)]\nmod tests {\n fn a() { b().unwrap(); } }"), []);
    assert_eq!(broken(ANY, "#[cfg(test)]\nmod tests { }\nfn a() { b().unwrap(); }"), [Rule::Unwrap]);
}

#[test]
fn a_module_that_only_tests_see_is_test_code_in_its_own_file_too() {
    let paths = |declared_by: &str, declaration: &str| {
        let code = "fn a() { b().unwrap(); }";
        let mut files = [
            SourceFile::parse(declared_by, declaration).unwrap(),
            SourceFile::parse("crates/annals/src/source/fixtures.rs", code).unwrap(),
            SourceFile::parse("crates/annals/src/source/fixtures/lake.rs", code).unwrap(),
        ];
        check_files(&mut files).len()
    };
    assert_eq!(paths("crates/annals/src/source.rs", "#[cfg(test)]\nmod fixtures;"), 0);
    assert_eq!(paths("crates/annals/src/source.rs", "mod fixtures;"), 2);
    assert_eq!(paths("crates/annals/src/store.rs", "#[cfg(test)]\nmod fixtures;"), 2);
}

#[test]
fn string_errors_are_found() {
    assert_eq!(broken(ANY, "fn a() -> Result<u8, String> { Ok(0) }"), [Rule::StringError]);
    assert_eq!(broken(ANY, "type A = std::result::Result<Vec<u8>, std::string::String>;"), [Rule::StringError]);
    assert_eq!(broken(ANY, "fn a() -> Result<String, Error> { b() }"), []);
}

#[test]
fn test_attributes_that_hide_failures_are_found() {
    assert_eq!(broken(ANY, "#[test]\n#[ignore]\nfn a() {}"), [Rule::Ignore]);
    assert_eq!(broken(ANY, "#[test]\n#[ignore = \"needs a network\"]\nfn a() {}"), []);
    assert_eq!(broken(ANY, "#[test]\n#[should_panic]\nfn a() {}"), [Rule::ShouldPanic]);
    assert_eq!(broken(ANY, "#[test]\n#[should_panic(expected = \"b\")]\nfn a() {}"), [Rule::ShouldPanic]);
}

#[test]
fn unfinished_code_is_found() {
    assert_eq!(broken(ANY, "fn a() { todo!() }"), [Rule::Unfinished]);
    assert_eq!(broken(ANY, "#[test]\nfn a() { unimplemented!(\"b\") }"), [Rule::Unfinished]);
}

#[test]
fn migrations_are_dense_and_well_named() {
    let named = |names: &[&str]| {
        let paths: Vec<String> = names.iter().map(|name| format!("crates/annals/migrations/sqlite/{name}")).collect();
        broken_names(&paths.iter().map(String::as_str).collect::<Vec<_>>())
    };
    assert_eq!(named(&["V0001__create_archive.sql", "V0002__add_proofs.sql"]), []);
    assert_eq!(named(&["V0001__create_archive.sql", "V0003__add_proofs.sql"]), [Rule::Migrations]);
    assert_eq!(named(&["V0001__create_archive.sql", "V0001__add_proofs.sql"]), [Rule::Migrations]);
    for name in ["V1__create_archive.sql", "0001_create.sql", "V0001__create.sql", "V0001__Create_Archive.sql"] {
        assert_eq!(named(&[name]), [Rule::Migrations], "{name}");
    }
}

#[test]
fn sql_stands_in_the_store_alone_and_names_its_function() {
    assert_eq!(broken(ANY, "fn a() { b(\"SELECT 1\"); }"), [Rule::SqlRoom]);
    assert_eq!(broken(ANY, "fn a() { b(\"/* a */ DELETE FROM events\"); }"), [Rule::SqlRoom]);
    assert_eq!(broken(ANY, "/// SELECT is a word.\nfn a() { b(\"Created\", \"DELETED\"); }"), []);
    assert_eq!(broken(STORE, "fn a() { b(\"INSERT INTO events VALUES (1)\"); }"), [Rule::SqlComment]);
    assert_eq!(broken(STORE, "fn a() { b(\"/* c */ UPDATE leases SET fence = 1\"); }"), [Rule::SqlComment]);
    assert_eq!(broken(STORE, "fn a() { b(\"/* a */ UPDATE leases SET fence = 1\", \"PRAGMA x\"); }"), []);
    assert_eq!(broken(STORE, "fn a() { b(\"/* sqlite::a */ SELECT 1\"); }"), []);
    assert_eq!(broken(STORE, "fn a() { b(\"/* a::c */ SELECT 1\"); }"), [Rule::SqlComment]);
    assert_eq!(broken(STORE, "#[test]\nfn a() { b(\"SELECT 1\"); }"), []);
}

#[test]
fn the_core_is_pure() {
    assert_eq!(broken(CORE, "fn a() { std::fs::read(b); }"), [Rule::PureCore]);
    assert_eq!(broken(CORE, "use std::{fmt, net::TcpStream};"), [Rule::PureCore]);
    assert_eq!(broken(CORE, "use std::{fmt, time};"), [Rule::PureCore]);
    assert_eq!(broken(CORE, "use tokio::spawn;"), [Rule::PureCore]);
    assert_eq!(broken(CORE, "use std::{collections::BTreeMap, fmt};"), []);
    assert_eq!(broken(CORE, "#[cfg(test)]\nmod tests {\n use std::fs; }"), []);
    let manifest = |name: &str| format!("[dependencies]\nhex.workspace = true\n{name} = \"1\"\n");
    assert_eq!(check_manifest(&manifest("tokio")), [Rule::PureCore]);
    assert_eq!(check_manifest(&manifest("serde")), []);
    assert_eq!(check_manifest("[dev-dependencies]\ntempfile = \"3\"\n"), []);
}

fn check_manifest(manifest: &str) -> Vec<Rule> {
    layers::check_core_manifest(manifest).into_iter().map(|finding| finding.rule).collect()
}

#[test]
fn the_clock_and_the_sources_stay_in_their_rooms() {
    assert_eq!(broken(ANY, "fn a() { let b: SystemTime; }"), [Rule::ClockRoom]);
    assert_eq!(broken(ANY, "fn a() { std::thread::sleep(b); }"), [Rule::ClockRoom]);
    assert_eq!(broken(ANY, "fn a() { jiff::Timestamp::now(); }"), [Rule::ClockRoom]);
    assert_eq!(broken("crates/annals/src/clock.rs", "fn a() { let b: Instant; }"), []);
    assert_eq!(broken(ANY, "impl LedgerSource for A {}"), [Rule::SourceRoom]);
    assert_eq!(broken("crates/annals/src/source/lake.rs", "impl LedgerSource for A {}"), []);
}

#[test]
fn a_room_names_none_below_its_own_in_the_table_of_layers() {
    assert_eq!(broken(STORE, "use crate::backfill::Job;"), [Rule::Layers]);
    assert_eq!(broken(STORE, "use crate::{clock::Clock, cli::{run, verify}};"), [Rule::Layers]);
    assert_eq!(broken(STORE, "use crate::{clock::Clock, source::{cli, verify}};"), []);
    assert_eq!(broken("crates/annals/src/verify.rs", "fn a() { crate::cli::main(); }"), [Rule::Layers]);
    assert_eq!(broken("crates/annals/src/verify.rs", "use crate::backfill::Progress;\nuse crate::store::Store;"), []);
    assert_eq!(broken(STORE, "#[cfg(test)]\nmod tests { use crate::cli::main; }"), []);
}

#[test]
fn anyhow_stays_in_main_and_in_tests() {
    assert_eq!(broken(ANY, "fn a() -> anyhow::Result<()> { Ok(()) }"), [Rule::Anyhow]);
    assert_eq!(broken("crates/annals/src/main.rs", "fn a() -> anyhow::Result<()> { Ok(()) }"), []);
    assert_eq!(broken("crates/annals/tests/it/main.rs", "fn a() -> anyhow::Result<()> { Ok(()) }"), []);
}

#[test]
fn a_finding_names_the_place_the_rule_and_what_to_do() {
    let file = SourceFile::parse(ANY, "fn a() {\n    b().unwrap();\n}\n").unwrap();
    let lines: Vec<String> = check_files(&mut [file]).iter().map(Finding::to_string).collect();
    assert_eq!(
        lines,
        ["crates/annals/src/any.rs:2: .unwrap(): TIDY-6: no unwrap() outside tests: expect(\"why it holds\")"]
    );
}
