//! The busiest and most stalled cgroups.

use explain::summary::{CgroupFigures, Summary};
use model::quantity::Bytes;

use crate::number::share;
use crate::style::{Style, printable};
use crate::table::{push_section, table};

/// Columns that are left out where no cgroup has a figure: the kernel has none of version 1.
type Cell = fn(&CgroupFigures) -> Option<String>;

/// The columns besides the path.
const COLUMNS: [(&str, Cell); 7] = [
    ("CPUs", |one| one.cpus.map(|cpus| format!("{cpus:.2}"))),
    ("read/s", |one| one.read_bytes_per_s.map(bytes)),
    ("written/s", |one| one.written_bytes_per_s.map(bytes)),
    ("memory, peak", |one| one.memory_bytes.map(|peak| Bytes(peak).to_string())),
    ("CPU throttled", |one| one.throttled.map(share)),
    ("PSI io", |one| one.io_pressure.map(share)),
    ("PSI memory", |one| one.memory_pressure.map(share)),
];

fn bytes(per_s: f64) -> String {
    Bytes(per_s as u64).to_string()
}

pub(super) fn cgroups(text: &mut String, summary: &Summary, style: Style) {
    let all = &summary.cgroups;
    if all.is_empty() {
        return;
    }
    let columns = COLUMNS.iter().filter(|(_, cell)| all.iter().any(|one| cell(one).is_some()));
    let columns: Vec<&(&str, Cell)> = columns.collect();
    let mut rows = table(&std::iter::once("").chain(columns.iter().map(|(name, _)| *name)).collect::<Vec<_>>(), 1);
    for one in all {
        let cells = columns.iter().map(|(_, cell)| cell(one).unwrap_or_else(|| "-".to_owned()));
        rows.add_row(std::iter::once(printable(&one.path)).chain(cells));
    }
    push_section(text, "Cgroups: the busiest, most stalled and largest (each with those below it)", &rows, style);
}
