//! A run as its parts, to change what they say and make all checksums right again. The fuzz target `archive` includes
//! this file too.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// Of an Arrow message, most that is not data.
const METADATA: usize = 600;

/// Where the next change goes.
pub(crate) trait Choose {
    /// A number below `limit`, or 0 if that is 0.
    fn below(&mut self, limit: usize) -> usize;
}

/// Numbers from the fuzzer's bytes; zeros at their end.
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl Choose for Bytes<'_> {
    fn below(&mut self, limit: usize) -> usize {
        let (taken, rest) = self.0.split_at(self.0.len().min(if limit > 256 { 2 } else { 1 }));
        self.0 = rest;
        taken.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)) % limit.max(1)
    }
}

/// A value that a reader may not expect.
fn value(random: &mut impl Choose) -> Value {
    let values = [
        json!(null),
        json!(0),
        json!(1),
        json!(-1),
        json!(7),
        json!(1u64 << 31),
        json!(u64::from(u32::MAX)),
        json!(1u64 << 62),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1.5e300),
        json!(""),
        json!("../../etc/passwd"),
        json!("recent-0002"),
        json!("recent-4294967295"),
        json!("metrics-0000.arrows"),
        json!("stalls"),
        json!([]),
        json!({}),
        json!(true),
    ];
    values[random.below(values.len())].clone()
}

/// All leaves of a document.
fn leaves(value: &mut Value) -> Vec<&mut Value> {
    let is_leaf =
        value.as_array().is_none_or(Vec::is_empty) && value.as_object().is_none_or(|fields| fields.is_empty());
    if is_leaf {
        return vec![value];
    }
    match value {
        Value::Array(items) => items.iter_mut().flat_map(leaves).collect(),
        Value::Object(fields) => fields.values_mut().flat_map(leaves).collect(),
        _ => Vec::new(),
    }
}

fn mutate(document: &mut Value, random: &mut impl Choose) {
    let mut found = leaves(document);
    let chosen = random.below(found.len());
    *found[chosen] = value(random);
}

fn line(document: &Value) -> Vec<u8> {
    let text = document.to_string();
    format!("{:08x} {text}\n", crc32c::crc32c(text.as_bytes())).into_bytes()
}

fn parsed(line: &[u8]) -> Value {
    serde_json::from_slice(&line[9..]).unwrap()
}

/// A flush of a recent file: its header and its bytes.
type Flush = (Value, Vec<u8>);

/// A run as its parts, without checksums.
#[derive(Clone)]
pub(crate) struct Parts {
    description: Value,
    journal: Vec<Value>,
    watermark: Value,
    segments: Vec<(String, Vec<u8>)>,
    recent: Vec<(String, Vec<Flush>)>,
    /// Bytes of rows were mutated: two rows that differed may be equal now.
    pub(crate) has_other_rows: bool,
}

fn flushes(mut bytes: &[u8]) -> Vec<Flush> {
    let mut found = Vec::new();
    while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
        let header = parsed(&bytes[..end]);
        let length: u64 =
            header["batches"].as_array().unwrap().iter().map(|batch| batch["length"].as_u64().unwrap()).sum();
        let (body, rest) = bytes[end + 1..].split_at(length as usize);
        found.push((header, body.to_vec()));
        bytes = rest;
    }
    found
}

impl Parts {
    pub(crate) fn of(dir: &Path) -> Parts {
        let read = |name: &str| fs::read(dir.join(name)).unwrap();
        let lines = |name: &str| {
            read(name).split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(parsed).collect::<Vec<_>>()
        };
        let mut names: Vec<String> =
            fs::read_dir(dir).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        let with = |part: &'static str| names.iter().filter(move |name| name.contains(part)).cloned();
        Parts {
            description: serde_json::from_slice(&read("run.json")).unwrap(),
            journal: lines("journal"),
            watermark: lines("watermark").remove(0),
            segments: with(".arrows").map(|name| (name.clone(), read(&name))).collect(),
            recent: with("recent-").map(|name| (name.clone(), flushes(&read(&name)))).collect(),
            has_other_rows: false,
        }
    }

    pub(crate) fn mutate(&mut self, random: &mut impl Choose) {
        match random.below(10) {
            0 => mutate(&mut self.description, random),
            1 => mutate(&mut self.watermark, random),
            2..=4 => {
                let chosen = random.below(self.journal.len());
                mutate(&mut self.journal[chosen], random);
            }
            5 => {
                let (from, to) = (random.below(self.journal.len()), random.below(self.journal.len()));
                let entry = self.journal[from].clone();
                self.journal.insert(to, entry);
            }
            6 | 7 if !self.recent.is_empty() => self.mutate_flush(random),
            _ => self.mutate_segment(random),
        }
    }

    /// Up to eight mutations, as long as there are bytes.
    pub(crate) fn mutate_by(&mut self, bytes: &mut Bytes<'_>) {
        for _ in 0..8 {
            if bytes.0.is_empty() {
                break;
            }
            self.mutate(bytes);
        }
    }

    fn mutate_flush(&mut self, random: &mut impl Choose) {
        let file = random.below(self.recent.len());
        let flushes = &mut self.recent[file].1;
        let flush = random.below(flushes.len());
        let (header, body) = &mut flushes[flush];
        if random.below(2) == 0 || body.is_empty() {
            return mutate(header, random);
        }
        let at = random.below(body.len());
        body[at] ^= 1 << random.below(8);
        self.has_other_rows = true;
        let mut from = 0_usize;
        for batch in header["batches"].as_array_mut().into_iter().flatten() {
            let to = from.saturating_add(batch["length"].as_u64().unwrap_or(0) as usize);
            let Some(message) = body.get(from..to) else { break };
            batch["crc32c"] = json!(crc32c::crc32c(message));
            from = to;
        }
    }

    /// Changes a byte of a live message, its metadata more often than its data.
    fn mutate_segment(&mut self, random: &mut impl Choose) {
        let own = |entry: &&mut Value| entry["entry"] == "segment";
        let batches = |entry: &mut Value| entry["batches"].as_array().cloned().unwrap_or_default();
        let mut places: Vec<Value> = self.journal.iter_mut().filter(own).map(|entry| entry.clone()).collect();
        places.extend(self.journal.iter_mut().flat_map(batches));
        let chosen = &places[random.below(places.len())];
        let (Some(file), Some(length)) = (chosen["file"].as_str(), chosen["length"].as_u64()) else { return };
        let from = chosen["offset"].as_u64().unwrap_or(0) as usize;
        let Some((_, bytes)) = self.segments.iter_mut().find(|(name, _)| name == file) else { return };
        // An earlier mutation may have moved it out of the file.
        let Some(message) = bytes.get_mut(from..from.saturating_add(length as usize)).filter(|bytes| !bytes.is_empty())
        else {
            return;
        };
        self.has_other_rows = true;
        let reach = if random.below(4) == 0 { message.len() } else { message.len().min(METADATA) };
        let at = random.below(reach);
        match random.below(3) {
            0 => message[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
            _ => message[at] ^= 1 << random.below(8),
        }
        let crc32c = crc32c::crc32c(message);
        let mut all = self.journal.iter_mut().flat_map(|entry| match entry["entry"].as_str() {
            Some("segment") => vec![entry],
            _ => entry["batches"].as_array_mut().map(|batches| batches.iter_mut().collect()).unwrap_or_default(),
        });
        let entry = all.find(|entry| entry["file"] == file && entry["offset"].as_u64().unwrap_or(0) as usize == from);
        entry.into_iter().for_each(|entry| entry["crc32c"] = json!(crc32c));
    }

    pub(crate) fn write(&self, dir: &Path) {
        let text = serde_json::to_vec(&self.description).unwrap();
        let mut journal = Vec::new();
        for (number, entry) in self.journal.iter().enumerate() {
            let mut entry = entry.clone();
            if entry["entry"] == "begun" {
                (entry["length"], entry["crc32c"]) = (json!(text.len()), json!(crc32c::crc32c(&text)));
            }
            (entry["number"], entry["before"]) = (json!(number), json!(crc32c::crc32c(&journal)));
            journal.extend(line(&entry));
        }
        fs::write(dir.join("run.json"), text).unwrap();
        fs::write(dir.join("journal"), journal).unwrap();
        fs::write(dir.join("watermark"), line(&self.watermark)).unwrap();
        self.segments.iter().for_each(|(name, bytes)| fs::write(dir.join(name), bytes).unwrap());
        for (name, flushes) in &self.recent {
            let bytes = flushes.iter().flat_map(|(header, body)| [line(header), body.clone()].concat());
            fs::write(dir.join(name), bytes.collect::<Vec<u8>>()).unwrap();
        }
    }
}
