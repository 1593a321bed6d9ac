use super::crates;
use crate::tidy::tree::Tree;

/// Imports of a crate as `from -> to`, given each module and its text.
fn imports(files: &[(&str, &str)]) -> Vec<String> {
    let files: Vec<(String, &str)> =
        files.iter().map(|(path, text)| (format!("crates/x/src/{path}.rs"), *text)).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let graph = crates(&Tree::of(&files)).remove(0);
    let name = |file: &usize| graph.files[*file].name();
    graph.imports.keys().map(|(from, to)| format!("{} -> {}", name(from), name(to))).collect()
}

const PARENT: (&str, &str) = ("p", "mod child;\npub use child::Item;\npub struct Own;\n");
const CHILD: (&str, &str) = ("p/child", "pub struct Item;\n");

#[test]
fn a_reexport_is_followed_to_the_file_that_defines_the_item() {
    let check = |text: &str, expected: &[&str]| {
        let files = [("lib", "mod p;\nmod user;\npub use p::Item as Resource;\n"), PARENT, CHILD, ("user", text)];
        assert_eq!(imports(&files), expected, "{text}");
    };
    check("use crate::p::Item;", &["user -> p::child"]);
    check("use crate::p::{self, Own};", &["user -> p"]);
    check("use crate::p;\nfn f() { p::Item::new() }", &["user -> p::child"]);
    check("use crate::Resource;", &["user -> p::child"]);
    check("use super::p::*;", &["user -> p"]);
    check("fn f() -> crate::p::child::Item { vec![super::p::Own] }", &["user -> p", "user -> p::child"]);
    check("use std::fmt;\nuse p::Item;\nfn f(p: Item) {}", &[]);
}

#[test]
fn declarations_and_reexports_do_not_count_but_their_use_does() {
    assert_eq!(imports(&[("lib", "mod p;"), PARENT, CHILD]), [""; 0]);
    let parent = "mod child;\npub(crate) use child::Item;\nfn f(_: Item) {}";
    assert_eq!(imports(&[("lib", "mod p;"), ("p", parent), CHILD]), ["p -> p::child"]);
    assert_eq!(imports(&[("lib", "mod p;"), ("p", "mod child;\nfn f() { child::g() }"), CHILD]), ["p -> p::child"]);
}

#[test]
fn a_child_imports_its_parent_by_what_that_defines() {
    let check = |child: &str, expected: &[&str]| {
        let parent = "mod child;\nmod other;\nuse other::Other;\npub struct Own;";
        let files = [("lib", "mod p;"), ("p", parent), ("p/child", child), ("p/other", "pub struct Other;")];
        let from_child = imports(&files).into_iter().filter(|import| import.starts_with("p::child"));
        assert_eq!(from_child.collect::<Vec<_>>(), expected, "{child}");
    };
    check("use super::Own;", &["p::child -> p"]);
    check("use super::Other;", &["p::child -> p::other"]);
    check("use super::*;\nfn f(_: Other) {}", &["p::child -> p", "p::child -> p::other"]);
    check("pub(super) struct A;\npub(in crate::p) struct B;", &[]);
}

#[test]
fn tests_do_not_count() {
    let lib = "mod a;\n#[cfg(test)]\nmod fake;\n";
    let a = "#[cfg(test)]\nuse crate::fake::F;\n#[cfg(test)]\nmod tests { use crate::fake::F; }\n\
        #[test]\nfn t() { crate::fake::g() }";
    assert_eq!(
        imports(&[("lib", lib), ("a", a), ("fake", "use crate::a::A;"), ("a/tests", "use crate::a::A;")]),
        [""; 0]
    );
}

#[test]
fn inline_modules_belong_to_their_file() {
    let a = "mod inner { use super::A;\nuse crate::b::B;\npub fn f() { super::super::b::g() } }\npub struct A;\nuse \
             inner::f;";
    assert_eq!(imports(&[("lib", "mod a;\nmod b;"), ("a", a), ("b", "use crate::a::inner::f;")]), ["a -> b", "b -> a"]);
}

#[test]
fn a_function_may_bear_the_name_of_its_module() {
    let p = ("p", "pub mod child;\npub use child::child;");
    let files = |user| [("lib", "mod p;\nmod user;"), p, ("p/child", "pub fn child() {}"), ("user", user)];
    assert_eq!(imports(&files("use crate::p::child;\nfn f() { child() }")), ["user -> p::child"]);
    assert_eq!(imports(&files("fn f() { crate::p::child::child() }")), ["user -> p::child"]);
}
