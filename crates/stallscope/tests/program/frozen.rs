//! While a file system is frozen, the terminal shows which operations are stuck.

use std::process::Command;

use crate::stage::{Disk, Frozen, Running, folder, is_root};

/// `script` gives the program a terminal, and copies its output.
#[test]
fn stuck_operations_are_named_on_the_terminal() {
    if !is_root("freezing a file system") {
        return;
    }
    for engine in ["sync", "io_uring"] {
        let (folder, disk) = (folder(), Disk::xfs());
        let words = format!(
            "{} run randrw --mix write --rate 1000 --file-size 4m --engine {engine} --runtime 10m --out {} {}",
            env!("CARGO_BIN_EXE_stallscope"),
            folder.path().join("run").display(),
            disk.path().display()
        );
        let mut command = Command::new("script");
        command.args(["-q", "-e", "-f", "-c", &words, "/dev/null"]);
        command.env("TERM", "xterm").env("COLUMNS", "300");
        let mut program = Running::spawn(command);
        program.wait_until("the run has begun", |program| {
            let screen = program.stdout();
            (1..60).any(|second| screen.contains(&format!("run: {second}.")))
        });
        let frozen = Frozen::new(disk.path());
        let path = disk.path().join("stallscope-randrw/file/0000/000");
        let named = format!("stuck: write of {} at ", path.display());
        program.wait_until("the remark", |program| program.stdout().contains(&named));
        program.wait_until("the live line", |program| program.stdout().contains(" 1 stuck: write of "));
        drop(frozen);
    }
}
