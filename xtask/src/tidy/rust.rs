//! What the rules read from a Rust source: its tokens, its functions, and which lines are tests.

use std::ops::RangeInclusive;

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

mod scope;

use super::attribute;
pub(super) use scope::{Import, Path, Scope};

/// A word or sign with the line it is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) line: usize,
}

/// A function with its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) lines: RangeInclusive<usize>,
    pub(super) parameters: usize,
}

/// Methods that look for a text in another one.
const SEARCHES: [&str; 9] = [
    "contains",
    "starts_with",
    "ends_with",
    "strip_prefix",
    "strip_suffix",
    "split_once",
    "rsplit_once",
    "find",
    "rfind",
];

/// A parsed source.
#[derive(Debug, Default)]
pub(super) struct RustFile {
    /// Without literals: the text of a string is not code.
    pub(super) tokens: Vec<Token>,
    pub(super) functions: Vec<Function>,
    /// Texts that values are compared with, or searched for.
    pub(super) compared: Vec<Token>,
    /// What its modules declare and import.
    pub(super) scopes: Vec<Scope>,
    /// Lines of items under `#[cfg(test)]` or `#[test]`.
    tests: Vec<RangeInclusive<usize>>,
}

impl RustFile {
    pub(super) fn parse(text: &str) -> Result<RustFile, String> {
        let parsed = syn::parse_file(text).map_err(|error| error.to_string())?;
        let stream: TokenStream = text.parse().map_err(|error: proc_macro2::LexError| error.to_string())?;
        let mut file = RustFile::default();
        flatten(stream, &mut file.tokens);
        file.visit_file(&parsed);
        file.scopes = scope::scopes(&parsed);
        Ok(file)
    }

    pub(super) fn is_test(&self, line: usize) -> bool {
        self.tests.iter().any(|lines| lines.contains(&line))
    }

    fn note_compared(&mut self, literal: &syn::Lit) {
        if let syn::Lit::Str(text) = literal {
            self.compared.push(Token { text: text.value(), line: text.span().start().line });
        }
    }

    fn note_test(&mut self, attributes: &[syn::Attribute], item: &impl Spanned) {
        if attributes.iter().any(attribute::is_test) {
            self.tests.push(lines_of(item));
        }
    }

    fn note_function(&mut self, signature: &syn::Signature, item: &impl Spanned) {
        // Starts at the signature: attributes and doc comments do not count.
        let lines = signature.span().start().line..=item.span().end().line;
        self.functions.push(Function { name: signature.ident.to_string(), lines, parameters: signature.inputs.len() });
    }
}

impl<'ast> Visit<'ast> for RustFile {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.note_test(&item.attrs, item);
        visit::visit_item_mod(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.note_test(&item.attrs, item);
        self.note_function(&item.sig, item);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.note_test(&item.attrs, item);
        self.note_function(&item.sig, item);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.note_test(&item.attrs, item);
    }

    fn visit_expr_binary(&mut self, expression: &'ast syn::ExprBinary) {
        if matches!(expression.op, syn::BinOp::Eq(_) | syn::BinOp::Ne(_)) {
            for side in [&expression.left, &expression.right] {
                if let syn::Expr::Lit(literal) = &**side {
                    self.note_compared(&literal.lit);
                }
            }
        }
        visit::visit_expr_binary(self, expression);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if SEARCHES.contains(&call.method.to_string().as_str()) {
            for argument in &call.args {
                if let syn::Expr::Lit(literal) = argument {
                    self.note_compared(&literal.lit);
                }
            }
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_pat(&mut self, pattern: &'ast syn::Pat) {
        if let syn::Pat::Lit(literal) = pattern {
            self.note_compared(&literal.lit);
        }
        visit::visit_pat(self, pattern);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        self.note_test(&item.attrs, item);
        visit::visit_item_impl(self, item);
    }
}

fn lines_of(item: &impl Spanned) -> RangeInclusive<usize> {
    item.span().start().line..=item.span().end().line
}

fn flatten(stream: TokenStream, into: &mut Vec<Token>) {
    for token in stream {
        let line = token.span().start().line;
        let mut push = |text: String| into.push(Token { text, line });
        match token {
            TokenTree::Ident(word) => push(word.to_string()),
            TokenTree::Punct(sign) => push(sign.to_string()),
            TokenTree::Literal(_) => {}
            TokenTree::Group(group) => {
                push("{".into());
                flatten(group.stream(), into);
                into.push(Token { text: "}".into(), line: group.span().end().line });
            }
        }
    }
}
