//! Block requests, read by blkparse and btt.

use std::process::Command;

use super::{export, output_of, recorded};
use crate::stage::{checked, folder, is_root};

#[test]
fn blkparse_and_btt_read_every_request() {
    if !is_root("recording block requests") {
        return;
    }
    if Command::new("blkparse").arg("-V").output().is_err() {
        return println!("skipped: reading a blktrace stream needs blkparse and btt (package blktrace)");
    }
    let folder = folder();
    let run = recorded(folder.path());
    let output = folder.path().join("run.blktrace.0");
    export(&run, "blktrace", &output).expect_code(0);
    let dump = folder.path().join("dump");
    // blkparse reads and writes below its current directory.
    let text = output_of(Command::new("blkparse").current_dir(folder.path()).args(["-q", "-i", "run", "-d", "dump"]));
    let requests = checked(&run)["rows"]["requests"].as_u64().unwrap();
    let completions = text.lines().filter(|line| line.split_whitespace().nth(5) == Some("C")).count() as u64;
    assert_eq!(completions, requests);
    let moments: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().nth(3)).collect();
    assert!(moments.is_sorted_by_key(|at| at.replace('.', "").parse::<u64>().unwrap_or(u64::MAX)));
    let overview = output_of(Command::new("btt").current_dir(folder.path()).arg("-i").arg(&dump));
    println!("{overview}");
    let d2c = overview.lines().find(|line| line.starts_with("D2C ")).expect("time at the device");
    let counted: u64 = d2c.split_whitespace().last().unwrap().parse().unwrap();
    assert!(counted > 0 && counted <= requests, "{d2c}");
}

#[test]
fn a_run_without_requests_is_refused() {
    let folder = folder();
    let out = folder.path().join("run");
    crate::stage::run(&format!("record --no-trace --runtime 300ms --interval 100ms -q --out {}", out.display()))
        .expect_code(0);
    let ended = export(&out, "blktrace", &folder.path().join("x")).expect_code(2);
    assert!(ended.error().contains("--requests all"), "{}", ended.error());
}
