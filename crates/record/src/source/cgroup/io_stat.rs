//! io.stat of cgroup v2, and io.max: `254:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0`. Controllers add words
//! to a line, so each word is a separate row: `254:0 rbytes 4096`.

use std::path::PathBuf;

use model::metric::{Semantics, Unit};

use crate::bytes::{next_line, shown, words, words_len};
use crate::file::TextFile;
use crate::last_values::{Column, SampleWriter};
use crate::rows::{Rows, Table};
use crate::source::MetricSource;
use crate::source_error::SourceError;

struct IoStatTable {
    prefix: &'static str,
    label: String,
}

impl Table for IoStatTable {
    fn key_len(&self, line: &[u8]) -> usize {
        words_len(line, 2)
    }

    fn columns(&mut self, key: &[u8], _values: &[u8], writer: &mut SampleWriter<'_>) -> Vec<Column> {
        let mut names = words(key);
        let (Some(number), Some(field)) = (names.next(), names.next()) else { return Vec::new() };
        let (unit, semantics) = match field {
            b"rbytes" | b"wbytes" | b"dbytes" => (Unit::Bytes, Semantics::Counter),
            b"rios" | b"wios" | b"dios" => (Unit::Count, Semantics::Counter),
            b"rbps" | b"wbps" => (Unit::Bytes, Semantics::Gauge),
            b"riops" | b"wiops" => (Unit::Count, Semantics::Gauge),
            _ => return Vec::new(),
        };
        let instance = format!("{}:{}", self.label, writer.devices.identity_of_number(&shown(number)));
        let name = format!("{}.{}", self.prefix, shown(field));
        vec![writer.column(0, name, &instance, unit, semantics)]
    }
}

pub(crate) struct IoStat {
    file: TextFile,
    rows: Rows,
    table: IoStatTable,
    row: Vec<u8>,
}

impl IoStat {
    pub(crate) fn new(path: PathBuf, prefix: &'static str, label: &str) -> IoStat {
        let table = IoStatTable { prefix, label: label.to_owned() };
        IoStat { file: TextFile::new(path), rows: Rows::default(), table, row: Vec::new() }
    }
}

impl IoStat {
    /// Makes its metrics absent.
    pub(crate) fn vanish(&mut self, writer: &mut SampleWriter<'_>) {
        self.rows.vanish(writer);
    }
}

impl MetricSource for IoStat {
    fn sample(&mut self, writer: &mut SampleWriter<'_>) -> Result<(), SourceError> {
        let (mut rest, result) = self.file.read_or_empty();
        self.rows.begin();
        while let Some((line, after)) = next_line(rest) {
            rest = after;
            let mut words = words(line);
            let number = words.next().unwrap_or_default();
            for word in words {
                let Some(equals) = word.iter().position(|byte| *byte == b'=') else { continue };
                self.row.clear();
                for part in [number, b" ", &word[..equals], b" ", &word[equals + 1..]] {
                    self.row.extend_from_slice(part);
                }
                self.rows.visit(&self.row, &mut self.table, writer);
            }
        }
        self.rows.finish(writer);
        result
    }
}
