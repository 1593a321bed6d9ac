//! `run mdtest`, with the flags and the table of mdtest.

use crate::stage::{folder, run};

/// The rows of the table: name, and maximum, minimum, mean and deviation.
fn rows(text: &str) -> Vec<(String, Vec<f64>)> {
    let row = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (name, figures) = fields.split_at(fields.len().checked_sub(4)?);
        let figures: Option<Vec<f64>> = figures.iter().map(|figure| figure.parse().ok()).collect();
        Some((name.join(" "), figures?))
    };
    text.lines().filter_map(row).collect()
}

#[test]
fn flags_and_table_are_those_of_the_original() {
    let folder = folder();
    let words = format!(
        "run mdtest -a POSIX -n 30 -i 3 -u -C -T -E -r -N 1 -R -w 100 -e 100 -y -z 1 -b 2 -v --ranks 2 --no-trace -q \
         --format native --out {} -d {}",
        folder.path().join("run").display(),
        folder.path().display()
    );
    let text = run(&words).expect_code(0).stdout;
    assert!(text.starts_with("SUMMARY rate: (of 3 iterations)\n"), "{text}");
    let rows = rows(&text);
    let names: Vec<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
    let directories = ["Directory creation", "Directory stat", "Directory removal"];
    let files = ["File creation", "File stat", "File read", "File removal", "Tree creation", "Tree removal"];
    assert_eq!(names, [&directories[..], &files].concat(), "{text}");
    for (name, figures) in &rows {
        let [most, least, mean, deviation] = figures[..] else { panic!("{text}") };
        assert!(0.0 < least && least <= mean && mean <= most && deviation <= most - least, "{name}: {text}");
    }
    assert!(!folder.path().join("stallscope-mdtest").exists(), "its files are removed");
}

#[test]
fn what_was_not_done_has_zeros_and_files_only_have_no_rows_of_directories() {
    let folder = folder();
    let out = folder.path().join("run");
    let words = format!(
        "run mdtest -F -C -n 10 --no-trace -q --format native --out {} {}",
        out.display(),
        folder.path().display()
    );
    let text = run(&words).expect_code(0).stdout;
    let rows = rows(&text);
    assert_eq!(rows.len(), 6, "{text}");
    for (name, figures) in rows {
        assert_eq!(figures[0] > 0.0, ["File creation", "Tree creation"].contains(&name.as_str()), "{text}");
    }
}

#[test]
fn figures_in_json_are_by_phase() {
    let folder = folder();
    let out = folder.path().join("run");
    let words = format!(
        "run mdtest -F -n 40 --ranks 2 --no-trace -q --json --out {} {}",
        out.display(),
        folder.path().display()
    );
    let document = run(&words).expect_code(0).document();
    let phases = document["phases"].as_array().unwrap();
    let stat = phases.iter().find(|phase| phase["name"] == "file-stat").unwrap();
    assert_eq!(
        (stat["operations"]["stat"]["count"].as_u64(), stat["job_threads"]["members"].as_u64()),
        (Some(80), Some(2))
    );
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let folder = folder();
    for (words, why) in [
        ("-n 3 -z 2 -b 2", "3 items are fewer than the 7 directories that hold them"),
        ("-z 60 -b 2", "a tree has at most"),
        ("-D -E", "skip every phase"),
        ("-d /dev/shm -d /tmp", "add -u"),
    ] {
        let words = format!("run mdtest {words} --no-trace -q {}", folder.path().display());
        let ended = run(&words).expect_code(2);
        assert!(ended.error().contains(why), "{words}: {}", ended.stderr);
    }
}
