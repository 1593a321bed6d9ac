//! Output as people paste it into mails and reports.

use super::{BONNIE, close, foreign_runs, names, value};

const QUOTED: &str = include_str!("../samples/fs_mark_quoted.txt");
const TWO: &str = include_str!("../samples/simoop_two.txt");
const BONNIE_103: &str = include_str!("../samples/bonnie_103.txt");
const CREATE_ONLY: &str = include_str!("../samples/bonnie_create_only.txt");

#[test]
fn both_tables_of_a_quoted_mail() {
    let runs = foreign_runs("x", QUOTED).unwrap();
    let [before, after] = &runs[..] else { panic!("{} runs", runs.len()) };
    let rate = |rates: [f64; 5]| 5.0 / rates.iter().map(|rate| 1.0 / rate).sum::<f64>();
    close(value(before, "files_per_s"), rate([11263.3, 18994.8, 15071.2, 9913.3, 11173.9]));
    close(value(after, "files_per_s"), rate([14858.9, 22774.8, 19159.5, 17981.3, 9247.4]));
}

#[test]
fn both_reports_of_a_mail() {
    let runs = foreign_runs("x", TWO).unwrap();
    let [before, after] = &runs[..] else { panic!("{} runs", runs.len()) };
    assert_eq!((value(before, "work_per_s"), value(after, "work_per_s")), (13.44, 13.32));
    close(value(before, "write.p99"), 799_744e3);
    close(value(after, "read.p95"), 3_715_072e3);
}

#[test]
fn bonnie_103() {
    let run = &foreign_runs("x", BONNIE_103).unwrap()[0];
    close(value(run, "put.bytes_per_s"), 45_231.0 * 1024.0);
    close(value(run, "seeks.per_s"), 178.1);
    close(value(run, "delete-random.per_s"), 17_122.0);
    assert!(!names(run).contains(&"stat.per_s"), "+++++ is no figure");
}

#[test]
fn bonnie_of_small_files_alone() {
    let run = &foreign_runs("x", CREATE_ONLY).unwrap()[0];
    assert_eq!((value(run, "create.per_s"), value(run, "delete-random.per_s")), (1650.0, 1199.0));
    close(value(run, "create.max"), 3511e6);
    close(value(run, "delete-random.max"), 9333e6);
    assert!(!names(run).iter().any(|name| name.starts_with("put") || name.starts_with("seeks")), "{:?}", names(run));
}

/// Without the line of values the table is read, with the units of each version.
#[test]
fn bonnies_table() {
    let table = |text: &str| -> String {
        text.lines().filter(|line| line.matches(',').count() < 20).map(|line| format!("{line}\n")).collect()
    };
    let run = &foreign_runs("x", &table(BONNIE_103)).unwrap()[0];
    close(value(run, "read.bytes_per_s"), 80_211.0 * 1024.0);
    close(value(run, "create-random.per_s"), 15_110.0);
    let run = &foreign_runs("x", &table(BONNIE)).unwrap()[0];
    close(value(run, "get.bytes_per_s"), 3090.0 * 1024.0);
    close(value(run, "seeks.max"), 4_034_000.0);
    close(value(run, "create.max"), 254_000.0);
}

/// A line of values that lost fields is refused, not shifted.
#[test]
fn a_cut_line_of_bonnie_is_refused() {
    let line = BONNIE.lines().last().unwrap();
    let cut = line.replacen(",8192,5", ",8192", 1);
    assert!(foreign_runs("x", &cut).unwrap_err().to_string().contains("has 49 fields"));
}
