use model::metric::{Semantics, Unit};
use proptest::prelude::*;

use crate::fake::{Kernel, Recording};
use crate::{Sample, SamplerOptions};

mod files;
mod limits;

/// A kernel with every source, as this project's machine shows them, shortened.
fn kernel() -> Kernel {
    Kernel::new().with(&files::FILES)
}

#[test]
fn values_of_every_source() {
    let kernel = kernel();
    let mut recording = kernel.record(&SamplerOptions::default());
    recording.sample();
    for (name, instance, value) in files::VALUES {
        assert_eq!(recording.value(name, instance), Some(value), "{name}[{instance}]");
    }
    for (name, instance) in files::NOT_KEPT {
        let kept = recording.descriptors.iter().any(|d| d.name == name && d.instance == instance);
        assert!(!kept, "{name}[{instance}]");
    }
    assert_eq!(recording.out.failures, []);
    assert_eq!(recording.sample(), [""; 0], "nothing has changed");
}

#[test]
fn units_and_semantics() {
    let kernel = kernel();
    let mut recording = kernel.record(&SamplerOptions::default());
    recording.sample();
    let meaning = |name: &str| {
        let found = recording.descriptors.iter().find(|descriptor| descriptor.name == name);
        found.map(|descriptor| (descriptor.unit, descriptor.semantics))
    };
    for (name, unit, semantics) in [
        ("meminfo.Dirty", Unit::Kibibytes, Semantics::Gauge),
        ("meminfo.HugePages_Free", Unit::Count, Semantics::Gauge),
        ("stat.cpu.iowait", Unit::ClockTicks, Semantics::Counter),
        ("stat.procs_blocked", Unit::Count, Semantics::Gauge),
        ("pressure.io.full", Unit::Microseconds, Semantics::Counter),
        ("diskstats.write_sectors", Unit::Sectors, Semantics::Counter),
        ("diskstats.in_flight", Unit::Count, Semantics::Gauge),
        ("slabinfo.objsize", Unit::Bytes, Semantics::Gauge),
        ("bdi.BdiWritten", Unit::Kibibytes, Semantics::Counter),
        ("bdi.b_dirty", Unit::Count, Semantics::Gauge),
        ("xfs.xpc.write_bytes", Unit::Bytes, Semantics::Counter),
        ("xfs.vnodes.active", Unit::Count, Semantics::Gauge),
        ("ext4.session_write_kbytes", Unit::Kibibytes, Semantics::Counter),
        ("mountstats.WRITE.rtt", Unit::Milliseconds, Semantics::Counter),
        ("recorder.cpu_ns", Unit::Nanoseconds, Semantics::Counter),
    ] {
        assert_eq!(meaning(name), Some((unit, semantics)), "{name}");
    }
}

#[test]
fn a_machine_without_anything_is_recorded_all_the_same() {
    let mut recording = Kernel::new().record(&SamplerOptions::default());
    assert_eq!(
        recording.missing,
        [
            "vmstat",
            "meminfo",
            "buddyinfo",
            "slabinfo",
            "stat",
            "pressure",
            "cgroups",
            "diskstats",
            "bdi",
            "mountstats",
            "tracepoint counters"
        ]
    );
    assert_eq!(recording.sample(), [""; 0]);
}

#[test]
fn unwanted_sources_are_neither_read_nor_missed() {
    let all =
        ["vmstat", "meminfo", "buddyinfo", "slabinfo", "stat", "pressure", "cgroups", "diskstats", "bdi", "mountstats"];
    let others = ["ext4", "jbd2", "xfs", "tracepoint", "recorder"];
    let disabled = all.into_iter().chain(others).map(str::to_owned).collect();
    let kernel = kernel();
    let mut recording = kernel.record(&SamplerOptions { disabled, ..SamplerOptions::default() });
    assert_eq!(recording.missing, [""; 0]);
    recording.sample();
    assert_eq!(recording.descriptors, []);
}

#[test]
fn a_source_that_fails_is_reported_once_and_tried_again() {
    let kernel = kernel();
    let mut recording = kernel.record(&SamplerOptions::default());
    recording.sample();
    kernel.remove("proc/vmstat");
    assert!(recording.sample().iter().all(|change| change.starts_with("vmstat.") && change.ends_with("=absent")));
    assert_eq!(recording.out.failures.iter().map(|failure| failure.source).collect::<Vec<_>>(), ["vmstat"]);
    recording.sample();
    assert_eq!(recording.out.failures, []);
    kernel.write("proc/vmstat", "pgfault 5\n");
    assert_eq!(recording.sample(), ["vmstat.pgfault=5"]);
}

#[test]
fn a_mount_that_goes_takes_its_metrics_along_and_brings_them_back() {
    let kernel = kernel();
    let mut recording = kernel.record(&SamplerOptions::default());
    recording.sample();
    let metrics = recording.descriptors.len();
    kernel.remove_folder("sys/fs/xfs/loop0");
    assert!(recording.sample().iter().all(|change| change.starts_with("xfs.") && change.ends_with("=absent")));
    kernel.write("sys/fs/xfs/loop0/stats/stats", "log 5 6 7 8 9\n");
    assert_eq!(recording.sample().len(), 5);
    assert_eq!(recording.descriptors.len(), metrics, "known metrics keep their numbers");
}

#[test]
fn a_full_sample_is_readable_without_those_before() {
    let kernel = kernel();
    let mut recording = kernel.record(&SamplerOptions::default());
    recording.sample();
    kernel.remove_folder("sys/fs/xfs/loop0");
    recording.sample();
    recording.set.request_full_sample();
    let mut alone = Sample::default();
    recording.set.sample(7, &mut alone);
    assert_eq!(alone.new_descriptors.len(), alone.changes.len());
    for (descriptor, change) in alone.new_descriptors.iter().zip(&alone.changes) {
        assert!(recording.descriptors.contains(descriptor), "{descriptor:?}");
        assert_eq!((descriptor.id, change.sample), (change.metric, 7));
        let own = descriptor.name.starts_with("recorder.");
        assert!(own || change.value == recording.value(&descriptor.name, &descriptor.instance), "{descriptor:?}");
    }
    let described = |name: &str| alone.new_descriptors.iter().any(|descriptor| descriptor.name == name);
    assert!(described("meminfo.Dirty") && !described("xfs.log.writes"));

    // What was absent then is described when it is back, and only then.
    kernel.write("sys/fs/xfs/loop0/stats/stats", "log 5 6 7 8 9\n");
    recording.set.sample(8, &mut alone);
    let mut names: Vec<&str> = alone.new_descriptors.iter().map(|descriptor| &*descriptor.name).collect();
    names.sort_unstable();
    assert_eq!(names, ["xfs.log.blocks", "xfs.log.force", "xfs.log.force_sleep", "xfs.log.noiclogs", "xfs.log.writes"]);
    recording.set.sample(9, &mut alone);
    assert_eq!(alone.new_descriptors, []);
}

#[test]
fn a_set_that_remembers_more_dead_devices_than_live_ones_is_overgrown() {
    let kernel = kernel();
    // On a slow machine, a source over its budget would not see all of them.
    let mut recording = kernel.record(&SamplerOptions { source_budget_ns: u64::MAX, ..SamplerOptions::default() });
    recording.sample();
    let mut weeks = 0;
    while !recording.set.is_overgrown() {
        let names: Vec<String> = (0..50).map(|disk| format!("sd{weeks}x{disk}")).collect();
        names.iter().for_each(|name| kernel.write(&format!("sys/class/block/{name}/size"), "2048\n"));
        let line = |(disk, name): (usize, &String)| format!("   8 {disk} {name} 1 2 3 4 5 6 7 8 9 10 11\n");
        kernel.write("proc/diskstats", names.iter().enumerate().map(line).collect::<String>());
        recording.sample();
        weeks += 1;
        assert!(weeks < 100, "{} metrics", recording.set.metric_count());
    }
    println!("{weeks} times 50 other disks, {} metrics", recording.set.metric_count());
    assert!(recording.set.metric_count() > 10_000);
}

/// A directory instead of a file answers EISDIR: it exists, and cannot be read.
#[test]
fn an_unreadable_file_of_one_device_is_reported_once() {
    let kernel = kernel();
    kernel.write("sys/kernel/debug/bdi/0:46/stats/inside", "");
    let mut recording = kernel.record(&SamplerOptions::default());
    recording.sample();
    assert_eq!(recording.out.failures.iter().map(|failure| failure.source).collect::<Vec<_>>(), ["bdi"]);
    assert_eq!(recording.value("bdi.b_dirty", "vm-disk-0"), Some(7));
    assert_eq!(recording.sample(), [""; 0]);
    assert_eq!(recording.out.failures, []);
}

#[test]
fn nfs_mounts_come_and_go() {
    let kernel = kernel();
    let mut recording = kernel.record(&SamplerOptions::default());
    recording.sample();
    assert_eq!(recording.value("mountstats.READ.rtt", "/mnt/my files"), Some(4400));
    kernel.write("proc/self/mountstats", "device proc mounted on /proc with fstype proc\n");
    recording.sample();
    assert_eq!(recording.value("mountstats.READ.rtt", "/mnt/my files"), None);
}

#[test]
fn a_source_over_its_budget_is_read_less_often() {
    let kernel = kernel();
    let mut recording = kernel.record(&SamplerOptions { source_budget_ns: 1, ..SamplerOptions::default() });
    let mut reported = 0;
    for _ in 0..40 {
        recording.sample();
        reported += recording.out.failures.iter().filter(|failure| failure.source == "vmstat").count();
    }
    let vmstat = recording.set.costs().find(|cost| cost.source == "vmstat").unwrap();
    assert_eq!((reported, vmstat.samples < 5), (1, true), "{vmstat:?}");
}

/// Writes damage into every file of the fake kernel.
fn damaged(damage: &[(usize, Vec<u8>)]) -> Recording {
    let kernel = kernel();
    let mut recording = kernel.record(&SamplerOptions::default());
    recording.sample();
    for (file, bytes) in damage {
        let (path, text) = files::FILES[file % files::FILES.len()];
        let cut = file % (text.len() + 1);
        kernel.write(path, [&text.as_bytes()[..cut], bytes, &text.as_bytes()[cut..]].concat());
        recording.sample();
        kernel.write(path, bytes);
        recording.sample();
    }
    recording
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_content_of_any_file_makes_a_panic(
        damage in proptest::collection::vec(
            (any::<usize>(), prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..60),
                "[a-zA-Z0-9_ :=\n\t.-]{0,60}".prop_map(String::into_bytes),
            ]),
            1..8,
        ),
    ) {
        damaged(&damage);
    }
}
