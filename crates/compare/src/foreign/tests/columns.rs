//! A value never moves to another column: lines are removed, repeated, exchanged, and lines of others are inserted.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::tables::{DB_BENCH, FILEBENCH, IOR, MDTEST, PGBENCH, SYSBENCH, SYSBENCH_04};
use super::{BONNIE, SIMOOP, foreign_runs};

/// Each column has a size of its own.
const FS_MARK: &str = "\
FSUse%        Count         Size    Files/sec     App Overhead
     0         4000         4096     191811.1            10506
     0         8000         4096     202492.7            10452

# fs_mark -v
FSUse%        Count         Size    Files/sec     App Overhead        CREAT (Min/Avg/Max)        WRITE \
(Min/Avg/Max)        FSYNC (Min/Avg/Max)         SYNC (Min/Avg/Max)        CLOSE (Min/Avg/Max)       UNLINK \
(Min/Avg/Max)
     0         4000         4096     201522.8              522        1        7       20       60      180      \
     500     1500     4500    14000     0        0        0   40000   120000   350000        0        0        0
     0         8000         4096     203092.8              523        1        7       20       60      180      \
     500     1500     4500    14000     0        0        0   40000   120000   350000        0        0        0
";
const NORMAL: &str = include_str!("../samples/fio_normal.txt");
const TERSE: &str = include_str!("../samples/fio_terse3.txt");
const BONNIE_103: &str = include_str!("../samples/bonnie_103.txt");
const SAMPLES: [&str; 13] = [
    NORMAL,
    TERSE,
    FS_MARK,
    SIMOOP,
    BONNIE,
    BONNIE_103,
    IOR,
    MDTEST,
    SYSBENCH,
    SYSBENCH_04,
    PGBENCH,
    DB_BENCH,
    FILEBENCH,
];
/// Lines of a log between those of a tool.
const NOISE: [&str; 5] = [
    "[  123.456789] nvme0n1: p1 p2",
    "real\t0m4.413s",
    "With this patch:",
    "0 1 2 3 4 5 6 7 8 9 10 11 12 13",
    "a,b,c,1,2,3",
];

#[derive(Debug, Clone)]
enum Edit {
    Remove(prop::sample::Index),
    Repeat(prop::sample::Index),
    Exchange(prop::sample::Index),
    Insert(prop::sample::Index, &'static str),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let at = any::<prop::sample::Index>;
    let edit = prop_oneof![
        at().prop_map(Edit::Remove),
        at().prop_map(Edit::Repeat),
        at().prop_map(Edit::Exchange),
        (at(), proptest::sample::select(NOISE.to_vec())).prop_map(|(at, noise)| Edit::Insert(at, noise)),
    ];
    prop::collection::vec(edit, 1..4)
}

fn edited(sample: &'static str, edits: &[Edit]) -> String {
    let mut lines: Vec<&str> = sample.lines().collect();
    for edit in edits {
        if lines.len() < 2 {
            break;
        }
        match edit {
            Edit::Remove(at) => drop(lines.remove(at.index(lines.len()))),
            Edit::Repeat(at) => lines.insert(at.index(lines.len()), lines[at.index(lines.len())]),
            Edit::Exchange(at) => {
                let at = at.index(lines.len() - 1);
                lines.swap(at, at + 1);
            }
            Edit::Insert(at, noise) => lines.insert(at.index(lines.len()), noise),
        }
    }
    lines.join("\n")
}

/// All values of each metric in a sample.
fn values(sample: &str) -> BTreeMap<String, Vec<f64>> {
    let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for run in foreign_runs("x", sample).unwrap() {
        for metric in run.metrics {
            values.entry(metric.name).or_default().push(metric.amount.value().unwrap());
        }
    }
    values
}

/// Means over loops and iterations stay within those of a column, whichever of its lines remain.
fn fits(value: f64, of: &[f64]) -> bool {
    let (least, most) = of.iter().fold((f64::MAX, 0f64), |(least, most), of| (least.min(*of), most.max(*of)));
    value >= 0.75 * least && value <= 1.34 * most
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_value_stays_in_its_column(at in 0..SAMPLES.len(), edits in edits()) {
        let sample = SAMPLES[at];
        let known = values(sample);
        let text = edited(sample, &edits);
        for run in foreign_runs("x", &text).unwrap_or_default() {
            for metric in &run.metrics {
                // With one job left its name is no prefix.
                let is_it = |name: &&String| **name == metric.name || name.ends_with(&format!(".{}", metric.name));
                let of: Vec<f64> = known.keys().filter(is_it).flat_map(|name| known[name].clone()).collect();
                let value = metric.amount.value().unwrap();
                prop_assert!(fits(value, &of), "{} is {value}, not one of {of:?}, in sample {at}", metric.name);
            }
        }
    }
}
