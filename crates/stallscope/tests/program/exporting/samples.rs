//! The samplers' metrics, read by Prometheus' own tool and by its Python client.

use std::process::Command;

use super::{export, recorded, told};
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
        let told = told(python.args(["-c", READ]).arg(&output));
        println!("{told}");
        let numbers: Vec<u64> = told.split_whitespace().map(|number| number.parse().unwrap()).collect();
        assert!(numbers[0] <= rows["descriptors"].as_u64().unwrap() && numbers[0] > 100);
        assert!(numbers[1] <= rows["metrics"].as_u64().unwrap() && numbers[1] >= numbers[0]);
    }
    if promtool {
        let blocks = folder.path().join("blocks");
        let told = told(
            Command::new("promtool").args(["tsdb", "create-blocks-from", "openmetrics"]).arg(&output).arg(&blocks),
        );
        println!("{told}");
        assert!(std::fs::read_dir(&blocks).unwrap().count() > 0);
    }
}
