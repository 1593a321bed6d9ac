//! A profile of pprof: `profile.proto`, compressed by gzip. Field numbers are those of that schema.

use std::collections::HashMap;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use model::run::RunDescription;

use crate::off_cpu::{Frame, Lost, OffCpuProfile, Place};
use crate::protobuf::Message;

/// What a sample counts, with its unit.
const SAMPLE_TYPES: [(&str, &str); 2] = [("waits", "count"), ("off_cpu", "nanoseconds")];

/// Writes the profile. `duration_ns`: how long the run was, if that is known.
pub fn write(
    profile: &OffCpuProfile,
    run: &RunDescription,
    duration_ns: Option<u64>,
    sink: impl Write,
) -> io::Result<()> {
    let mut compressed = GzEncoder::new(sink, Compression::default());
    let mut parts = Parts { message: Message::default(), texts: HashMap::new(), list: Vec::new() };
    parts.text("");
    for (kind, unit) in SAMPLE_TYPES {
        let (kind, unit) = (parts.text(kind), parts.text(unit));
        parts.message.message(1, |value| {
            value.number(1, kind);
            value.number(2, unit);
        });
    }
    for (place, lost) in profile.places() {
        parts.sample(place, lost);
        compressed.write_all(parts.message.bytes())?;
        parts.message.clear();
    }
    parts.places(profile.frames());
    parts.message.signed(9, run.started.wall_ns);
    parts.message.number(10, duration_ns.unwrap_or(0));
    let default = parts.text(SAMPLE_TYPES[1].0);
    parts.message.number(14, default);
    let texts = std::mem::take(&mut parts.list);
    texts.iter().for_each(|text| parts.message.text(6, text));
    compressed.write_all(parts.message.bytes())?;
    compressed.finish()?.flush()
}

/// The message in parts, and its texts, to which all others refer by number.
struct Parts {
    message: Message,
    texts: HashMap<String, u64>,
    list: Vec<String>,
}

impl Parts {
    fn text(&mut self, text: &str) -> u64 {
        if let Some(known) = self.texts.get(text) {
            return *known;
        }
        let number = self.list.len() as u64;
        self.texts.insert(text.to_owned(), number);
        self.list.push(text.to_owned());
        number
    }

    /// A location is a frame: its id is the frame's number and 1, since 0 is none. The innermost comes first.
    fn sample(&mut self, place: &Place, lost: Lost) {
        let labels = [("cause", place.cause.name()), ("operation", &place.operation), ("task", &place.task)];
        let labels = labels.map(|(key, text)| (self.text(key), self.text(text)));
        self.message.message(2, |sample| {
            place.frames.iter().rev().for_each(|frame| sample.number(1, u64::from(*frame) + 1));
            sample.number(2, lost.pieces);
            sample.number(2, lost.time_ns);
            for (key, text) in labels {
                sample.message(3, |label| {
                    label.number(1, key);
                    label.number(2, text);
                });
            }
        });
    }

    /// Mappings, locations and functions.
    fn places(&mut self, frames: &[Frame]) {
        let mut modules: HashMap<(&str, &str), u64> = HashMap::new();
        for (frame, id) in frames.iter().zip(1..) {
            let (name, file) = (self.text(&frame.name), self.text(frame.file.as_deref().unwrap_or("")));
            let mapping = frame.module.as_deref().map(|module| {
                let key = (module, frame.build_id.as_deref().unwrap_or(""));
                let next = modules.len() as u64 + 1;
                *modules.entry(key).or_insert_with(|| {
                    self.mapping(next, key);
                    next
                })
            });
            let line = u64::from(frame.line.unwrap_or(0));
            self.message.message(4, |location| {
                location.number(1, id);
                mapping.iter().for_each(|mapping| location.number(2, *mapping));
                location.message(4, |of| {
                    of.number(1, id);
                    of.number(2, line);
                });
            });
            self.message.message(5, |function| {
                function.number(1, id);
                function.number(2, name);
                function.number(3, name);
                function.number(4, file);
            });
        }
    }

    fn mapping(&mut self, id: u64, (module, build_id): (&str, &str)) {
        let (module, build_id) = (self.text(module), self.text(build_id));
        self.message.message(3, |mapping| {
            mapping.number(1, id);
            mapping.number(5, module);
            mapping.number(6, build_id);
            // has_functions: a reader must not look for symbols.
            mapping.number(7, 1);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;
    use model::cause::Cause;
    use model::run::RunDescription;
    use model::time::Moment;

    use super::write;
    use crate::off_cpu::{Frame, OffCpuProfile};
    use crate::protobuf::tests::fields;

    #[test]
    fn a_sample_has_its_functions_weights_and_labels() {
        let mut profile = OffCpuProfile::default();
        let user = Frame {
            file: Some("db.c".into()),
            line: Some(7),
            module: Some("/bin/db".into()),
            ..Frame::named("commit")
        };
        let stack = vec![user, Frame::named("-"), Frame::named("do_fsync")];
        profile.add(("db", "fsync"), Cause::Journal, stack.clone(), 30);
        profile.add(("db", "fsync"), Cause::Journal, stack, 12);
        let (mut bytes, mut message) = (Vec::new(), Vec::new());
        let description = RunDescription::new("x", Moment { monotonic_ns: 5, wall_ns: 7 });
        write(&profile, &description, Some(100), &mut bytes).unwrap();
        GzDecoder::new(&bytes[..]).read_to_end(&mut message).unwrap();
        let all = fields(&message);
        let of = |field: u64| all.iter().filter(move |entry| entry.0 == field);
        let texts: Vec<&str> = of(6).map(|entry| std::str::from_utf8(entry.2).unwrap()).collect();
        assert_eq!((texts[0], of(9).next().unwrap().1, of(10).next().unwrap().1), ("", 7, 100));
        let sample = fields(of(2).next().unwrap().2);
        let values: Vec<u64> = sample.iter().filter(|entry| entry.0 == 2).map(|entry| entry.1).collect();
        assert_eq!((of(2).count(), &values[..]), (1, &[2, 42][..]));
        let function = |id: u64| {
            let found = of(5).map(|entry| fields(entry.2)).find(|function| function[0].1 == id).unwrap();
            texts[found[1].1 as usize]
        };
        let locations = sample.iter().filter(|entry| entry.0 == 1).map(|entry| function(entry.1));
        assert_eq!(locations.collect::<Vec<_>>(), ["[journal]", "do_fsync", "-", "commit", "fsync", "db"]);
        let labels = sample.iter().filter(|entry| entry.0 == 3).map(|entry| fields(entry.2));
        let labels: Vec<(&str, &str)> =
            labels.map(|label| (texts[label[0].1 as usize], texts[label[1].1 as usize])).collect();
        assert_eq!(labels, [("cause", "journal"), ("operation", "fsync"), ("task", "db")]);
        assert_eq!((of(3).count(), of(4).count(), of(5).count()), (1, 6, 6));
        let default = of(14).next().unwrap().1;
        assert_eq!(texts[default as usize], "off_cpu");
    }
}
