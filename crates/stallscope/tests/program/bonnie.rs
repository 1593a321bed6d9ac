//! `run bonnie`, with the flags and the CSV line of bonnie++.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::stage::{folder, run};

/// All phases, in order.
const ALL: [&str; 13] = [
    "prepare",
    "put",
    "write",
    "rewrite",
    "get",
    "read",
    "seek",
    "create",
    "stat",
    "delete",
    "create-random",
    "stat-random",
    "delete-random",
];

#[test]
fn all_phases_do_their_work() {
    let folder = folder();
    let out = folder.path().join("run");
    let words = format!(
        "run bonnie -d {} -s 2:4k:200:4 --char-size 8k -n 1:100:50:3 -b --no-trace -q --json --out {}",
        folder.path().display(),
        out.display()
    );
    let document = run(&words).expect_code(0).document();
    let phases = document["phases"].as_array().unwrap();
    let names: Vec<&str> = phases.iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    assert_eq!(names, ALL);
    let phase = |name: &str| &phases[ALL.iter().position(|known| *known == name).unwrap()];
    let count = |name: &str, class: &str| phase(name)["operations"][class]["count"].as_u64().unwrap_or(0);
    assert_eq!([count("put", "put"), count("get", "get")], [8192, 8192]);
    let mib = 2 << 20;
    for (name, class) in [("write", "write"), ("rewrite", "rewrite"), ("read", "read")] {
        assert_eq!((count(name, class), phase(name)["bytes"].as_u64()), (512, Some(mib)), "{name}");
        assert!(phase(name)["bytes_per_s"].as_f64().unwrap() > 0.0);
    }
    assert_eq!((count("rewrite", "fsync"), count("seek", "seek")), (512, 200));
    assert_eq!((phase("seek")["job_threads"]["members"].as_u64(), count("delete", "unlink")), (Some(4), 1024));
    assert_eq!((count("create", "create"), count("stat-random", "stat")), (1024, 1024));
    assert!((51_200..=102_400).contains(&phase("create")["bytes"].as_u64().unwrap()));
    assert!(phase("rewrite")["progress"][0]["bytes"].is_u64() && phase("rewrite")["job_threads"]["cpu_s"].is_f64());
    let left = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["run"], "its files are removed");
}

#[test]
fn several_processes_in_one_directory_and_several_tests() {
    let folder = folder();
    let words = format!(
        "run bonnie -p 2 -x 2 -f -s 1 -n 1 -m box --no-trace -q --format native --out {} {}",
        folder.path().join("run").display(),
        folder.path().display()
    );
    let printed = run(&words).expect_code(0).stdout;
    let lines: Vec<Vec<&str>> = printed.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 2, "{printed}");
    for fields in &lines {
        assert_eq!(
            (fields.len(), &fields[..4], fields[5]),
            (50, &["1.98", "stallscope", "box", "2"][..], "1M"),
            "{printed}"
        );
        assert_eq!((fields[9], fields[21], fields[38]), ("", "1", ""), "no phases of single bytes: {printed}");
        assert!(fields[11] == "+++++" || fields[11].parse::<f64>().is_ok_and(|kib_per_s| kib_per_s > 0.0), "{printed}");
        assert!(fields[39].ends_with("us") || fields[39].ends_with("ms") || fields[39].ends_with('s'), "{printed}");
    }
    assert_original_reads(&printed);
}

#[test]
fn links_instead_of_small_files() {
    for (most, kind, directories) in [("-1", "link", "0"), ("-2", "symlink", "3")] {
        let (folder, data) = (folder(), tempfile::tempdir().unwrap());
        let out = folder.path().join("run");
        let words = format!(
            "run bonnie -s 0 -n 1:{most}:0:{directories} -x 2 --keep --no-trace -q --json --out {} {}",
            out.display(),
            data.path().display()
        );
        let document = run(&words).expect_code(0).document();
        assert_eq!(document["failures"].as_array().map(Vec::len), Some(0), "{document:#}");
        for phase in document["phases"].as_array().unwrap() {
            let count = |class: &str| phase["operations"][class]["count"].as_u64();
            match phase["name"].as_str().unwrap() {
                "create" | "create-random" => assert_eq!((count("create"), count("link")), (Some(1), Some(1023))),
                "stat" | "stat-random" => assert_eq!(count("stat"), Some(1024), "the link resolves: {phase:#}"),
                "delete" | "delete-random" => assert_eq!(count("unlink"), Some(1024)),
                _ => {}
            }
        }
        let line = run(&format!("show --format native {}", out.display())).expect_code(0).stdout;
        assert_eq!(line.split(',').nth(22), Some(kind), "{line}");
    }
}

/// bonnie++'s own tools accept the line, where they are installed.
fn assert_original_reads(printed: &str) {
    for reader in ["bon_csv2txt", "bon_csv2html"] {
        let mut command = Command::new(reader);
        let Ok(mut child) = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn() else {
            println!("not shown: {reader} is not installed");
            continue;
        };
        child.stdin.take().unwrap().write_all(printed.as_bytes()).unwrap();
        let read = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&read.stdout);
        assert!(read.status.success() && text.contains("box"), "{reader}: {text}");
    }
}

#[test]
fn unsupported_flags_of_the_original_are_refused_with_a_remedy() {
    let refuse = |flags: &str, why: &str| {
        let printed = run(&format!("run bonnie {flags} --plan .")).expect_code(2).stderr;
        assert!(printed.contains(why), "{flags}: {printed}");
    };
    refuse("-y s", "run bonnie -p N");
    refuse("-u nobody-of-that-name", "run stallscope as that user");
    refuse("-s 1:2:3:4:5", "at most 4 parts");
    refuse("-s 100 -r 64", "must be at least 128");
    refuse("-s :8k", "part before the first colon is empty");
}
