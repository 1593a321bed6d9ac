//! fs_mark's flags, lines and limits.

use std::path::Path;
use std::process::Command;

use crate::stage::disk::{Tmpfs, text};
use crate::stage::{Disk, checked, errors, folder, is_root, number, run};

/// The columns of each line of figures, without comments and headings, as fs_mark's readers do.
fn lines(text: &str) -> Vec<Vec<f64>> {
    let figures = |line: &str| line.split_whitespace().map(|word| word.parse().ok()).collect::<Option<Vec<f64>>>();
    text.lines().filter(|line| !line.starts_with('#')).filter_map(figures).filter(|line| !line.is_empty()).collect()
}

fn heading(text: &str) -> Option<&str> {
    text.lines().find(|line| line.starts_with("FSUse%")).map(str::trim_end)
}

/// fs_mark's own output for these flags; `None` where it is not installed.
fn fs_mark(flags: &str, directory: &Path, log: &Path) -> Option<String> {
    let mut command = Command::new("fs_mark");
    command.args(flags.split_whitespace()).arg("-d").arg(directory).arg("-l").arg(log);
    match command.output() {
        Ok(output) => Some(String::from_utf8(output.stdout).unwrap()),
        Err(error) => {
            println!("skipped: fs_mark: {error}");
            None
        }
    }
}

#[test]
fn the_lines_are_those_of_fs_mark() {
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    for flags in ["-S 0 -s 5000 -w 1000 -n 50 -t 2 -L 2", "-S 4 -s 1000 -n 20 -t 1 -v", "-S 1 -s 0 -n 10 -D 2 -N 5 -k"]
    {
        let out = folder.path().join(flags.replace(' ', ""));
        let log = out.with_extension("log");
        let words = format!("run fsmark {flags} -d {} -l {} --format native", text(data.path()), text(&log));
        let ours = run(&format!("{words} --out {} --no-trace -q", text(&out))).expect_code(0).stdout;
        let Some(original) = fs_mark(flags, data.path(), &out.with_extension("original")) else { return };
        assert_eq!(heading(&ours), heading(&original), "{ours}");
        let (our_lines, its_lines) = (lines(&ours), lines(&original));
        assert_eq!(our_lines.len(), its_lines.len(), "{ours}{original}");
        for (our, its) in our_lines.iter().zip(&its_lines) {
            assert_eq!(our.len(), its.len(), "{ours}{original}");
            // Count and size are equal; the others only have to be present.
            assert_eq!(our[1..3], its[1..3], "{ours}{original}");
            assert!(our[3] > 0.0 && our[0] <= 100.0, "{ours}");
        }
        assert_eq!(std::fs::read_to_string(&log).unwrap().trim(), ours.trim());
    }
}

#[test]
fn files_per_second_are_reported_in_json_and_as_text() {
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let out = folder.path().join("run");
    let words =
        format!("run fsmark -S 0 -s 100 -n 400 -t 2 -d {} --out {} --no-trace -q", text(data.path()), text(&out));
    let shown = run(&format!("{words} --json")).expect_code(0).document();
    let phase = shown["phases"].as_array().unwrap().iter().find(|phase| phase["name"] == "create").unwrap();
    let took_s = phase["end_s"].as_f64().unwrap() - phase["start_s"].as_f64().unwrap();
    let files_per_s = number(&shown, "/rates/files_per_s/mean");
    assert!((files_per_s * took_s - 800.0).abs() < 1.0, "{files_per_s} files/s for {took_s} s");
    assert!((number(&phase["job_threads"], "/items_per_s") / files_per_s - 1.0).abs() < 0.01, "{phase:#}");
    // fs_mark's figure: never below the true rate.
    assert!(number(&phase["job_threads"], "/sum_of_own_items_per_s") >= number(&phase["job_threads"], "/items_per_s"));
    assert_eq!(number(&shown, "/operations/unlink/count"), 800.0);
    let text = run(&format!("show {}", text(&out))).expect_code(0).stdout;
    assert!(text.lines().any(|line| line.trim_start().starts_with("files ")), "{text}");
}

#[test]
fn filling_up_succeeds_when_the_disk_is_full() {
    if !is_root("a small disk") {
        return;
    }
    let folder = folder();
    for method in [0, 1, 6] {
        let disk = Disk::ext4(24 << 20);
        let out = folder.path().join(format!("run{method}"));
        let words = format!("run fsmark -F -S {method} -s 60000 -n 20 -t 2 -d {}", text(disk.path()));
        let ended = run(&format!("{words} --out {} --no-trace -q --json", text(&out))).expect_code(0);
        let shown = ended.document();
        // More than half of 24 MiB is usable; the file system takes the rest.
        assert!(number(&shown, "/operations/create/count") * 60_000.0 > 12e6, "{shown:#}");
        assert_eq!((errors(&shown), checked(&out)["whole"].as_bool()), (0, Some(true)), "{shown:#}");
        let loops = shown["phases"].as_array().unwrap().iter().filter(|phase| phase["name"] == "create").count();
        assert!(loops > 3, "{shown:#}");
        let native = run(&format!("show --format native {}", text(&out))).expect_code(0).stdout;
        let used: Vec<f64> = lines(&native).iter().map(|line| line[0]).collect();
        assert!(used.len() == loops && used[0] < 50.0 && used[loops - 1] > 80.0, "{native}");
        assert_eq!(disk.names(), Vec::<String>::new());
    }
}

#[test]
fn a_full_disk_is_an_error_unless_filling_was_requested() {
    if !is_root("a tmpfs") {
        return;
    }
    let (folder, tmpfs) = (folder(), Tmpfs::new(4));
    let words = format!("run fsmark -S 0 -s 100000 -n 100 -d {} --force", text(tmpfs.path()));
    let out = folder.path().join("run");
    let shown = run(&format!("{words} --out {} --no-trace -q --json", text(&out))).expect_code(1).document();
    assert_eq!(errors(&shown), 1, "the thread ends at the first file without space: {shown:#}");
    let failure = &shown["failed"][0];
    assert_eq!(failure["errno"].as_i64(), Some(28), "{shown:#}");
    assert!(failure["path"].as_str().unwrap().contains("/stallscope-fsmark/files/000000"), "{shown:#}");
    assert_eq!(std::fs::read_dir(tmpfs.path()).unwrap().count(), 0);
}

#[test]
fn an_impossible_request_is_reported_and_nothing_is_made() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let three = format!("run fsmark -t 3 -d {} -d {}", text(one.path()), text(two.path()));
    let ended = run(&three).expect_code(2);
    assert!(ended.stderr.contains("3 threads do not divide evenly among 2 directories"), "{}", ended.stderr);
    let log = format!("run fsmark -d {} -l {}/no/log", text(one.path()), text(two.path()));
    let ended = run(&log).expect_code(2);
    assert!(
        ended.stderr.contains("cannot open the log") && ended.stderr.contains("no/log: No such file"),
        "{}",
        ended.stderr
    );
    for directory in [&one, &two] {
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_read_only_directory_is_refused() {
    if !is_root("a tmpfs") {
        return;
    }
    let tmpfs = Tmpfs::new(4);
    let path = text(tmpfs.path());
    assert!(Command::new("mount").args(["-o", "remount,ro", &path]).status().unwrap().success());
    let ended = run(&format!("run fsmark -n 10 -d {path}")).expect_code(3);
    assert!(ended.stderr.contains("is not writable"), "{}", ended.stderr);
}
