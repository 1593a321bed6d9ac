//! What one Rust source declares, imports and mentions. Code under `#[cfg(test)]` does not count.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use crate::tidy::attribute;

/// Names joined by `::`, as written.
pub(in crate::tidy) type Path = Vec<String>;

/// A name that a `use` brings into scope.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::tidy) struct Import {
    /// `None` for a glob.
    pub(in crate::tidy) name: Option<String>,
    pub(in crate::tidy) path: Path,
    /// `pub use`: offered to others, used here only where it is mentioned.
    pub(in crate::tidy) is_reexport: bool,
    pub(in crate::tidy) line: usize,
}

/// A path in the code outside `use`.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::tidy) struct Mention {
    pub(in crate::tidy) path: Path,
    pub(in crate::tidy) line: usize,
}

/// One module: a file, or an inline module in it.
#[derive(Debug, Default)]
pub(in crate::tidy) struct Scope {
    /// Inline modules from the file down to this one; empty for the file itself.
    pub(in crate::tidy) inline: Path,
    pub(in crate::tidy) imports: Vec<Import>,
    pub(in crate::tidy) mentions: Vec<Mention>,
    pub(in crate::tidy) definitions: BTreeSet<String>,
    pub(in crate::tidy) modules: BTreeSet<String>,
    /// Child modules for tests only.
    pub(in crate::tidy) test_modules: BTreeSet<String>,
}

/// The scopes of a source, the file's own first.
pub(in crate::tidy) fn scopes(file: &syn::File) -> Vec<Scope> {
    let mut reader = Reader { scopes: vec![Scope::default()], at: 0 };
    reader.visit_file(file);
    reader.scopes
}

struct Reader {
    scopes: Vec<Scope>,
    at: usize,
}

impl Reader {
    fn scope(&mut self) -> &mut Scope {
        &mut self.scopes[self.at]
    }

    fn visit_inline(&mut self, item: &syn::ItemMod) {
        let mut inline = self.scope().inline.clone();
        inline.push(item.ident.to_string());
        let outer = std::mem::replace(&mut self.at, self.scopes.len());
        self.scopes.push(Scope { inline, ..Scope::default() });
        visit::visit_item_mod(self, item);
        self.at = outer;
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if attributes(item).iter().any(attribute::is_test) {
            if let syn::Item::Mod(module) = item {
                self.scope().test_modules.insert(module.ident.to_string());
            }
            return;
        }
        if let Some(name) = defined(item) {
            self.scope().definitions.insert(name);
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !item.attrs.iter().any(attribute::is_test) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.scope().modules.insert(item.ident.to_string());
        if item.content.is_some() {
            self.visit_inline(item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_reexport = !matches!(item.vis, syn::Visibility::Inherited);
        read_use_tree(&item.tree, &mut Vec::new(), is_reexport, &mut self.scope().imports);
    }

    /// A restriction such as `pub(in crate::tidy)` or `pub(in crate::a)` is no import.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let line = path.segments.first().map_or(0, |segment| segment.ident.span().start().line);
        let names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.scope().mentions.push(Mention { path: names, line });
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invocation: &'ast syn::Macro) {
        read_tokens(invocation.tokens.clone(), &mut self.scope().mentions);
        visit::visit_macro(self, invocation);
    }
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Union(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn defined(item: &syn::Item) -> Option<String> {
    let ident = match item {
        syn::Item::Const(item) => &item.ident,
        syn::Item::Enum(item) => &item.ident,
        syn::Item::Fn(item) => &item.sig.ident,
        syn::Item::Macro(item) => item.ident.as_ref()?,
        syn::Item::Static(item) => &item.ident,
        syn::Item::Struct(item) => &item.ident,
        syn::Item::Trait(item) => &item.ident,
        syn::Item::Type(item) => &item.ident,
        syn::Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

fn read_use_tree(tree: &syn::UseTree, prefix: &mut Path, is_reexport: bool, into: &mut Vec<Import>) {
    let mut leaf = |name: Option<String>, last: Option<&syn::Ident>, line: usize| {
        let last = last.filter(|last| *last != "self").map(ToString::to_string);
        let path = prefix.iter().cloned().chain(last).collect();
        into.push(Import { name, path, is_reexport, line });
    };
    match tree {
        syn::UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            read_use_tree(&path.tree, prefix, is_reexport, into);
            prefix.pop();
        }
        syn::UseTree::Name(name) if name.ident == "self" => {
            leaf(prefix.last().cloned(), None, name.ident.span().start().line);
        }
        syn::UseTree::Name(name) => {
            leaf(Some(name.ident.to_string()), Some(&name.ident), name.ident.span().start().line);
        }
        syn::UseTree::Rename(rename) => {
            leaf(Some(rename.rename.to_string()), Some(&rename.ident), rename.ident.span().start().line);
        }
        syn::UseTree::Glob(glob) => leaf(None, None, glob.star_token.spans[0].start().line),
        syn::UseTree::Group(group) => {
            for tree in &group.items {
                read_use_tree(tree, prefix, is_reexport, into);
            }
        }
    }
}

/// Paths in a macro's arguments, which have no syntax of their own.
fn read_tokens(stream: TokenStream, into: &mut Vec<Mention>) {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let is = |at: usize, sign: char| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == sign);
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token {
            TokenTree::Group(group) => read_tokens(group.stream(), into),
            TokenTree::Ident(first) if at == 0 || !is(at - 1, '.') => {
                let line = first.span().start().line;
                let mut path = vec![first.to_string()];
                while let (true, true, Some(TokenTree::Ident(next))) =
                    (is(at + 1, ':'), is(at + 2, ':'), tokens.get(at + 3))
                {
                    path.push(next.to_string());
                    at += 3;
                }
                into.push(Mention { path, line });
            }
            _ => {}
        }
        at += 1;
    }
}
