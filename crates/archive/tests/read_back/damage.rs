//! A damaged run: nothing that was not written is ever read.

use std::fmt;
use std::fs;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::scenario::{Rows, Step, copy, moment, options, rows_in, rows_of, write_steps};
use archive::{FlushState, Run, RunState};
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

/// Damages each file of a copy of each run: `attack` gets the copy, and a file of it, open, with what it holds.
fn attack_each_file(attack: impl Fn(&Path, &Path, &fs::File, &[u8])) {
    let base = tempdir().unwrap();
    for original in runs(base.path()) {
        let dir = base.path().join("copy");
        copy(&original, &dir);
        for path in files(&dir) {
            let whole = fs::read(&path).unwrap();
            let file = fs::File::options().write(true).open(&path).unwrap();
            attack(&dir, &path, &file, &whole);
            fs::write(&path, whole).unwrap();
        }
        assert_eq!(rows_in(&Run::open(&dir).unwrap()), rows_of(FEW_STEPS));
        fs::remove_dir_all(&dir).unwrap();
    }
}

/// Opens a damaged run: it has no row that was not written, and says so where it lacks some.
fn open_damaged(dir: &Path, written: &Rows, damage: fmt::Arguments<'_>) -> Run {
    let run = Run::open(dir).unwrap();
    let rows = rows_in(&run);
    assert!(rows.are_among(written), "{damage}");
    assert!(rows == *written || !run.damage().is_empty(), "{damage}");
    run
}

#[test]
fn a_run_cut_anywhere_reads_back_without_misreading() {
    let written = rows_of(FEW_STEPS);
    attack_each_file(|dir, path, file, whole| {
        for length in cuts(path, whole.len()) {
            file.set_len(length as u64).unwrap();
            let run = open_damaged(dir, &written, format_args!("{} cut at {length}", path.display()));
            if length.is_multiple_of(16) {
                let rows: u64 = run.check().rows.values().sum();
                assert_eq!(rows, rows_in(&run).count(), "{} cut at {length}", path.display());
            }
        }
    });
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
        assert_eq!(report.torn_bytes > 0, is_torn, "cut at {length}: {report:?}");
        assert_eq!(report.whole, length == whole.len(), "cut at {length}: {report:?}");
    }
}

/// Its journal then lists no table of a tracer, and `explain` must not call it untraced.
#[test]
fn a_traced_run_whose_journal_was_cut_before_its_tables_was_traced() {
    let base = tempdir().unwrap();
    for dir in runs(base.path()) {
        let journal = fs::read(dir.join("journal")).unwrap();
        let first_line = journal.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        fs::write(dir.join("journal"), &journal[..first_line]).unwrap();
        let run = Run::open(&dir).unwrap();
        assert!(run.has_trace() && !run.damage().is_empty(), "{}", dir.display());
    }
}

/// A kill between the batches of a consolidation and the line that makes them live.
#[test]
fn what_a_killed_consolidation_leaves_is_no_damage() {
    let base = tempdir().unwrap();
    let dir = base.path().join("run");
    drop(write_steps(&dir, 5, options(4)));
    let mut segment = fs::OpenOptions::new().append(true).open(dir.join("metrics-0000.arrows")).unwrap();
    segment.write_all(&[0xff; 100]).unwrap();
    let report = Run::open(&dir).unwrap().check();
    assert_eq!((report.state, report.whole, report.torn_bytes), (RunState::CutOff, true, 100), "{report:?}");
}

/// A kill right after an append leaves the watermark of the one before: a shortened file is then like that of a writer
/// killed earlier, which says that its end is missing. So no reading of it passes for that of a whole run.
#[test]
fn a_run_that_was_cut_off_lacks_its_end_wherever_its_files_end() {
    let base = tempdir().unwrap();
    let dir = base.path().join("run");
    let mut writer = write_steps(&dir, 2, options(4));
    assert_eq!(Run::open(&dir).unwrap().lost(), [], "it is live");
    let earlier = fs::read(dir.join("watermark")).unwrap();
    Step::number(2).write(&mut writer);
    assert_eq!(writer.flush(moment(2)), FlushState::Whole);
    drop(writer);
    fs::write(dir.join("watermark"), earlier).unwrap();
    for path in files(&dir) {
        let whole = fs::read(&path).unwrap();
        for length in (0..whole.len()).step_by(29) {
            fs::write(&path, &whole[..length]).unwrap();
            let lost: Vec<String> = Run::open(&dir).unwrap().lost().iter().map(ToString::to_string).collect();
            assert_eq!(lost.len(), 1, "{} cut at {length}: {lost:?}", path.display());
            assert!(lost[0].starts_with("the end of the run is missing: it was cut off"), "{lost:?}");
        }
        fs::write(&path, whole).unwrap();
    }
    let [cut_off, closed] = runs(base.path());
    let last_ns = Run::open(&cut_off).unwrap().check().last_flush_ns;
    assert_eq!(Run::open(&cut_off).unwrap().lost()[0].at_ns, last_ns);
    assert_eq!(Run::open(&closed).unwrap().lost(), []);
}

#[test]
fn an_altered_byte_costs_rows_and_adds_none() {
    let written = rows_of(FEW_STEPS);
    attack_each_file(|dir, path, file, whole| {
        for at in (0..whole.len()).step_by(13) {
            file.write_all_at(&[whole[at] ^ 1 << (at % 8)], at as u64).unwrap();
            open_damaged(dir, &written, format_args!("{} altered at {at}", path.display()));
            file.write_all_at(&[whole[at]], at as u64).unwrap();
        }
    });
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

/// The lines of a journal with one of them dropped, doubled, or moved to the next place.
fn rearranged(journal: &[u8]) -> Vec<(String, Vec<u8>)> {
    let lines: Vec<&[u8]> = journal.split_inclusive(|byte| *byte == b'\n').collect();
    let mut made = Vec::new();
    for at in 0..lines.len() {
        let mut dropped = lines.clone();
        dropped.remove(at);
        made.push((format!("line {at} dropped"), dropped.concat()));
        let mut doubled = lines.clone();
        doubled.insert(at, lines[at]);
        made.push((format!("line {at} doubled"), doubled.concat()));
        if at + 1 < lines.len() {
            let mut moved = lines.clone();
            moved.swap(at, at + 1);
            made.push((format!("line {at} moved"), moved.concat()));
        }
    }
    made
}

#[test]
fn a_journal_whose_lines_were_dropped_doubled_or_moved_is_noticed() {
    let base = tempdir().unwrap();
    let written = rows_of(FEW_STEPS);
    for dir in runs(base.path()) {
        let path = dir.join("journal");
        let whole = fs::read(&path).unwrap();
        for (what, journal) in rearranged(&whole) {
            fs::write(&path, journal).unwrap();
            let run = Run::open(&dir).unwrap();
            assert!(!run.damage().is_empty(), "{what} in {}", dir.display());
            assert!(rows_in(&run).are_among(&written), "{what} in {}", dir.display());
        }
        fs::write(&path, whole).unwrap();
        assert_eq!(Run::open(&dir).unwrap().damage(), []);
    }
}

fn only_damage(dir: &Path) -> String {
    let damage = Run::open(dir).unwrap().damage();
    assert_eq!(damage.len(), 1, "{damage:?}");
    damage[0].to_string()
}

#[test]
fn files_that_belong_to_another_run_or_are_gone_are_noticed() {
    let base = tempdir().unwrap();
    let [cut_off, closed] = runs(base.path());
    let written = rows_of(FEW_STEPS);
    let recent = cut_off.join("recent-0002");
    let bytes = fs::read(&recent).unwrap();
    fs::write(cut_off.join("recent-0003"), &bytes).unwrap();
    let run = Run::open(&cut_off).unwrap();
    assert_eq!(rows_in(&run), written, "the copy is not read");
    assert!(run.damage().iter().any(|damage| damage.to_string() == "recent-0003: the journal does not list it"));
    fs::remove_file(cut_off.join("recent-0003")).unwrap();
    fs::write(&recent, [bytes.clone(), bytes.clone()].concat()).unwrap();
    assert_eq!(rows_in(&Run::open(&cut_off).unwrap()), written, "the second copy is not read");
    assert!(only_damage(&cut_off).ends_with("the flush repeats an earlier one"));
    fs::write(&recent, &bytes).unwrap();
    assert_eq!(Run::open(&cut_off).unwrap().damage(), []);
    fs::remove_file(&recent).unwrap();
    assert_eq!(only_damage(&cut_off), "recent-0002: it is missing");
    let description = fs::read(closed.join("run.json")).unwrap();
    fs::write(closed.join("run.json"), [&description[..], b"\n"].concat()).unwrap();
    assert!(only_damage(&closed).starts_with("run.json: it is not the description"));
    fs::write(closed.join("run.json"), description).unwrap();
    fs::remove_file(closed.join("watermark")).unwrap();
    assert!(only_damage(&closed).starts_with("watermark: it is missing or damaged"));
}

/// A name in the journal is not followed out of the directory, and links are not followed at all.
#[test]
fn only_plain_files_of_the_directory_are_opened() {
    let base = tempdir().unwrap();
    let [_, closed] = runs(base.path());
    let path = closed.join("stalls-0000.arrows");
    let outside = base.path().join("outside");
    fs::rename(&path, &outside).unwrap();
    std::os::unix::fs::symlink(&outside, &path).unwrap();
    let run = Run::open(&closed).unwrap();
    assert!(run.damage().iter().any(|damage| damage.to_string().starts_with("stalls-0000.arrows: cannot be opened")));
    assert!(run.damage().iter().any(|damage| damage.may_lack("stalls")));
    assert_eq!(run.stalls().count(), 0);
}

/// No row is lost with it, but the file is not as it was written.
#[test]
fn a_segment_of_a_closed_run_ends_with_its_marker() {
    let base = tempdir().unwrap();
    let [_, closed] = runs(base.path());
    let damage = || {
        let run = Run::open(&closed).unwrap();
        run.verify();
        run.damage()
    };
    assert_eq!(damage(), []);
    for path in files(&closed).iter().filter(|path| path.extension().is_some_and(|extension| extension == "arrows")) {
        let whole = fs::read(path).unwrap();
        let mut changed: Vec<Vec<u8>> = (1..=8).map(|lost| whole[..whole.len() - lost].to_vec()).collect();
        changed.push([&whole[..], b"x"].concat());
        changed.push([&whole[..whole.len() - 1], b"x"].concat());
        for bytes in changed {
            fs::write(path, &bytes).unwrap();
            let why: Vec<String> = damage().into_iter().map(|damage| damage.why).collect();
            assert_eq!(why, ["its end is not as it was written"], "{} with {} bytes", path.display(), bytes.len());
            assert!(!Run::open(&closed).unwrap().check().whole);
        }
        fs::write(path, whole).unwrap();
    }
}
