//! Journal statistics of each ext4 mount, from `proc/fs/jbd2/DEVICE-INODE/info`.
//!
//! The first line counts; the others are averages over the journal's life (`jbd2_seq_info_show` of fs/jbd2/journal.c),
//! which move only when they change by a whole unit. The kernel copies them when the file is opened.

use std::path::{Path, PathBuf};

use model::metric::{Semantics, Unit};

use crate::bytes::{next_line, shown, trimmed, words};
use crate::file::TextFile;
use crate::instances::{Instance, Instances};
use crate::last_values::{Column, SampleWriter};
use crate::rows::{Rows, Table};
use crate::source::MetricSource;
use crate::source_error::SourceError;

/// Lines with their words swapped: `<what> <number><unit>`, as the number comes first in the file.
struct Jbd2Table {
    instance: String,
}

impl Table for Jbd2Table {
    fn key_len(&self, line: &[u8]) -> usize {
        line.iter().rposition(|byte| *byte == b' ').map_or(0, |at| at + 1)
    }

    fn columns(&mut self, key: &[u8], _values: &[u8], writer: &mut SampleWriter<'_>) -> Vec<Column> {
        let Some((what, unit)) = trimmed(key).split_last_chunk::<2>().map(|(what, unit)| (trimmed(what), unit)) else {
            return Vec::new();
        };
        let what = shown(what);
        let words = what.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let what = words.collect::<Vec<_>>().join("_");
        let (unit, semantics) = match (unit, &*what) {
            (b"ms", _) => (Unit::Milliseconds, Semantics::Gauge),
            (b"us", _) => (Unit::Microseconds, Semantics::Gauge),
            (_, "transactions" | "requested") => (Unit::Count, Semantics::Counter),
            _ => (Unit::Count, Semantics::Gauge),
        };
        vec![writer.column(0, format!("jbd2.{what}"), &self.instance, unit, semantics)]
    }
}

struct Journal {
    file: TextFile,
    rows: Rows,
    table: Jbd2Table,
    turned: Vec<u8>,
}

impl Journal {
    fn new(path: &Path, instance: String) -> Journal {
        Journal {
            file: TextFile::taken_at_open(path),
            rows: Rows::default(),
            table: Jbd2Table { instance },
            turned: Vec::new(),
        }
    }
}

impl Instance for Journal {
    fn sample(&mut self, writer: &mut SampleWriter<'_>) -> Result<(), SourceError> {
        let (mut rest, result) = self.file.read_or_empty();
        self.rows.begin();
        while let Some((line, after)) = next_line(rest) {
            rest = after;
            for (what, number, unit) in statements(line) {
                turn_round(&mut self.turned, what, number, unit);
                self.rows.visit(&self.turned, &mut self.table, writer);
            }
        }
        self.rows.finish(writer);
        result
    }

    fn vanish(&mut self, writer: &mut SampleWriter<'_>) {
        self.rows.vanish(writer);
    }
}

/// What a line states: (what, number, unit). `12 transactions (10 requested), each up to 256 blocks` states two things,
/// `  3ms running transaction` one.
fn statements(line: &[u8]) -> impl Iterator<Item = (&[u8], &[u8], &[u8])> {
    let line = trimmed(line);
    let (number, what) = line.split_at(line.iter().take_while(|byte| byte.is_ascii_digit()).count());
    let (unit, what) = match what {
        [b'm' | b'u', b's', b' ', ..] => what.split_at(2),
        _ => (&b"--"[..], what),
    };
    let is_first = trimmed(what).starts_with(b"transactions (");
    let requested = is_first.then(|| {
        let number = words(what).nth(1).and_then(|word| word.strip_prefix(b"(")).unwrap_or_default();
        (&b"requested"[..], number, unit)
    });
    let what = if is_first { &b"transactions"[..] } else { trimmed(what) };
    let statement = (!number.is_empty()).then_some((what, number, unit));
    statement.into_iter().chain(requested)
}

fn turn_round(turned: &mut Vec<u8>, what: &[u8], number: &[u8], unit: &[u8]) {
    turned.clear();
    for part in [what, b" ", unit, b" ", number] {
        turned.extend_from_slice(part);
    }
}

pub(crate) struct Jbd2 {
    folder: PathBuf,
    instances: Instances<Journal>,
}

impl Jbd2 {
    pub(crate) fn new(folder: PathBuf) -> Jbd2 {
        Jbd2 { instances: Instances::new(folder.clone()), folder }
    }
}

impl MetricSource for Jbd2 {
    fn sample(&mut self, writer: &mut SampleWriter<'_>) -> Result<(), SourceError> {
        let folder = &self.folder;
        self.instances.sample(writer, |name, writer| {
            // `loop0-8`: the device, and the inode of an internal journal.
            let device = name.rsplit_once('-').map_or(name, |(device, _)| device);
            let instance = writer.devices.identity_of(device);
            Some(Journal::new(&folder.join(name).join("info"), instance))
        })
    }
}

#[cfg(test)]
mod tests;
