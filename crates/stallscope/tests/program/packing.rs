//! A release: what `scripts/pack` makes of a program.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::stage::folder;

fn script(name: &str, arguments: &[&Path]) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(root.join("scripts").join(name))
        .args(arguments)
        .env("SOURCE_DATE_EPOCH", "1700000000")
        // A debug build is large.
        .env("STALLSCOPE_PACK_LEVEL", "1")
        .output()
        .unwrap();
    let printed = [output.stdout, output.stderr].concat();
    println!("{}", String::from_utf8_lossy(&printed));
    assert!(output.status.success(), "scripts/{name} failed");
}

#[test]
fn a_release_is_complete_and_reproducible() {
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        return println!("skipped: making a Debian package needs dpkg-deb (package dpkg)");
    }
    let folder = folder();
    let program = Path::new(env!("CARGO_BIN_EXE_stallscope"));
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    std::thread::scope(|scope| {
        for place in [&first, &second] {
            scope.spawn(|| script("pack", &[program, place]));
        }
    });
    let sums = |place: &Path| std::fs::read_to_string(place.join("SHA256SUMS")).unwrap();
    assert_eq!(sums(&first), sums(&second));
    script("check-dist", &[&first]);
}
