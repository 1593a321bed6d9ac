use crate::fake::Kernel;
use crate::{LoadCgroup, SamplerOptions};

fn v1(kernel: &Kernel) -> LoadCgroup {
    let below = |name: &str| Some(kernel.roots().cgroup.join(name).join("box"));
    LoadCgroup { label: "box".to_owned(), memory_v1: below("memory"), blkio_v1: below("blkio"), v2: None }
}

fn kernel_v1() -> Kernel {
    Kernel::new().with(&[
        ("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "1048576\n"),
        ("sys/fs/cgroup/memory/box/memory.failcnt", "17\n"),
        (
            "sys/fs/cgroup/memory/box/memory.stat",
            "cache 5\ntotal_cache 9236480\ntotal_pgfault 39070\nhierarchical_memory_limit 9223372036854771712\n",
        ),
        (
            "sys/fs/cgroup/blkio/box/blkio.throttle.io_service_bytes",
            "254:0 Read 4096\n254:0 Write 0\n254:0 Total 4096\nTotal 4096\n",
        ),
    ])
}

#[test]
fn version_1() {
    let kernel = kernel_v1();
    let mut recording = kernel.record(&SamplerOptions { cgroup: Some(v1(&kernel)), ..SamplerOptions::default() });
    assert_eq!(
        recording.sample(),
        [
            "cgroup.blkio.throttle.io_service_bytes.Read[box:254:0]=4096",
            "cgroup.blkio.throttle.io_service_bytes.Write[box:254:0]=0",
            "cgroup.memory.failcnt[box]=17",
            "cgroup.memory.stat.total_cache[box]=9236480",
            "cgroup.memory.stat.total_pgfault[box]=39070",
            "cgroup.memory.usage_in_bytes[box]=1048576",
        ]
    );
    recording.set.remove_cgroup();
    assert_eq!(recording.sample().len(), 6);
    assert_eq!(recording.value("cgroup.memory.failcnt", "box"), None);
    assert_eq!(recording.sample(), [""; 0]);
}

#[test]
fn a_cgroup_created_later() {
    let kernel = kernel_v1();
    let mut recording = kernel.record(&SamplerOptions::default());
    assert_eq!(recording.sample(), [""; 0]);
    assert_eq!(recording.set.add_cgroup(&v1(&kernel)), None);
    assert_eq!(recording.sample().len(), 6);
    let nowhere = LoadCgroup { label: "box".to_owned(), v2: Some("/nowhere".into()), ..LoadCgroup::default() };
    assert!(recording.set.add_cgroup(&nowhere).is_some());
}

#[test]
fn a_cgroup_that_vanishes_is_reported_once_and_comes_back() {
    let kernel = kernel_v1();
    let mut recording = kernel.record(&SamplerOptions { cgroup: Some(v1(&kernel)), ..SamplerOptions::default() });
    recording.sample();
    kernel.remove("sys/fs/cgroup/memory/box/memory.failcnt");
    assert_eq!(recording.sample(), ["cgroup.memory.failcnt[box]=absent"]);
    let [failure] = &recording.out.failures[..] else { panic!("one failure") };
    assert!(failure.source == "cgroup" && failure.why.contains("memory.failcnt"), "{failure:?}");
    assert_eq!(recording.sample(), [""; 0]);
    assert_eq!(recording.out.failures, []);
    kernel.write("sys/fs/cgroup/memory/box/memory.failcnt", "18\n");
    assert_eq!(recording.sample(), ["cgroup.memory.failcnt[box]=18"]);
}

#[test]
fn version_2() {
    let kernel = Kernel::new().with(&[
        ("sys/fs/cgroup/box/memory.current", "536870912\n"),
        ("sys/fs/cgroup/box/memory.max", "max\n"),
        ("sys/fs/cgroup/box/memory.stat", "anon 4096\nfile_dirty 8192\npgscan_direct 3\nworkingset_nodes 2\n"),
        ("sys/fs/cgroup/box/memory.events", "low 0\nhigh 4\nmax 81\noom 0\noom_kill 0\n"),
        ("sys/fs/cgroup/box/memory.pressure", "some avg10=1.30 avg60=0.66 avg300=1.24 total=231\nfull total=7\n"),
        (
            "sys/fs/cgroup/box/io.stat",
            "254:0 rbytes=4096 wbytes=1 rios=1 wios=1 dbytes=0 dios=0 cost.usage=5\n8:0 \n254:16 rbytes=7\n",
        ),
        ("sys/fs/cgroup/box/cpu.stat", "usage_usec 123\nnr_throttled 2\n"),
    ]);
    let cgroup =
        LoadCgroup { label: "box".to_owned(), v2: Some(kernel.roots().cgroup.join("box")), ..LoadCgroup::default() };
    let mut recording = kernel.record(&SamplerOptions { cgroup: Some(cgroup), ..SamplerOptions::default() });
    let first = recording.sample();
    assert_eq!(first.len(), 21, "{first:#?}");
    for (name, instance, value) in [
        ("cgroup.memory.current", "box", Some(536870912)),
        ("cgroup.memory.max", "box", None),
        ("cgroup.memory.stat.file_dirty", "box", Some(8192)),
        ("cgroup.memory.events.max", "box", Some(81)),
        ("cgroup.memory.pressure.some", "box", Some(231)),
        ("cgroup.memory.pressure.full", "box", Some(7)),
        ("cgroup.io.stat.rbytes", "box:254:0", Some(4096)),
        ("cgroup.io.stat.rbytes", "box:254:16", Some(7)),
        ("cgroup.cpu.stat.nr_throttled", "box", Some(2)),
    ] {
        assert_eq!(recording.value(name, instance), value, "{name}");
    }
    kernel.write("sys/fs/cgroup/box/io.stat", "254:0 rbytes=8192 wbytes=1 rios=1 wios=1 dbytes=0 dios=0\n");
    assert_eq!(
        recording.sample(),
        ["cgroup.io.stat.rbytes[box:254:0]=8192", "cgroup.io.stat.rbytes[box:254:16]=absent"]
    );
}
