//! A sweep from its file to its folder.

use std::collections::HashMap;
use std::path::Path;

use proptest::prelude::*;
use sweep::{Cell, FinishedRun, Shard, SweepFile, SweepFolder, cells, configurations};

const TEXT: &str = r#"
name = "scaling"
workload = "fsmark"
repetitions = 4
baseline = { fs = "ext4" }

[variables]
files = 1000

[file_system]
size = "1g"

[[axis]]
name = "fs"
vary = "file_system"
values = ["xfs", "ext4"]

[[axis]]
name = "threads"
vary = "variable"
values = [1, 2, 4]

[[axis]]
name = "dirty"
vary = "sysctl"
key = "vm.dirty_ratio"
values = [20]
"#;

fn parse(text: &str) -> Result<SweepFile, String> {
    SweepFile::parse(Path::new("x.toml"), text).map_err(|error| error.to_string())
}

#[test]
fn every_combination_occurs_once_and_the_baseline_is_first() {
    let setups = configurations(&parse(TEXT).unwrap());
    let names: Vec<&str> = setups.iter().map(|setup| setup.name.as_str()).collect();
    assert_eq!(names[0], "fs=ext4 threads=1 dirty=20");
    assert_eq!(names.len(), 6);
    let last = setups.last().unwrap();
    assert_eq!(last.file_system.as_ref().unwrap().kind, "ext4");
    assert_eq!((last.variables["files"].as_str(), last.variables["threads"].as_str()), ("1000", "4"));
    assert_eq!(last.sysctls["vm.dirty_ratio"], "20");
}

#[test]
fn mistakes_are_reported_with_a_remedy() {
    let error = |piece: &str, replacement: &str| {
        assert!(TEXT.contains(piece), "{piece}");
        parse(&TEXT.replacen(piece, replacement, 1)).unwrap_err()
    };
    assert!(error("repetitions = 4", "repetitions = 0").contains("at least 1"));
    assert!(error("workload", "wordload").contains("unknown field `wordload`"));
    assert!(error("fs = \"ext4\"", "fs = \"jfs\"").contains("has no value 'jfs'"));
    assert!(error("[file_system]\nsize = \"1g\"", "").contains("say where to run"));
    assert!(error("values = [1, 2, 4]", "values = []").contains("has no values"));
    assert!(error("values = [1, 2, 4]", "values = [1, 1]").contains("twice"));
    assert!(error("vary = \"sysctl\"", "vary = \"command\"").contains("needs one 'before'"));
    assert!(error("size = \"1g\"", "size = \"1q\"").contains("file_system.size"));
}

proptest! {
    #[test]
    fn each_block_has_every_configuration_once_and_the_next_is_its_mirror(
        seed: u64, count in 1usize..12, repetitions in 1u32..9, noise: bool
    ) {
        let mut text = TEXT.to_owned();
        let values: Vec<String> = (0..count).map(|n| n.to_string()).collect();
        text = text.replace("values = [1, 2, 4]", &format!("values = [{}]", values.join(", ")));
        let setups = configurations(&parse(&text).unwrap());
        let order = cells(&setups, repetitions, noise, seed);
        let block = setups.len() + usize::from(noise);
        prop_assert_eq!(order.len(), block * repetitions as usize);
        let what = |cells: &[Cell]| cells.iter().map(|cell| (cell.setup, cell.is_twin)).collect::<Vec<_>>();
        for pair in order.chunks(2 * block) {
            let (first, second) = pair.split_at(block.min(pair.len()));
            let mut sorted = what(first);
            sorted.sort();
            sorted.dedup();
            prop_assert_eq!(sorted.len(), block);
            if !second.is_empty() {
                let mut mirror = what(second);
                mirror.reverse();
                prop_assert_eq!(mirror, what(first));
            }
        }
        prop_assert_eq!(&order, &cells(&setups, repetitions, noise, seed));
    }

    #[test]
    fn each_cell_belongs_to_one_shard(count in 1u32..30, repetitions in 1u32..8) {
        let setups = configurations(&parse(TEXT).unwrap());
        let order = cells(&setups, repetitions, true, 1);
        let mut taken: HashMap<u32, u32> = HashMap::new();
        for index in 0..count {
            let shard = Shard { index, count };
            for cell in order.iter().filter(|cell| shard.has(cell, repetitions)) {
                *taken.entry(cell.number).or_default() += 1;
            }
        }
        prop_assert_eq!(taken.len(), order.len());
        prop_assert!(taken.values().all(|times| *times == 1));
    }
}

#[test]
fn shards_are_parsed() {
    assert_eq!(Shard::parse("3/20").unwrap(), Shard { index: 2, count: 20 });
    for wrong in ["0/3", "4/3", "3", "a/b", "1/0"] {
        assert!(Shard::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_sweep_resumes_and_refuses_a_foreign_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scaling");
    let file = parse(TEXT).unwrap();
    let setups = configurations(&file);
    let order = cells(&setups, file.repetitions, false, file.seed);
    let mut sweep = SweepFolder::open(&path, &file).unwrap();
    let directory = sweep.run_directory(&order[0], &setups[order[0].setup]).unwrap();
    std::fs::create_dir(&directory).unwrap();
    assert!(SweepFolder::open(&path, &file).unwrap_err().to_string().contains("in use by a running sweep"));
    sweep.finish(FinishedRun { cell: 0, run: "x".into(), exit_code: 0, took_ns: 7 }).unwrap();
    drop(sweep);

    // A crash in the middle of a line.
    let finished = path.join("finished.jsonl");
    let whole = std::fs::read_to_string(&finished).unwrap();
    std::fs::write(&finished, format!("{whole}{{\"cell\":1,\"ru")).unwrap();
    let mut sweep = SweepFolder::open(&path, &file).unwrap();
    assert!(sweep.has(&order[0]) && !sweep.has(&order[1]));
    sweep.finish(FinishedRun { cell: 1, run: "y".into(), exit_code: 0, took_ns: 9 }).unwrap();
    drop(sweep);
    let sweep = SweepFolder::open(&path, &file).unwrap();
    assert_eq!((sweep.finished().len(), sweep.mean_took_ns()), (2, Some(8)));

    // The remains of an earlier attempt are moved aside and not lost.
    assert_eq!(sweep.run_directory(&order[0], &setups[order[0].setup]).unwrap(), directory);
    assert!(!directory.exists() && std::fs::read_dir(path.join("cut-off")).unwrap().count() == 1);
    drop(sweep);

    let other = parse(&TEXT.replace("repetitions = 4", "repetitions = 5")).unwrap();
    assert!(SweepFolder::open(&path, &other).unwrap_err().to_string().contains("another sweep"));
    std::fs::write(folder.path().join("file"), "").unwrap();
    assert!(SweepFolder::open(folder.path(), &file).unwrap_err().to_string().contains("not a sweep directory"));
}

#[test]
fn shipped_sweeps_are_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sweeps");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let file = SweepFile::load(&path).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(path.file_stem().unwrap().to_str(), Some(file.name.as_str()));
            seen += 1;
        }
    }
    assert!(seen >= 3);
}
