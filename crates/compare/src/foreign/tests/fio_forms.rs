//! fio's other forms: several documents, clients, terse lines, the normal report.

use super::{close, fact, foreign_runs, names, value};

const SERIES: &str = include_str!("../samples/fio_status_interval.json");
const CLIENTS: &str = include_str!("../samples/fio_clients.json");
const UNIFIED: &str = include_str!("../samples/fio_unified.json");
const SATURATED: &str = include_str!("../samples/fio_saturated.json");
const TERSE_CUT: &str = include_str!("../samples/fio_terse_cut.txt");
const TERSE_2: &str = include_str!("../samples/fio_terse2.txt");
const TERSE_3: &str = include_str!("../samples/fio_terse3.txt");
const TERSE_5: &str = include_str!("../samples/fio_terse5.txt");
const NORMAL: &str = include_str!("../samples/fio_normal.txt");

#[test]
fn the_last_report_of_a_series_counts_and_the_others_are_mentioned() {
    let runs = foreign_runs("x", SERIES).unwrap();
    let [run] = &runs[..] else { panic!("{} runs", runs.len()) };
    close(value(run, "write.per_s"), 100_000.0 / 60.0);
    close(value(run, "write.p50"), 420_000.0);
    assert!(run.cautions.iter().any(|caution| caution.contains("status-interval")), "{:?}", run.cautions);
}

#[test]
fn documents_of_different_runs_are_runs() {
    let later = UNIFIED.replace("1700000000", "1700009000");
    let runs = foreign_runs("x", &format!("{UNIFIED}\n{later}")).unwrap();
    assert_eq!(runs.len(), 2);
    // One that is cut off does not hide the other.
    let runs = foreign_runs("x", &format!("{}\n{later}", &UNIFIED[..700])).unwrap();
    assert_eq!(runs.len(), 1);
    assert!(runs[0].cautions.iter().any(|caution| caution.contains("left out")), "{:?}", runs[0].cautions);
}

#[test]
fn a_quoted_document_is_read() {
    let quoted: String = UNIFIED.lines().map(|line| format!("> {line}\r\n")).collect();
    assert_eq!(foreign_runs("x", &quoted), foreign_runs("x", UNIFIED));
}

#[test]
fn mixed_directions() {
    let run = &foreign_runs("x", UNIFIED).unwrap()[0];
    close(value(run, "mixed.per_s"), 2000.0);
    close(value(run, "mixed.bytes_per_s"), 8_192_000.0);
    close(value(run, "mixed.p50"), 140_000.0);
}

#[test]
fn clients_are_one_load_with_the_distribution_that_fio_merged() {
    let run = &foreign_runs("x", CLIENTS).unwrap()[0];
    close(value(run, "write.per_s"), 500.0 + 500.0 / 3.0);
    close(value(run, "write.p50"), 280_000.0);
    assert_eq!((fact(run, "fio clients"), fact(run, "fio rw")), (Some("2"), Some("randwrite")));
}

#[test]
fn percentiles_in_the_last_bucket_are_no_measurements() {
    let run = &foreign_runs("x", SATURATED).unwrap()[0];
    assert_eq!(names(run), ["write.per_s", "write.bytes_per_s"]);
    assert_eq!(run.censored, ["write.p50", "write.p95", "write.p99", "write.p999"]);
    assert!(run.cautions.iter().any(|caution| caution.contains("17.1 s")), "{:?}", run.cautions);
    // Where nothing took longer than the bucket holds, it is a measurement.
    let within = SATURATED.replace("41000000000", "17150000000");
    close(value(&foreign_runs("x", &within).unwrap()[0], "write.p50"), 17_112_760_320.0);
}

/// Groups run one after another: their rates do not add up.
#[test]
fn jobs_of_one_name_in_two_groups_stay_apart() {
    let job = |group: u32, iops: u32| {
        format!(
            r#"{{"jobname": "j", "groupid": {group}, "read": {{"total_ios": 1000, "iops": {iops}, "bw_bytes": 9}}}}"#
        )
    };
    let document =
        format!("{{\"fio version\": \"fio-3.36\", \"jobs\": [{}, {}, {}]}}", job(0, 10), job(1, 20), job(1, 5));
    let run = &foreign_runs("x", &document).unwrap()[0];
    assert_eq!((value(run, "j.group0.read.per_s"), value(run, "j.group1.read.per_s")), (10.0, 25.0));
}

#[test]
fn terse_lines_of_all_versions() {
    let run = &foreign_runs("x", TERSE_CUT).unwrap()[0];
    close(value(run, "write.per_s"), 1666.0);
    close(value(run, "write.bytes_per_s"), 6666.0 * 1024.0);
    close(value(run, "write.p99"), 420_000.0);
    assert_eq!(fact(run, "fio version"), Some("fio-3.36"));
    let of = |text: &str| foreign_runs("x", text).unwrap().remove(0);
    let (two, three, five) = (of(TERSE_2), of(TERSE_3), of(TERSE_5));
    close(value(&two, "read.p95"), 91_000.0);
    close(value(&two, "write.per_s"), 6439.0);
    close(value(&three, "read.per_s"), 8701.0);
    close(value(&three, "write.per_s"), 9263.0);
    close(value(&five, "write.bytes_per_s"), 22_709.0 * 1024.0);
    close(value(&five, "write.p50"), 2000.0);
    // A line that lost a field is refused, not shifted.
    let cut = TERSE_3.replacen(";1984;", ";", 1);
    assert!(foreign_runs("x", &cut).unwrap_err().to_string().contains("fields of its version"));
}

/// Two terse lines of a name: of two processes, or of one that went on.
#[test]
fn terse_lines_of_one_name() {
    let both = foreign_runs("x", &format!("{TERSE_CUT}\n{TERSE_CUT}")).unwrap();
    close(value(&both[0], "write.per_s"), 2.0 * 1666.0);
    let longer = TERSE_CUT.replace(";400000;6666;1666;60000;", ";800000;6666;1700;120000;");
    let series = foreign_runs("x", &format!("{TERSE_CUT}\n{longer}")).unwrap();
    assert_eq!(series.len(), 1);
    close(value(&series[0], "write.per_s"), 1700.0);
}

#[test]
fn the_normal_report() {
    let runs = foreign_runs("x", NORMAL).unwrap();
    let [run] = &runs[..] else { panic!("{} runs", runs.len()) };
    close(value(run, "w.write.per_s"), 19_700.0);
    close(value(run, "w.write.bytes_per_s"), 76.9 * 1_048_576.0);
    close(value(run, "w.write.p95"), 5728.0);
    close(value(run, "r.read.p99"), 81_000.0);
    close(value(run, "r.write.p99"), 7072.0);
    close(value(run, "t.mixed.p50"), 8000.0);
    assert!(!names(run).contains(&"w.fsync.p95"), "15 syncs are too few");
    assert!(run.cautions.iter().any(|caution| caution.contains("rounds")), "{:?}", run.cautions);
}

/// fio 2 writes KB for KiB, and its own spaces.
#[test]
fn the_normal_report_of_fio_2() {
    let text = "\
j: (groupid=0, jobs=1): err= 0: pid=17: Mon Jan  5 10:00:00 2015
  read : io=512.0MB, bw=16385KB/s, iops=4096, runtime= 32001msec
    clat (usec): min=110, max=9121, avg=240.11, stdev=12.1
     lat (usec): min=111, max=9122, avg=240.91, stdev=12.1
    clat percentiles (usec):
     |  1.00th=[  120],  5.00th=[  130], 10.00th=[  141], 20.00th=[  150],
     | 50.00th=[  231], 95.00th=[  410], 99.00th=[  812], 99.90th=[ 1400]
  cpu          : usr=1.00%, sys=2.00%, ctx=3, majf=0, minf=1
     issued    : total=r=131072/w=0/d=0, short=r=0/w=0/d=0
";
    let run = &foreign_runs("x", text).unwrap()[0];
    close(value(run, "read.bytes_per_s"), 16_385.0 * 1024.0);
    close(value(run, "read.per_s"), 4096.0);
    close(value(run, "read.p999"), 1_400_000.0);
}
