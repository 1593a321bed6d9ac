use crate::SamplerOptions;
use crate::fake::Kernel;

fn options() -> SamplerOptions {
    SamplerOptions { source_budget_ns: u64::MAX, ..SamplerOptions::default() }
}

fn v2(kernel: &Kernel, path: &str, usage_usec: u64, throttled: u64) {
    let text = format!("usage_usec {usage_usec}\nnr_throttled {throttled}\nthrottled_usec 0\n");
    kernel.write(&format!("sys/fs/cgroup/{path}/cpu.stat"), text);
}

#[test]
fn the_busiest_of_version_2_are_read_in_full_and_the_others_summed() {
    let kernel = Kernel::new().with(&[("sys/fs/cgroup/cgroup.controllers", "cpu io memory\n")]);
    for number in 0..300 {
        v2(&kernel, &format!("idle/{number}"), 7, 0);
    }
    v2(&kernel, "idle", 2100, 0);
    kernel.write("sys/fs/cgroup/busy/memory.current", "4096\n");
    kernel.write("sys/fs/cgroup/busy/memory.max", "8192\n");
    kernel.write("sys/fs/cgroup/busy/memory.stat", "anon 4096\nworkingset_refault_file 12\n");
    kernel.write("sys/fs/cgroup/busy/io.max", "8:0 rbps=max wbps=max riops=max wiops=30\n");
    kernel.write("sys/fs/cgroup/busy/io.stat", "8:0 rbytes=512 wbytes=0 rios=1 wios=0\n");
    kernel.write("sys/fs/cgroup/busy/io.pressure", "some avg10=0 total=9\nfull avg10=0 total=5\n");
    let mut recording = kernel.record(&options());
    for round in 0..40 {
        v2(&kernel, "busy", 1000 + 1000 * round, round);
        recording.sample();
    }
    let value = |name: &str, instance: &str| recording.value(name, instance);
    assert_eq!(value("cgroups.cpu.stat.nr_throttled", "/busy"), Some(39));
    assert_eq!(value("cgroups.memory.current", "/busy"), Some(4096));
    assert_eq!(value("cgroups.memory.max", "/busy"), Some(8192));
    assert_eq!(value("cgroups.memory.stat.workingset_refault_file", "/busy"), Some(12));
    assert_eq!(value("cgroups.memory.stat.anon", "/busy"), None);
    assert_eq!(value("cgroups.io.max.wiops", "/busy:8:0"), Some(30));
    assert_eq!(value("cgroups.io.max.wbps", "/busy:8:0"), None);
    assert_eq!(value("cgroups.io.stat.rbytes", "/busy:8:0"), Some(512));
    assert_eq!(value("cgroups.io.pressure.full", "/busy"), Some(5));
    assert_eq!(value("cgroups.cpu.stat.usage_usec", "/idle/7"), None);
    // 300 idle ones, and the one above them.
    assert_eq!(value("cgroups.others", ""), Some(301));
    // What an idle one uses is in the sum.
    v2(&kernel, "idle/7", 8, 0);
    (0..10).for_each(|_| drop(recording.sample()));
    assert!(
        recording.value("cgroups.others.cpu_usage", "") >= Some(1000)
            || recording.value("cgroups.cpu.stat.usage_usec", "/idle/7") == Some(8)
    );
}

#[test]
fn version_1_has_a_hierarchy_for_each_controller() {
    let kernel = Kernel::new();
    for folder in ["", "/a"] {
        kernel.write(&format!("sys/fs/cgroup/cpu{folder}/cpu.shares"), "1024\n");
        kernel.write(&format!("sys/fs/cgroup/memory{folder}/memory.usage_in_bytes"), "4096\n");
        kernel.write(&format!("sys/fs/cgroup/memory{folder}/memory.limit_in_bytes"), "8192\n");
        let stat = "workingset_refault_file 3\ntotal_cache 4096\ntotal_workingset_refault_file 12\n";
        kernel.write(&format!("sys/fs/cgroup/memory{folder}/memory.stat"), stat);
        kernel.write(&format!("sys/fs/cgroup/cpuacct{folder}/cpuacct.usage"), "5000\n");
    }
    kernel.write("sys/fs/cgroup/blkio/blkio.throttle.io_service_bytes", "Total 0\n");
    kernel.write("sys/fs/cgroup/blkio/a/blkio.throttle.write_iops_device", "8:0 3\n8:16 5\n");
    let mut recording = kernel.record(&options());
    assert!(!recording.missing.iter().any(|missing| missing.contains("cgroups")), "{:?}", recording.missing);
    let throttled = |ns: u64| format!("nr_periods 4\nnr_throttled 2\nthrottled_time {ns}\n");
    for round in 0..4 {
        kernel.write("sys/fs/cgroup/cpu/a/cpu.stat", throttled(round * 1_000_000));
        kernel.write("sys/fs/cgroup/cpuacct/a/cpuacct.usage", format!("{}\n", 5000 + round));
        recording.sample();
    }
    assert_eq!(recording.value("cgroups.cpu.stat.throttled_time", "/a"), Some(3_000_000));
    assert_eq!(recording.value("cgroups.cpuacct.usage", "/a"), Some(5003));
    assert_eq!(recording.value("cgroups.memory.usage_in_bytes", "/a"), Some(4096));
    assert_eq!(recording.value("cgroups.blkio.throttle.write_iops_device", "/a:8:16"), Some(5));
    assert_eq!(recording.value("cgroups.memory.limit_in_bytes", "/a"), Some(8192));
    assert_eq!(recording.value("cgroups.memory.stat.total_workingset_refault_file", "/a"), Some(12));
    assert_eq!(recording.value("cgroups.memory.stat.workingset_refault_file", "/a"), None);
    ["cpu", "memory", "cpuacct", "blkio"]
        .iter()
        .for_each(|name| kernel.remove_folder(&format!("sys/fs/cgroup/{name}/a")));
    (0..3).for_each(|_| drop(recording.sample()));
    assert_eq!(recording.value("cgroups.cpu.stat.throttled_time", "/a"), None);
    assert_eq!(recording.value("cgroups.others", ""), Some(0));
}

/// A container has a CPU quota that never holds, and fills its memory. Its CPU time is not counted apart.
#[test]
fn a_cgroup_that_is_busy_for_one_of_its_controllers_alone_is_read_in_full() {
    let kernel = Kernel::new();
    for folder in ["", "/pod"] {
        kernel.write(&format!("sys/fs/cgroup/cpu{folder}/cpu.shares"), "1024\n");
        kernel
            .write(&format!("sys/fs/cgroup/cpu{folder}/cpu.stat"), "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
        kernel.write(&format!("sys/fs/cgroup/memory{folder}/memory.limit_in_bytes"), "99999999\n");
    }
    kernel.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "4096\n");
    let mut recording = kernel.record(&options());
    for round in 1..8 {
        kernel.write("sys/fs/cgroup/memory/pod/memory.usage_in_bytes", format!("{}\n", 1_000_000 * round));
        recording.sample();
    }
    assert_eq!(recording.value("cgroups.memory.limit_in_bytes", "/pod"), Some(99_999_999));
}

/// Version 1 has limits on disks there, and nothing else is read of the root: the machine's own figures are.
#[test]
fn the_limits_of_the_root_are_read() {
    let kernel = Kernel::new();
    kernel.write("sys/fs/cgroup/blkio/blkio.throttle.io_service_bytes", "8:0 Read 5\nTotal 5\n");
    kernel.write("sys/fs/cgroup/blkio/blkio.throttle.write_bps_device", "8:0 8388608\n");
    let mut recording = kernel.record(&options());
    recording.sample();
    let limit =
        |recording: &crate::fake::Recording| recording.value("cgroups.blkio.throttle.write_bps_device", "/:8:0");
    assert_eq!(limit(&recording), Some(8_388_608));
    kernel.write("sys/fs/cgroup/blkio/blkio.throttle.write_bps_device", "");
    recording.sample();
    assert_eq!(limit(&recording), None);
    assert_eq!(recording.value("cgroups.others", ""), Some(0));
}

#[test]
fn an_idle_one_with_an_io_limit_is_read_in_full() {
    let kernel = Kernel::new().with(&[("sys/fs/cgroup/cgroup.controllers", "cpu io memory\n")]);
    for path in ["limited", "free"] {
        v2(&kernel, path, 7, 0);
        kernel.write(&format!("sys/fs/cgroup/{path}/memory.current"), "4096\n");
    }
    kernel.write("sys/fs/cgroup/limited/io.max", "8:0 rbps=100000 wbps=max riops=max wiops=max\n");
    kernel.write("sys/fs/cgroup/free/io.max", "\n");
    for name in ["read_bps", "write_bps", "read_iops", "write_iops"] {
        kernel.write(&format!("sys/fs/cgroup/blkio/old/blkio.throttle.{name}_device"), "");
    }
    for path in ["", "old/"] {
        kernel.write(&format!("sys/fs/cgroup/blkio/{path}blkio.throttle.io_service_bytes"), "Total 0\n");
    }
    kernel.write("sys/fs/cgroup/blkio/old/blkio.throttle.read_iops_device", "8:0 3\n");
    let mut recording = kernel.record(&options());
    (0..3).for_each(|_| drop(recording.sample()));
    assert_eq!(recording.value("cgroups.io.max.rbps", "/limited:8:0"), Some(100_000));
    assert_eq!(recording.value("cgroups.blkio.throttle.read_iops_device", "/old:8:0"), Some(3));
    assert_eq!(recording.value("cgroups.memory.current", "/free"), None);
}
