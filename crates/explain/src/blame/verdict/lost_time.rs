//! Where tasks were while their operations lost time: for formats of stacks with weights.

use crate::blame::facts::cause::Cause;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::user_stacks::UserStack;
use crate::blame::graph::segment::Segment;
use crate::blame::operations::Operation;
use crate::blame::timeline::timelines::TaskTimelines;

/// Time that an operation lost to one cause, at one stack.
#[derive(Debug, Clone, Copy)]
pub struct LostTime<'a> {
    /// Kernel thread id.
    pub tid: u32,
    /// The thread's name, where the run recorded it.
    pub task: Option<&'a str>,
    /// Class of the load, or system call.
    pub operation: &'a str,
    /// The cause.
    pub cause: Cause,
    /// The time, ns.
    pub time_ns: u64,
    /// The kernel stack: [`model::stall::StackRecord::stack`]. `None` where none was recorded.
    pub kernel_stack: Option<u32>,
    /// Name of the task that the kernel stack is of, if the operation's task waited for it: its own stack is then in
    /// another part.
    pub of: Option<&'a str>,
    /// Where the program was during the operation.
    pub user_stack: Option<&'a UserStack>,
}

/// Visits all time of these operations that was lost: all but the time in which their tasks ran.
pub(crate) fn each(
    index: &RunIndex,
    operations: &[Operation],
    timelines: &mut TaskTimelines<'_>,
    mut visit: impl FnMut(LostTime<'_>),
) {
    for operation in operations {
        let timeline = timelines.of(operation);
        let user_stack = index.user_stacks.within(operation.tid, operation.start_ns, operation.end_ns);
        let whole = LostTime {
            tid: operation.tid,
            task: index.tasks.name(operation.tid, operation.end_ns).map(|name| index.names.get(name)),
            operation: index.names.get(operation.class),
            cause: Cause::Unexplained,
            time_ns: 0,
            kernel_stack: None,
            of: None,
            user_stack: user_stack.as_ref(),
        };
        let lost = |segment: &Segment| segment.is_lost() || segment.cause == Cause::Unexplained;
        for segment in timeline.between(operation.start_ns, operation.end_ns).filter(lost) {
            visit(part(index, &segment, whole));
        }
    }
}

fn part<'a>(index: &'a RunIndex, segment: &Segment, whole: LostTime<'a>) -> LostTime<'a> {
    let part = LostTime { cause: segment.cause, time_ns: segment.ns(), ..whole };
    let Some(row) = segment.row().map(|row| index.row(row)) else { return part };
    // A task that ran instead has no stack; that of the row is the waiting task's own.
    let is_other = row.tid != whole.tid;
    let of = index.tasks.name(row.tid, row.end_ns).filter(|_| is_other).map(|name| index.names.get(name));
    LostTime { kernel_stack: row.stack.get(), of, ..part }
}
