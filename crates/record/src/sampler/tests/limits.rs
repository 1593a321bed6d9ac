//! Many things: what is left out, and what is not read at each sample.

use super::kernel;
use crate::SamplerOptions;
use crate::fake::Kernel;

fn slabs(objects: u32) -> String {
    format!("dentry {objects} 84252 192 21 1 : tunables 0 0 0 : slabdata 4011 4012 0\n")
}

fn vmstat(scanned: u32) -> String {
    format!("nr_slab_reclaimable 1600\nslabs_scanned {scanned}\n")
}

#[test]
fn slab_caches_are_counted_when_shrinkers_have_run_and_at_the_end() {
    let kernel = Kernel::new();
    let write = |scanned, objects| {
        kernel.write("proc/vmstat", vmstat(scanned));
        kernel.write("proc/slabinfo", slabs(objects));
    };
    write(5, 100);
    let mut recording = kernel.record(&SamplerOptions::default());
    recording.sample();
    let value = |recording: &super::Recording, name: &str, cache: &str| recording.value(name, cache);
    assert_eq!(value(&recording, "slabinfo.active_objs", "dentry"), Some(100));
    write(5, 200);
    recording.sample();
    assert_eq!(value(&recording, "slabinfo.active_objs", "dentry"), Some(100), "nothing has happened to the caches");
    assert_eq!(value(&recording, "slabinfo.readings", ""), Some(1));
    write(6, 300);
    recording.sample();
    assert_eq!(value(&recording, "slabinfo.active_objs", "dentry"), Some(300));
    write(6, 400);
    recording.set.request_all_sources();
    recording.sample();
    assert_eq!(value(&recording, "slabinfo.active_objs", "dentry"), Some(400));
    assert_eq!(
        value(&recording, "slabinfo.readings", ""),
        Some(3),
        "the values are of the sample that counts a reading"
    );
}

#[test]
fn what_is_left_out_of_very_many_is_reported_once() {
    let kernel = Kernel::new().with(&[("proc/self/statm", "3000 1 500 200 0 400 0\n")]);
    let disk = |number: usize| format!("   8 {number} sd{number} 1 2 3 4 5 6 7 8 9 10 11\n");
    (0..1100).for_each(|number| kernel.write(&format!("sys/class/block/sd{number}/size"), "2048\n"));
    kernel.write("proc/diskstats", (0..1100).map(disk).collect::<String>());
    let cpu = |number: usize| format!("cpu{number} 1 2 3 4 5 6 7 8 9 10\n");
    kernel.write("proc/stat", (0..300).map(cpu).collect::<String>());
    kernel.write("proc/slabinfo", (0..100).map(|number| format!("ext4_{number} 1 2 3 4 5\n")).collect::<String>());
    let mut recording = kernel.record(&SamplerOptions::default());
    recording.sample();
    let mut said: Vec<String> = recording.out.failures.iter().map(|failure| failure.why.clone()).collect();
    said.sort();
    assert_eq!(
        said,
        [
            "there are more than 64 reclaimable slab caches; the others are left out",
            "there are, or were, more than 1024 block devices; the others are left out"
        ]
    );
    assert_eq!(recording.value("stat.percpu.idle", "cpu256"), None);
    let metrics = recording.set.metric_count();
    assert!(metrics <= 1024 * 17 + 256 * 10 + 64 * 5 + 100, "{metrics}");
    recording.sample();
    assert_eq!((recording.out.failures.len(), recording.set.metric_count()), (0, metrics));
}

/// Its number of links is that of before.
#[test]
fn a_mount_that_takes_the_place_of_another_is_found_soon() {
    let kernel = kernel();
    let mut recording = kernel.record(&SamplerOptions::default());
    recording.sample();
    kernel.remove_folder("sys/fs/xfs/loop0");
    kernel.write("sys/fs/xfs/loop9/stats/stats", "log 5 6 7 8 9\n");
    (0..6).for_each(|_| drop(recording.sample()));
    assert_eq!(recording.value("xfs.log.writes", "loop9"), Some(5));
}
