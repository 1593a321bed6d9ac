//! `trace.dat` → the same rows as the text that `trace-cmd report -t` makes of it.

mod imported;

use std::io::{BufRead, BufReader, Cursor, Read};

use imported::{data, rows};
use ingest::TraceDatText;
use proptest::prelude::*;

fn text(recording: &[u8]) -> std::io::Result<String> {
    let mut text = String::new();
    TraceDatText::open(Cursor::new(recording))?.read_to_string(&mut text)?;
    Ok(text)
}

/// A version 6, and a version 7 that is compressed.
const RECORDINGS: [(&str, &str); 2] =
    [("trace.dat.zst", "trace-report.txt.zst"), ("trace-v6.dat.zst", "trace-v6-report.txt.zst")];

#[test]
fn a_recording_has_the_rows_of_its_text() {
    for (binary, report) in RECORDINGS {
        let report = String::from_utf8(data(report)).unwrap();
        let binary = text(&data(binary)).unwrap();
        let (of_report, of_binary) = (rows(&report), rows(&binary));
        assert!(of_report.0.len() > 20 && of_report.1.len() > 3 && of_report.3 > 0, "{:?}", of_report.0.len());
        let different = of_binary.0.iter().zip(&of_report.0).find(|(binary, report)| binary != report);
        assert_eq!(different, None);
        assert_eq!((of_binary.0.len(), &of_binary.1, of_binary.3), (of_report.0.len(), &of_report.1, of_report.3));
        // The report names a task as it was called last, at all times.
        let name = |tasks: &[model::stall::TaskRecord], name: &str| tasks.iter().any(|task| task.name == name);
        assert!(name(&of_report.2, "dd") && name(&of_binary.2, "dd") && name(&of_binary.2, "trace-cmd"));
        assert_eq!(block(&binary), block(&report));
        assert!(block(&binary).len() > 10);
    }
}

/// Lines of the block layer, which another crate reads: as far as tools agree how to write them.
fn block(text: &str) -> Vec<String> {
    let names = |line: &&str| {
        ["block_rq_issue: ", "block_rq_complete: ", "block_bio_queue: "].iter().any(|name| line.contains(name))
    };
    let words = |line: &str| -> Vec<String> {
        let fields = line.split_once("block_").map_or("", |(_, fields)| fields);
        fields.split_whitespace().filter(|word| !word.starts_with("0x")).map(str::to_owned).collect()
    };
    text.lines().filter(names).map(|line| words(line).join(" ")).collect()
}

/// A part is refused, unless all that is missing comes after the events.
#[test]
fn a_part_of_a_recording_is_refused() {
    for (binary, _) in RECORDINGS {
        let recording = data(binary);
        let whole = text(&recording).unwrap();
        let mut refused = 0;
        for end in (0..recording.len()).step_by(recording.len() / 97) {
            match text(&recording[..end]) {
                Ok(text) => assert!(text == whole, "a part of {end} bytes"),
                Err(error) => {
                    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData, "{end}: {error}");
                    refused += 1;
                }
            }
        }
        assert!(refused > 90, "{refused}");
    }
}

#[test]
fn what_cannot_be_read_is_refused_with_a_remedy() {
    let refused = |from: &[u8], to: &[u8], expected: &str| {
        let mut recording = data("trace-v6.dat.zst");
        let at = recording.windows(from.len()).rposition(|bytes| bytes == from).unwrap();
        recording[at..at + to.len()].copy_from_slice(to);
        let error = text(&recording).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    refused(b"flyrecord\0", b"latency  \0", "trace-cmd report");
    refused(b"[local]", b"[x8664]", "-C mono");
    let mut recording = data("trace.dat.zst");
    recording[18..22].copy_from_slice(b"lzma");
    assert!(text(&recording).unwrap_err().to_string().contains("--compression none"));
    recording[10] = b'9';
    assert!(text(&recording).unwrap_err().to_string().contains("version 9"));
}

proptest! {
    /// Whatever bytes are damaged, there is text or an error.
    #[test]
    fn damage_does_no_harm(
        of in 0..RECORDINGS.len(),
        places in prop::collection::vec((0_usize..1_034_981, any::<u8>()), 1..20),
        near in prop::collection::vec((0_usize..80_000, any::<u8>()), 0..4),
    ) {
        let mut recording = data(RECORDINGS[of].0);
        let length = recording.len();
        places.iter().chain(&near).for_each(|(at, byte)| recording[at % length] = *byte);
        if let Ok(source) = TraceDatText::open(Cursor::new(&recording)) {
            let lines = BufReader::new(source).lines().map_while(Result::ok);
            prop_assert!(lines.take(100_000).count() < 100_000);
        }
    }
}
