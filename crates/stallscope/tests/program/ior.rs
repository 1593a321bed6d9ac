//! `run ior`, with the flags and the table of IOR.

use crate::stage::{folder, run};

#[test]
fn flags_and_table_are_those_of_the_original() {
    let folder = folder();
    let words = format!(
        "run ior -a POSIX -w -r -C -e -E -v -F -W -R -G 7 -t 64k -b 256k -s 2 -i 2 -N 3 --no-trace -q --format native \
         --out {} -o {}",
        folder.path().join("run").display(),
        folder.path().join("testFile").display()
    );
    let text = run(&words).expect_code(0).stdout;
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    let rows: Vec<&Vec<&str>> = rows.iter().filter(|row| matches!(row.first(), Some(&("write" | "read")))).collect();
    assert_eq!(
        rows.iter().map(|row| (row[0], row[10])).collect::<Vec<_>>(),
        [("write", "0"), ("read", "0"), ("write", "1"), ("read", "1")]
    );
    for row in rows {
        let number = |place: usize| row[place].parse::<f64>().unwrap();
        assert_eq!((number(4), number(5)), (256.0, 64.0), "{text}");
        let mib = 3.0 * 2.0 * 0.25;
        // The table rounds to six digits after the point.
        assert!((number(1) * number(9) / mib - 1.0).abs() < 0.01, "bandwidth is bytes over total: {text}");
        // Each from the first rank's begin to the last one's end: they overlap, and leave nothing out.
        let parts = [number(6), number(7), number(8)];
        assert!(parts.iter().all(|part| *part <= number(9) + 1e-5), "{text}");
        assert!(parts.iter().sum::<f64>() > number(9) - 1e-5, "{text}");
    }
    assert!(text.contains("\nMax Write: ") && text.contains("\nMax Read:  "), "{text}");
    assert!(!folder.path().join("stallscope-ior").exists(), "its files are removed");
}

#[test]
fn kept_files_stay() {
    let folder = folder();
    let out = folder.path().join("run");
    let words =
        format!("run ior -w -k -n 2 -b 1m --no-trace -q --json --out {} {}", out.display(), folder.path().display());
    let document = run(&words).expect_code(0).document();
    let size = std::fs::metadata(folder.path().join("stallscope-ior/shared/0000/000")).unwrap().len();
    assert_eq!(size, 2 << 20);
    let phases = document["phases"].as_array().unwrap();
    let write = phases.iter().find(|phase| phase["name"] == "write").unwrap();
    assert_eq!((write["bytes"].as_u64(), write["job_threads"]["members"].as_u64()), (Some(2 << 20), Some(2)));
    assert!(write["job_threads"]["slowest_s"].as_f64().unwrap() >= write["job_threads"]["fastest_s"].as_f64().unwrap());
}

#[test]
fn a_missing_directory_is_refused() {
    let folder = folder();
    let nowhere = folder.path().join("nowhere");
    let ended = run(&format!("run ior -w -b 1m --no-trace -q {}", nowhere.display())).expect_code(2);
    assert!(ended.error().contains("nowhere"), "{}", ended.stderr);
}
