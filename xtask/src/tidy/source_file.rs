//! One Rust file, taken apart as far as the rules need it.

use std::ops::RangeInclusive;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

/// A token, or one end of a group.
#[derive(Debug)]
pub struct Token {
    /// Its text as written; the value of a string literal.
    pub text: String,
    /// Its line, from 1.
    pub line: usize,
    /// Whether it is a string literal.
    pub is_string: bool,
}

/// One Rust file.
pub struct SourceFile {
    /// Its path below the workspace.
    pub path: String,
    /// How many lines it has.
    pub lines: usize,
    /// Its syntax.
    pub syntax: syn::File,
    /// Its tokens in order, groups laid flat.
    pub tokens: Vec<Token>,
    test_lines: Vec<RangeInclusive<usize>>,
    is_test: bool,
}

impl SourceFile {
    /// Takes a file apart.
    pub fn parse(path: &str, text: &str) -> syn::Result<Self> {
        let syntax = syn::parse_file(text)?;
        let mut tokens = Vec::new();
        lay_flat(text.parse::<TokenStream>()?, &mut tokens);
        let mut tests = TestItems::default();
        tests.visit_file(&syntax);
        let is_test = path.trim_end_matches(".rs").split('/').any(|part| part == "tests" || part == "benches");
        let lines = text.lines().count();
        Ok(Self { path: path.to_owned(), lines, syntax, tokens, test_lines: tests.lines, is_test })
    }

    /// Marks every file as test code that another one declares by `#[cfg(test)] mod …;`, with all below it.
    pub fn mark_test_modules(files: &mut [Self]) {
        let declared: Vec<String> = files.iter().flat_map(Self::test_modules).collect();
        for file in files {
            let stem = file.path.trim_end_matches(".rs");
            let below = |module: &String| stem.strip_prefix(module.as_str()).is_some_and(|rest| rest.starts_with('/'));
            file.is_test |= declared.iter().any(|module| module == stem || below(module));
        }
    }

    /// The paths, without ending, of the test modules that the file declares and that stand in files of their own.
    fn test_modules(&self) -> Vec<String> {
        let stem = self.path.trim_end_matches(".rs");
        let folder = match stem.rsplit_once('/') {
            Some((folder, "lib" | "main")) => folder,
            _ => stem,
        };
        let modules = self.syntax.items.iter().filter_map(|item| match item {
            syn::Item::Mod(module) if module.content.is_none() && is_test(&module.attrs) => Some(&module.ident),
            _ => None,
        });
        modules.map(|name| format!("{folder}/{name}")).collect()
    }

    /// Whether the whole file is test code.
    pub fn is_test_file(&self) -> bool {
        self.is_test
    }

    /// Whether a regenerated file.
    pub fn is_generated(&self) -> bool {
        self.path.split('/').any(|part| part == "generated")
    }

    /// Whether the line belongs to test code.
    pub fn is_test_line(&self, line: usize) -> bool {
        self.is_test_file() || self.test_lines.iter().any(|lines| lines.contains(&line))
    }

    /// Whether the file is `room.rs` or lies in a folder `room/`.
    pub fn is_in_room(&self, room: &str) -> bool {
        self.path.trim_end_matches(".rs").split('/').any(|part| part == room)
    }

    /// The runs of `length` tokens that lie outside test code.
    pub fn production_runs(&self, length: usize) -> impl Iterator<Item = &[Token]> {
        self.tokens.windows(length).filter(|run| !self.is_test_line(run[0].line))
    }
}

/// Whether the attributes make an item test code.
pub fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        syn::Meta::NameValue(_) => false,
    })
}

#[derive(Default)]
struct TestItems {
    lines: Vec<RangeInclusive<usize>>,
}

impl TestItems {
    fn note(&mut self, attributes: &[syn::Attribute], span: proc_macro2::Span) {
        if is_test(attributes) {
            self.lines.push(span.start().line..=span.end().line);
        }
    }
}

impl<'ast> Visit<'ast> for TestItems {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            syn::Item::Struct(item) => &item.attrs,
            syn::Item::Const(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        self.note(attributes, item.span());
        visit::visit_item(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.note(&item.attrs, item.span());
        visit::visit_impl_item_fn(self, item);
    }
}

fn lay_flat(stream: TokenStream, tokens: &mut Vec<Token>) {
    for tree in stream {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                tokens.push(Token { text: open.to_owned(), line, is_string: false });
                lay_flat(group.stream(), tokens);
                let line = group.span_close().start().line;
                tokens.push(Token { text: close.to_owned(), line, is_string: false });
            }
            TokenTree::Literal(literal) => match syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                Ok(string) => tokens.push(Token { text: string.value(), line, is_string: true }),
                Err(_) => tokens.push(Token { text: literal.to_string(), line, is_string: false }),
            },
            other => tokens.push(Token { text: other.to_string(), line, is_string: false }),
        }
    }
}
