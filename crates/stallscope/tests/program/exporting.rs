//! `export`: foreign formats, read by their own programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::stage::{Ended, folder, run};

mod block;
mod load;
pub mod readers;
mod samples;
mod stacks;
mod tables;
mod timeline;

/// A short recording with a load, traced where that is allowed.
fn recorded(folder: &Path) -> PathBuf {
    let out = folder.join("run");
    let words = "run simoop -t 2 -m 4 -M 1 -f 2 -n 4 -T 1 -R 1 -W 1 -C 1 -D 1 -w 1 -r 2 -i 1";
    let all = if rustix::process::geteuid().is_root() { "--requests all" } else { "" };
    let data = folder.join("data");
    std::fs::create_dir(&data).unwrap();
    run(&format!("{words} {all} --interval 200ms --slower-than 1ms --out {} {}", out.display(), data.display()))
        .expect_code(0);
    out
}

fn export(run_directory: &Path, format: &str, output: &Path) -> Ended {
    run(&format!("export {} --to {format} -o {}", run_directory.display(), output.display()))
}

#[test]
fn existing_files_are_not_overwritten_and_no_partial_output_is_left() {
    let folder = folder();
    let out = folder.path().join("run");
    run(&format!("record --runtime 300ms --interval 100ms -q --out {}", out.display())).expect_code(0);
    let taken = folder.path().join("taken");
    std::fs::write(&taken, "mine").unwrap();
    let ended = export(&out, "csv", &taken).expect_code(2);
    println!("{}", ended.error());
    assert!(ended.error().contains("taken") && ended.error().contains("not overwritten"));
    assert_eq!(std::fs::read(&taken).unwrap(), b"mine");
    let nowhere = folder.path().join("no/where");
    assert!(export(&out, "csv", &nowhere).expect_code(2).error().contains("does not exist"));
    export(folder.path(), "csv", &folder.path().join("x")).expect_code(2);
    export(&out, "nonsense", &folder.path().join("x")).expect_code(2);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_damaged_run_is_exported_up_to_the_damage_and_that_is_an_error() {
    let folder = folder();
    let out = folder.path().join("run");
    run(&format!("record --runtime 1500ms --interval 100ms -q --out {}", out.display())).expect_code(0);
    let path = out.join("metrics-0000.arrows");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() - 200;
    bytes[middle] ^= 0xff;
    std::fs::write(&path, bytes).unwrap();
    let output = folder.path().join("tables");
    let ended = export(&out, "csv", &output).expect_code(1);
    println!("{}", ended.stderr);
    assert!(ended.stderr.contains("metrics") && ended.error().contains("stallscope check"), "{}", ended.stderr);
    assert!(std::fs::read_to_string(output.join("samples.csv")).unwrap().lines().count() > 3);
    assert_eq!(std::fs::read_to_string(output.join("metrics.csv")).unwrap(), "sample,metric,value\n");
}

/// The output of a program, which must succeed.
#[track_caller]
pub fn output_of(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}\n{err}", output.status);
    format!("{out}{err}")
}
