//! Short waits for a CPU of tasks of which only long waits are recorded, such as a server that has to share it: the
//! kernel says how long a task had waited on run queues by each of these.

use model::stall::{StallKind, StallRecord};

use crate::blame::facts::names::Names;
use crate::blame::facts::rows::Row;
use crate::thresholds::{CPU_WAITS_LEAST_NS, RARE_PART};

/// Sums of such waits between the rows of each task, as rows. `rows` are by task and start.
pub(crate) fn queued(rows: &[Row]) -> Vec<Row> {
    let mut queued = Vec::new();
    for task in rows.chunk_by(|a, b| a.tid == b.tid) {
        let sums: Vec<(u64, u64)> =
            task.iter().filter(|row| is_sum(row)).map(|row| (row.start_ns, row.end_ns)).collect();
        let mut off =
            task.iter().filter(|row| row.kind == StallKind::OffCpu && row.accounted.cpu_ns > 0 && !row.watched);
        let Some(mut before) = off.next() else { continue };
        for after in off {
            queued.extend(between(before, after).filter(|row| !overlaps(&sums, row)));
            before = if after.end_ns >= before.end_ns { after } else { before };
        }
    }
    queued
}

fn is_sum(row: &Row) -> bool {
    row.kind == StallKind::ShortCpuWaits
}

/// Whether a sum holds such waits already.
fn overlaps(sums: &[(u64, u64)], row: &Row) -> bool {
    let begun = &sums[..sums.partition_point(|&(start_ns, _)| start_ns < row.end_ns)];
    begun.last().is_some_and(|&(_, end_ns)| end_ns > row.start_ns)
}

/// What a task waited between two times off the CPU. Until the second one it had also waited at the end of the first.
fn between(before: &Row, after: &Row) -> Option<Row> {
    let gap_ns = after.start_ns.checked_sub(before.end_ns)?;
    let delayed_ns = after.accounted.run_delay_ns.checked_sub(before.accounted.run_delay_ns)?;
    let waited_ns = delayed_ns.saturating_sub(before.end_ns - before.runnable_ns);
    let ran_ns = after.accounted.cpu_ns.checked_sub(before.accounted.cpu_ns)?;
    let busy_ns = waited_ns.min(gap_ns.saturating_sub(ran_ns));
    let is_much = busy_ns >= CPU_WAITS_LEAST_NS.max(gap_ns / RARE_PART);
    let sum = StallRecord {
        busy_ns,
        count: 0,
        cpu: after.cpu.get(),
        ..StallRecord::new(StallKind::ShortCpuWaits, after.tid, before.end_ns, after.start_ns)
    };
    // It has no text.
    is_much.then(|| Row::new(&sum, &mut Names::default()))?
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A time off the CPU in milliseconds, with what the task had run and waited for a CPU by then.
    fn off(tid: u32, (from_ms, runnable_ms, to_ms): (u64, u64, u64), (cpu_ms, delay_ms): (u64, u64)) -> Row {
        let record = StallRecord {
            state: Some(1),
            woken_ns: Some(runnable_ms * MS),
            cpu_ns: Some(cpu_ms * MS),
            run_delay_ns: Some(delay_ms * MS),
            ..StallRecord::new(StallKind::OffCpu, tid, from_ms * MS, to_ms * MS)
        };
        Row::new(&record, &mut Names::default()).unwrap()
    }

    fn sums(rows: &[Row]) -> Vec<(u32, u64, u64, u64)> {
        queued(rows).iter().map(|row| (row.tid, row.start_ns / MS, row.end_ns / MS, row.busy_ns / MS)).collect()
    }

    #[test]
    fn short_waits_for_a_cpu_are_what_the_kernel_counted_between_two_long_waits() {
        // At the end of the first it waited for 5 ms, which are its own.
        let before = off(7, (0, 15, 20), (100, 50));
        assert_eq!(sums(&[before.clone(), off(7, (120, 130, 130), (140, 110))]), [(7, 20, 120, 55)]);
        assert_eq!(
            sums(&[before.clone(), off(7, (120, 130, 130), (190, 110))]),
            [(7, 20, 120, 10)],
            "it ran for the rest"
        );
        assert_eq!(sums(&[before.clone(), off(7, (120, 130, 130), (140, 56))]), [], "too few");
        assert_eq!(sums(&[before.clone(), off(8, (120, 130, 130), (140, 110))]), [], "another task");
        // Damaged rows, and those of older recordings.
        for (cpu_ms, delay_ms) in [(140, 0), (0, 110), (90, 110), (u64::MAX / MS, 110)] {
            assert_eq!(sums(&[before.clone(), off(7, (120, 130, 130), (cpu_ms, delay_ms))]), [], "{cpu_ms} {delay_ms}");
        }
    }

    #[test]
    fn what_is_recorded_is_not_counted_twice() {
        let rows = [off(7, (0, 15, 20), (100, 50)), off(7, (120, 130, 130), (140, 110))];
        let record = StallRecord::new(StallKind::ShortCpuWaits, 7, 30 * MS, 40 * MS);
        let sum = Row::new(&record, &mut Names::default()).unwrap();
        assert_eq!(sums(&[rows[0].clone(), sum, rows[1].clone()]), []);
        let watched = rows.map(|row| Row { watched: true, ..row });
        assert_eq!(sums(&watched), []);
    }
}
