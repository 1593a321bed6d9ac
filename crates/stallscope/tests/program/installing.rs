//! The files of `make install`, read by man's formatter and the shells.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::stage::folder;

/// `make install` of the program that is tested, into a folder.
fn installed(place: &Path) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = env!("CARGO_BIN_EXE_stallscope");
    let output = Command::new("make")
        .current_dir(root)
        // Without another build.
        .args(["--old-file=build", "install", "PREFIX=/usr"])
        .arg(format!("PROGRAM={program}"))
        .arg(format!("DESTDIR={}", place.display()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    place.join("usr")
}

/// A reader must accept the file without a message, if the reader is installed.
#[track_caller]
fn read_by(program: &str, package: &str, arguments: &[&str], file: &Path) {
    match Command::new(program).args(arguments).arg(file).output() {
        Err(error) => println!("skipped: reading {} needs {program} (package {package}): {error}", file.display()),
        Ok(output) => {
            let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            assert!(output.status.success() && printed.is_empty(), "{program} of {}: {printed}", file.display());
        }
    }
}

#[test]
fn what_is_installed_is_read_by_man_and_the_shells() {
    let folder = folder();
    let usr = installed(folder.path());
    let version = Command::new(usr.join("bin/stallscope")).arg("--version").output().unwrap();
    assert!(String::from_utf8_lossy(&version.stdout).starts_with("stallscope "));
    let pages: Vec<PathBuf> =
        std::fs::read_dir(usr.join("share/man/man1")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(pages.len() > 20);
    if Command::new("mandoc").output().is_err() {
        println!("skipped: looking for mistakes in man pages needs mandoc (package mandoc)");
    } else {
        pages.iter().for_each(|page| read_by("mandoc", "mandoc", &["-T", "lint", "-W", "warning"], page));
    }
    let share = usr.join("share");
    read_by("zsh", "zsh", &["-n"], &share.join("zsh/site-functions/_stallscope"));
    read_by("fish", "fish", &["--no-execute"], &share.join("fish/vendor_completions.d/stallscope.fish"));
    let bash = share.join("bash-completion/completions/stallscope");
    let asked = |line: &str, words: &str, at: usize| {
        let script = format!(
            "source {}; COMP_LINE='{line}'; COMP_WORDS=({words}); COMP_CWORD={at}; \
             _stallscope stallscope \"${{COMP_WORDS[{at}]}}\" \"${{COMP_WORDS[{}]}}\"; echo \"${{COMPREPLY[*]}}\"",
            bash.display(),
            at - 1
        );
        let output = Command::new("bash").args(["-c", &script]).output().unwrap();
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(asked("stallscope expl", "stallscope expl", 1).trim(), "explain");
    assert_eq!(asked("stallscope run sim", "stallscope run sim", 2).trim(), "simoop");
    assert_eq!(asked("stallscope export --to fio-p", "stallscope export --to fio-p", 3).trim(), "fio-plot");
}
