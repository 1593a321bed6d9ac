//! Opening block traces.

use std::io::{BufRead, BufReader};
use std::path::Path;

use blktrace::{Trace, TraceError};

use crate::reading::foreign_recording::ForeignRecording;
use crate::ui::failure::Failure;

/// Opens traces, which are merged by time. A recording of perf, trace-cmd or Perfetto is read alone.
pub fn open<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Trace, Failure> {
    let paths: Vec<P> = paths.into_iter().collect();
    let recording = paths.iter().find(|path| ForeignRecording::is_binary(path.as_ref()));
    let (recording, unrecognised) = match (recording, Trace::open(&paths)) {
        (Some(recording), _) => (recording, None),
        // Block events may come after many others.
        (None, Err(error @ TraceError::Unrecognised { .. })) if paths.len() == 1 && paths[0].as_ref().is_file() => {
            (&paths[0], Some(error))
        }
        (None, opened) => return opened.map_err(unreadable),
    };
    let name = recording.as_ref().display().to_string();
    if paths.len() > 1 {
        return Err(Failure::usage(format_args!(
            "{name}: a recording of perf, trace-cmd or Perfetto is read alone; name it without other traces"
        )));
    }
    let mut lines = BufReader::new(ForeignRecording::open(recording.as_ref())?.block_lines()?);
    if lines.fill_buf().is_ok_and(<[u8]>::is_empty) {
        let no_events = || Failure::usage(format_args!("{name}: has no block events; record -e block as well"));
        return Err(unrecognised.map_or_else(no_events, unreadable));
    }
    Trace::from_reader(&name, lines).map_err(unreadable)
}

/// A missing or invalid trace is a usage error, unless the system failed.
pub fn unreadable(error: TraceError) -> Failure {
    match &error {
        TraceError::Io { source, .. } => Failure::path(source, &error),
        _ => Failure::usage(error),
    }
}
