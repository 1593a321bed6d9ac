//! The judge of scripts/test-distro: what it calls right and wrong.

use std::path::PathBuf;
use std::process::Command;

#[test]
fn the_judge_of_distributions_can_fail() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scripts/distro");
    let mut python = Command::new("python3");
    python.args(["-m", "unittest", "judge_test"]).env("PYTHONDONTWRITEBYTECODE", "1").current_dir(folder);
    let Ok(output) = python.output() else {
        return println!("skipped: the judge of scripts/test-distro needs python3");
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
