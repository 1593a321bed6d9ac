//! Rows as they are kept until the end: small, with each name stored once.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use model::block::DeviceNumber;
use model::stall::{StallKind, StallRecord, TaskRecord};

use super::explanation::Who;
use super::rules::{Announcement, announcement};

/// Nothing takes a year: a longer row comes from a damaged clock, and would drown all others.
pub(super) const LONGEST_NS: u64 = 366 * 24 * 3600 * 1_000_000_000;

/// A string that is stored once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Name(u32);

/// All strings.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: HashMap<Arc<str>, Name>,
    texts: Vec<Arc<str>>,
}

impl Names {
    pub(super) fn insert(&mut self, text: &str) -> Name {
        if let Some(name) = self.known.get(text) {
            return *name;
        }
        let name = Name(u32::try_from(self.texts.len()).expect("memory is full long before"));
        let text: Arc<str> = text.into();
        self.texts.push(text.clone());
        self.known.insert(text, name);
        name
    }

    pub(super) fn get(&self, name: Name) -> &str {
        &self.texts[name.0 as usize]
    }

    pub(super) fn insert_some(&mut self, text: Option<&String>) -> Option<Name> {
        text.map(|text| self.insert(text))
    }
}

/// A [`StallRecord`], checked: start, waking and end are in this order, and no time is beyond the clock's range.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) busy_ns: u64,
    /// From when on it only wanted a CPU: the start where it was put off the CPU, the end where nobody saw it woken.
    pub(super) runnable_ns: u64,
    pub(super) tid: u32,
    pub(super) count: u32,
    pub(super) kind: StallKind,
    pub(super) stopped: bool,
    pub(super) waker_tid: Option<u32>,
    pub(super) behind_tid: Option<u32>,
    pub(super) stack: Option<u32>,
    pub(super) waker_stack: Option<u32>,
    pub(super) request: Option<u32>,
    pub(super) announced: Option<&'static Announcement>,
    pub(super) detail: Option<Name>,
    pub(super) call: Option<Name>,
    pub(super) path: Option<Name>,
}

/// `__TASK_STOPPED | __TASK_TRACED` of the kernel, all versions.
const STOPPED: u32 = 0x4 | 0x8;

impl Row {
    /// `None` where the record contradicts itself.
    pub(super) fn new(record: &StallRecord, names: &mut Names) -> Option<Row> {
        let end_ns = record.start_ns.checked_add(record.duration_ns)?;
        if record.duration_ns == 0 || record.duration_ns > LONGEST_NS {
            return None;
        }
        let preempted = record.kind == StallKind::OffCpu && record.state == Some(0);
        let runnable_ns = match record.woken_ns {
            _ if preempted => record.start_ns,
            // A waking may come just before the task is off the CPU.
            Some(woken_ns) => woken_ns.clamp(record.start_ns, end_ns),
            None => end_ns,
        };
        Some(Row {
            start_ns: record.start_ns,
            end_ns,
            busy_ns: record.busy_ns.min(record.duration_ns),
            runnable_ns,
            tid: record.tid,
            count: u32::try_from(record.count).unwrap_or(u32::MAX),
            // What went on when it was told is a wait like any other, until the whole of it comes.
            kind: if record.kind == StallKind::StillBlocked { StallKind::Blocked } else { record.kind },
            stopped: record.state.is_some_and(|state| state & STOPPED != 0),
            waker_tid: record.waker_tid,
            behind_tid: record.behind_tid,
            stack: record.stack,
            waker_stack: record.waker_stack,
            request: record.request,
            announced: record.tracepoint.as_deref().and_then(announcement),
            detail: names.insert_some(record.detail.as_ref()),
            call: names.insert_some(record.call.as_ref()),
            path: names.insert_some(record.path.as_ref()),
        })
    }
}

/// All threads, by id and by when they were seen.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    seen: HashMap<u32, Vec<Seen>>,
}

#[derive(Debug)]
struct Seen {
    seen_ns: u64,
    pid: u32,
    name: Name,
    cgroup: Option<Name>,
}

impl Tasks {
    pub(super) fn insert(&mut self, record: &TaskRecord, names: &mut Names) {
        let seen = Seen {
            seen_ns: record.seen_ns,
            pid: record.pid,
            name: names.insert(&record.name),
            cgroup: names.insert_some(record.cgroup.as_ref()),
        };
        self.seen.entry(record.tid).or_default().push(seen);
    }

    /// To be called when all are in.
    pub(super) fn sort(&mut self) {
        self.seen.values_mut().for_each(|seen| seen.sort_by_key(|seen| seen.seen_ns));
    }

    /// The latest seen before; else the first, which is seen a moment after what it did.
    fn at(&self, tid: u32, at_ns: u64) -> Option<&Seen> {
        let seen = self.seen.get(&tid)?;
        let after = seen.partition_point(|seen| seen.seen_ns <= at_ns);
        seen.get(after.saturating_sub(1))
    }

    pub(super) fn pid(&self, tid: u32, at_ns: u64) -> Option<u32> {
        self.at(tid, at_ns).map(|seen| seen.pid)
    }

    /// The processes of these threads, as far as they are known.
    pub(super) fn processes(&self, threads: impl Iterator<Item = (u32, u64)>) -> HashSet<u32> {
        threads.filter_map(|(tid, at_ns)| self.pid(tid, at_ns)).collect()
    }

    pub(super) fn who(&self, tid: u32, at_ns: u64, names: &Names) -> Who {
        Who { tid, name: self.at(tid, at_ns).map(|seen| names.get(seen.name).to_owned()) }
    }

    /// The process of a thread; the thread itself where that is not known.
    pub(super) fn process(&self, tid: u32, at_ns: u64, names: &Names) -> Who {
        self.who(self.pid(tid, at_ns).unwrap_or(tid), at_ns, names)
    }

    pub(super) fn name(&self, tid: u32, at_ns: u64) -> Option<Name> {
        self.at(tid, at_ns).map(|seen| seen.name)
    }

    pub(super) fn cgroup(&self, tid: u32, at_ns: u64) -> Option<Name> {
        self.at(tid, at_ns).and_then(|seen| seen.cgroup)
    }
}

/// `7,0` or `7:0` as a device number.
pub(super) fn device(text: &str) -> Option<DeviceNumber> {
    let (major, minor) = text.split_once([',', ':'])?;
    Some(DeviceNumber::new(major.parse().ok()?, minor.parse().ok()?))
}
