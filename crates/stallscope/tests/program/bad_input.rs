//! Bad input gets one clear error and the exit code for wrong usage.

use std::fs;

use crate::stage::{Ended, SMALL, folder, run};

fn refused(words: &str, code: i32, names: &[&str]) -> Ended {
    let ended = run(words);
    println!("{words}\n  {:?}: {}", ended.code, ended.stderr.lines().next().unwrap_or_default());
    assert_eq!(ended.code, Some(code), "{words}: {}", ended.stderr);
    assert_eq!(ended.stdout, "", "{words}");
    for name in names {
        assert!(ended.stderr.contains(name), "{words}: no '{name}' in: {}", ended.stderr);
    }
    ended
}

#[test]
fn unreadable_runs_are_refused() {
    let folder = folder();
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let garbage = folder.path().join("garbage");
    fs::create_dir(&garbage).unwrap();
    for verb in ["show", "check", "explain", "top", "top --once", "view", "compare --b /nonexistent/b --a"] {
        refused(&format!("{verb} /nonexistent/run"), 2, &["/nonexistent/run: no such directory"]).error();
        if !verb.starts_with("compare") {
            refused(&format!("{verb} {}", file.display()), 2, &["file: is a file"]).error();
            refused(&format!("{verb} {}", empty.display()), 2, &["empty"]).error();
        }
        for bytes in [&b"garbage"[..], b"\xff\xfe", b"", b"{}"] {
            fs::write(garbage.join("run.json"), bytes).unwrap();
            refused(&format!("{verb} {}", garbage.display()), 2, &["garbage/run.json"]).error();
        }
    }
}

/// A path that is wrong is a usage error, whichever command it is given to; what the system refuses is not.
#[test]
fn wrong_paths_have_one_exit_code() {
    let folder = folder();
    let run_directory = folder.path().join("run");
    let made = run_directory.display();
    run(&format!("record --runtime 100ms --no-trace -q --out {made}")).expect_code(0);
    for words in [
        format!("report {made} -o /nonexistent/x.html"),
        format!("report {made} -o /tmp"),
        format!("compare {made}"),
        format!("export {made} --to csv -o /nonexistent/x"),
        format!("export {made} --to csv -o /etc/passwd/x"),
        format!("blk --series /etc/passwd/x {made}"),
        "blk /nonexistent".to_owned(),
        "blk /dev/null".to_owned(),
        "record --runtime 100ms --no-trace --out /etc/passwd".to_owned(),
        "record --runtime 100ms --no-trace --out /etc/passwd/x".to_owned(),
        format!("record --runtime 100ms --no-trace --out {made}"),
        "record --ring 10s --runtime 100ms --out /etc/passwd".to_owned(),
        "record --runtime 100ms --device-of /nonexistent --disk-bps 1m".to_owned(),
        "simulate bufcache --out /etc/passwd/x".to_owned(),
        "compare /nonexistent".to_owned(),
        "compare /etc/passwd".to_owned(),
        "sweep /nonexistent.toml".to_owned(),
        "generate /etc/passwd/x".to_owned(),
    ] {
        refused(&words, 2, &[]).error();
    }
    refused("record --runtime 100ms --no-trace --out /sys/x", 3, &["/sys/x"]).error();
}

/// clap waives a requirement that conflicts with something given; such a flag would be without effect.
#[test]
fn flags_without_effect_are_refused() {
    for words in ["--on-stall 5s", "--on-stall-exec true", "--keep-last", "--keep-every 1m", "--ring-size 64m"] {
        refused(&format!("record --no-trace {words} -- true"), 2, &["--ring"]);
        refused(&format!("record --no-trace {words} --memory 1g"), 2, &["--ring"]);
    }
    refused("record --ring 10s -- true", 2, &["cannot be used with a command"]).error();
    refused("record --metric x=([0-9])", 2, &["COMMAND"]);
    refused("top --once --at 5s --slower-than 1s", 2, &["RUN"]);
    for words in ["--baseline x", "--only x", "--table x", "--table x --plane a,b"] {
        refused(&format!("compare --a x --b y {words}"), 2, &["DIR"]);
    }
    refused("compare dir --a x --b y", 2, &["compare DIR"]).error();
}

#[test]
fn values_that_make_no_sense_are_refused() {
    let folder = folder();
    let made = folder.path().join("run");
    run(&format!("record --runtime 300ms --interval 100ms --no-trace -q --out {}", made.display())).expect_code(0);
    let made = made.display();
    for words in ["record", &format!("explain {made}"), "blk x", "simulate sched", "top --once"] {
        refused(&format!("{words} --slower-than 0"), 2, &["--slower-than", "must be greater than 0"]);
    }
    refused("record --runtime 0", 2, &["--runtime", "must be greater than 0"]);
    refused(&format!("explain {made} --worst -1"), 2, &["invalid value '-1' for '--worst': must not be negative"]);
    refused(&format!("explain {made} --slower-than -1s"), 2, &["'-1s' for '--slower-than'"]);
    refused(&format!("top --once --at 99h {made}"), 2, &["--at 99.0 h: the run lasts"]).error();
    refused(&format!("compare --a {made} --b {made}"), 2, &["cannot be compared with itself"]).error();
    let below = folder.path().display();
    refused(&format!("compare --a {below} --b {made}"), 2, &["cannot be compared with itself"]).error();
}

#[test]
fn frequent_mistakes_get_the_remedy() {
    refused("record ls -l", 2, &["write it after '--': stallscope record -- ls"]);
    refused("record --no-trace fio --name=x", 2, &["stallscope record -- fio"]);
    refused("compare", 2, &["--a RUN... --b RUN...", "compare [OPTIONS] <DIR>"]);
    refused("compare before after", 2, &["compare two sides: compare --a before --b after"]).error();
    for words in ["help --help", "help -h", "help record --help", "run help --help", "simulate help -h"] {
        assert!(run(words).expect_code(0).stdout.contains("Usage: stallscope"), "{words}");
    }
}

#[test]
fn a_newer_format_is_refused() {
    let folder = folder();
    let out = folder.path().join("run");
    run(&format!("record --runtime 100ms --json -q --out {}", out.display())).expect_code(0);
    let description = out.join("run.json");
    let mut document: serde_json::Value = serde_json::from_slice(&fs::read(&description).unwrap()).unwrap();
    document["format"] = 99.into();
    fs::write(&description, document.to_string()).unwrap();
    refused(&format!("show {}", out.display()), 2, &["99"]).error();
}

#[test]
fn unknown_words_are_refused() {
    let data = folder();
    let at = data.path().display();
    refused("run nosuch", 2, &["nosuch"]);
    refused("run", 2, &["WORKLOAD"]);
    refused(&format!("run simoop -m 1x {at}"), 2, &["1x"]).error();
    refused(&format!("run simoop --memory lots {at}"), 2, &["lots"]);
    refused(&format!("run simoop --interval 1ms {at}"), 2, &["1ms"]);
    refused(&format!("run simoop --disk-bps 0 {at}"), 2, &["must be greater than 0"]);
    refused(&format!("run simoop -t 0 {at}"), 2, &["threads"]).error();
    refused("recipes show simopo", 2, &["simopo"]).error();
    assert_eq!(fs::read_dir(data.path()).unwrap().count(), 0);
}

#[test]
fn missing_directories_are_refused() {
    let folder = folder();
    let (out, file) = (folder.path().join("run"), folder.path().join("file"));
    fs::write(&file, "x").unwrap();
    refused(&format!("run simoop {SMALL} --out {} /nonexistent/dir", out.display()), 2, &["/nonexistent/dir"]).error();
    refused(&format!("run simoop {SMALL} --out {} {}", out.display(), file.display()), 2, &["file"]).error();
    assert!(!out.exists());
}

#[test]
fn a_run_directory_that_exists_is_refused() {
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let out = folder.path().join("run");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("precious"), "x").unwrap();
    let ended = run(&format!("run simoop {SMALL} --out {} {}", out.display(), data.path().display()));
    println!("{:?}: {}", ended.code, ended.error());
    assert!(matches!(ended.code, Some(2 | 3)), "{ended:?}");
    assert!(ended.error().contains("run"));
    assert_eq!(fs::read_to_string(out.join("precious")).unwrap(), "x");
    assert_eq!(fs::read_dir(data.path()).unwrap().count(), 0);
}

#[test]
fn a_recipe_with_a_mistake_is_shown_where_and_what_was_meant() {
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let recipe = folder.path().join("mine.toml");
    let text = "name = \"mine\"\nabout = \"x\"\n\n[[phase]]\nname = \"run\"\nkind = \"run\"\ndurration = \"1s\"\n";
    fs::write(&recipe, text).unwrap();
    let words = format!("run {} {}", recipe.display(), data.path().display());
    let ended = refused(&words, 2, &["mine.toml:7:1", "durration", "duration"]);
    println!("{}", ended.stderr);
    refused(&format!("run {} .", folder.path().join("absent.toml").display()), 2, &["absent.toml"]).error();
}

fn listing_to(stdout: impl Into<std::process::Stdio>) -> std::process::Child {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_stallscope"));
    command.arg("recipes").stdout(stdout).stderr(std::process::Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let ended = listing_to(full).wait_with_output().unwrap();
    let error = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(3), "{error}");
    assert!(error.starts_with("stallscope: cannot write to standard output: No space left"), "{error}");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = listing_to(std::process::Stdio::piped());
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr.len()), (Some(0), 0));
}
