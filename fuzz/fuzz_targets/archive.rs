//! Runs with up to eight changes that know the format, with all checksums made right again: see `parts.rs` of the
//! archive's tests.
#![no_main]
#![allow(dead_code)]

#[path = "../../crates/archive/tests/read_back/parts.rs"]
mod parts;
#[path = "../../crates/archive/tests/read_back/scenario/mod.rs"]
mod scenario;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use archive::Run;
use libfuzzer_sys::fuzz_target;
use parts::{Bytes, Choose as _, Parts};

fn folder() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    base.join(format!("stallscope-fuzz-{}", std::process::id()))
}

/// A cut-off run and a closed one.
fn originals() -> &'static [Parts; 2] {
    static ORIGINALS: OnceLock<[Parts; 2]> = OnceLock::new();
    ORIGINALS.get_or_init(|| {
        [false, true].map(|is_closed| {
            let dir = folder();
            let _ = fs::remove_dir_all(&dir);
            let writer = scenario::write_steps(&dir, 3, scenario::options(2));
            if is_closed {
                writer.close(scenario::moment(3)).expect("a run can be closed");
            } else {
                drop(writer);
            }
            let parts = Parts::of(&dir);
            let _ = fs::remove_dir_all(&dir);
            parts
        })
    })
}

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = Bytes(bytes);
    let mut parts = originals()[bytes.below(2)].clone();
    parts.mutate_by(&mut bytes);
    let dir = folder();
    fs::create_dir_all(&dir).expect("a folder can be made");
    parts.write(&dir);
    if let Ok(run) = Run::open(&dir) {
        run.verify();
        let rows = if parts.has_other_rows { scenario::count_rows(&run) } else { scenario::rows_in(&run).count() };
        assert!(rows <= 100_000, "{rows} rows");
        run.check();
    }
    let _ = fs::remove_dir_all(&dir);
});
