//! Any bytes as a file of a run directory: journal, description, watermark, recent file, write ledger, or as that of a
//! set.
#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use archive::{Run, Writer, WriterOptions};
use libfuzzer_sys::fuzz_target;
use model::run::RunDescription;
use model::time::Moment;

/// A run that was cut off. Each execution replaces one of its files.
fn run() -> &'static Path {
    static RUN: OnceLock<PathBuf> = OnceLock::new();
    RUN.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let dir = base.join(format!("stallscope-fuzz-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        let at = Moment { monotonic_ns: 1, wall_ns: 1 };
        let options = WriterOptions { sync: false, reserve_bytes: 4096, ..WriterOptions::default() };
        let mut writer = Writer::create(&dir, &RunDescription::new("fuzz", at), options).expect("a run can be written");
        let _ = writer.flush(at);
        dir
    })
}

fuzz_target!(|bytes: &[u8]| {
    let Some((which, bytes)) = bytes.split_first() else { return };
    let name = ["journal", "run.json", "watermark", "recent-0001", "ledger", "set.json"][usize::from(*which) % 6];
    let path = run().join(name);
    let original = fs::read(&path).ok();
    fs::write(&path, bytes).expect("a file can be written");
    if name == "ledger" {
        if let Ok(ledger) = load::write_ledger::WriteLedger::open(&path) {
            ledger.totals();
        }
    } else if name == "set.json" {
        if let Ok(set) = archive::read_set(run()) {
            set.nodes.iter().for_each(|node| assert!(!node.directory().contains("..")));
        }
    } else if let Ok(run) = Run::open(run()) {
        run.verify();
        run.check();
        assert!(run.samples().flatten().count() < 1000);
    }
    match original {
        Some(original) => fs::write(&path, original).expect("a file can be written"),
        None => fs::remove_file(&path).expect("a file can be removed"),
    }
});
