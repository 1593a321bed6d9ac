//! `tasks`: the threads that other tables refer to by number.

use arrow_array::ArrayRef;
use model::stall::TaskRecord;

use super::cell::{Cell, Later};
use super::declare::columns;
use super::definition::{Column, Priority, Table};
use super::reader::{ColumnError, Columns};

/// One row for each thread; another one when its number is reused.
pub(crate) struct TaskTable;

impl Table for TaskTable {
    type Row = TaskRecord;
    const NAME: &'static str = "tasks";
    const PRIORITY: Priority = Priority::Trace;

    columns! { TaskRecord;
        /// thread
        tid: u32, "id";
        /// process
        pid: u32, "id";
        /// the thread's name (`comm`)
        name: String, "text";
        /// its memory cgroup (v1) or cgroup (v2), below the hierarchy's root
        cgroup: Option<String>, "text";
        /// program or script that started its process, with its id: `rotate.sh/812`; of a shell without a script
        /// (`sh -c`), what started the shell; null: unknown, a terminal, the recorder, or a program of the same name
        started_by: Later<String>, "text";
        /// when it was seen
        seen_ns: u64, "nanoseconds";
        /// its cgroup of the I/O controller (v1), if its path is another one than `cgroup`
        io_cgroup: Later<String>, "text";
        /// what its process says in its title that it is, if programs of that name are several: `checkpointer` of
        /// PostgreSQL, `redis-rdb-bgsave` of Redis; of a tool or interpreter its subcommand or script: `repack` of git,
        /// `backup.py`
        role: Later<String>, "text";
        /// name of the container that its cgroup is of, as its engine left it on the machine
        container: Later<String>, "text";
    }

    fn weight(row: &TaskRecord) -> usize {
        let texts = [&row.cgroup, &row.io_cgroup, &row.started_by, &row.role, &row.container];
        let texts = texts.into_iter().flatten().map(String::len);
        size_of::<TaskRecord>() + row.name.len() + texts.sum::<usize>()
    }
}
