//! Rows of the tables. Each is taken apart as a whole: what a new column holds has to be decided here.

use model::metric::MetricDescriptor;
use model::operation::{IntervalRecord, OperationRecord};
use model::stall::{StackRecord, StallKind, StallRecord, TaskRecord};
use model::usage::UsageRecord;
use model::user_stack::UserFrameRecord;

use crate::cgroup::cgroup;
use crate::disk::{device, identity};
use crate::file_name::file_name;
use crate::names::{Kept, Names};
use crate::path::path;
use crate::program::{process, program, title};
use crate::prose::detail;

/// Replaces the names of a metric's instance.
pub fn descriptor(names: &mut Names, row: MetricDescriptor) -> MetricDescriptor {
    let MetricDescriptor { id, name, instance, unit, semantics, device: disk } = row;
    let instance = instance_of(names, &name, &instance, disk.is_some());
    let disk = disk.map(|disk| device(names, &disk));
    MetricDescriptor { id, name, instance, unit, semantics, device: disk }
}

/// Sources whose instances are the kernel's: CPUs, zones, caches.
const OF_KERNEL: &str = "buddyinfo cpufreq interrupts meminfo net node numa pressure schedstat slabinfo softirqs stat \
                         tracepoint vmstat zoneinfo";

fn instance_of(names: &mut Names, metric: &str, instance: &str, is_disk: bool) -> String {
    let source = metric.split('.').next().unwrap_or_default();
    match source {
        "cgroups" | "cgroup" => of_cgroup(names, instance, is_disk),
        _ if is_disk => identity(names, instance),
        _ if crate::known::has(OF_KERNEL, source) => instance.to_owned(),
        _ => identity(names, instance),
    }
}

/// A cgroup's path; of I/O with the disk behind it, whose identity may hold a colon.
fn of_cgroup(names: &mut Names, instance: &str, is_disk: bool) -> String {
    match instance.split_once(':').filter(|(_, disk)| is_disk || is_number(disk) || crate::known::is_device(disk)) {
        Some((group, disk)) => {
            let after = format!("{}:{}", cgroup(names, group), limited(names, disk));
            names.change(instance, after)
        }
        None => cgroup(names, instance),
    }
}

/// `7:0`
fn is_number(disk: &str) -> bool {
    disk.bytes().all(|byte| byte.is_ascii_digit() || byte == b':')
}

/// A disk by its number or identity.
fn limited(names: &mut Names, disk: &str) -> String {
    if is_number(disk) { disk.to_owned() } else { identity(names, disk) }
}

/// Keeps the names of a load's phases and classes, which its recipe has.
pub fn interval(names: &mut Names, row: IntervalRecord) -> IntervalRecord {
    names.keep(Kept::Load, &row.phase);
    names.keep(Kept::Load, &row.class);
    let IntervalRecord {
        phase,
        class,
        start_ns,
        end_ns,
        count,
        errors,
        bytes,
        sum_ns,
        max_ns,
        buckets,
        stuck,
        oldest_running_ns,
    } = row;
    IntervalRecord {
        phase,
        class,
        start_ns,
        end_ns,
        count,
        errors,
        bytes,
        sum_ns,
        max_ns,
        buckets,
        stuck,
        oldest_running_ns,
    }
}

/// Replaces the path of an operation.
pub fn operation(names: &mut Names, row: OperationRecord) -> OperationRecord {
    names.keep(Kept::Load, &row.class);
    let OperationRecord { kind, class, tid, start_ns, duration_ns, bytes, errno, path: file, offset_bytes, fault } =
        row;
    let file = file.map(|file| path(names, &file));
    OperationRecord { kind, class, tid, start_ns, duration_ns, bytes, errno, path: file, offset_bytes, fault }
}

/// Replaces the names in a stall.
pub fn stall(names: &mut Names, row: StallRecord) -> StallRecord {
    #[rustfmt::skip]
    let StallRecord {
        kind, tid, start_ns, duration_ns, busy_ns, count, state, woken_ns, waker_tid, worker_tid, behind_tid, stack,
            waker_stack, request,
        tracepoint, detail: fact, call, work, path: file, bytes, errno, call_start_ns, cpu_ns, run_delay_ns, flags,
            awaits, asked_ns, cpu, lock,
        holder_tid,
    } = row;
    let fact = fact.map(|fact| detail(names, fact));
    // A workqueue of the kernel, or what a process says of itself.
    let work = work.map(|work| if kind == StallKind::LastingWait { title(names, &work) } else { work });
    let file = file.map(|file| path(names, &file));
    #[rustfmt::skip]
    let row = StallRecord {
        kind, tid, start_ns, duration_ns, busy_ns, count, state, woken_ns, waker_tid, worker_tid, behind_tid, stack,
            waker_stack, request,
        tracepoint, detail: fact, call, work, path: file, bytes, errno, call_start_ns, cpu_ns, run_delay_ns, flags,
            awaits, asked_ns, cpu, lock,
        holder_tid,
    };
    row
}

/// Keeps a kernel stack.
pub fn stack(names: &mut Names, row: StackRecord) -> StackRecord {
    let StackRecord { stack, frames } = row;
    frames.iter().for_each(|frame| _ = names.keep(Kept::Function, frame));
    StackRecord { stack, frames }
}

/// Replaces the names of a task.
pub fn task(names: &mut Names, row: TaskRecord) -> TaskRecord {
    let TaskRecord { tid, pid, name, cgroup: group, io_cgroup, started_by, role, container, seen_ns } = row;
    TaskRecord {
        tid,
        pid,
        name: program(names, &name),
        cgroup: group.map(|group| cgroup(names, &group)),
        io_cgroup: io_cgroup.map(|group| cgroup(names, &group)),
        started_by: started_by.map(|starter| process(names, &starter)),
        role: role.map(|role| title(names, &role)),
        container: container.map(|container| file_name(names, &container)),
        seen_ns,
    }
}

/// Replaces the cgroups of a use.
pub fn usage(names: &mut Names, row: UsageRecord) -> UsageRecord {
    let UsageRecord {
        start_ns,
        end_ns,
        resource,
        device,
        cpu,
        pid,
        thread,
        waiting,
        cgroup: group,
        limit,
        count,
        bytes,
        busy_ns,
        throttled,
    } = row;
    let group = group.map(|group| cgroup(names, &group));
    let limit = limit.map(|limit| cgroup(names, &limit));
    UsageRecord {
        start_ns,
        end_ns,
        resource,
        device,
        cpu,
        pid,
        thread,
        waiting,
        cgroup: group,
        limit,
        count,
        bytes,
        busy_ns,
        throttled,
    }
}

/// Replaces the files of a place in a program, and its build id where the program is not the system's.
pub fn user_frame(names: &mut Names, row: UserFrameRecord) -> UserFrameRecord {
    let UserFrameRecord { frame, module, build_id, offset, is_innermost, functions, files, lines } = row;
    functions.iter().for_each(|function| _ = names.keep(Kept::Function, function));
    let of_system = module.as_deref().is_none_or(|module| path(names, module) == module);
    UserFrameRecord {
        frame,
        module: module.map(|module| path(names, &module)),
        build_id: build_id.filter(|_| of_system),
        offset,
        is_innermost,
        functions,
        files: files.iter().map(|file| path(names, file)).collect(),
        lines,
    }
}

#[cfg(test)]
mod tests {
    use model::metric::{MetricDescriptor, MetricId, Semantics, Unit};
    use model::stall::{StallKind, StallRecord, TaskRecord};

    use super::{descriptor, stall, task};
    use crate::names::{Comms, Names};

    #[test]
    fn instances_follow_what_their_metric_is_of() {
        let mut names = Names::new(Comms::Known, Vec::new());
        for (name, instance, disk, expected) in [
            ("slabinfo.active", "acme_inode_cache", None, "acme_inode_cache"),
            ("cgroups.memory.usage", "/acme", None, "/n1"),
            ("cgroups.io.max.wbps", "/acme:serial-7", Some("sda"), "/n1:n2"),
            ("cgroups.io.max.wbps", "/acme:/srv/acme/x.img", Some("loop0"), "/n1:/srv/n1/n3.img"),
            ("cgroups.io.max.wbps", "/acme:7:1", None, "/n1:7:1"),
            ("cgroups.blkio.throttle.write_iops_device", "/:loop3", None, "/:loop3"),
            ("diskstats.reads", "serial-7", Some("sda"), "n2"),
            ("ext4.errors", "/srv/acme/x.img", Some("loop0"), "/srv/n1/n3.img"),
            ("vmstat.pgscan", "", None, ""),
            ("unheard.of", "acme", None, "n1"),
        ] {
            let row = MetricDescriptor {
                id: MetricId(1),
                name: name.into(),
                instance: instance.into(),
                unit: Unit::Count,
                semantics: Semantics::Gauge,
                device: disk.map(str::to_owned),
            };
            let after = descriptor(&mut names, row);
            assert_eq!((after.instance.as_str(), after.device.as_deref()), (expected, disk), "{name}");
        }
    }

    #[test]
    fn a_task_and_its_waits_have_the_same_names() {
        let mut names = Names::new(Comms::Known, Vec::new());
        let row = TaskRecord {
            tid: 7,
            pid: 7,
            name: "acme".into(),
            cgroup: Some("/system.slice/acme.service".into()),
            io_cgroup: Some("/acme".into()),
            started_by: Some("acme.sh/6".into()),
            role: Some("acme".into()),
            container: Some("acme".into()),
            seen_ns: 1,
        };
        let after = task(&mut names, row);
        let texts = [&after.cgroup, &after.io_cgroup, &after.started_by, &after.role, &after.container];
        assert_eq!(after.name, "n1");
        assert_eq!(
            texts.map(|text| text.as_deref().unwrap()),
            ["/system.slice/n1.service", "/n1", "n1.sh/6", "n1", "n1"]
        );
        let lasting = StallRecord {
            work: Some("postgres: acme shop [local] idle in transaction".into()),
            path: Some("/srv/acme".into()),
            ..StallRecord::new(StallKind::LastingWait, 7, 0, 1)
        };
        let after = stall(&mut names, lasting);
        assert_eq!(after.work.as_deref(), Some("postgres: n1 n2 [local] idle in transaction"));
        assert_eq!(after.path.as_deref(), Some("/srv/n1"));
        let worker = StallRecord { work: Some("xfs-conv/sda1".into()), ..StallRecord::new(StallKind::OffCpu, 7, 0, 1) };
        assert_eq!(stall(&mut names, worker).work.as_deref(), Some("xfs-conv/sda1"));
    }
}
