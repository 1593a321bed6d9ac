//! A damaged run: nothing that was not written is ever read.

mod scenario;

use std::fs;
use std::path::{Path, PathBuf};

use archive::{FlushState, Run};
use scenario::{Step, copy, moment, options, rows_in, rows_of, write_steps};
use tempfile::tempdir;

const STEPS: u32 = 11;
/// For tests that read the run a thousand times.
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

/// The journal is cut at each byte, other files at a coarser step: checksums cover their batches as a whole.
fn cuts(path: &Path, length: usize) -> impl Iterator<Item = usize> + use<> {
    (0..length).rev().step_by(if path.ends_with("journal") { 1 } else { 11 })
}

#[test]
fn a_run_cut_anywhere_reads_back_without_misreading() {
    let base = tempdir().unwrap();
    let written = rows_of(FEW_STEPS);
    for original in runs(base.path()) {
        let dir = base.path().join("copy");
        copy(&original, &dir);
        for path in files(&dir) {
            let whole = fs::read(&path).unwrap();
            for length in cuts(&path, whole.len()) {
                fs::File::options().write(true).open(&path).unwrap().set_len(length as u64).unwrap();
                let run = Run::open(&dir).unwrap();
                assert!(rows_in(&run).are_among(&written), "{} cut at {length}", path.display());
                if length.is_multiple_of(16) {
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
fn a_recent_file_cut_anywhere_reads_back_to_a_whole_flush() {
    let base = tempdir().unwrap();
    let dir = base.path().join("run");
    let mut writer = write_steps(&dir, 4, options(4));
    let path = dir.join("recent-0002");
    let mut flushed = vec![0];
    for step in 4..6 {
        Step::number(step).write(&mut writer);
        assert_eq!(writer.flush(moment(step)), FlushState::Whole);
        flushed.push(fs::metadata(&path).unwrap().len() as usize);
    }
    drop(writer);
    let whole = fs::read(&path).unwrap();
    assert_eq!(flushed.last(), Some(&whole.len()));
    let beside = |length: usize| flushed.iter().any(|end| end.abs_diff(length) < 3);
    for length in (0..=whole.len()).filter(|&length| length.is_multiple_of(11) || beside(length)) {
        fs::write(&path, &whole[..length]).unwrap();
        let run = Run::open(&dir).unwrap();
        let flushes = flushed.iter().filter(|end| **end <= length).count() as u32;
        assert_eq!(rows_in(&run), rows_of(3 + flushes), "cut at {length}");
        let report = run.check();
        let is_torn = !flushed.contains(&length);
        assert_eq!((report.torn_bytes > 0, report.whole), (is_torn, !is_torn), "cut at {length}: {report:?}");
    }
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
            for at in (0..whole.len()).step_by(13) {
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
