//! Files of the real blktrace(8), which lockdown forbids on other kernels, compared with blkparse's output.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::scenes::is_since;
use crate::stage::{Disk, number, run};

/// Letters of all events that blkparse finds in the trace, one a line, with the bytes that each is about.
fn parsed(base: &Path) -> Vec<(String, u64)> {
    let mut command = Command::new("blkparse");
    command.args(["-q", "-f", "%a %N\\n", "-i"]).arg(base);
    let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let split = text.lines().filter_map(|line| line.split_once(' '));
    // It also names its inputs.
    let events = split.filter(|(letter, _)| !letter.starts_with("Input"));
    events.map(|(letter, bytes)| (letter.to_owned(), bytes.trim().parse().unwrap_or(0))).collect()
}

#[test]
fn its_totals_are_those_of_blkparse() {
    let (folder, disk) = (crate::stage::folder(), Disk::ext4(64 << 20));
    let device = std::fs::canonicalize(format!("/sys/dev/block/{}", disk.number())).unwrap();
    let device = Path::new("/dev").join(device.file_name().unwrap());
    let mut tracer = Command::new("blktrace");
    tracer.arg("-d").arg(&device).arg("-D").arg(folder.path()).args(["-o", "trace"]).stdout(Stdio::null());
    // blktrace needs debugfs.
    let _ = Command::new("mount").args(["-t", "debugfs", "none", "/sys/kernel/debug"]).status();
    let mut tracer = tracer.spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    let file = disk.path().join("file");
    let load = format!(
        "dd if=/dev/zero of={0} bs=64k count=200 conv=fsync; sync; dd if={0} of=/dev/null bs=4k",
        file.display()
    );
    assert!(Command::new("sh").args(["-c", &load]).stderr(Stdio::null()).status().unwrap().success());
    kill_process(Pid::from_child(&tracer), Signal::INT).unwrap();
    tracer.wait().unwrap();

    let base = folder.path().join("trace");
    let theirs = parsed(&base);
    let ours = run(&format!("blk --json {}", base.display())).expect_code(0).document();
    let count = |wanted: &str| theirs.iter().filter(|(letter, _)| letter == wanted).count() as f64;
    println!(
        "blkparse: {} events, {} queued, {} split, {} issued, {} completed; ours: {} events, {} bios, {} requests",
        theirs.len(),
        count("Q"),
        count("X"),
        count("D"),
        count("C"),
        ours["events"],
        ours["devices"][0]["bios"],
        ours["devices"][0]["requests"]
    );
    assert!(count("Q") > 20.0 && count("C") > 10.0, "the load was traced");
    assert_eq!(ours["lost"]["events"], 0);
    assert_eq!(number(&ours, "/events"), theirs.len() as f64);
    // A split bio counts once per piece.
    assert_eq!(number(&ours, "/devices/0/bios"), count("Q") + count("X"));
    let flushes = theirs.iter().filter(|(letter, bytes)| letter == "C" && *bytes == 0).count() as f64;
    let requests = number(&ours, "/devices/0/requests");
    assert!(requests <= count("C") && requests >= count("C") - flushes, "{requests}, {flushes} of nothing but a flush");
    // Linux 7.3 traces no Q and G of a write with a flush before it and FUA, which completes twice.
    let may_be = if is_since(7, 0) { flushes as u64 } else { 0 };
    for (anomaly, most) in [("unmatched_complete", 0), ("duplicate_complete", may_be)] {
        assert!(ours["anomalies"][anomaly].as_u64().unwrap_or(0) <= most, "{:#}", ours["anomalies"]);
    }
}
