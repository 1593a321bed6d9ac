use model::metric::{MetricChange, MetricId, Semantics, Unit};
use proptest::prelude::*;

use super::{Column, Rows, Table};
use crate::bytes::{first_word_len, shown};
use crate::device::Devices;
use crate::last_values::{LastValues, Sample, SampleWriter};
use crate::roots::Roots;

/// `key value` lines; keys with an `x` are of no interest.
struct Letters;

impl Table for Letters {
    fn key_len(&self, line: &[u8]) -> usize {
        first_word_len(line)
    }

    fn columns(&mut self, key: &[u8], _values: &[u8], writer: &mut SampleWriter<'_>) -> Vec<Column> {
        match key.contains(&b'x') {
            true => Vec::new(),
            false => vec![writer.column(0, shown(key), "", Unit::Count, Semantics::Gauge)],
        }
    }
}

struct Reader {
    rows: Rows,
    last_values: LastValues,
    out: Sample,
    devices: Devices,
    names: Vec<String>,
    values: Vec<Option<i64>>,
}

impl Reader {
    fn new() -> Reader {
        let devices = Devices::new(Roots::default());
        let (last_values, out) = (LastValues::default(), Sample::default());
        Reader { rows: Rows::default(), last_values, out, devices, names: Vec::new(), values: Vec::new() }
    }

    /// The changes that a reading gives.
    fn read(&mut self, text: &[u8]) -> Vec<String> {
        self.out.clear();
        let (last_values, out, devices) = (&mut self.last_values, &mut self.out, &mut self.devices);
        let mut writer = SampleWriter { last_values, out, sample: 0, source: 0, devices, everything: false };
        self.rows.update(text, &mut Letters, &mut writer);
        self.names.extend(self.out.new_descriptors.iter().map(|descriptor| descriptor.name.clone()));
        self.values.resize(self.names.len(), None);
        for MetricChange { metric: MetricId(id), value, .. } in &self.out.changes {
            self.values[*id as usize] = *value;
        }
        let shown = |change: &MetricChange| match change.value {
            Some(value) => format!("{}={value}", self.names[change.metric.0 as usize]),
            None => format!("{} absent", self.names[change.metric.0 as usize]),
        };
        self.out.changes.iter().map(shown).collect()
    }
}

#[test]
fn only_changes_are_recorded() {
    let mut reader = Reader::new();
    for (text, changes) in [
        ("a 1\nb 2\nx 3\nc 4\n", &["a=1", "b=2", "c=4"][..]),
        ("a 1\nb 2\nx 3\nc 4\n", &[]),
        ("a 1\nb 5\nx 9\nc 4\n", &["b=5"]),
        // A line goes, one comes, and two change places.
        ("c 4\nd 1\nb 5\n", &["d=1", "a absent"]),
        ("a 1\nc 4\nb 6\nd 1\n", &["a=1", "b=6"]),
        // No number, or one that does not fit, is absent.
        ("a 18446744073709551615\nc max\nb\nd 1\n", &["a absent", "c absent", "b absent"]),
        ("a 7\nc 4\nb 6\nd 1\n", &["a=7", "c=4", "b=6"]),
        // The second line of a key is passed over, also when it comes every time.
        ("a 7\nc 4\na 8\nb 6\nd 1\n", &[]),
        ("a 7\nc 4\na 9\nb 6\nd 1", &[]),
        ("", &["a absent", "c absent", "b absent", "d absent"]),
    ] {
        assert_eq!(reader.read(text.as_bytes()), changes, "{text:?}");
    }
    assert_eq!(reader.names, ["a", "b", "c", "d"]);
}

#[test]
fn a_line_that_another_begins_with_is_not_taken_for_it() {
    let mut reader = Reader::new();
    assert_eq!(reader.read(b"a 1\nb 2\n"), ["a=1", "b=2"]);
    assert_eq!(reader.read(b"a 12\nb 2\n"), ["a=12"]);
    assert_eq!(reader.read(b"a 1\nb 2\n"), ["a=1"]);
}

/// What a reading of `text` means without the readings before.
fn meaning(text: &str) -> std::collections::BTreeMap<String, Option<i64>> {
    let mut meaning = std::collections::BTreeMap::new();
    for line in text.split('\n').filter(|line| !line.is_empty() && !line.contains('x')) {
        let (key, value) = line.split_once(' ').expect("a key and a value");
        meaning.entry(key.to_owned()).or_insert(value.parse().ok());
    }
    meaning
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(
        texts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..80), 1..6),
    ) {
        let mut reader = Reader::new();
        for text in texts {
            reader.read(&text);
        }
    }

    #[test]
    fn after_any_sequence_of_layouts_the_values_are_those_of_the_last_file(
        texts in proptest::collection::vec("([a-fx] [0-9]{1,3}\n){0,8}", 1..8),
    ) {
        let mut reader = Reader::new();
        for text in texts {
            reader.read(text.as_bytes());
            let expected = meaning(&text);
            for (name, value) in reader.names.iter().zip(&reader.values) {
                prop_assert_eq!(expected.get(name).copied().flatten(), *value, "{} in {:?}", name, text);
            }
            prop_assert!(expected.keys().all(|name| reader.names.contains(name)));
        }
    }
}
