//! What a victim lacked: the resource whose users are to blame for a piece of its time.

use model::block::{DeviceNumber, Kind, Operation as BlockOperation};
use model::stall::RequestRecord;

use crate::blame::facts::cause::{Cause, traits};
use crate::blame::facts::names::Name;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::dirty_limit::is_of_cgroup;
use crate::blame::facts::storage::disks::Disks;
use crate::blame::facts::storage::usage::Target;
use crate::blame::graph::chain::End;
use crate::blame::operations::unfinished::{reads, traced_device};

/// A scarce resource.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Need {
    /// Time of a device: its queue, or the device itself.
    Device(DeviceNumber),
    /// Time of a device that empties its cache: it takes as long as what was written there.
    Flush(DeviceNumber),
    /// Bytes of a device within a limit, or requests; `writes`: the limit is one on writes, or one on reads.
    Limit { device: DeviceNumber, writes: Option<bool>, by_count: bool, domain: Domain },
    /// A CPU, or any where the CPU is not known, that a process waited for; `except`: the victim, which did not run
    /// while it waited.
    Cpu { cpu: Option<u32>, waiting: u32, except: Option<u32> },
    /// A CPU that the holder of a lock needed, who ran for a part of the time itself.
    CpuOfHolder { cpu: Option<u32>, holder: u32 },
    /// CPU time within the quota of a cgroup.
    Quota(Name),
    /// Room for dirty pages, of a device or of the machine.
    Dirty(Option<DeviceNumber>),
    /// The part of a memory cgroup's limit that may be dirty.
    DirtyOf(Domain),
    /// Memory.
    Memory(Domain),
    /// Memory that held pages which are read again.
    Evicted(Domain),
}

impl Need {
    /// The device, of which a part was used.
    pub(super) fn device(&self) -> Option<DeviceNumber> {
        match self {
            Need::Device(device) | Need::Flush(device) | Need::Limit { device, .. } => Some(*device),
            _ => None,
        }
    }

    /// The disk that is named with its users.
    pub(super) fn named_disk(&self) -> Option<DeviceNumber> {
        match self {
            Need::Dirty(device) => *device,
            _ => self.device(),
        }
    }

    /// Whether requests of a device are what used it.
    pub(super) fn is_of_device(&self) -> bool {
        matches!(self, Need::Device(_) | Need::Flush(_) | Need::Limit { .. } | Need::Dirty(_))
    }

    /// Whether what fills memory is what used it.
    pub(super) fn is_of_memory(&self) -> bool {
        matches!(self, Need::Memory(_) | Need::Evicted(_))
    }
}

/// Whose use counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Domain {
    Everybody,
    /// Those for whom the same cgroup's limit holds.
    Limit(Name),
    Cgroup(Name),
}

impl Domain {
    /// The cgroup with the limit.
    pub(super) fn limit(self) -> Option<Name> {
        match self {
            Domain::Limit(limit) => Some(limit),
            Domain::Everybody | Domain::Cgroup(_) => None,
        }
    }
}

/// A machine-wide reclaim: not that of a memory cgroup.
const GLOBAL_RECLAIM: &str = "mm_vmscan_direct_reclaim";

/// What a task lacked in a row that is attributed to a cause; `None` where no resource is known.
pub(super) fn need(
    index: &RunIndex,
    disks: &Disks,
    (row, by): (u32, Option<u32>),
    cause: Cause,
    end: Option<&End<'_>>,
) -> Option<Need> {
    use Cause::{
        Compaction, CpuThrottle, CpuWait, DeviceError, DirectReclaim, DirtyThrottle, OutOfMemory, ReclaimThrottle,
        Shrinker,
    };
    let waited = index.row(row);
    let pid = index.tasks.process_of(waited.tid, waited.end_ns);
    match cause {
        CpuWait => Some(cpu_of(index, row)),
        DirectReclaim | ReclaimThrottle | Shrinker | Compaction | OutOfMemory => {
            Some(Need::Memory(room_in(index, (waited, by), pid, cause)))
        }
        CpuThrottle => quota_of(index, row).map(Need::Quota),
        DirtyThrottle => Some(dirty_in_cgroup(index, row, pid).unwrap_or_else(|| {
            let fullest = || index.dirty_disks.fullest_other(index.detail(waited)?.dirty_pages()?, waited.start_ns);
            let device = fullest().or_else(|| device_of(index, disks, row));
            Need::Dirty(device.or_else(|| index.usage.only_device_of(pid)))
        })),
        // Those who used the disk did not make it fail, nor did they freeze its queue.
        DeviceError => None,
        _ if index.is_for_frozen_queue(waited) => None,
        _ if end.is_some_and(|end| is_out_of_quota(index, end)) => quota_of(index, end?.row).map(Need::Quota),
        _ => without_cpu(index, row, cause, end?)
            .or_else(|| of_request(index, disks, cause, end?))
            .or_else(|| of_journal(index, disks, row, cause)),
    }
}

/// Where a task that reclaims memory, or waits for some, lacked room.
fn room_in(index: &RunIndex, (waited, by): (&Row, Option<u32>), pid: u32, cause: Cause) -> Domain {
    let announced = by.and_then(|by| index.row(by).announced).or(waited.announced);
    if announced.is_some_and(|announced| announced.signal.definition().name == GLOBAL_RECLAIM) {
        return Domain::Everybody;
    }
    // Only a cgroup whose OOM killer is off lets tasks wait for room.
    let of_cgroup = || index.tasks.cgroup(pid, waited.end_ns).filter(|_| cause == Cause::OutOfMemory);
    match domain(index, Target::Memory, pid, waited.start_ns, true) {
        Domain::Everybody => of_cgroup().map_or(Domain::Everybody, Domain::Cgroup),
        domain => domain,
    }
}

/// What a task lacked that waited for a CPU.
fn cpu_of(index: &RunIndex, row: u32) -> Need {
    let waited = index.row(row);
    let pid = index.tasks.process_of(waited.tid, waited.end_ns);
    let behind = waited.behind_tid.get().and_then(|tid| index.tasks.pid(tid, waited.end_ns));
    Need::Cpu { cpu: waited.cpu.get(), waiting: pid, except: Some(pid).filter(|pid| behind != Some(*pid)) }
}

/// What the last task of a chain lacked, if it mostly waited on the run queue: the holder of a lock, or another task,
/// such as a file server, for half of the wait at least.
fn without_cpu(index: &RunIndex, row: u32, cause: Cause, end: &End<'_>) -> Option<Need> {
    if index.main_cause(end.row) != Cause::CpuWait {
        return None;
    }
    let (waited, last) = (index.row(row), index.row(end.row));
    if cause == Cause::Lock && end.row != row && end.request.is_none() {
        let holder = index.tasks.process_of(last.tid, last.end_ns);
        return Some(Need::CpuOfHolder { cpu: last.cpu.get(), holder });
    }
    let ns = |row: &Row| row.end_ns - row.start_ns;
    (last.tid != waited.tid && 2 * ns(last) >= ns(waited)).then(|| cpu_of(index, end.row))
}

/// Whether a chain ends at a task that its cgroup's CPU quota holds, such as a server, perhaps below a loop device.
fn is_out_of_quota(index: &RunIndex, end: &End<'_>) -> bool {
    index.main_cause(end.row) == Cause::CpuThrottle
}

/// The cgroup whose quota holds the task of a row.
fn quota_of(index: &RunIndex, row: u32) -> Option<Name> {
    index.names.find(&index.detail(index.row(row))?.cpu_quota()?.cgroup)
}

/// Of cgroup v2, whose limit of dirty pages holds for what is written back for the cgroup, on whichever disk.
fn dirty_in_cgroup(index: &RunIndex, row: u32, pid: u32) -> Option<Need> {
    let wait = index.row(row);
    if !is_of_cgroup(index.detail(wait)?.dirty_pages()?, index.dirty_limit_bytes) {
        return None;
    }
    let domain = domain(index, Target::Memory, pid, wait.start_ns, true);
    matches!(domain, Domain::Limit(_)).then_some(Need::DirtyOf(domain))
}

/// A wait for a journal or log that leads to no request: its commits and checkpoints need the device.
fn of_journal(index: &RunIndex, disks: &Disks, row: u32, cause: Cause) -> Option<Need> {
    let waited = index.row(row);
    let is_for_room = index.stack(waited.stack.get()).is_some_and(|stack| stack.makes_room);
    if !cause.has(traits::LOG) && !is_for_room {
        return None;
    }
    let pid = index.tasks.process_of(waited.tid, waited.end_ns);
    // Where the device is unknown: the journal of the call's file, else one that the task uses, too.
    let of_call = || device_of_call(index, disks, row).filter(|device| index.usage.journals().any(|of| of == *device));
    let used = || index.usage.journals().filter(|journal| index.usage.knows(*journal, pid)).min();
    let device = device_of(index, disks, row).or_else(of_call).or_else(used);
    if cause == Cause::FsTransaction {
        let device = device.or_else(|| device_of_requests(index, row)).or_else(|| device_of_call(index, disks, row))?;
        return Some(of_transaction(index, disks, row, (device, pid)));
    }
    device.map(Need::Device)
}

/// A task that commits or logs a transaction submits its writes itself, within its limit.
fn of_transaction(index: &RunIndex, disks: &Disks, row: u32, (device, pid): (DeviceNumber, u32)) -> Need {
    let cgroup = index.usage.cgroup_on(device, pid, index.row(row).end_ns);
    if cgroup.is_some_and(|cgroup| index.usage.throttles(device, cgroup)) {
        limit(index, disks, row, (device, Some(true)))
    } else {
        Need::Device(device)
    }
}

fn device_of(index: &RunIndex, disks: &Disks, row: u32) -> Option<DeviceNumber> {
    disks.of_detail(index.detail(index.row(row))?)
}

/// The disk of the file that the call around a wait works on: a wait for a request that does not exist yet names none.
pub(super) fn device_of_call(index: &RunIndex, disks: &Disks, row: u32) -> Option<DeviceNumber> {
    let wait = index.row(row);
    let mut around = index.rows_between(wait.tid, wait.start_ns, wait.end_ns);
    let holds = |outer: &Row, inner: &Row| outer.start_ns <= inner.start_ns && inner.end_ns <= outer.end_ns;
    // A poll of the wait itself is within it.
    let path =
        wait.path.or_else(|| around.find_map(|(_, row)| row.path.filter(|_| holds(row, wait) || holds(wait, row))))?;
    disks.of_path(index.names.get(path))
}

/// The disk of a request that the task waited for in the same call.
fn device_of_requests(index: &RunIndex, row: u32) -> Option<DeviceNumber> {
    let wait = index.row(row);
    let from_ns = if wait.call_start_ns > 0 { wait.call_start_ns } else { wait.start_ns };
    let mut within = index.rows_between(wait.tid, from_ns, wait.end_ns).filter(|(_, row)| row.start_ns >= from_ns);
    within.find_map(|(_, row)| Some(index.request(row)?.device))
}

/// What the request at the end of a chain lacked.
fn of_request(index: &RunIndex, disks: &Disks, cause: Cause, end: &End<'_>) -> Option<Need> {
    let Some(request) = end.request else {
        let is_of_device = cause.has(traits::AT_DISK) || cause == Cause::WritebackWait;
        if cause == Cause::IoThrottle {
            // The request had not ended with the recording.
            let last = index.row(end.row);
            let pid = index.tasks.process_of(last.tid, last.end_ns);
            let device = limited_device(index, disks, end.row, pid)?;
            if shares_by_weight(index, end.row) {
                return Some(Need::Limit { device, writes: None, by_count: false, domain: Domain::Everybody });
            }
            let writes = Some(!reads(index, last));
            return Some(limit(index, disks, end.row, (device, writes)));
        }
        let device =
            || traced_device(index, disks, index.row(end.row)).or_else(|| device_of_call(index, disks, end.row));
        return is_of_device.then(device).flatten().map(Need::Device);
    };
    if !request.throttled && cause != Cause::IoThrottle {
        let flushes = request.kind.has(Kind::PREFLUSH);
        return Some(if flushes { Need::Flush(request.device) } else { Need::Device(request.device) });
    }
    Some(limit(index, disks, end.row, (request.device, is_write(request))))
}

/// The disk of the limit that a task waits for with a request that had not ended with the recording: that of the wait,
/// if limits delayed requests there, else the one that the process used where they did. Where none were delayed
/// anywhere, nothing had passed a limit.
fn limited_device(index: &RunIndex, disks: &Disks, row: u32, pid: u32) -> Option<DeviceNumber> {
    let usage = &index.usage;
    let of_wait = traced_device(index, disks, index.row(row)).or_else(|| device_of_call(index, disks, row));
    let limited = of_wait.filter(|device| usage.is_limited(*device)).or_else(|| usage.only_limited_device_of(pid));
    limited.or(of_wait).or_else(|| usage.only_device_of(pid))
}

/// Whether `io.cost` or `io.latency` held a task back before it submitted its request: all cgroups share what the disk
/// can do, in both directions. A limit of its own holds requests that are submitted.
fn shares_by_weight(index: &RunIndex, row: u32) -> bool {
    let rule = index.stack(index.row(row).stack.get()).and_then(|stack| stack.rule);
    rule.is_some_and(|rule| rule.cause == Cause::IoThrottle)
}

/// The limit on a disk of the task that waited for a request.
fn limit(index: &RunIndex, disks: &Disks, row: u32, (device, writes): (DeviceNumber, Option<bool>)) -> Need {
    let last = index.row(row);
    let pid = index.tasks.process_of(last.tid, last.end_ns);
    let domain = domain(index, Target::Device(device), pid, last.start_ns, false);
    Need::Limit { device, writes, by_count: counts_requests(index, disks, device, writes), domain }
}

/// Whether the limits on a disk are known, and count requests: each discard counts as much as any other.
fn counts_requests(index: &RunIndex, disks: &Disks, device: DeviceNumber, writes: Option<bool>) -> bool {
    let (operations, bytes) =
        if writes == Some(false) { ("read_iops", "read_bps") } else { ("write_iops", "write_bps") };
    let of_disk = index.io_limits.keys().filter(|(disk, _)| disks.number(disk) == Some(device));
    let kinds: Vec<&str> = of_disk.map(|(_, kind)| *kind).collect();
    kinds.contains(&operations) && !kinds.contains(&bytes)
}

/// Limits on reads and writes are separate.
fn is_write(request: &RequestRecord) -> Option<bool> {
    match request.kind.operation() {
        BlockOperation::Read => Some(false),
        BlockOperation::Write => Some(true),
        _ => None,
    }
}

/// `unlimited`: without a limit, everybody on the machine competes.
fn domain(index: &RunIndex, target: Target, pid: u32, at_ns: u64, unlimited: bool) -> Domain {
    let Some(used) = index.usage.latest(target, pid, at_ns) else {
        return match target {
            Target::Device(device) => domain_on(index, device, pid, at_ns),
            _ => domain_above(index, target, pid, at_ns),
        };
    };
    if let (Target::Device(device), Some(cgroup)) = (target, used.cgroup)
        && index.usage.throttles_only_others(device, cgroup)
    {
        return domain_of_others(index, device);
    }
    match (used.limit, used.cgroup) {
        (Some(limit), _) => Domain::Limit(limit),
        (None, Some(cgroup)) if !unlimited => Domain::Cgroup(cgroup),
        _ => Domain::Everybody,
    }
}

/// The memory that pages of a process are evicted from: of a limit that was reached, else all.
pub(super) fn memory_domain(index: &RunIndex, pid: u32, at_ns: u64) -> Domain {
    let domain = domain(index, Target::Memory, pid, at_ns, true);
    let Domain::Limit(limit) = domain else { return Domain::Everybody };
    let path = index.names.get(limit);
    // One that was not sampled may have been.
    let is_meant = index.memory.is_reached(path) || !index.memory.sampled().contains(path);
    if is_meant { domain } else { Domain::Everybody }
}

/// Pages count for the cgroup of the task that first made the file dirty: its limit also delays a task that syncs the
/// file.
fn domain_of_others(index: &RunIndex, device: DeviceNumber) -> Domain {
    let only = index.usage.only_throttled(device);
    only.map_or(Domain::Everybody, |(cgroup, limit)| limit.map_or(Domain::Cgroup(cgroup), Domain::Limit))
}

/// The limit on a disk of a process of which the disk did nothing yet: of its cgroup, or, where limits delayed others
/// alone, of those. A task outside of a limit used none of it.
fn domain_on(index: &RunIndex, device: DeviceNumber, pid: u32, at_ns: u64) -> Domain {
    let Some(cgroup) = index.tasks.io_cgroup(pid, at_ns) else { return Domain::Everybody };
    match index.usage.limit_of(device, cgroup) {
        Some(limit) => limit.map_or(Domain::Cgroup(cgroup), Domain::Limit),
        None if index.usage.is_limited(device) => domain_of_others(index, device),
        None => Domain::Cgroup(cgroup),
    }
}

/// A process that used too little to have a row: memory limits of the cgroups above it hold for it, too.
fn domain_above(index: &RunIndex, target: Target, pid: u32, at_ns: u64) -> Domain {
    let cgroup = index.tasks.cgroup(pid, at_ns).map(|cgroup| index.names.get(cgroup));
    let (Target::Memory, Some(cgroup)) = (target, cgroup) else { return Domain::Everybody };
    let holds = |limit: &str| is_below(cgroup, limit);
    let limits = index.usage.memory_limits().map(|limit| (index.names.get(limit), limit));
    let nearest = limits.filter(|(path, _)| holds(path)).max_by_key(|(path, _)| path.len());
    nearest.map_or(Domain::Everybody, |(_, limit)| Domain::Limit(limit))
}

/// Whether a cgroup is that one or below it.
pub(super) fn is_below(cgroup: &str, above: &str) -> bool {
    cgroup.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || above == "/")
}
