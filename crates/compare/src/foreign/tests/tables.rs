//! Tables of IOR, mdtest, sysbench, pgbench, db_bench and filebench. sysbench's, pgbench's, db_bench's and filebench's
//! are in the form of their documentation.

use super::{close, fact, foreign_runs, names, value};

pub(super) const IOR: &str = include_str!("../samples/ior.txt");
pub(super) const MDTEST: &str = include_str!("../samples/mdtest.txt");
pub(super) const SYSBENCH: &str = include_str!("../samples/sysbench.txt");
pub(super) const SYSBENCH_04: &str = include_str!("../samples/sysbench_04.txt");
pub(super) const PGBENCH: &str = include_str!("../samples/pgbench.txt");
pub(super) const DB_BENCH: &str = include_str!("../samples/db_bench.txt");
pub(super) const FILEBENCH: &str = include_str!("../samples/filebench.txt");

#[test]
fn ior() {
    let run = &foreign_runs("x", IOR).unwrap()[0];
    close(value(run, "write.bytes_per_s"), 412.35 * 1_048_576.0);
    close(value(run, "read.per_s"), 1631.90);
    close(value(run, "read.total"), 628_174_000.0);
    assert_eq!((fact(run, "IOR version"), fact(run, "IOR tasks")), (Some("4.0.0"), Some("4")));
}

/// Three iterations are one run with their mean, a second invocation is another run, and IOR 2.10 has other columns.
#[test]
fn iterations_and_invocations_of_ior() {
    let old = "\
IOR-2.10.3: MPI Coordinated Test of Parallel I/O
access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ---------- ---------  --------   --------   --------   --------   ----
write     100.00     16384      1024.00    0.01       2.48       0.01       2.48       0
write     300.00     16384      1024.00    0.03       2.48       0.01       2.48       1
";
    let runs = foreign_runs("x", &format!("{old}{IOR}")).unwrap();
    assert_eq!(runs.len(), 2);
    close(value(&runs[0], "write.bytes_per_s"), 200.0 * 1_048_576.0);
    close(value(&runs[0], "write.open"), 20_000_000.0);
    assert!(!names(&runs[0]).contains(&"write.per_s"));
    close(value(&runs[1], "write.bytes_per_s"), 412.35 * 1_048_576.0);
}

#[test]
fn mdtest() {
    let run = &foreign_runs("x", MDTEST).unwrap()[0];
    assert_eq!((value(run, "file-creation.per_s"), value(run, "file-removal.per_s")), (2943.680, 3921.400));
    assert!(!names(run).contains(&"tree-removal.per_s"), "it was not done");
    // The summary of times has the same rows.
    let times = MDTEST.replace("SUMMARY rate:", "SUMMARY time:").replace("File creation  ", "File creation");
    let both = &foreign_runs("x", &format!("{MDTEST}{times}")).unwrap();
    assert_eq!((both.len(), value(&both[0], "file-creation.per_s")), (1, 2943.680));
    // `run mdtest` writes no colon.
    assert_eq!(value(&foreign_runs("x", &MDTEST.replace(" :", "  ")).unwrap()[0], "file-stat.per_s"), 10331.0);
}

#[test]
fn sysbench() {
    let run = &foreign_runs("x", SYSBENCH).unwrap()[0];
    assert_eq!((value(run, "read.per_s"), value(run, "fsync.per_s")), (1234.56, 2633.87));
    close(value(run, "write.bytes_per_s"), 12.86 * 1_048_576.0);
    close(value(run, "latency.p95"), 3_360_000.0);
    close(value(run, "latency.max"), 412_710_000.0);
    assert_eq!((fact(run, "sysbench threads"), run.measured_ns), (Some("4"), Some(60_043_100_000)));
    let old = &foreign_runs("x", SYSBENCH_04).unwrap()[0];
    assert_eq!(value(old, "requests_per_s"), 998.92);
    close(value(old, "latency.p95"), 50_000.0);
    close(value(old, "bytes_per_s"), 15.608 * 1_048_576.0);
    let new = "sysbench 1.1.0 (using LuaJIT)\nThroughput:\n         read:  IOPS=1234.56 19.29 MiB/s (20.22 MB/s)\n\
               \x20        write: IOPS=823.04 12.86 MiB/s (13.48 MB/s)\n         fsync: IOPS=2633.87\n";
    let new = &foreign_runs("x", new).unwrap()[0];
    assert_eq!((value(new, "write.per_s"), value(new, "fsync.per_s")), (823.04, 2633.87));
    close(value(new, "read.bytes_per_s"), 19.29 * 1_048_576.0);
}

#[test]
fn pgbench() {
    let run = &foreign_runs("x", PGBENCH).unwrap()[0];
    close(value(run, "tps"), 780.512233);
    close(value(run, "latency.mean"), 12_831_000.0);
    assert_eq!(fact(run, "pgbench clients"), Some("10"));
    // Before version 14 there are two rates.
    let old = "transaction type: TPC-B (sort of)\nnumber of clients: 1\nlatency average: 1.5 ms\n\
               tps = 80.1 (including connections establishing)\ntps = 85.2 (excluding connections establishing)\n";
    let runs = foreign_runs("x", &format!("{old}{PGBENCH}")).unwrap();
    assert_eq!((runs.len(), value(&runs[0], "tps"), value(&runs[0], "latency.mean")), (2, 85.2, 1_500_000.0));
}

#[test]
fn db_bench() {
    let run = &foreign_runs("x", DB_BENCH).unwrap()[0];
    assert_eq!((value(run, "fillseq.per_s"), value(run, "readrandom.per_s")), (290_266.0, 6093.0));
    close(value(run, "fillseq.bytes_per_s"), 32.1 * 1_048_576.0);
    close(value(run, "readrandom.p99"), 419_810.0);
    assert_eq!(foreign_runs("x", &format!("{DB_BENCH}{DB_BENCH}")).unwrap().len(), 2);
    // An empty line before the histogram leaves it that of the benchmark.
    let apart = DB_BENCH.replace("\nMicroseconds per", "\n\nMicroseconds per");
    close(value(&foreign_runs("x", &apart).unwrap()[0], "readrandom.p99"), 419_810.0);
    let leveldb = "LevelDB:    version 1.23\nfillseq      :       1.765 micros/op;   62.7 MB/s\n";
    let run = &foreign_runs("x", leveldb).unwrap()[0];
    close(value(run, "fillseq.per_s"), 1e6 / 1.765);
    close(value(run, "fillseq.bytes_per_s"), 62.7 * 1_048_576.0);
}

#[test]
fn filebench() {
    let run = &foreign_runs("x", FILEBENCH).unwrap()[0];
    assert_eq!((value(run, "per_s"), value(run, "fsyncfile3.per_s")), (20539.893, 1582.0));
    close(value(run, "mean"), 1_211_000.0);
    close(value(run, "readfile4.bytes_per_s"), 24.7 * 1_048_576.0);
    let old = "IO Summary: 123456 ops, 2057.3 ops/s, (187/374 r/w),  49.5mb/s,    350us cpu/op,  12.3ms latency\n";
    let run = &foreign_runs("x", old).unwrap()[0];
    close(value(run, "mean"), 12_300_000.0);
    assert_eq!(value(run, "per_s"), 2057.3);
}
