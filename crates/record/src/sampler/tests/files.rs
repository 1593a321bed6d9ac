//! Files of a real kernel (6.18), shortened, and what they mean.

pub(super) const FILES: [(&str, &str); 26] = [
    ("proc/self/statm", "3000 700 500 200 0 400 0\n"),
    (
        "proc/vmstat",
        "nr_free_pages 1416017
nr_zone_inactive_anon 64352
numa_hit 17366748
workingset_refault_file 463282
nr_dirty 4324
nr_dirtied 1687572
nr_dirty_threshold 1199018
nr_dirty_background_threshold 598777
pgpgout 5740852
allocstall_normal 3
pgscan_direct 12
nr_unstable 0
",
    ),
    (
        "proc/meminfo",
        "MemTotal:       24684084 kB
MemFree:        23571264 kB
MemAvailable:   23965748 kB
Active(file):     157216 kB
Dirty:             17296 kB
HugePages_Free:        2
",
    ),
    (
        "proc/buddyinfo",
        "Node 0, zone      DMA      0      0      0      0      0      0      0      0      1      1      3 
Node 0, zone   Normal   2401   1062    743    505    289     98     26      9      2      3    603 
",
    ),
    (
        "proc/slabinfo",
        "slabinfo - version: 2.1
# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables <limit> <batchcount> \
         <sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>
bio-312               12     12    320   12    1 : tunables    0    0    0 : slabdata      1      1      0
xfs_inode           1984   2000   1024   16    4 : tunables    0    0    0 : slabdata    124    125      0
xfs_buf              100    110    400   20    2 : tunables    0    0    0 : slabdata      5      6      0
dentry             84210  84252    192   21    1 : tunables    0    0    0 : slabdata   4011   4012      0
kmalloc-rcl-64        64     64     64   64    1 : tunables    0    0    0 : slabdata      1      1      0
",
    ),
    ("sys/kernel/slab/xfs_buf/reclaim_account", "0\n"),
    ("sys/kernel/slab/kmalloc-rcl-64/reclaim_account", "1\n"),
    (
        "proc/stat",
        "cpu  49920 0 8168 205274 607 0 101 30 0 0
cpu0 22415 0 3742 105802 100 0 16 9 0 0
cpu1 27505 0 4425 99471 506 0 84 21 0 0
intr 465052 0 0 26 1 1
ctxt 731941
btime 1795231919
processes 17951
procs_running 3
procs_blocked 1
softirq 293088 0 35813 4 16607 108907 0 455 51505 0 79797
",
    ),
    ("proc/pressure/cpu", "some avg10=1.30 avg60=0.66 avg300=1.24 total=23165130\nfull avg10=0.00 total=0\n"),
    (
        "proc/pressure/io",
        "some avg10=3.88 avg60=0.71 avg300=0.19 total=5041273
full avg10=3.70 avg60=0.68 avg300=0.17 total=4528253
",
    ),
    (
        "proc/diskstats",
        "   7       0 loop0 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
   7       1 loop1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 254       0 vda 61719 10867 6210730 22974 47614 34349 11481696 41312 2 10680 65617 14969 21 5346384 1133 7223 196
",
    ),
    ("sys/class/block/loop0/size", "2048\n"),
    ("sys/class/block/loop0/dev", "7:0\n"),
    ("sys/class/block/loop0/loop/backing_file", "/var/tmp/xfs.img\n"),
    ("sys/class/block/loop1/size", "0\n"),
    ("sys/class/block/vda/size", "536870912\n"),
    ("sys/class/block/vda/device/wwid", "vm-disk-0\n"),
    (
        "sys/kernel/debug/bdi/254:0/stats",
        "BdiWriteback:                0 kB
BdiReclaimable:           4096 kB
BdiDirtyThresh:         597024 kB
DirtyThresh:           4793492 kB
BackgroundThresh:      2393820 kB
BdiDirtied:               8192 kB
BdiWritten:               4100 kB
BdiWriteBandwidth:      102400 kBps
b_dirty:                     7
b_io:                        0
bdi_list:                    1
state:                       1
",
    ),
    ("sys/kernel/debug/bdi/7:1/stats", "BdiWriteback:                0 kB\n"),
    ("sys/kernel/debug/bdi/0:45/stats", "BdiWriteback:               64 kB\n"),
    (
        "proc/self/mountstats",
        "device proc mounted on /proc with fstype proc
device server:/export mounted on /mnt/my\\040files with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2
\tage:\t1234
\tbytes:\t4096 8192 0 0 4096 8192 1 2
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\txprt:\ttcp 0 0 1 0 2 10 10 0 10 0 2 0 0
\tper-op statistics
\t        NULL: 1 1 0 44 24 0 0 0 0
\t        READ: 11 12 0 1000 5000 10 4400 4500 0
\t       WRITE: 3 3 0 9000 400 1 30 31 0
device tmpfs mounted on /dev/shm with fstype tmpfs
",
    ),
    (
        "sys/fs/xfs/loop0/stats/stats",
        "extent_alloc 1 2 3 4
trans 10 20 30
ig 1 2 3 4 5 6 7
log 100 200 3 40 5
push_ail 1 77 3 4 5 6 7 8 9 10
vnodes 33 0 0 0 0 0 0 0
abtb2 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
xpc 4096 18446744073709551615 12
",
    ),
    ("sys/fs/xfs/stats/stats", "log 1 1 1 1 1\n"),
    ("sys/fs/ext4/vda/delayed_allocation_blocks", "12\n"),
    ("sys/fs/ext4/vda/session_write_kbytes", "123456\n"),
    ("sys/fs/ext4/features/batched_discard", "supported\n"),
];

pub(super) const VALUES: [(&str, &str, i64); 37] = [
    ("vmstat.workingset_refault_file", "", 463282),
    ("vmstat.nr_dirty", "", 4324),
    ("vmstat.nr_dirty_threshold", "", 1199018),
    ("vmstat.allocstall_normal", "", 3),
    ("meminfo.MemAvailable", "", 23965748),
    ("meminfo.HugePages_Free", "", 2),
    ("buddyinfo.order0", "node0/Normal", 2401),
    ("buddyinfo.order10", "node0/DMA", 3),
    ("slabinfo.active_objs", "dentry", 84210),
    ("slabinfo.num_slabs", "dentry", 4012),
    ("slabinfo.pagesperslab", "xfs_inode", 4),
    ("slabinfo.objsize", "kmalloc-rcl-64", 64),
    ("stat.cpu.idle", "", 205274),
    ("stat.percpu.iowait", "cpu1", 506),
    ("stat.intr", "", 465052),
    ("stat.procs_blocked", "", 1),
    ("stat.softirq.BLOCK", "", 108907),
    ("pressure.cpu.some", "", 23165130),
    ("pressure.cpu.full", "", 0),
    ("pressure.io.full", "", 4528253),
    ("diskstats.read_ios", "vm-disk-0", 61719),
    ("diskstats.in_flight", "vm-disk-0", 2),
    ("diskstats.flush_ticks", "vm-disk-0", 196),
    ("diskstats.read_ios", "/var/tmp/xfs.img", 5),
    ("bdi.BdiDirtyThresh", "vm-disk-0", 597024),
    ("bdi.BdiWriteBandwidth", "vm-disk-0", 102400),
    ("bdi.b_dirty", "vm-disk-0", 7),
    ("bdi.BdiWriteback", "0:45", 64),
    ("mountstats.READ.rtt", "/mnt/my files", 4400),
    ("mountstats.bytes.writepages", "/mnt/my files", 2),
    ("xfs.log.noiclogs", "/var/tmp/xfs.img", 3),
    ("xfs.push_ail.sleep_logspace", "/var/tmp/xfs.img", 77),
    ("xfs.xpc.xstrat_bytes", "/var/tmp/xfs.img", 4096),
    ("xfs.xpc.read_bytes", "/var/tmp/xfs.img", 12),
    ("ext4.delayed_allocation_blocks", "vm-disk-0", 12),
    ("ext4.session_write_kbytes", "vm-disk-0", 123456),
    ("recorder.archived_bytes", "", 0),
];

pub(super) const NOT_KEPT: [(&str, &str); 8] = [
    ("vmstat.nr_zone_inactive_anon", ""),
    ("meminfo.Active(file)", ""),
    ("slabinfo.active_objs", "bio-312"),
    ("slabinfo.active_objs", "xfs_buf"),
    ("stat.btime", ""),
    ("diskstats.read_ios", "loop1"),
    ("bdi.BdiWriteback", "7:1"),
    ("mountstats.NULL.ops", "/mnt/my files"),
];
