//! Without root, the program does what it can and reports the rest.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::stage::{Ended, Running, SMALL};

const NOBODY: u32 = 65534;

/// An ordinary user's folder that holds the program. Without root, that user is the current one.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Home {
        let home = Home(tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o755)).tempdir().unwrap());
        let program = home.path("program");
        fs::copy(env!("CARGO_BIN_EXE_stallscope"), &program).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        if is_root() {
            chown(home.0.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, words: &str) -> Ended {
        let program = self.path("program");
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.args(words.split_whitespace()).current_dir(self.0.path()).env("HOME", self.0.path());
        command.env("TMPDIR", self.0.path()).env("XDG_RUNTIME_DIR", self.0.path());
        Running::spawn(command).wait()
    }

    fn mkdir(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir(&path).unwrap();
        if is_root() {
            chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        path
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn is_empty(path: &Path) -> bool {
    fs::read_dir(path).unwrap().next().is_none()
}

#[test]
fn simoop_runs_and_reports_what_is_missing() {
    let home = Home::new();
    let data = home.mkdir("data");
    let ended = home.run(&format!("run simoop {SMALL} --json --out run {}", data.display())).expect_code(0);
    let document = ended.document();
    assert!(document["operations"]["read"]["count"].as_u64() > Some(0));
    println!("{:#}", document["missing"]);
    assert!(!document["missing"].as_array().unwrap().is_empty());
    assert!(is_empty(&data));
}

#[test]
fn the_demo_runs_in_a_plain_directory_and_says_why() {
    let home = Home::new();
    let scratch = home.mkdir("scratch");
    let ended = home.run(&format!("demo --runtime 3s --scratch {}", scratch.display())).expect_code(0);
    println!("{}\n{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("plain directory"), "{}", ended.stderr);
    assert!(ended.stderr.contains("root"), "{}", ended.stderr);
    assert!(ended.stdout.contains("Final stats"), "{}", ended.stdout);
    assert!(is_empty(&scratch), "nothing is left behind");
    // The run is kept on another file system than that of the scratch directory: in memory.
    let (_, run) = ended.stderr.split_once("the run is in ").expect("the run's directory");
    let run = home.0.path().join(run.lines().next().unwrap());
    fs::remove_dir_all(&run).unwrap();
    // Other users' runs may be beside it.
    let _ = fs::remove_dir(run.parent().unwrap());
}

#[test]
fn a_memory_cgroup_needs_root_and_the_error_says_so() {
    let home = Home::new();
    let data = home.mkdir("data");
    for pressure in ["--memory 64m", "--disk-bps 8m"] {
        let ended = home.run(&format!("run simoop {SMALL} {pressure} --out run {}", data.display())).expect_code(3);
        println!("{}", ended.error());
        assert!(ended.error().contains("root"), "{}", ended.error());
        assert!(is_empty(&data) && !home.path("run").exists());
    }
}

/// What `doctor` says an ordinary user can do does not end with exit code 3.
#[test]
fn doctor_does_not_promise_what_is_then_refused() {
    let home = Home::new();
    let document = home.run("doctor --json").expect_code(0).document();
    let findings = document["findings"].as_array().unwrap();
    for (capability, words) in [("memory cgroup", "--memory 64m"), ("disk throttling", "--disk-bps 8m")] {
        let finding = findings.iter().find(|finding| finding["capability"] == capability).unwrap();
        let ended = home.run(&format!("record --no-trace {words} --device-of / -- true"));
        assert_eq!(finding["available"] == true, ended.code == Some(0), "{finding:#} {}", ended.stderr);
        assert!(finding["available"] == true || !finding["why"].is_null(), "{finding:#}");
    }
    assert_eq!(document["leftovers"].as_array().unwrap().len(), 0);
}

fn as_root_in(directory: &Path, words: &str) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stallscope"));
    command.args(words.split_whitespace()).current_dir(directory).env_remove("SUDO_UID");
    Running::spawn(command).wait()
}

/// Its owner could put a link there, and root would write wherever it leads.
#[test]
fn root_does_not_write_into_another_users_directory_of_runs() {
    if !is_root() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let theirs = home.path().join("stallscope-runs");
    fs::create_dir(&theirs).unwrap();
    chown(&theirs, Some(NOBODY), Some(NOBODY)).unwrap();
    let ended = as_root_in(home.path(), "record --no-trace --runtime 100ms").expect_code(0);
    assert!(ended.stderr.contains("stallscope-runs belongs to another user"), "{}", ended.stderr);
    assert!(is_empty(&theirs) && home.path().join("stallscope-runs-0").is_dir());
}

/// The same below any directory of another user, by each verb that writes.
#[test]
fn root_does_not_write_below_another_users_directory() {
    if !is_root() {
        return;
    }
    let (home, own) = (Home::new(), tempfile::tempdir().unwrap());
    let run = own.path().join("run").display().to_string();
    as_root_in(own.path(), "record --no-trace --runtime 100ms --out run").expect_code(0);
    let sweep = format!("sweep {}/../../sweeps/bufcache-rewriters.toml", env!("CARGO_MANIFEST_DIR"));
    let before = fs::read_dir(home.0.path()).unwrap().count();
    for words in [
        "record --no-trace -- true",
        "record --no-trace --out sub/run -- true",
        "record --no-trace --ring 10s --runtime 100ms",
        "run randrw --engine null --no-trace --runtime 100ms --file-size 64k /dev/shm",
        "simulate osc",
        "demo --scratch .",
        "generate made",
        &sweep,
        &format!("report {run} -o page.html"),
        &format!("export {run} --to csv -o rows.csv"),
    ] {
        let refused = as_root_in(home.0.path(), words).expect_code(2);
        let error = refused.error();
        assert!(error.contains("belongs to user 65534") && error.contains("choose a path"), "{words}: {error}");
        assert_eq!(fs::read_dir(home.0.path()).unwrap().count(), before, "{words}");
    }
}

#[test]
fn a_directory_that_is_not_writable_is_one_clear_error() {
    let home = Home::new();
    let ended = home.run(&format!("run simoop {SMALL} --out run /etc"));
    println!("{:?} {}", ended.code, ended.error());
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(ended.error().contains("/etc is not writable"), "{}", ended.error());
    assert!(!home.path("run").exists());
}

#[test]
fn a_run_directory_that_cannot_be_made_is_one_clear_error() {
    let home = Home::new();
    let data = home.mkdir("data");
    let ended = home.run(&format!("run simoop {SMALL} --out /etc/run {}", data.display())).expect_code(3);
    println!("{}", ended.error());
    assert!(ended.error().contains("/etc/run"), "{}", ended.error());
    assert!(is_empty(&data));
}

#[test]
fn the_kernel_is_timed_by_root_only_and_the_error_says_so() {
    let home = Home::new();
    for words in ["vfs_fsync_range", "--pair vmscan:mm_shrink_slab_start..end"] {
        let ended = home.run(&format!("funclat {words} --runtime 1s")).expect_code(3);
        println!("{}", ended.error());
        assert!(ended.error().contains("needs root"), "{}", ended.error());
    }
}

/// `explain` of a recording that was not traced once said that no operation was slow, with exit code 0.
#[test]
fn an_untraced_recording_is_no_all_clear() {
    let home = Home::new();
    home.run("record --slower-than 10ms --runtime 500ms --out run").expect_code(0);
    let text = home.run("explain run").expect_code(1).stdout;
    assert!(text.contains("\nWhich operations were slow is unknown: they were not traced\n"), "{text}");
    assert!(text.contains("only tasks that a poll found blocked are known"), "{text}");
    assert!(!text.contains("Nothing took longer"), "{text}");
    let document = home.run("explain run --json").expect_code(1).document();
    assert_eq!((&document["complete"], &document["untraced"][0]["subject"]), (&false.into(), &"operations".into()));
    assert!(document["answer"]["sure"].to_string().contains("not traced"), "{document:#}");
    assert_eq!(document["untraced"][0]["remedy"], document["losses"]["missing"][0]["remedy"]);
}
