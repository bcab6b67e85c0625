//! Rules about types and modules.

use syn::visit::{self, Visit};

use super::source_file::SourceFile;
use super::tree::is_vague;
use super::{Finding, Rule};

/// Checks types and modules.
pub fn check(file: &SourceFile) -> Vec<Finding> {
    let mut code = Code { file, findings: Vec::new() };
    code.visit_file(&file.syntax);
    code.findings
}

struct Code<'a> {
    file: &'a SourceFile,
    findings: Vec<Finding>,
}

impl Code<'_> {
    fn note(&mut self, rule: Rule, ident: &syn::Ident, what: String) {
        let line = ident.span().start().line;
        self.findings.push(Finding { rule, path: self.file.path.clone(), line, what });
    }
}

impl<'ast> Visit<'ast> for Code<'_> {
    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        if segment.ident == "Result"
            && let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments
            && let Some(syn::GenericArgument::Type(syn::Type::Path(error))) = arguments.args.iter().nth(1)
            && error.path.segments.last().is_some_and(|last| last.ident == "String")
        {
            self.note(Rule::StringError, &segment.ident, "Result<_, String>".to_owned());
        }
        visit::visit_path_segment(self, segment);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if is_vague(&item.ident.to_string()) {
            self.note(Rule::VagueName, &item.ident, format!("mod {}", item.ident));
        }
        visit::visit_item_mod(self, item);
    }
}
