//! The samplers' metrics, read by Prometheus' own tool and by its Python client.

use std::process::Command;

use super::{export, output_of, recorded};
use crate::stage::{checked, folder};

const READ: &str = "
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
families = list(text_string_to_metric_families(open(sys.argv[1]).read()))
series = {(sample.name, tuple(sorted(sample.labels.items()))) for family in families for sample in family.samples}
print(len(series), sum(len(family.samples) for family in families))
";

#[test]
fn prometheus_reads_the_metrics() {
    let python = super::readers::python("prometheus_client", "reading OpenMetrics");
    let promtool = Command::new("promtool").arg("--version").output().is_ok();
    if !promtool {
        println!("skipped: making blocks of OpenMetrics needs promtool (package prometheus)");
    }
    let folder = folder();
    let run = recorded(folder.path());
    let output = folder.path().join("run.om");
    export(&run, "openmetrics", &output).expect_code(0);
    let rows = &checked(&run)["rows"];
    if let Some(mut python) = python {
        let printed = output_of(python.args(["-c", READ]).arg(&output));
        println!("{printed}");
        let numbers: Vec<u64> = printed.split_whitespace().map(|number| number.parse().unwrap()).collect();
        assert!(numbers[0] <= rows["descriptors"].as_u64().unwrap() && numbers[0] > 100);
        assert!(numbers[1] <= rows["metrics"].as_u64().unwrap() && numbers[1] >= numbers[0]);
    }
    if promtool {
        let blocks = folder.path().join("blocks");
        let printed = output_of(
            Command::new("promtool").args(["tsdb", "create-blocks-from", "openmetrics"]).arg(&output).arg(&blocks),
        );
        println!("{printed}");
        assert!(std::fs::read_dir(&blocks).unwrap().count() > 0);
    }
}

#[test]
fn performance_co_pilot_reads_the_archive() {
    if Command::new("pmlogcheck").arg("--version").output().is_err() {
        return println!("skipped: reading a PCP archive needs pmlogcheck and pmdumplog (package pcp)");
    }
    let folder = folder();
    let run = recorded(folder.path());
    let output = folder.path().join("pcp");
    export(&run, "pcp", &output).expect_code(0);
    let archive = output.join("run");
    let complaints = output_of(Command::new("pmlogcheck").arg(&archive));
    assert_eq!(complaints, "");
    let values = output_of(Command::new("pmdumplog").arg(&archive).arg("stallscope.vmstat.pgpgout"));
    println!("{values}");
    let samples = checked(&run)["rows"]["samples"].as_u64().unwrap();
    assert_eq!(values.matches("(stallscope.vmstat.pgpgout): value").count() as u64, samples);
    let pmrep = Command::new("pmrep")
        .args(["-t", "0.2s", "-p", "-a"])
        .arg(&archive)
        .arg("stallscope.vmstat.pgpgout")
        .output()
        .unwrap();
    assert!(pmrep.status.success(), "{}", String::from_utf8_lossy(&pmrep.stderr));
    let rates = String::from_utf8_lossy(&pmrep.stdout);
    println!("{rates}");
    assert!(rates.contains("pgpgout") && rates.contains("Kbyte/s"));
    let count = rates.lines().filter_map(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok()).count();
    assert!(count >= 5, "a rate each 200 ms: {count}");
}
