//! Headers of the BPF programs: each includes what it uses, and none of them in a circle, so that a reader can take
//! them from the bottom up and begin with any.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Headers by their path from the folder of the BPF programs, from which includes name them.
type Headers = BTreeMap<String, String>;

fn headers() -> Headers {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bpf");
    let headers = files(&folder).into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "h"));
    let name = |path: &Path| path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
    headers.map(|path| (name(&path), std::fs::read_to_string(&path).unwrap())).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn fake(headers: &[(&str, &str)]) -> Headers {
    headers.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

/// What the compiler says of each header that it is given alone.
fn incomplete(headers: &Headers) -> Vec<String> {
    let arguments = std::fs::read_to_string(concat!(env!("OUT_DIR"), "/arguments")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in headers {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let compile = |name: &String| {
        let alone = folder.path().join(format!("{name}.c"));
        std::fs::write(&alone, format!("#include \"{name}\"\n")).unwrap();
        let mut clang = Command::new("clang");
        clang.args(arguments.lines()).arg("-I").arg(folder.path()).arg("-fsyntax-only").arg(&alone);
        let output = clang.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let first = said.lines().find(|line| line.contains("error:")).unwrap_or(&said).to_owned();
        (!output.status.success()).then(|| format!("{name}: {first}"))
    };
    headers.keys().filter_map(compile).collect()
}

fn included(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix('"'))
}

/// A way through includes from a header back to itself.
fn circle(headers: &Headers) -> Option<Vec<String>> {
    headers.keys().find_map(|name| way_to(headers, name, name, &mut Vec::new()))
}

fn way_to(headers: &Headers, from: &str, end: &str, seen: &mut Vec<String>) -> Option<Vec<String>> {
    for next in included(headers.get(from)?) {
        if next == end {
            return Some(vec![from.to_owned(), end.to_owned()]);
        }
        if !seen.iter().any(|name| name == next) {
            seen.push(next.to_owned());
            if let Some(rest) = way_to(headers, next, end, seen) {
                return Some([vec![from.to_owned()], rest].concat());
            }
        }
    }
    None
}

/// Headers that include another one after something of their own.
fn late_includes(headers: &Headers) -> Vec<String> {
    let is_late = |text: &str| {
        let lines = text.lines().skip_while(|line| !line.starts_with("#include "));
        lines
            .skip_while(|line| line.is_empty() || line.starts_with("#include "))
            .any(|line| line.starts_with("#include "))
    };
    headers.iter().filter(|(_, text)| is_late(text)).map(|(name, _)| name.clone()).collect()
}

#[test]
fn each_header_compiles_alone() {
    let headers = headers();
    assert!(headers.len() > 50, "{:?}", headers.keys());
    assert_eq!(incomplete(&headers), [""; 0]);
}

#[test]
fn a_header_that_leans_on_another_one_is_found() {
    let text = "#pragma once\n#include <bpf/bpf_helpers.h>\nstatic inline int twice(int n) { return once(n); }\n";
    let lacking = incomplete(&fake(&[("alone.h", "#pragma once\nstruct alone { int a; };\n"), ("leaning.h", text)]));
    assert_eq!(lacking.len(), 1, "{lacking:?}");
    assert!(lacking[0].starts_with("leaning.h: "), "{lacking:?}");
}

#[test]
fn headers_include_each_other_in_no_circle() {
    assert_eq!(circle(&headers()), None);
    let fakes = fake(&[("a.h", "#include \"b.h\"\n"), ("b.h", "#include \"c.h\"\n"), ("c.h", "\n#include \"b.h\"\n")]);
    assert_eq!(circle(&fakes), Some(["b.h", "c.h", "b.h"].map(str::to_owned).to_vec()));
}

#[test]
fn includes_come_first() {
    assert_eq!(late_includes(&headers()), [""; 0]);
    let fakes = [
        ("early.h", "/* A. */\n#include \"b.h\"\n\n#include \"c.h\"\n"),
        ("late.h", "#include \"b.h\"\n\nint a;\n#include \"c.h\"\n"),
    ];
    assert_eq!(late_includes(&fake(&fakes)), ["late.h"]);
}
