//! A run that somebody crafted: all its checksums are right, and what they cover is not what a writer writes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::scenario::{copy, moment, options, rows_in, rows_of, write_steps};
use archive::Run;
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

const STEPS: u32 = 3;
/// Of an Arrow message: the marker and the length before its metadata.
const PREFIX: usize = 8;

/// A closed run, and a directory for copies of it.
fn closed() -> (TempDir, PathBuf) {
    let base = tempdir().unwrap();
    let dir = base.path().join("original");
    write_steps(&dir, STEPS, options(2)).close(moment(STEPS)).unwrap();
    (base, dir)
}

/// Rewrites the journal's entries; numbers and checksums of the chain are made right.
fn rewrite(dir: &Path, change: impl FnOnce(&mut Vec<Value>)) {
    let path = dir.join("journal");
    let text = fs::read_to_string(&path).unwrap();
    let mut entries: Vec<Value> = text.lines().map(|line| serde_json::from_str(&line[9..]).unwrap()).collect();
    change(&mut entries);
    let mut journal = Vec::new();
    for (number, entry) in entries.iter_mut().enumerate() {
        entry["number"] = json!(number);
        entry["before"] = json!(crc32c::crc32c(&journal));
        let text = entry.to_string();
        journal.extend_from_slice(format!("{:08x} {text}\n", crc32c::crc32c(text.as_bytes())).as_bytes());
    }
    fs::write(path, journal).unwrap();
    fs::remove_file(dir.join("watermark")).unwrap();
}

/// The batches of the journal's consolidations.
fn batches(entries: &mut [Value]) -> impl Iterator<Item = &mut Value> {
    entries.iter_mut().filter_map(|entry| entry["batches"].as_array_mut()).flatten()
}

/// Changes the bytes of a message, and makes its checksum right.
fn craft(dir: &Path, entry: &mut Value, change: impl FnOnce(&mut [u8])) {
    let path = dir.join(entry["file"].as_str().unwrap());
    let mut bytes = fs::read(&path).unwrap();
    let from = entry["offset"].as_u64().unwrap_or(0) as usize;
    let message = &mut bytes[from..from + entry["length"].as_u64().unwrap() as usize];
    change(message);
    entry["crc32c"] = json!(crc32c::crc32c(message));
    fs::write(&path, bytes).unwrap();
}

/// Panics so far, also those that somebody caught.
fn panics() -> &'static AtomicUsize {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    static HOOK: std::sync::Once = std::sync::Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PANICS.fetch_add(1, Ordering::Relaxed);
            before(info);
        }));
    });
    &PANICS
}

/// Bytes of metadata of each message are set to values that make numbers large or negative.
#[test]
fn crafted_metadata_is_refused_or_read_and_never_panics() {
    let (base, original) = closed();
    let dir = base.path().join("copy");
    let written = rows_of(STEPS);
    let mut refused = 0;
    for value in [0x7f, 0xff] {
        // Every second byte: numbers take at least two.
        for at in (usize::from(value == 0xff)..600).step_by(2) {
            copy(&original, &dir);
            rewrite(&dir, |entries| {
                let segments = entries.iter().position(|entry| entry["entry"] == "segment").unwrap();
                let is_segment = at % 8 > 5;
                let mut messages: Vec<&mut Value> =
                    if is_segment { vec![&mut entries[segments]] } else { batches(entries).collect() };
                for entry in &mut messages {
                    craft(&dir, entry, |message| {
                        let metadata = u32::from_le_bytes(message[4..PREFIX].try_into().unwrap()) as usize;
                        message[PREFIX + at % metadata] = value;
                    });
                }
            });
            let before = panics().load(Ordering::Relaxed);
            let run = Run::open(&dir).unwrap();
            run.verify();
            run.tables().for_each(|table| table.into_iter().for_each(|table| table.batches().for_each(drop)));
            let whole = read_all(&run);
            refused += usize::from(whole != written.count());
            assert_eq!(panics().load(Ordering::Relaxed), before, "byte {at} of metadata set to {value:#x}");
            fs::remove_dir_all(&dir).unwrap();
        }
    }
    assert!(refused > 100, "the crafted metadata concerns something: {refused}");
}

/// Rows that can be read, of all tables; a row may occur twice.
fn read_all(run: &Run) -> u64 {
    fn count<Row>(batches: archive::Batches<Row>) -> u64 {
        batches.flatten().map(|rows| rows.len() as u64).sum()
    }
    count(run.descriptors())
        + count(run.samples())
        + count(run.changes())
        + count(run.intervals())
        + count(run.operations())
        + count(run.stalls())
        + count(run.stacks())
        + count(run.requests())
        + count(run.request_intervals())
        + count(run.tasks())
        + count(run.usage())
}

#[test]
fn a_buffer_of_a_tebibyte_is_refused() {
    let (_base, dir) = closed();
    rewrite(&dir, |entries| {
        for entry in batches(entries) {
            craft(&dir, entry, |message| {
                let metadata = u32::from_le_bytes(message[4..PREFIX].try_into().unwrap()) as usize;
                // The decompressed length of the first buffer.
                message[PREFIX + metadata..][..8].copy_from_slice(&(1_u64 << 40).to_le_bytes());
            });
        }
    });
    let run = Run::open(&dir).unwrap();
    read_all(&run);
    assert!(!run.damage().is_empty());
    assert!(run.damage().iter().any(|damage| damage.why.contains("bytes, more than")), "{:?}", run.damage());
}

#[test]
fn a_batch_listed_20_000_times_is_read_once() {
    let (_base, dir) = closed();
    rewrite(&dir, |entries| {
        for entry in entries.iter_mut().filter(|entry| entry["batches"].is_array()) {
            let listed = entry["batches"].as_array_mut().unwrap();
            let first = listed[0].clone();
            listed.extend(std::iter::repeat_n(first, 20_000));
        }
    });
    let run = Run::open(&dir).unwrap();
    // It panics if a row occurs twice.
    rows_in(&run);
    assert!(run.damage().iter().any(|damage| damage.why.contains("shares its bytes")));
}

#[test]
fn rows_beyond_any_batch_are_refused_and_counted_as_unknown() {
    let (_base, dir) = closed();
    rewrite(&dir, |entries| batches(entries).for_each(|entry| entry["rows"] = json!(u64::MAX)));
    let run = Run::open(&dir).unwrap();
    assert_eq!(rows_in(&run).count(), 0);
    assert_eq!(run.check().rows.values().sum::<u64>(), 0);
    assert!(run.damage().iter().any(|damage| damage.rows.is_none()));
}

#[test]
fn a_journal_of_a_tebibyte_is_refused_without_reading_it() {
    let (_base, dir) = closed();
    let began = Instant::now();
    fs::File::options().write(true).open(dir.join("journal")).unwrap().set_len(1 << 40).unwrap();
    let error = Run::open(&dir).unwrap_err();
    assert!(format!("{error:?}").contains("larger than"), "{error:?}");
    // Reading a tebibyte takes minutes.
    assert!(began.elapsed().as_secs() < 60);
}

#[test]
fn a_batch_of_a_tebibyte_without_blocks_is_refused() {
    let (_base, dir) = closed();
    rewrite(&dir, |entries| {
        for entry in batches(entries) {
            let path = dir.join(entry["file"].as_str().unwrap());
            fs::File::options().write(true).open(path).unwrap().set_len(2 << 40).unwrap();
            entry["length"] = json!(1_u64 << 40);
        }
    });
    let run = Run::open(&dir).unwrap();
    assert_eq!(rows_in(&run).count(), 0);
    assert!(run.damage().iter().any(|damage| damage.why.contains("bytes, more than")), "{:?}", run.damage());
}

#[test]
fn links_and_devices_in_place_of_files_are_not_followed() {
    for name in ["run.json", "journal", "watermark"] {
        let (base, dir) = closed();
        let elsewhere = base.path().join("elsewhere");
        fs::rename(dir.join(name), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, dir.join(name)).unwrap();
        match Run::open(&dir) {
            Err(error) => assert!(error.to_string().contains(name), "{error}"),
            Ok(run) => assert!(run.damage().iter().any(|damage| damage.file == name), "{name}"),
        }
    }
}

/// An archive of some KiB can hold them: they have no blocks.
#[test]
fn many_recent_files_without_blocks_are_refused_without_reading_them() {
    let (_base, dir) = closed();
    for number in 100..164 {
        let file = fs::File::create(dir.join(format!("recent-{number:04}"))).unwrap();
        file.set_len(200 << 20).unwrap();
    }
    let error = Run::open(&dir).unwrap_err();
    assert!(format!("{error:?}").contains("larger than"), "{error:?}");
    let (_base, dir) = closed();
    fs::File::options().write(true).open(dir.join("run.json")).unwrap().set_len(1 << 30).unwrap();
    assert!(format!("{:?}", Run::open(&dir).unwrap_err()).contains("larger than"));
}

/// Looking for each part in a list of them takes the square of their number.
#[test]
fn damage_without_end_is_found_in_time_and_summed_up() {
    let (_base, dir) = closed();
    rewrite(&dir, |entries| {
        for entry in entries.iter_mut() {
            let Some(listed) = entry["batches"].as_array_mut() else { continue };
            let first = listed[0].clone();
            listed.extend((0..100_000_u64).map(|number| {
                let mut batch = first.clone();
                batch["offset"] = json!((1_u64 << 40) + number * 8);
                batch["length"] = json!(8);
                batch
            }));
        }
    });
    let mut journal = fs::read(dir.join("journal")).unwrap();
    journal.splice(0..0, vec![b'\n'; 4 << 20]);
    fs::write(dir.join("journal"), journal).unwrap();
    let began = Instant::now();
    let run = Run::open(&dir).unwrap();
    run.verify();
    let damage = run.damage();
    assert!(damage.iter().any(|damage| damage.why == "lines 1 to 4194304 are damaged"), "{:?}", damage[0]);
    assert!(damage.last().unwrap().why.contains("more parts damaged"), "{:?}", damage.last());
    assert!(damage.len() < 20_000 && began.elapsed().as_secs() < 60, "{} in {:?}", damage.len(), began.elapsed());
}

/// Nothing but a regular file is opened: a pipe would wake its writer.
#[test]
fn a_pipe_in_place_of_a_file_is_refused_without_being_opened() {
    for name in ["run.json", "journal", "watermark", "recent-0009"] {
        let (_base, dir) = closed();
        let path = dir.join(name);
        let _ = fs::remove_file(&path);
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        let (of_writer, opened) = std::sync::mpsc::channel();
        let pipe = path.clone();
        let writer = std::thread::spawn(move || {
            let file = fs::File::options().write(true).open(pipe);
            let _ = of_writer.send(());
            file.map(drop)
        });
        for _ in 0..10 {
            match Run::open(&dir) {
                Err(error) => assert!(error.to_string().contains(name), "{error}"),
                Ok(run) => assert!(run.damage().iter().any(|damage| damage.file == name), "{name}"),
            }
            assert!(opened.recv_timeout(std::time::Duration::from_millis(10)).is_err(), "{name} was opened");
        }
        let _reader = fs::File::open(&path).unwrap();
        writer.join().unwrap().unwrap();
    }
}
