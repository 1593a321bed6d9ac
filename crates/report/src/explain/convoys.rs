//! Convoys: tasks that waited for one holder, as one finding each.

use std::fmt::Write as _;

use explain::blame::{Convoy, Explanation};
use model::quantity::Nanoseconds;
use model::quantity::{counted, grouped};

use crate::style::{Style, printable};
use crate::table::push_heading;

/// Convoys shown.
const SHOWN: usize = 3;

pub(super) fn convoys(text: &mut String, explanation: &Explanation, style: Style) {
    if explanation.convoys.is_empty() {
        return;
    }
    push_heading(text, "Convoys", style);
    for convoy in explanation.convoys.iter().take(SHOWN) {
        let _ = writeln!(text, " {:>9}  {}", Nanoseconds(convoy.time_ns).to_string(), line(convoy));
    }
}

/// `4 threads of fio/12 waited, 3 times, at most 1.96 s each, for neighbour/123: lock: inode lock of a file (rwsem
/// write)`.
fn line(convoy: &Convoy) -> String {
    let tasks = match (&convoy.process, convoy.processes) {
        (_, one_each) if one_each == convoy.victims => counted(convoy.victims, "process"),
        (Some(process), _) => format!("{} of {}", counted(convoy.victims, "thread"), printable(&process.to_string())),
        (None, processes) => format!("{} of {}", counted(convoy.victims, "thread"), counted(processes, "process")),
    };
    let times = match convoy.times {
        1 => String::new(),
        times => format!(", {} times, up to {} at once", grouped(times), grouped(convoy.at_once)),
    };
    let holder = convoy.holder.as_ref().map_or_else(|| "an unknown task".to_owned(), ToString::to_string);
    let device = convoy.device_name.clone().or_else(|| Some(convoy.device?.to_string()));
    let device = device.map_or_else(String::new, |device| format!(" on {}", printable(&device)));
    let detail = convoy.detail.as_deref().map_or_else(String::new, |detail| format!(": {}", printable(detail)));
    let longest = Nanoseconds(convoy.longest_ns);
    format!(
        "{tasks} waited{times}, at most {longest} each, for {}{device}: {}{detail}",
        printable(&holder),
        convoy.cause.words()
    )
}
