//! Phases that end when their jobs have ended, from a common start.

mod running;

use load::plan::Plan;
use load::recipe::Recipe;
use running::{RunReport, plan, start};

const RECIPE: &str = r#"
name = "jobs"
about = "writes files and reads them back"

[directories]
flag = "dir"
short = "d"

[variables.action]
kind = "word"
words = ["write", "read"]
default = "read"
help = "what the second phase does"

[variables.fsync]
kind = "flag"
default = false
help = "fsync at the end"

[variables.rounds]
kind = "count"
default = 2
help = "how often"

[[phase]]
name = "prepare"
kind = "fill"

[[phase]]
name = "write"
kind = "run"

[[phase]]
name = "again"
kind = "run"

[repeat]
from = "write"
count = "rounds"

[files.made]
count = 3
size = "1m"
fill = false

[[actor]]
name = "writer"
count = 3
processes = true
phases = ["write"]
[actor.job]
do = "stream"
action = "write"
set = "made"
block = "64k"
fsync = "fsync"

[[actor]]
name = "reader"
count = 3
phases = ["again"]
[actor.job]
do = "stream"
action = "$action"
set = "made"
block = "64k"
"#;

fn planned(settings: &[(&str, &str)]) -> (tempfile::TempDir, Plan) {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(&Recipe::parse("jobs.toml", RECIPE).unwrap(), directory.path(), settings);
    (directory, plan)
}

#[test]
fn phases_end_with_their_jobs_and_are_repeated() {
    let (_directory, plan) = planned(&[("fsync", "true")]);
    let report = RunReport::all(start(plan));
    assert_eq!(report.phases, ["prepare", "write", "again", "write", "again"]);
    assert_eq!((report.count("write", "write"), report.count("again", "read")), (2 * 48, 2 * 48));
    assert_eq!((report.count("write", "fsync"), report.errors()), (2 * 3, 0));
}

#[test]
fn a_job_has_a_common_start_and_tells_its_shares() {
    let (_directory, plan) = planned(&[("rounds", "1"), ("action", "write")]);
    let report = RunReport::all(start(plan));
    assert_eq!(report.job_threads.len(), 2);
    for (phase, members) in &report.job_threads {
        assert_eq!(members.len(), 3, "{phase}");
        assert!(members.iter().all(|member| member.start_ns == members[0].start_ns));
        assert!(members.iter().all(|m| m.items == 16 && m.bytes == 1 << 20 && m.end_ns > m.start_ns));
        let mut tids: Vec<u32> = members.iter().map(|member| member.tid).collect();
        tids.dedup();
        assert_eq!(tids.len(), 3, "{phase}");
    }
}

#[test]
fn a_word_that_is_none_of_a_variables_words_is_refused_with_a_remedy() {
    let recipe = Recipe::parse("jobs.toml", RECIPE).unwrap();
    let facts = load::facts::MachineFacts::gather("jobs", &[std::env::temp_dir()], None).unwrap();
    let settings = vec![("action".to_owned(), "raed".to_owned())];
    let request = load::plan::PlanRequest { settings, ..Default::default() };
    let error = Plan::resolve(&recipe, &facts, &request).unwrap_err().to_string();
    assert!(error.contains("did you mean 'read'?"), "{error}");
}
