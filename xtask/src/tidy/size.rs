//! How long files, functions and inline test modules may be.

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use super::source_file::{SourceFile, is_test};
use super::{Finding, Rule};

const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;
const TEST_MODULE_LINES_MAX: usize = 150;

/// Checks lengths.
pub fn check(file: &SourceFile) -> Vec<Finding> {
    let mut lengths = Lengths { file, findings: Vec::new() };
    let production = production_lines(file);
    if production > FILE_LINES_MAX && !file.is_test_file() && !file.is_generated() {
        lengths.note(Rule::FileLength, 1, format!("{production} lines"));
    }
    if !file.is_generated() {
        lengths.visit_file(&file.syntax);
    }
    lengths.findings
}

/// Everything before a trailing `#[cfg(test)] mod …`.
fn production_lines(file: &SourceFile) -> usize {
    match file.syntax.items.last() {
        Some(syn::Item::Mod(last)) if is_test(&last.attrs) => last.span().start().line - 1,
        _ => file.lines,
    }
}

struct Lengths<'a> {
    file: &'a SourceFile,
    findings: Vec<Finding>,
}

impl Lengths<'_> {
    fn note(&mut self, rule: Rule, line: usize, what: String) {
        self.findings.push(Finding { rule, path: self.file.path.clone(), line, what });
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let first = signature.span().start().line;
        let lines = block.span().end().line - first + 1;
        if lines > FUNCTION_LINES_MAX {
            self.note(Rule::FunctionLength, first, format!("{} has {lines} lines", signature.ident));
        }
    }
}

impl<'ast> Visit<'ast> for Lengths<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let lines = item.span().end().line - item.span().start().line + 1;
        if is_test(&item.attrs) && item.content.is_some() && lines > TEST_MODULE_LINES_MAX {
            self.note(Rule::TestModuleLength, item.span().start().line, format!("{} has {lines} lines", item.ident));
        }
        visit::visit_item_mod(self, item);
    }
}
