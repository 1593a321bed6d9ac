//! `perf.data` → the same rows as the text that `perf script` makes of it.

mod imported;

use std::io::{BufRead, BufReader, Cursor, Read};
use std::sync::Arc;

use imported::{data, rows};
use ingest::{HostKernel, KernelSymbols, PerfDataText};
use proptest::prelude::*;

/// The kernel of the recording, whose build id is in it.
fn kernel() -> Arc<HostKernel> {
    let build_id = "4a5a9b0affb66c437abcd455d2738af879985fa9";
    let byte = |at: usize| u8::from_str_radix(&build_id[at..at + 2], 16).unwrap();
    let build_id = Some((0..build_id.len()).step_by(2).map(byte).collect());
    let symbols = KernelSymbols::read(&data("kallsyms.zst")[..]).unwrap();
    Arc::new(HostKernel { symbols, build_id, release: String::new() })
}

fn text(recording: &[u8], kernel: &Arc<HostKernel>) -> std::io::Result<String> {
    let mut text = String::new();
    PerfDataText::open(Cursor::new(recording), kernel)?.read_to_string(&mut text)?;
    Ok(text)
}

#[test]
fn a_recording_has_the_rows_of_its_text() {
    let script = String::from_utf8(data("perf-script.txt.zst")).unwrap();
    let binary = text(&data("perf.data.zst"), &kernel()).unwrap();
    let (of_script, of_binary) = (rows(&script), rows(&binary));
    assert!(of_script.0.len() > 20 && of_script.1.len() > 5 && of_script.3 == 1, "{}", of_script.0.len());
    assert_eq!(of_binary, of_script);
    // Those of the block layer are read by another crate: line by line.
    let block = |text: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.split_once("block:").map(|(_, event)| event.to_owned()));
        // This perf writes priorities, which say nothing of a request's life.
        let words = |line: &String| -> Vec<String> {
            line.split(' ').filter(|word| !word.starts_with("0x")).map(str::to_owned).collect()
        };
        lines.map(|line| words(&line).join(" ")).collect()
    };
    assert!(block(&script).len() > 10);
    assert_eq!(block(&binary), block(&script));
}

#[test]
fn functions_of_another_kernel_have_no_names() {
    let recording = data("perf.data.zst");
    let other = Arc::new(HostKernel { build_id: Some(vec![7; 20]), ..(*kernel()).clone() });
    assert!(!PerfDataText::open(Cursor::new(&recording), &other).unwrap().names_functions());
    assert!(PerfDataText::open(Cursor::new(&recording), &kernel()).unwrap().names_functions());
    assert!(!text(&recording, &other).unwrap().contains("kallsyms"));
}

#[test]
fn a_part_of_a_recording_is_refused() {
    let recording = data("perf.data.zst");
    for end in (0..recording.len()).step_by(997) {
        let error = text(&recording[..end], &kernel()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidData, "{end}: {error}");
    }
}

proptest! {
    /// Whatever bytes are damaged, there is text or an error.
    #[test]
    fn damage_does_no_harm(places in prop::collection::vec((0_usize..180_000, any::<u8>()), 1..20)) {
        let mut recording = data("perf.data.zst");
        let length = recording.len();
        places.iter().for_each(|(at, byte)| recording[at % length] = *byte);
        if let Ok(source) = PerfDataText::open(Cursor::new(&recording), &kernel()) {
            let lines = BufReader::new(source).lines().map_while(Result::ok);
            prop_assert!(lines.take(100_000).count() < 100_000);
        }
    }
}
