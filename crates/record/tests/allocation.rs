//! In the steady state a sample allocates nothing. A separate test program, because the allocator counts for the whole
//! process.

use std::alloc::System;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use record::{LoadCgroup, Roots, Sample, SamplerOptions, SamplerSet};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// `#` stands for a number that changes.
const FILES: [(&str, &str); 18] = [
    ("proc/vmstat", "nr_free_pages #\npgfault #\nnr_unstable 0\n"),
    ("proc/meminfo", "MemTotal:       24684084 kB\nMemFree:        # kB\n"),
    ("proc/stat", "cpu  # 0 8168 205274 607 0 101 30 0 0\ncpu0 # 0 3742 105802 100 0 16 9 0 0\nctxt #\n"),
    ("proc/slabinfo", "dentry # 84252 192 21 1 : tunables 0 0 0 : slabdata 4011 4012 0\n"),
    ("proc/pressure/io", "some avg10=3.88 avg60=0.71 avg300=0.19 total=#\n"),
    (
        "proc/diskstats",
        "   7       1 loop1 0 0 0 0 0 0 0 0 0 0 0\n   7       0 loop0 # 0 0 0 0 0 0 0 0 0 0\n 254       0 vda # 1 2 3 \
         4 5 6 7 8 9 10\n",
    ),
    ("sys/class/block/loop0/size", "2048\n"),
    ("sys/class/block/vda/size", "2048\n"),
    ("sys/kernel/debug/bdi/7:1/stats", "BdiWriteback: # kB\n"),
    ("sys/class/block/loop1/size", "0\n"),
    ("sys/kernel/debug/bdi/254:0/stats", "BdiWriteback:                # kB\nb_dirty: #\n"),
    ("proc/self/mountstats", "device s:/e mounted on /mnt with fstype nfs4\n\tbytes:\t# 0 0 0 0 0 0 0\n"),
    ("proc/self/statm", "3000 # 500 200 0 400 0\n"),
    ("sys/fs/xfs/loop0/stats/stats", "log # 200 3 40 5\n"),
    ("sys/fs/ext4/vda/session_write_kbytes", "#\n"),
    (
        "proc/fs/jbd2/vda-8/info",
        "# transactions (# requested), each up to 2730 blocks\naverage: \n  #ms request delay\n",
    ),
    ("box/memory.current", "#\n"),
    ("box/io.stat", "254:0 rbytes=# wbytes=0\n"),
];

fn write_files(root: &Path, round: u32) {
    for (path, text) in FILES {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.replace('#', &(1000 + round).to_string())).unwrap();
    }
}

/// The thread that started this one allocates until it waits for it.
fn wait_for_the_harness() {
    let main = format!("/proc/self/task/{}/stat", std::process::id());
    let begin = Instant::now();
    while !fs::read_to_string(&main).unwrap().contains(") S ") {
        assert!(begin.elapsed() < Duration::from_secs(60), "the test harness does not wait");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_sample_allocates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path(), 0);
    let cgroup = LoadCgroup { label: "box".to_owned(), v2: Some(folder.path().join("box")), ..LoadCgroup::default() };
    let options = SamplerOptions { cgroup: Some(cgroup), ..SamplerOptions::default() };
    let (mut set, _) = SamplerSet::discover(&Roots::below(folder.path()), &options);
    let mut out = Sample::default();
    wait_for_the_harness();
    for round in 0..40 {
        write_files(folder.path(), round);
        let region = Region::new(ALLOCATOR);
        set.sample(round, &mut out);
        let change = region.change();
        if round >= 2 {
            assert!(out.changes.len() >= 22, "{:?}", out.changes);
            assert_eq!((change.allocations, change.reallocations), (0, 0), "sample {round}");
        }
    }
}
