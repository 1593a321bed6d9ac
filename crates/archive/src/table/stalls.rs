//! `stalls`: time that tasks lost.

mod words;

use arrow_array::ArrayRef;
use model::block::DeviceNumber;
use model::detail::Detail;
use model::stall::{Awaits, StallKind, StallRecord};

use super::cell::{Cell, DetailNames, DetailNumbers, Later};
use super::declare::columns;
use super::definition::{Column, Priority, Table};
use super::reader::{ColumnError, Columns};

/// One row for each slow system call, wait and span, and for each sum of short ones.
pub(crate) struct StallTable;

impl Table for StallTable {
    type Row = StallRecord;
    const NAME: &'static str = "stalls";
    const PRIORITY: Priority = Priority::Trace;

    columns! { StallRecord;
        /// `system_call` `off_cpu` `blocked` `still_blocked` `span` `short_sleeps` `short_cpu_waits` `short_spans`
        /// `short_request_waits` `asynchronous` `server_request` `standing` `on_cpu`
        kind: StallKind = |row| row.kind.name(), "text";
        /// the task that lost the time: a row of `tasks`
        tid: u32, "id";
        /// start
        start_ns: u64, "nanoseconds";
        /// from start to end
        duration_ns: u64, "nanoseconds";
        /// time lost in between: the duration, or less where the row sums up `count` short losses
        busy_ns: u64, "nanoseconds";
        /// losses that the row sums up; 1 for a single one
        count: u64, "count";
        /// scheduler state in which the task left the CPU, as in the kernel's `__state`; 0: runnable
        state: Option<u32>, "flags";
        /// wakeup; from then on the task waited in the run queue
        woken_ns: Option<u64>, "nanoseconds";
        /// thread that woke it; 0: an interrupt of an idle CPU
        waker_tid: Option<u32>, "id";
        /// row of `stacks`: the task's stack while it was off the CPU
        stack: Option<u32>, "id";
        /// row of `stacks`: the waker's stack at the wakeup
        waker_stack: Option<u32>, "id";
        /// row of `requests` whose completion woke the task
        request: Option<u32>, "id";
        /// tracepoint pair that bounds the span, or tracepoint that announced the wait
        tracepoint: Option<String>, "text";
        /// type of what the tracepoint's fields say, of the limit or freezer that held the task, or of what a lasting
        /// wait is for ([types](#details)); in older runs words
        detail: Option<String> = |row| row.detail.as_ref().map(Detail::type_name), "text";
        /// device of the detail
        detail_device: Later<DeviceNumber> = |row| row.detail.as_ref().and_then(Detail::device), "MAJ,MIN";
        /// numbers of the detail
        detail_numbers: DetailNumbers = |row| row.detail.as_ref(), "count";
        /// names of the detail
        detail_names: DetailNames = |row| row.detail.as_ref(), "text";
        /// system call in which it happened
        call: Option<String>, "text";
        /// file of that system call
        path: Option<String>, "text";
        /// bytes that the system call moved; of a lasting wait, those that the other end has received and not read
        bytes: Option<u64>, "bytes";
        /// of a system call that failed
        errno: Option<i32>, "errno";
        /// thread that ran for at least half of the time that the task waited on the run queue, else the last before
        /// it; known for long run-queue waits
        behind_tid: Later<u32>, "id";
        /// of time off the CPU: since when the task was in that system call
        call_start_ns: Later<u64>, "nanoseconds";
        /// of time off the CPU: the task's CPU time until then; between two rows it used the difference
        cpu_ns: Later<u64>, "nanoseconds";
        /// of time off the CPU: the time that the task had waited on run queues until then (`sched_info.run_delay`)
        run_delay_ns: Later<u64>, "nanoseconds";
        /// bits: 1 the task belongs to the recorded command, or is followed, 2 the wait began before the recording, 4
        /// the system call did, 8 the task's cgroup had used up its CPU quota, 16 the holder is one of a lock's
        /// readers, and may have released it, 32 the holder is a process, any thread of which may be meant,
        /// 64 the task that ended the wait began after it
        flags: Later<u32>, "flags";
        /// of an asynchronous operation: the kernel's thread that executed it
        worker_tid: Later<u32>, "id";
        /// workqueue whose work a kernel worker did while it slept; of a lasting wait, what the process says in its
        /// title that it does
        work: Later<String>, "text";
        /// whom a sleep outside of storage waited for: `answer` `answer_of_child` `message` `thread` `interrupt`
        /// `part_of_answer` `room` `lock` `work` `child` `for_client`
        awaits: Later<Awaits>, "text";
        /// when the request was sent whose answer it awaited, or received that it worked on; of a wait for `room`, when
        /// it last sent something
        asked_ns: Later<u64>, "nanoseconds";
        /// of time off the CPU: the CPU that it left
        cpu: Later<u32>, "id";
        /// lock that the task waited for: a number within the run
        lock: Later<u32>, "id";
        /// thread that held the lock when the wait began; of a file's locks, the process; of a stopped task, who
        /// stopped it; of a lasting wait, who has the other end
        holder_tid: Later<u32>, "id";
        read { kind: kind_of(kind, duration_ns, detail_names.is_some()), detail: detail_of(detail, detail_device,
            &detail_numbers, detail_names) }
    }

    fn span_ns(row: &StallRecord) -> Option<(u64, u64)> {
        Some((row.start_ns, row.end_ns()))
    }

    fn weight(row: &StallRecord) -> usize {
        let texts = [&row.tracepoint, &row.call, &row.path, &row.work].into_iter().flatten().map(String::len);
        let names = row.detail.iter().flat_map(Detail::names).map(str::len);
        size_of::<StallRecord>() + texts.chain(names).sum::<usize>()
    }
}

/// The kind of a row. Older runs had a moment at which a task ran as an interval of 1 ns off the CPU: only long ones
/// are recorded.
fn kind_of(kind: StallKind, duration_ns: u64, is_new: bool) -> StallKind {
    let is_moment = !is_new && kind == StallKind::OffCpu && duration_ns == 1;
    if is_moment { StallKind::OnCpu } else { kind }
}

/// A detail of its columns. Runs without the column of names have words.
fn detail_of(
    type_name: Option<String>,
    device: Option<DeviceNumber>,
    numbers: &[u64],
    names: Option<Vec<String>>,
) -> Option<Detail> {
    let type_name = type_name?;
    match names {
        Some(names) => Detail::of_stored(&type_name, device, numbers, &names),
        None => Some(words::detail(&type_name)),
    }
}

#[cfg(test)]
mod tests {
    use model::stall::StallKind;

    use super::kind_of;

    #[test]
    fn an_older_run_has_moments_as_intervals_of_a_nanosecond() {
        let of = |duration_ns, is_new| kind_of(StallKind::OffCpu, duration_ns, is_new);
        assert_eq!(of(1, false), StallKind::OnCpu);
        assert_eq!((of(1, true), of(2, false)), (StallKind::OffCpu, StallKind::OffCpu));
        assert_eq!(kind_of(StallKind::Span, 1, false), StallKind::Span);
    }
}
