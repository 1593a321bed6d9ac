//! Which line of a program waited for a lock, and where its holder was meanwhile.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::stage::{folder, is_root, run};

const SOURCE: &str = include_str!("user_stacks.c");

/// The line that ends with this comment.
fn line(comment: &str) -> u64 {
    let comment = format!("/* {comment} */");
    SOURCE.lines().position(|line| line.ends_with(&comment)).expect("the comment is there") as u64 + 1
}

/// Compiles the program; `None` without a C compiler.
fn compiled(folder: &Path, words: &[&str]) -> Option<String> {
    let (source, program) = (folder.join("user_stacks.c"), folder.join("locker"));
    std::fs::write(&source, SOURCE).unwrap();
    let mut compiler = Command::new("cc");
    match compiler.args(words).arg("-o").arg(&program).arg(&source).status() {
        Ok(status) => assert!(status.success(), "{words:?}"),
        Err(error) => {
            println!("skipped: a C compiler is needed: {error}");
            return None;
        }
    }
    Some(program.display().to_string())
}

/// Records the program, and explains it.
fn explained(folder: &Path, program: &str) -> Value {
    let (out, lock) = (folder.join("run"), folder.join("lock"));
    let words =
        format!("record -q --user-stacks --slower-than 300ms --out {} -- {program} {}", out.display(), lock.display());
    run(&words).expect_code(0);
    run(&format!("explain --json --comm locker {}", out.display())).expect_code(0).document()
}

/// The first frame of that function, and the one after it.
fn found<'a>(stack: &'a Value, function: &str) -> (&'a Value, &'a Value) {
    let frames = stack.as_array().unwrap_or_else(|| panic!("no stack with {function}"));
    let at = frames.iter().position(|frame| frame["function"] == function);
    let at = at.unwrap_or_else(|| panic!("no {function} in {stack:#}"));
    (&frames[at], &frames[at + 1])
}

#[test]
fn the_lines_that_waited_and_that_slept_with_the_lock_are_named() {
    if !is_root("tracing") {
        return;
    }
    let folder = folder();
    let words = ["-g", "-O1", "-fno-omit-frame-pointer"];
    let Some(program) = compiled(folder.path(), &words) else { return };
    let explained = explained(folder.path(), &program);
    let stall = &explained["stalls"][0];
    assert_eq!(stall["operation"], "flock", "{stall:#}");
    let (wait, caller) = found(&stall["user_stack"], "want");
    assert_eq!(wait["line"], line("the wait"), "{stall:#}");
    assert!(wait["file"].as_str().is_some_and(|file| file.ends_with("user_stacks.c")), "{stall:#}");
    assert_eq!(caller["function"], "main", "{stall:#}");
    let holder = &stall["chain"][1];
    let (sleep, caller) = found(&holder["user_stack"], "hold");
    assert_eq!((&sleep["line"], &caller["function"]), (&line("its sleep").into(), &"main".into()), "{stall:#}");
    assert_eq!(holder["user_stack_at"], "wait");
}

#[test]
fn a_stripped_program_has_its_own_offsets() {
    if !is_root("tracing") {
        return;
    }
    let folder = folder();
    let Some(program) = compiled(folder.path(), &["-O2", "-s"]) else { return };
    let explained = explained(folder.path(), &program);
    let stack = explained["stalls"][0]["user_stack"].as_array().expect("a stack");
    let own = stack.iter().filter(|frame| frame["module"].as_str() == Some(&program));
    assert!(own.clone().all(|frame| frame["function"].is_null() && frame["offset"].as_u64() > Some(0)), "{stack:#?}");
    assert!(own.count() >= 2, "{stack:#?}");
}
