//! A damaged run: nothing that was not written is ever read.

mod scenario;

use std::fs;
use std::path::{Path, PathBuf};

use archive::Run;
use scenario::{copy, moment, options, rows_in, rows_of, write_steps};
use tempfile::tempdir;

const STEPS: u32 = 11;
/// For tests that read the run once for each of its bytes.
const FEW_STEPS: u32 = 3;

/// The files of a run that hold rows or say where they are.
fn files(dir: &Path) -> Vec<PathBuf> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    names.filter(|path| !path.ends_with("run.json") && !path.ends_with("reserve")).collect()
}

/// A cut-off run with consolidated and recent rows, and a closed one.
fn runs(base: &Path) -> [PathBuf; 2] {
    let [cut_off, closed] = ["cut-off", "closed"].map(|name| base.join(name));
    drop(write_steps(&cut_off, FEW_STEPS, options(2)));
    write_steps(&closed, FEW_STEPS, options(2)).close(moment(FEW_STEPS)).unwrap();
    [cut_off, closed]
}

/// Segments are cut in their second half, which is where the last batch is; the journal and recent files anywhere.
fn first_cut(path: &Path, length: usize) -> usize {
    if path.extension().is_some_and(|extension| extension == "arrows") { length / 2 } else { 0 }
}

#[test]
fn a_run_cut_at_any_byte_reads_back_without_misreading() {
    let base = tempdir().unwrap();
    let written = rows_of(FEW_STEPS);
    for original in runs(base.path()) {
        let dir = base.path().join("copy");
        copy(&original, &dir);
        for path in files(&dir) {
            let whole = fs::read(&path).unwrap();
            for length in (first_cut(&path, whole.len())..whole.len()).rev() {
                fs::File::options().write(true).open(&path).unwrap().set_len(length as u64).unwrap();
                let run = Run::open(&dir).unwrap();
                assert!(rows_in(&run).are_among(&written), "{} cut at {length}", path.display());
                if length.is_multiple_of(64) {
                    let rows: u64 = run.check().rows.values().sum();
                    assert_eq!(rows, rows_in(&run).count(), "{} cut at {length}", path.display());
                }
            }
            fs::write(&path, whole).unwrap();
        }
        assert_eq!(rows_in(&Run::open(&dir).unwrap()), written);
        fs::remove_dir_all(&dir).unwrap();
    }
}

#[test]
fn a_recent_file_cut_at_any_byte_reads_back_to_a_whole_flush() {
    let base = tempdir().unwrap();
    let dir = base.path().join("run");
    drop(write_steps(&dir, 6, options(4)));
    let path = dir.join("recent-0002");
    let whole = fs::read(&path).unwrap();
    let mut seen = 4;
    for length in 0..=whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let run = Run::open(&dir).unwrap();
        let rows = rows_in(&run);
        let steps = rows.samples.len() as u32;
        assert_eq!(rows, rows_of(steps), "cut at {length}");
        assert!(steps == seen || steps == seen + 1, "cut at {length}");
        let report = run.check();
        let at_boundary = length == 0 || steps == seen + 1;
        assert_eq!(report.torn_bytes == 0, at_boundary, "cut at {length}: {report:?}");
        assert_eq!(report.whole, at_boundary);
        seen = steps;
    }
    assert_eq!(seen, 6);
}

#[test]
fn an_altered_byte_costs_rows_and_adds_none() {
    let base = tempdir().unwrap();
    let written = rows_of(FEW_STEPS);
    for original in runs(base.path()) {
        let dir = base.path().join("copy");
        copy(&original, &dir);
        for path in files(&dir) {
            let whole = fs::read(&path).unwrap();
            for at in (0..whole.len()).step_by(7) {
                let mut altered = whole.clone();
                altered[at] ^= 1 << (at % 8);
                fs::write(&path, &altered).unwrap();
                let run = Run::open(&dir).unwrap();
                assert!(rows_in(&run).are_among(&written), "{} altered at {at}", path.display());
            }
            fs::write(&path, whole).unwrap();
        }
        fs::remove_dir_all(&dir).unwrap();
    }
}

#[test]
fn what_is_missing_is_named() {
    let dir = tempdir().unwrap();
    write_steps(dir.path(), STEPS, options(4)).close(moment(STEPS)).unwrap();
    let path = dir.path().join("metrics-0000.arrows");
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 20;
    bytes[last] ^= 1;
    fs::write(&path, bytes).unwrap();
    fs::remove_file(dir.path().join("operations-0000.arrows")).unwrap();
    let report = Run::open(dir.path()).unwrap().check();
    assert!(!report.whole);
    assert!(report.lost.iter().any(|lost| lost.contains("rows of metrics at offset")), "{report:?}");
    assert!(report.lost.iter().any(|lost| lost.starts_with("operations-0000.arrows: cannot be opened")), "{report:?}");
    assert_eq!(report.rows["samples"], u64::from(STEPS));
}
