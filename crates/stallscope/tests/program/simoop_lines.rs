//! simoop's flags and lines: mmtests' parser must read our output.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::stage::{SMALL, folder, run};

/// mmtests' rules, as Perl regular expressions: one output line for each line that a rule matches.
const PARSER: &str = r#"
    while (<STDIN>) {
        $reading = 1 if /^Warmup complete/;
        $reading = 0 if /^Final stats/;
        next unless $reading;
        print "time $1\n" if /Run time: ([0-9]*) seconds/;
        print "latency $1 $2 $3 $4 $5\n"
            if /([a-zA-Z]*) latency usec: \(p50: ([0-9,]*)\) \(p95: ([0-9,]*)\) \(p99: ([0-9,]*)\) \(max: ([0-9,]*)\)/;
        print "rate $1 = $2\n" if /([a-zA-Z ]*) rate = ([0-9.]*)\/sec/;
    }
"#;

fn parsed(text: &str) -> Vec<String> {
    let mut perl =
        Command::new("perl").args(["-e", PARSER]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    perl.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = perl.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn mmtests_parser_reads_the_intervals_and_the_final_lines() {
    // All in memory: operations must end in each second, whatever other activity the machine's disk has.
    let (folder, data) = (folder(), folder());
    let out = folder.path().join("run");
    let small = SMALL.replace("-r 3", "-r 4");
    let ended = run(&format!("run simoop {small} --out {} {}", out.display(), data.path().display())).expect_code(0);
    let lines = parsed(&ended.stdout);
    println!("{}", lines.join("\n"));
    let times: Vec<&String> = lines.iter().filter(|line| line.starts_with("time ")).collect();
    assert_eq!(times.iter().map(|line| line.as_str()).collect::<Vec<_>>(), ["time 1", "time 2", "time 3", "time 4"]);
    for (what, least) in [
        ("latency Read ", 3),
        ("latency Write ", 3),
        ("latency Allocation ", 4),
        ("rate work = ", 3),
        ("rate alloc stall = ", 3),
    ] {
        let found = lines.iter().filter(|line| line.starts_with(what)).count();
        assert!(found >= least, "{found} x {what} in {lines:?}");
    }
    let (_, last) = ended.stdout.split_once("\nFinal stats\n").expect("the final statistics");
    let last = parsed(&format!("Warmup complete\n{last}"));
    assert_eq!(last.iter().filter(|line| line.starts_with("latency ")).count(), 3, "{last:?}");
    assert_eq!(last[0], "time 4");
}

#[test]
fn a_latency_line_has_ordered_figures_with_commas_between_thousands() {
    let lines = parsed(
        "Warmup complete\nRead latency usec: (p50: 21,594,112) (p95: 31,621,120) (p99: 36,896,768) (max: 40,000,000)\n",
    );
    assert_eq!(lines, ["latency Read 21,594,112 31,621,120 36,896,768 40,000,000"]);
}

#[test]
fn all_flags_of_simoop_are_accepted_short_and_long() {
    let data = tempfile::tempdir().unwrap();
    let at = data.path().display();
    let short = run(&format!(
        "run simoop -t 3 -w 7 -r 11 -C 2 -D 1 -T 5 -m 9 -M 6 -f 3 -n 4 -R 2 -W 1 -i 13 --json --plan {at}"
    ));
    let long = run(&format!(
        "run simoop --threads 3 --warmup 7 --runtime 11 --cpu-burners 2 --du-threads 1 --subthreads 5 --working-set 9 \
         --allocation 6 --file-size 3 --files 4 --read-size 2 --write-size 1 --report-interval 13 --json --plan {at}"
    ));
    let (mut short, mut long) = (short.expect_code(0).document(), long.expect_code(0).document());
    for document in [&mut short, &mut long] {
        let plan = document["plan"].as_object_mut().unwrap();
        plan.remove("seed");
        // Free space and memory change while the tests run.
        plan.remove("totals");
    }
    let variables = |document: &serde_json::Value, name: &str| {
        let all = document["plan"]["variables"].as_array().unwrap();
        all.iter().find(|pair| pair[0] == name).map(|pair| pair[1].as_f64().unwrap())
    };
    for (name, value) in [
        ("threads", 3.0),
        ("warmup", 7e9),
        ("runtime", 11e9),
        ("burners", 2.0),
        ("du", 1.0),
        ("subthreads", 5.0),
        ("working_set", 9.0 * 1048576.0),
        ("allocation", 6.0 * 1048576.0),
        ("file_size", 3.0 * 1048576.0),
        ("files", 4.0),
        ("read_size", 2.0 * 1048576.0),
        ("write_size", 1048576.0),
        ("report_interval", 13e9),
    ] {
        assert_eq!(variables(&short, name), Some(value), "{name}, short: {short:#}");
        assert_eq!(variables(&long, name), Some(value), "{name}, long");
    }
}
