//! An archive of Performance Co-Pilot, version 3 (LOGARCHIVE(5)): the samplers' metrics, all that are present at each
//! sample.
//!
//! Words are big-endian. The seconds of a moment are two words, the lower one first: the manual does not mention this,
//! but the library does it.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader, Semantics, Unit};
use model::run::RunDescription;

const MAGIC_V3: u32 = 0x5005_2603;
/// Bytes of a label: the first offset in each file.
const LABEL_BYTES: u64 = 808;
const META_VOLUME: u32 = -1_i32 as u32;
const INDEX_VOLUME: u32 = -2_i32 as u32;
/// A domain that no agent of PCP uses.
const DOMAIN: u32 = 400;
/// No instance, no instance domain.
const NULL: u32 = u32::MAX;
const TYPE_U64: u32 = 3;
const TYPE_64: u32 = 2;
/// A value block: type and length in one word, then eight bytes.
const BLOCK_HEAD_BYTES: u32 = 12;
/// Values are found by words from the start of a message that has two more in front.
const WORDS_BEFORE: u32 = 2;

/// The metrics of one name.
struct Family {
    pmid: u32,
    value_type: u32,
    is_singular: bool,
    metrics: Vec<MetricId>,
}

/// The three files of an archive being written.
pub struct PcpArchive<W: Write> {
    data: W,
    index: W,
    families: Vec<Family>,
    values: HashMap<MetricId, i64>,
    /// Number and moment of each sample, in order.
    samples: Vec<(u32, u64)>,
    /// The first of them that was not written.
    next: usize,
    zero_wall_ns: i128,
    meta_bytes: u64,
    data_bytes: u64,
    record: Vec<u8>,
}

/// Metrics by their name in the archive. Metrics of one name but different unit or semantics get different names.
fn by_name(metrics: &[MetricDescriptor]) -> BTreeMap<String, Vec<&MetricDescriptor>> {
    let mut by_name = BTreeMap::<String, Vec<&MetricDescriptor>>::new();
    for metric in metrics {
        let mut name = name_of(metric);
        let is_like = |other: &MetricDescriptor| other.unit == metric.unit && other.semantics == metric.semantics;
        if by_name.get(&name).is_some_and(|others| !is_like(others[0])) {
            name = format!("{name}_{}_{}", metric.unit.name(), metric.semantics.name());
        }
        by_name.entry(name).or_default().push(metric);
    }
    by_name
}

impl<W: Write> PcpArchive<W> {
    /// Begins an archive of these metrics and samples and writes all metadata. `None` without samples: an archive needs
    /// a first moment.
    pub fn new(
        [mut data, mut meta, mut index]: [W; 3],
        description: &RunDescription,
        metrics: &[MetricDescriptor],
        samples: &[SampleHeader],
    ) -> io::Result<Option<PcpArchive<W>>> {
        let mut samples: Vec<_> = samples.iter().map(|header| (header.sample, header.at.monotonic_ns)).collect();
        samples.sort_unstable();
        let Some((_, first_ns)) = samples.first().copied() else { return Ok(None) };
        let started = description.started;
        let zero_wall_ns = i128::from(started.wall_ns) - i128::from(started.monotonic_ns);
        let at = moment(zero_wall_ns, first_ns);
        for (file, volume) in [(&mut data, 0), (&mut meta, META_VOLUME), (&mut index, INDEX_VOLUME)] {
            file.write_all(&framed(&label(at, volume)))?;
        }
        let (mut families, mut meta_bytes) = (Vec::new(), LABEL_BYTES);
        for (number, (name, metrics)) in (1..).zip(&by_name(metrics)) {
            let (family, records) = describe(number, name, metrics, at);
            meta.write_all(&records)?;
            meta_bytes += records.len() as u64;
            families.push(family);
        }
        meta.flush()?;
        index.write_all(&index_entry(at, LABEL_BYTES, LABEL_BYTES))?;
        Ok(Some(PcpArchive {
            data,
            index,
            families,
            values: HashMap::new(),
            samples,
            next: 0,
            zero_wall_ns,
            meta_bytes,
            data_bytes: LABEL_BYTES,
            record: Vec::new(),
        }))
    }

    /// Adds changes; later batches hold later samples.
    pub fn changes(&mut self, mut changes: Vec<MetricChange>) -> io::Result<()> {
        changes.sort_by_key(|change| change.sample);
        for change in changes {
            while self.samples.get(self.next).is_some_and(|(sample, _)| *sample < change.sample) {
                self.sample()?;
            }
            match change.value {
                Some(value) => self.values.insert(change.metric, value),
                None => self.values.remove(&change.metric),
            };
        }
        Ok(())
    }

    /// Ends the archive.
    pub fn finish(mut self) -> io::Result<()> {
        while self.next < self.samples.len() {
            self.sample()?;
        }
        let last_ns = self.samples.last().map_or(0, |(_, at_ns)| *at_ns);
        self.index.write_all(&index_entry(moment(self.zero_wall_ns, last_ns), self.meta_bytes, self.data_bytes))?;
        self.index.flush()?;
        self.data.flush()
    }

    /// Writes one sample: the values of each family that has any, and behind them the blocks that these point to.
    fn sample(&mut self) -> io::Result<()> {
        let (_, at_ns) = self.samples[self.next];
        self.next += 1;
        let present = |family: &&Family| family.metrics.iter().any(|metric| self.values.contains_key(metric));
        let families: Vec<&Family> = self.families.iter().filter(present).collect();
        if families.is_empty() {
            // A result without metrics would be a mark of an interruption.
            return Ok(());
        }
        let values = |family: &Family| family.metrics.iter().filter(|metric| self.values.contains_key(metric)).count();
        let sets_words: usize = families.iter().map(|family| 3 + 2 * values(family)).sum();
        // Length, moment, number of metrics; then the sets; then the blocks.
        let mut block = 5 + sets_words as u32 + WORDS_BEFORE;
        let record = &mut self.record;
        record.clear();
        record.extend(moment(self.zero_wall_ns, at_ns));
        word(record, families.len() as u32);
        for family in &families {
            words(record, &[family.pmid, values(family) as u32, 1]);
            for (instance, metric) in (0..).zip(&family.metrics) {
                if self.values.contains_key(metric) {
                    word(record, if family.is_singular { NULL } else { instance });
                    word(record, block);
                    block += BLOCK_HEAD_BYTES / 4;
                }
            }
        }
        for family in &families {
            for value in family.metrics.iter().filter_map(|metric| self.values.get(metric)) {
                word(record, family.value_type << 24 | BLOCK_HEAD_BYTES);
                record.extend(value.to_be_bytes());
            }
        }
        let framed = framed(record);
        self.data_bytes += framed.len() as u64;
        self.data.write_all(&framed)
    }
}

/// A family, and the records that describe it: its metric, and its instances from the first moment on.
fn describe(number: u32, name: &str, metrics: &[&MetricDescriptor], at: [u8; 12]) -> (Family, Vec<u8>) {
    // Ten bits for the item, twelve for the cluster.
    let pmid = DOMAIN << 22 | (number >> 10) << 10 | number & 0x3ff;
    let is_singular = metrics.len() == 1 && metrics[0].instance.is_empty();
    let (domain, first) = (DOMAIN << 22 | number, metrics[0]);
    let is_counter = first.semantics == Semantics::Counter;
    let value_type = if is_counter { TYPE_U64 } else { TYPE_64 };
    let mut metric = Vec::new();
    let of_domain = if is_singular { NULL } else { domain };
    let semantics = if is_counter { 1 } else { 3 };
    words(&mut metric, &[1, pmid, value_type, of_domain, semantics, units(first.unit), 1, name.len() as u32]);
    metric.extend(name.as_bytes());
    let mut records = framed(&metric);
    if !is_singular {
        let mut instances = Vec::new();
        word(&mut instances, 5);
        instances.extend(at);
        words(&mut instances, &[domain, metrics.len() as u32]);
        (0..metrics.len() as u32).for_each(|instance| word(&mut instances, instance));
        let mut names = Vec::new();
        for metric in metrics {
            word(&mut instances, names.len() as u32);
            names.extend(instance_name(metric).bytes());
            names.push(0);
        }
        instances.extend(names);
        records.extend(framed(&instances));
    }
    (Family { pmid, value_type, is_singular, metrics: metrics.iter().map(|metric| metric.id).collect() }, records)
}

/// `stallscope.vmstat.pgpgin`: letters, digits and underscores between dots, and a letter first.
fn name_of(metric: &MetricDescriptor) -> String {
    let part = |part: &str| {
        let part: String = part.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        if part.starts_with(|c: char| c.is_ascii_alphabetic()) { part } else { format!("n{part}") }
    };
    let parts: Vec<String> = metric.name.split('.').map(part).collect();
    format!("stallscope.{}", parts.join("."))
}

/// An instance's name: never empty, without control characters, and without blanks, up to which PCP compares. The
/// kernel name of its device follows after a blank.
fn instance_name(metric: &MetricDescriptor) -> String {
    let clean = |c: char| if c.is_control() || c.is_whitespace() { '_' } else { c };
    let name: String = metric.instance.chars().map(clean).collect();
    match metric.kernel_name() {
        Some(device) => format!("{name} {}", device.chars().map(clean).collect::<String>()),
        None if name.is_empty() => "all".to_owned(),
        None => name,
    }
}

/// Dimensions and scales of space, time and count, four bits each.
fn units(unit: Unit) -> u32 {
    let (space, time, count) = (1 << 28, 1 << 24, 1 << 20);
    match unit {
        Unit::Bytes => space,
        Unit::Kibibytes => space | 1 << 16,
        Unit::Nanoseconds => time,
        Unit::Microseconds => time | 1 << 12,
        Unit::Milliseconds => time | 2 << 12,
        Unit::Count | Unit::Pages | Unit::Sectors | Unit::ClockTicks => count,
    }
}

fn label(at: [u8; 12], volume: u32) -> Vec<u8> {
    let mut label = Vec::with_capacity(LABEL_BYTES as usize);
    words(&mut label, &[MAGIC_V3, 1]);
    label.extend(at);
    words(&mut label, &[volume, 0, 0]);
    for text in ["stallscope", "UTC", ""] {
        label.extend(text.as_bytes());
        label.resize(label.len() + 256 - text.len(), 0);
    }
    label
}

fn index_entry(at: [u8; 12], meta_bytes: u64, data_bytes: u64) -> Vec<u8> {
    let mut entry = at.to_vec();
    word(&mut entry, 0);
    entry.extend(meta_bytes.to_be_bytes());
    entry.extend(data_bytes.to_be_bytes());
    entry
}

/// Seconds, lower word first, and nanoseconds of a moment on the wall clock.
fn moment(zero_wall_ns: i128, at_ns: u64) -> [u8; 12] {
    let wall_ns = (zero_wall_ns + i128::from(at_ns)).max(0) as u64;
    let (seconds, ns) = (wall_ns / 1_000_000_000, (wall_ns % 1_000_000_000) as u32);
    let words = [seconds as u32, (seconds >> 32) as u32, ns].map(u32::to_be_bytes);
    let mut bytes = [0; 12];
    bytes.iter_mut().zip(words.iter().flatten()).for_each(|(byte, from)| *byte = *from);
    bytes
}

/// A record between its lengths.
fn framed(record: &[u8]) -> Vec<u8> {
    let length = (record.len() as u32 + 8).to_be_bytes();
    [&length[..], record, &length[..]].concat()
}

fn words(bytes: &mut Vec<u8>, values: &[u32]) {
    values.iter().for_each(|value| word(bytes, *value));
}

fn word(bytes: &mut Vec<u8>, value: u32) {
    bytes.extend(value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::{framed, index_entry, label, moment, units};
    use model::metric::Unit;

    #[test]
    fn records_are_framed_and_moments_have_their_lower_word_first() {
        assert_eq!(framed(b"abcd"), b"\0\0\0\x0cabcd\0\0\0\x0c");
        assert_eq!(moment(500, 1_000_000_000_000), [0, 0, 3, 0xe8, 0, 0, 0, 0, 0, 0, 1, 0xf4]);
        assert_eq!(framed(&label([0; 12], 0)).len(), 808);
        assert_eq!(index_entry([0; 12], 1, 2).len(), 32);
    }

    #[test]
    fn units_have_the_dimensions_that_pcp_gives_them() {
        assert_eq!(units(Unit::Kibibytes), 0x1001_0000);
        assert_eq!(units(Unit::Milliseconds), 0x0100_2000);
        assert_eq!(units(Unit::Sectors), 0x0010_0000);
    }
}
