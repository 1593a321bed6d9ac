use std::path::PathBuf;

use super::{Plan, PlanRequest, StepWork, TransferDirection};
use crate::catalogue::{catalogue, find};
use crate::data::{DataDirectoryStatus, FillState, Marker};
use crate::facts::{DirectoryFacts, MachineFacts};
use crate::recipe::{PhaseKind, Recipe};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn directory(path: &str, file_system: u64, free_bytes: u64) -> DirectoryFacts {
    DirectoryFacts {
        path: PathBuf::from(path),
        file_system,
        free_bytes,
        standing: DataDirectoryStatus::Absent,
        unwritable: None,
    }
}

fn facts(cpus: u64, memory_bytes: u64, free_bytes: u64) -> MachineFacts {
    let directories = vec![directory("/a", 1, free_bytes)];
    MachineFacts {
        cpus,
        memory_bytes,
        in_memory_cgroup: true,
        thread_limit: Some(100_000),
        may_drop_caches: true,
        directories,
    }
}

fn resolve(recipe: &Recipe, facts: &MachineFacts, settings: &[(&str, &str)]) -> Result<Plan, String> {
    let settings = settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let request = PlanRequest { settings, seed: 1, slower_than_ns: 1_000_000, ..PlanRequest::default() };
    Plan::resolve(recipe, facts, &request).map_err(|error| error.to_string())
}

fn simoop(facts: &MachineFacts, settings: &[(&str, &str)]) -> Plan {
    resolve(&find("simoop").unwrap(), facts, settings).unwrap()
}

fn variable(plan: &Plan, name: &str) -> f64 {
    plan.variables.iter().find(|(variable, _)| variable == name).unwrap().1
}

#[test]
fn simoop_has_the_flags_of_simoop() {
    let recipe = find("simoop").unwrap();
    let shorts: String = recipe.variables.iter().filter_map(|variable| variable.short).collect();
    assert_eq!(shorts, "twrCDTmMfnRWi");
    assert_eq!(recipe.report_interval.as_deref(), Some("report_interval"));
}

#[test]
fn the_defaults_of_every_shipped_recipe_fit_machines_of_all_sizes() {
    for recipe in catalogue() {
        for cpus in [1, 2, 16, 256] {
            for memory in [64 * MIB, 512 * MIB, 24 * GIB, 2048 * GIB] {
                for free in [64 * MIB, GIB, 100 * GIB, 100_000 * GIB] {
                    let plan = resolve(&recipe, &facts(cpus, memory, free), &[]).unwrap();
                    assert_eq!(plan.refusals, [], "{} with {cpus} CPUs, {memory}, {free}", recipe.name);
                    assert!(plan.totals.data_bytes <= free * 9 / 10, "{} fills {free}", recipe.name);
                }
            }
        }
    }
}

#[test]
fn simoop_scales_as_mmtests_does() {
    let plan = simoop(&facts(2, 512 * MIB, 2 * GIB), &[]);
    assert_eq!(variable(&plan, "threads"), 2.0);
    assert_eq!(variable(&plan, "working_set") * 2.0, (512.0 * MIB as f64 * 0.6 / 2.0).floor() * 2.0);
    assert_eq!(variable(&plan, "burners"), 1.0);
    assert_eq!(variable(&plan, "subthreads"), 8.0);
    let four_times = 4.0 * 0.6 * 512.0 * MIB as f64;
    assert!((plan.totals.data_bytes as f64 - four_times).abs() < 81.0 * MIB as f64, "{}", plan.totals.data_bytes);
    assert_eq!(plan.report_interval_ns, 10_000_000_000);
    assert_eq!(plan.warmup_ns(), 300_000_000_000);
    assert_eq!(plan.measured_ns(), 1_200_000_000_000);
    assert_eq!(plan.totals.threads, 2 + 1 + 1);
    assert_eq!(plan.totals.peak_threads, 2 * 9 + 1 + 1);
}

#[test]
fn plain_numbers_have_the_units_of_simoop() {
    let settings =
        [("threads", "512"), ("working_set", "190"), ("runtime", "60000"), ("file_size", "70"), ("warmup", "5m")];
    let plan = simoop(&facts(28, 130 * GIB, 8000 * GIB), &settings);
    assert_eq!(variable(&plan, "working_set"), 190.0 * MIB as f64);
    assert_eq!(variable(&plan, "file_size"), 70.0 * MIB as f64);
    assert_eq!(plan.measured_ns(), 60_000_000_000_000);
    assert_eq!(plan.warmup_ns(), 300_000_000_000);
    assert_eq!(plan.phases[0].kind, PhaseKind::Fill);
}

#[test]
fn settings_may_be_formulas_and_shares() {
    let plan =
        simoop(&facts(2, GIB, 10 * GIB), &[("fill", "50"), ("file_size", "64m"), ("working_set", "memory / 16")]);
    assert_eq!(variable(&plan, "working_set"), 64.0 * MIB as f64);
    assert_eq!(variable(&plan, "files"), 80.0);
}

#[test]
fn impossible_values_name_the_flag() {
    let recipe = find("simoop").unwrap();
    let error = |name, value| resolve(&recipe, &facts(2, GIB, 10 * GIB), &[(name, value)]).unwrap_err();
    let errors = [
        error("threads", "0"),
        error("threads", "-1"),
        error("threads", "many"),
        error("threads", "2m"),
        error("threads", "99999999"),
        error("working_set", "1x"),
        error("working_set", ""),
        error("fill", "101%"),
        error("runtime", "10k"),
        error("report_interval", "1ms"),
        error("read_size", "1g"),
        error("threads", "threads"),
        error("threads", "burners"),
        error("threads", "1 / 0"),
        error("treads", "1"),
    ];
    insta::assert_snapshot!(errors.join("\n\n"));
}

#[test]
fn what_does_not_fit_is_refused_with_both_figures() {
    let mut crowded = facts(2, 256 * MIB, GIB);
    crowded.thread_limit = Some(50);
    crowded.directories[0].standing = DataDirectoryStatus::Foreign("has no readable marker file".to_owned());
    let settings = [("working_set", "200m"), ("threads", "8"), ("files", "100"), ("file_size", "64m")];
    let plan = simoop(&crowded, &settings);
    insta::assert_snapshot!(plan.to_string());
}

#[test]
fn force_overrides_space_and_nothing_else() {
    let mut facts = facts(2, GIB, GIB);
    facts.directories[0].standing = DataDirectoryStatus::Foreign("is foreign".to_owned());
    let settings = vec![("files".to_owned(), "1000".to_owned())];
    let request = PlanRequest { settings, force: true, ..PlanRequest::default() };
    let plan = Plan::resolve(&find("simoop").unwrap(), &facts, &request).unwrap();
    assert_eq!(plan.refusals.len(), 1);
    assert!(plan.refusals[0].what.contains("is foreign"));
}

#[test]
fn a_directory_that_cannot_be_written_to_is_refused_before_anything_is_made() {
    let mut facts = facts(2, GIB, GIB);
    facts.directories[0].unwritable = Some("Permission denied".to_owned());
    let plan = simoop(&facts, &[]);
    assert_eq!(plan.refusals.len(), 1);
    assert_eq!(plan.refusals[0].what, "/a is not writable: Permission denied");
}

#[test]
fn directories_on_one_file_system_share_its_space() {
    let mut facts = facts(2, GIB, 10 * GIB);
    facts.directories.push(directory("/b", 1, 10 * GIB));
    facts.directories.push(directory("/c", 2, 8 * GIB));
    assert_eq!(facts.free_space_bytes(), 5 * GIB);
    let plan = simoop(&facts, &[("files", "64"), ("file_size", "64m")]);
    let left: Vec<u64> = plan.totals.file_systems.iter().map(|space| space.left_bytes).collect();
    assert_eq!(left, [2 * GIB, 4 * GIB]);
    assert_eq!(plan.totals.bytes_to_write, 12 * GIB);
}

#[test]
fn a_kept_set_counts_as_free_space_and_is_not_written_again() {
    let fresh = simoop(&facts(2, GIB, 10 * GIB), &[]);
    let mut kept = facts(2, GIB, 10 * GIB - fresh.totals.data_bytes);
    kept.directories[0].standing =
        DataDirectoryStatus::Ours(Marker::new("simoop", 1, FillState::Complete, &fresh.file_sets));
    let again = simoop(&kept, &[]);
    assert_eq!(again.file_sets, fresh.file_sets);
    assert_eq!(again.totals.bytes_to_write, 0);
}

#[test]
fn a_cycle_points_into_the_file() {
    let recipe = Recipe::parse(
        "x.toml",
        r#"name = "x"
about = "x"
[variables.a]
kind = "count"
default = "b + 1"
help = ""
[variables.b]
kind = "count"
default = "a * 2"
help = ""
[[phase]]
name = "run"
kind = "run"
duration = "1s"
[[actor]]
name = "a"
count = "a"
[[actor.step]]
do = "pause"
duration = "1s"
"#,
    );
    let error = resolve(&recipe.unwrap(), &facts(1, GIB, GIB), &[]).unwrap_err();
    assert!(error.starts_with("x.toml:5:12: the value of 'a' depends on itself"), "{error}");
}

#[test]
fn a_plan_survives_its_json() {
    let plan = simoop(&facts(2, 512 * MIB, 2 * GIB), &[]);
    let again: Plan = serde_json::from_slice(&serde_json::to_vec(&plan).unwrap()).unwrap();
    assert_eq!(again, plan);
    let StepWork::Transfer(read) = &again.actors[0].steps[1].work else { panic!("the second step reads") };
    assert_eq!((read.direction, read.fork), (TransferDirection::Read, Some(8)));
}

/// Only the fill writes the marker, and only marked directories are ever removed.
#[test]
fn files_without_a_fill_are_refused_also_where_jobs_make_them() {
    let text =
        find("sequential-write").unwrap().text().replace("kind = \"fill\"", "kind = \"fill\"\nwhen = \"direct\"");
    let recipe = Recipe::parse("unmarked.toml", &text).unwrap();
    let facts = facts(2, GIB, GIB);
    assert!(resolve(&recipe, &facts, &[("direct", "true")]).is_ok());
    let error = resolve(&recipe, &facts, &[]).unwrap_err();
    assert!(error.contains("needs a [[phase]] of kind 'fill'"), "{error}");
}

#[test]
fn only_root_drops_the_caches_of_the_machine_and_the_plan_says_so() {
    let multi_source = find("multi-source").unwrap();
    let remarks = |may_drop_caches: bool, drop: &str| {
        let facts = MachineFacts { may_drop_caches, ..facts(2, GIB, GIB) };
        resolve(&multi_source, &facts, &[("drop", drop)]).unwrap().remarks()
    };
    assert!(remarks(true, "caches")[0].contains("whole machine"));
    assert!(remarks(false, "caches")[0].starts_with("only root"));
    assert_eq!((remarks(true, "fadvise").len(), remarks(false, "none").len()), (0, 0));
}
