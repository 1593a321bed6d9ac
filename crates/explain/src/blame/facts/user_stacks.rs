//! Where programs were in their own code: which of the recorded stacks belongs to a wait, or to the release of a lock.

use std::collections::HashMap;

use model::user_stack::{UserFrameRecord, UserStackRecord};

/// Where a program was in its own code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserStack {
    /// The innermost function first.
    pub frames: Vec<UserFrame>,
    /// The last is the thread's first function. Otherwise callers are missing.
    pub whole: bool,
    /// It is where the task released a lock, not where it waited.
    pub released: bool,
}

/// A place in a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserFrame {
    /// The function, if known.
    pub function: Option<String>,
    /// Its source file, if known.
    pub file: Option<String>,
    /// The line, if known.
    pub line: Option<u32>,
    /// Path of the program or library; `[vdso]` or `[anonymous]` where it is no file; `None`: unknown.
    pub module: Option<String>,
    /// Its build id.
    pub build_id: Option<String>,
    /// Offset in that file; the address where it is no file.
    pub offset: u64,
}

/// The stacks of a run, by task.
#[derive(Debug, Default)]
pub(crate) struct UserStacks {
    by_task: HashMap<u32, Vec<UserStackRecord>>,
    frames: HashMap<u32, UserFrameRecord>,
}

impl UserStacks {
    pub(crate) fn insert(&mut self, record: &UserStackRecord) {
        self.by_task.entry(record.tid).or_default().push(record.clone());
    }

    /// Of two rows of a place, the one with names counts.
    pub(crate) fn insert_frame(&mut self, record: &UserFrameRecord) {
        let known = self.frames.get(&record.frame).is_some_and(|known| !known.functions.is_empty());
        if !known || !record.functions.is_empty() {
            self.frames.insert(record.frame, record.clone());
        }
    }

    /// Call after the last row: the result does not depend on their order.
    pub(crate) fn sort(&mut self) {
        let key = |record: &UserStackRecord| (record.start_ns, record.end_ns, record.frames.clone());
        self.by_task.values_mut().for_each(|records| records.sort_by_key(key));
    }

    /// Where a task was for most of a time; where that is unknown, where it released a lock in it.
    pub(crate) fn within(&self, tid: u32, from_ns: u64, to_ns: u64) -> Option<UserStack> {
        let records = self.by_task.get(&tid)?;
        let began = &records[..records.partition_point(|record| record.start_ns <= to_ns)];
        let overlap_ns =
            |record: &UserStackRecord| record.end_ns.min(to_ns).saturating_sub(record.start_ns.max(from_ns));
        let longest = began.iter().filter(|record| overlap_ns(record) > 0).max_by_key(|record| overlap_ns(record));
        let releases = began.iter().rev().filter(|record| record.start_ns == record.end_ns);
        let released = || releases.take_while(|record| record.start_ns >= from_ns).next();
        longest.or_else(released).map(|record| self.shown(record))
    }

    fn shown(&self, record: &UserStackRecord) -> UserStack {
        let frames = record.frames.iter().filter_map(|frame| self.frames.get(frame)).flat_map(functions).collect();
        UserStack { frames, whole: record.whole, released: record.start_ns == record.end_ns }
    }
}

/// The functions at a place: one, unless others are inlined into it.
fn functions(record: &UserFrameRecord) -> Vec<UserFrame> {
    let frame = |at: usize| UserFrame {
        function: record.functions.get(at).filter(|function| !function.is_empty()).cloned(),
        file: record.files.get(at).filter(|file| !file.is_empty()).cloned(),
        line: record.lines.get(at).copied().filter(|line| *line > 0),
        module: record.module.clone(),
        build_id: record.build_id.clone(),
        offset: record.offset,
    };
    (0..record.functions.len().max(1)).map(frame).collect()
}
