//! The tables of biosnoop, of bcc and of bpftrace: a row a request, at its completion. The heading says what each
//! column is.
//!
//! ```text
//! TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  QUE(ms) LAT(ms)
//! 0.000004    supervise      1950   xvda1   W 13092560   4096      0.01    0.74
//! ```

use model::block::{Action, BlockEvent, DeviceNumber, Kind};

/// The columns of a table, and the disks of its rows so far: a disk's number is its position.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    columns: Vec<String>,
    disks: Vec<String>,
    rows: u64,
}

/// A table has no more disks.
const DISKS: usize = 1 << 10;

impl Table {
    /// The table that a heading begins.
    pub(crate) fn of_heading(line: &[u8]) -> Option<Table> {
        let text = std::str::from_utf8(line).ok()?;
        let columns: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let has = |name: &str| columns.iter().any(|column| column == name);
        let is_heading = columns.first()?.starts_with("TIME(") && has("DISK") && has("LAT(ms)");
        is_heading.then(|| Table { columns, ..Table::default() })
    }

    /// The events of a row in the order of time: inserted where the queue time is known, issued, completed; and the
    /// thread's name.
    pub(crate) fn row<'a>(&mut self, line: &'a [u8]) -> Option<(Vec<BlockEvent>, &'a [u8])> {
        let text = std::str::from_utf8(line).ok()?;
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.len() != self.columns.len() {
            return None;
        }
        let columns = self.columns.clone();
        let of = |name: &str| columns.iter().position(|column| column == name).map(|at| words[at]);
        let milliseconds =
            |name: &str| of(name).and_then(|word| word.parse::<f64>().ok()).filter(|value| *value >= 0.0);
        let unit = if columns[0] == "TIME(s)" { 1e9 } else { 1e6 };
        let done_ns = (words[0].parse::<f64>().ok().filter(|at| (0.0..1e12).contains(at))? * unit) as u64;
        let latency_ns = (milliseconds("LAT(ms)")? * 1e6) as u64;
        // The first completion may be the zero: all times are later by what it took at most.
        let done_ns = done_ns.checked_add(1_000_000_000_000)?;
        let device = self.device(of("DISK")?)?;
        self.rows += 1;
        // Without its sector a request has a number of its own.
        let sector = of("SECTOR").and_then(|word| word.parse().ok()).unwrap_or(self.rows);
        let kind = Kind::from_rwbs(of("T").unwrap_or("N").as_bytes())?;
        let bytes = of("BYTES").and_then(|word| word.parse().ok()).unwrap_or(0);
        let pid = of("PID").and_then(|word| word.parse().ok()).unwrap_or(0);
        let event = |time_ns: u64, action: Action| BlockEvent {
            sector,
            bytes,
            kind,
            pid,
            ..BlockEvent::new(time_ns, action, device)
        };
        let issued_ns = done_ns.checked_sub(latency_ns)?;
        let queued_ns = milliseconds("QUE(ms)").and_then(|queued| issued_ns.checked_sub((queued * 1e6) as u64));
        let inserted = queued_ns.map(|at_ns| event(at_ns, Action::Insert));
        let events = inserted.into_iter().chain([event(issued_ns, Action::Issue), event(done_ns, Action::Complete)]);
        Some((events.collect(), of("COMM").unwrap_or_default().as_bytes()))
    }

    fn device(&mut self, disk: &str) -> Option<DeviceNumber> {
        let at = self.disks.iter().position(|known| known == disk);
        if at.is_none() && self.disks.len() < DISKS {
            self.disks.push(disk.to_owned());
        }
        let at = at.or_else(|| self.disks.len().checked_sub(1))?;
        Some(DeviceNumber::new(0, at as u32))
    }
}

#[cfg(test)]
mod tests {
    use model::block::Action;

    use super::Table;

    #[test]
    fn tables_of_bcc_and_bpftrace() {
        let heading = b"TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  QUE(ms) LAT(ms)";
        let mut table = Table::of_heading(heading).unwrap();
        let (events, name) =
            table.row(b"0.000004    supervise      1950   xvda1   W 13092560   4096      0.01    0.74").unwrap();
        let actions: Vec<(Action, u64)> =
            events.iter().map(|event| (event.action, event.time_ns - events[0].time_ns)).collect();
        assert_eq!(actions, [(Action::Insert, 0), (Action::Issue, 10_000), (Action::Complete, 750_000)]);
        assert_eq!(
            (name, events[1].sector, events[1].bytes, events[1].pid),
            (&b"supervise"[..], 13_092_560, 4096, 1950)
        );
        let mut table = Table::of_heading(b"TIME(ms)     DISK    COMM             PID    LAT(ms)").unwrap();
        let (events, _) = table.row(b"611          nvme0n1 bash             4179         10").unwrap();
        assert_eq!((events.len(), events[1].time_ns - events[0].time_ns), (2, 10_000_000));
        assert_eq!(table.row(b"611 nvme0n1 a b 4179 10"), None, "a name with a space: the columns are not certain");
        assert!(Table::of_heading(b"TIME(s) a b").is_none());
    }
}
