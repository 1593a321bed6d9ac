//! Lines of a kernel table, recognized by their position.
//!
//! A kernel file lists nearly the same lines, in the same order, each time. So each line of the last reading is kept,
//! and a line that is byte for byte the same costs one comparison: no search for its end, no parsing, no look-up. Only
//! where a line differs is its key compared, and only where that differs too is the layout searched.

use crate::bytes::{next_line, value_of, words};
use crate::last_values::{Column, SampleWriter};

/// How the lines of a file turn into metrics.
pub(crate) trait Table {
    /// Length of the part of a line that names it; the values follow.
    fn key_len(&self, line: &[u8]) -> usize;

    /// Metrics of a new line, in order of their words. Empty: the line is ignored.
    fn columns(&mut self, key: &[u8], values: &[u8], writer: &mut SampleWriter<'_>) -> Vec<Column>;

    /// Whether a changed line still has its old meaning. A device's name may have passed to another device.
    fn still(&mut self, _key: &[u8], _sheet: &mut SampleWriter<'_>) -> bool {
        true
    }
}

struct Row {
    line: Vec<u8>,
    key_len: usize,
    columns: Vec<Column>,
}

impl Row {
    fn key(&self) -> &[u8] {
        &self.line[..self.key_len]
    }

    fn remember(&mut self, line: &[u8]) {
        self.line.clear();
        self.line.extend_from_slice(line);
    }

    fn absent(&self, writer: &mut SampleWriter<'_>) {
        for column in &self.columns {
            writer.set(column.id, None);
        }
    }
}

/// The rows of one file as they were last read, in file order.
#[derive(Default)]
pub(crate) struct Rows {
    rows: Vec<Row>,
    /// Rows before it were seen in this pass.
    cursor: usize,
}

impl Rows {
    /// Reads a whole file.
    pub(crate) fn update(&mut self, text: &[u8], table: &mut impl Table, writer: &mut SampleWriter<'_>) {
        self.begin();
        let mut rest = text;
        loop {
            rest = self.skip_unchanged(rest);
            let Some((line, after)) = next_line(rest) else { break };
            self.visit(line, table, writer);
            rest = after;
        }
        self.finish(writer);
    }

    /// Starts a pass over the file.
    pub(crate) fn begin(&mut self) {
        self.cursor = 0;
    }

    /// Takes the next line of a pass. A second line with the same key is skipped.
    pub(crate) fn visit(&mut self, line: &[u8], table: &mut impl Table, writer: &mut SampleWriter<'_>) {
        let key_len = table.key_len(line).min(line.len());
        let (key, values) = line.split_at(key_len);
        match self.rows[self.cursor..].iter().position(|row| row.key() == key) {
            Some(offset) => self.rows[self.cursor..=self.cursor + offset].rotate_right(1),
            None if self.rows[..self.cursor].iter().any(|row| row.key() == key) => return,
            None => {
                let columns = table.columns(key, values, writer);
                let line = Vec::with_capacity(line.len() + line.len() / 2);
                self.rows.insert(self.cursor, Row { line, key_len, columns });
            }
        }
        let row = &mut self.rows[self.cursor];
        self.cursor += 1;
        if row.line == line {
            return;
        }
        if !row.line.is_empty() && !table.still(key, writer) {
            row.absent(writer);
            row.columns = table.columns(key, values, writer);
        }
        row.remember(line);
        read_columns(values, &row.columns, writer);
    }

    /// Ends a pass: rows that were not seen become absent.
    pub(crate) fn finish(&mut self, writer: &mut SampleWriter<'_>) {
        for row in self.rows.drain(self.cursor..) {
            row.absent(writer);
        }
    }

    /// Makes all rows absent.
    pub(crate) fn vanish(&mut self, writer: &mut SampleWriter<'_>) {
        self.begin();
        self.finish(writer);
    }

    /// Drops the rows with a chosen key; they are new when next seen.
    pub(crate) fn remove(&mut self, chosen: impl Fn(&[u8]) -> bool, writer: &mut SampleWriter<'_>) {
        self.rows.retain(|row| {
            let stays = !chosen(row.key());
            if !stays {
                row.absent(writer);
            }
            stays
        });
    }

    fn skip_unchanged<'t>(&mut self, mut text: &'t [u8]) -> &'t [u8] {
        while let Some(row) = self.rows.get(self.cursor)
            && let Some(after) = text.strip_prefix(&row.line[..])
            && let Some(after) = after.strip_prefix(b"\n")
        {
            self.cursor += 1;
            text = after;
        }
        text
    }
}

fn read_columns(values: &[u8], columns: &[Column], writer: &mut SampleWriter<'_>) {
    let mut words = words(values);
    let mut at = 0;
    for column in columns {
        let word = words.nth((column.word - at) as usize);
        at = column.word + 1;
        writer.set(column.id, word.and_then(value_of));
    }
}

#[cfg(test)]
mod tests;
