//! Simulated events as traces of every form.

use std::collections::BTreeMap;

use blktrace::encode::{ByteOrder, Encoder, Version, line};
use model::block::{Action, BlockEvent, DeviceNumber, Kind};
use simulate::block::process_name;

/// The form of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// One file per device and CPU, as blktrace writes.
    PerCpu,
    /// One file, in order of time.
    Dump,
    DumpBig,
    DumpV8,
    DumpV8Big,
    Text,
    Zstd,
    Gzip,
}

impl Form {
    pub(crate) const ALL: [Form; 8] =
        [Form::PerCpu, Form::Dump, Form::DumpBig, Form::DumpV8, Form::DumpV8Big, Form::Text, Form::Zstd, Form::Gzip];

    fn encoder(self) -> Encoder {
        let version = if matches!(self, Form::DumpV8 | Form::DumpV8Big) { Version::V8 } else { Version::V7 };
        let order = if matches!(self, Form::DumpBig | Form::DumpV8Big) { ByteOrder::Big } else { ByteOrder::Little };
        Encoder { version, order }
    }

    /// The event as the form can represent it.
    pub(crate) fn seen(self, event: &BlockEvent) -> BlockEvent {
        let mut seen = *event;
        if self == Form::Text && matches!(event.action, Action::Plug | Action::Unplug) {
            seen.kind = Kind::default();
        }
        seen
    }
}

/// The trace's files: names and contents.
pub(crate) fn encode(events: &[(u32, BlockEvent)], form: Form) -> Vec<(String, Vec<u8>)> {
    let encoder = form.encoder();
    let mut files: BTreeMap<(DeviceNumber, u32), Vec<u8>> = BTreeMap::new();
    for (number, event) in events {
        let source = if form == Form::PerCpu { (event.device, event.cpu) } else { Default::default() };
        let file = files.entry(source).or_insert_with(|| {
            let mut start = Vec::new();
            if form != Form::Text {
                for pid in 1000..1004 {
                    encoder.process(0, pid, &process_name(pid), &mut start);
                }
            }
            start
        });
        if form == Form::Text {
            line(event, *number, &process_name(event.pid), file);
        } else {
            encoder.event(event, *number, file);
        }
    }
    let named = |((device, cpu), bytes)| (format!("{device}.blktrace.{cpu}"), pack(bytes, form));
    files.into_iter().map(named).collect()
}

fn pack(bytes: Vec<u8>, form: Form) -> Vec<u8> {
    use std::io::Write;
    match form {
        Form::Zstd => zstd::encode_all(bytes.as_slice(), 1).expect("memory takes every byte"),
        Form::Gzip => {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packer.write_all(&bytes).expect("memory takes every byte");
            packer.finish().expect("memory takes every byte")
        }
        _ => bytes,
    }
}
