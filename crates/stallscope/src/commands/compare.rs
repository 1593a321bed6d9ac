//! `compare`: groups of runs against a baseline.

mod sides;

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use compare::{Comparison, Group, MARGIN, Options, Plane, compare as compare_groups, plane as plane_of, scaling};
use model::quantity::{counted, verb};

use crate::commands::compare::sides::Sides;
use crate::reading::integrity::Integrity;
use crate::recording::output_file;
use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

/// Options of `compare`.
#[derive(Debug, Args)]
#[command(
    override_usage = "stallscope compare [OPTIONS] --a <RUN>... --b <RUN>...\n       stallscope compare [OPTIONS] <DIR>"
)]
pub struct CompareArgs {
    /// Directory of runs, grouped by --configuration, or else by subdirectory.
    // Not `conflicts_with`: clap waives a `requires` whose target conflicts with something given.
    #[arg(value_name = "DIR")]
    pub folder: Vec<PathBuf>,
    /// Baseline runs: run directories, output files of fio (JSON), fs_mark, simoop or bonnie++, or directories of
    /// these.
    #[arg(long, value_name = "RUN", num_args = 1.., required_unless_present = "folder", requires = "b")]
    pub a: Vec<PathBuf>,
    /// Runs to compare with the baseline.
    #[arg(long, value_name = "RUN", num_args = 1.., requires = "a")]
    pub b: Vec<PathBuf>,
    /// Extra baseline runs (A/A) that set the noise floor.
    #[arg(long, value_name = "RUN", num_args = 1.., requires = "a")]
    pub again: Vec<PathBuf>,
    /// Baseline configuration of DIR [default: 'baseline', or that of the first run].
    #[arg(long, value_name = "NAME", requires = "folder")]
    pub baseline: Option<String>,
    /// Show only this configuration of DIR.
    #[arg(long, value_name = "NAME", requires = "folder")]
    pub only: Option<String>,
    /// Ignore differences up to PERCENT if no noise floor was measured [default: 5%].
    #[arg(long, value_name = "PERCENT", value_parser = margin)]
    pub margin: Option<f64>,
    /// Output format.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Format,
    /// Tabulate one metric, such as files_per_s, over the settings of DIR's configurations.
    #[arg(long, value_name = "METRIC", requires = "folder")]
    pub table: Option<String>,
    /// Tabulate --table's metric over two settings, one table per combination of the others; with --svg, as a heat map.
    #[arg(long, value_name = "X,Y", requires = "table", value_parser = plane)]
    pub plane: Option<(String, String)>,
    /// Plot the runs of each metric as points to FILE (SVG); with --plane, the heat map.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Show every metric, cause and counter.
    #[arg(long)]
    pub all: bool,
    /// Print a single JSON document to standard output.
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

/// Output formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One screen of text.
    Text,
    /// Tables for issues and pull requests.
    Markdown,
    /// One row per metric.
    Csv,
    /// Values of the runs in Go's benchmark format, for benchstat.
    Benchstat,
    /// Similar to mmtests' comparison report.
    Mmtests,
}

/// What is read; no output goes there.
fn inputs(args: &CompareArgs) -> Vec<PathBuf> {
    [&args.a, &args.b, &args.again].into_iter().flatten().chain(&args.folder).cloned().collect()
}

/// Compares.
pub fn compare(args: &CompareArgs, screen: &Screen) -> Result<Exit, Failure> {
    refuse_mixed(args)?;
    let sides = match args.folder.first() {
        Some(folder) => Sides::of_folder(folder, args.baseline.as_deref(), screen)?,
        None => Sides::given(&args.a, &args.b, &args.again, screen)?,
    };
    warn_of_simulated(&sides, screen);
    if let Some(metric) = &args.table {
        return show_table(metric, &sides, args, screen);
    }
    let others: Vec<&Group> = sides.others.iter().collect();
    let options = Options { margin: args.margin.unwrap_or(MARGIN), again: sides.again.as_ref() };
    let mut found = compare_groups(&sides.baseline, &others, options);
    // Filter last: the verdict on a configuration must not depend on which others are shown.
    if let Some(only) = &args.only {
        found.retain(|comparison| comparison.b.0 == *only);
        if found.is_empty() {
            let names: Vec<&str> = sides.others.iter().map(|group| group.name.as_str()).collect();
            return Err(Failure::usage(format_args!(
                "no configuration '{only}' to compare; configurations: {}",
                names.join(", ")
            )));
        }
    }
    if let Some(path) = &args.svg {
        output_file::write(path, report::compare::svg(&found).as_bytes(), &inputs(args))?;
    }
    let integrity = sides.integrity();
    show(args, (&sides.baseline.name, &found), &integrity, screen);
    Ok(integrity.exit())
}

/// Refuses a directory beside sides, and paths of sides without their options.
fn refuse_mixed(args: &CompareArgs) -> Result<(), Failure> {
    match (&args.folder[..], args.a.first()) {
        ([folder, ..], Some(side)) => Err(Failure::usage(format_args!(
            "{} and {}: compare a directory of runs by configuration (compare DIR), or two sides (compare --a RUN... \
             --b RUN...)",
            folder.display(),
            side.display()
        ))),
        ([a, b], None) => Err(Failure::usage(format_args!(
            "two paths without --a and --b; compare two sides: compare --a {} --b {}",
            a.display(),
            b.display()
        ))),
        ([_, _, _, ..], None) => Err(Failure::usage(format_args!(
            "{} without --a and --b; compare two sides: compare --a RUN... --b RUN...",
            counted(args.folder.len() as u64, "path")
        ))),
        _ => Ok(()),
    }
}

/// Warns first: simulated results are not measurements.
fn warn_of_simulated(sides: &Sides, screen: &Screen) {
    let groups = std::iter::once(&sides.baseline).chain(&sides.others).chain(&sides.again);
    let runs: Vec<bool> = groups.flat_map(|group| &group.runs).map(|run| run.simulated.is_some()).collect();
    let simulated = runs.iter().filter(|simulated| **simulated).count();
    if simulated > 0 && simulated < runs.len() {
        screen.warning(&format!(
            "{simulated} of {} runs {} simulated, not measured: only directions can be compared",
            runs.len(),
            verb(simulated as u64, "is", "are")
        ));
    }
}

fn show_table(metric: &str, sides: &Sides, args: &CompareArgs, screen: &Screen) -> Result<Exit, Failure> {
    let groups: Vec<&Group> = std::iter::once(&sides.baseline).chain(&sides.others).collect();
    let has = |name: &str| {
        groups.iter().flat_map(|group| &group.runs).flat_map(|run| &run.metrics).any(|figure| figure.name == name)
    };
    // A model's figure may be named without its prefix.
    let of_model = format!("model.{metric}");
    let metric = if !has(metric) && has(&of_model) { &of_model } else { metric };
    match &args.plane {
        Some((x, y)) => {
            let plane = plane_of(&groups, metric, x, y).map_err(Failure::usage)?;
            show_plane(&plane, args, &sides.integrity(), screen)
        }
        None if args.svg.is_some() || args.format != Format::Text => {
            Err(Failure::usage("--table needs --plane X,Y (two varied settings) for --svg and --format"))
        }
        None => show_scaling(metric, sides, args.json, screen),
    }
}

fn show_plane(found: &Plane, args: &CompareArgs, integrity: &Integrity, screen: &Screen) -> Result<Exit, Failure> {
    if let Some(path) = &args.svg {
        output_file::write(path, report::compare::plane_svg(found).as_bytes(), &inputs(args))?;
    }
    if args.json {
        screen.json(&integrity.added(report::compare::plane_json(found)));
        return Ok(integrity.exit());
    }
    let text = match args.format {
        Format::Text => report::compare::plane_text(found, screen.style()),
        Format::Markdown => report::compare::plane_markdown(found),
        Format::Csv => report::compare::plane_csv(found),
        _ => return Err(Failure::usage("--plane supports the formats text, markdown and csv")),
    };
    screen.result(&(above(args.format, integrity, screen) + &text));
    Ok(integrity.exit())
}

fn show_scaling(metric: &str, sides: &Sides, json: bool, screen: &Screen) -> Result<Exit, Failure> {
    let groups: Vec<&Group> = std::iter::once(&sides.baseline).chain(&sides.others).collect();
    let Some(found) = scaling(&groups, metric) else {
        let names: BTreeSet<&str> = groups
            .iter()
            .flat_map(|group| &group.runs)
            .flat_map(|run| &run.metrics)
            .map(|figure| figure.name.as_str())
            .collect();
        let known = names.into_iter().collect::<Vec<_>>().join(", ");
        return Err(Failure::usage(format_args!("no run has the metric '{metric}'; metrics: {known}")));
    };
    let integrity = sides.integrity();
    if json {
        screen.json(&integrity.added(report::json::scaling(&found)));
    } else {
        let style = screen.style();
        screen.result(&(integrity.banner(style) + &report::compare::scaling(&found, style)));
    }
    Ok(integrity.exit())
}

fn show(args: &CompareArgs, (baseline, found): (&str, &[Comparison]), integrity: &Integrity, screen: &Screen) {
    let style = screen.style();
    let text = match (args.json, args.format, found) {
        (true, _, [only]) if args.folder.is_empty() => {
            return screen.json(&integrity.added(report::json::comparison(only)));
        }
        (true, ..) => return screen.json(&integrity.added(report::json::comparisons(baseline, found))),
        (_, Format::Text, [only]) => report::compare::text(only, args.all, style),
        (_, Format::Text, _) => report::compare::many(baseline, found, style),
        (_, Format::Markdown, _) => report::compare::markdown(found),
        (_, Format::Csv, _) => report::compare::csv(found),
        (_, Format::Benchstat, _) => report::compare::benchstat(found),
        (_, Format::Mmtests, _) => report::compare::mmtests(found),
    };
    screen.result(&(above(args.format, integrity, screen) + &text));
}

/// What is lacking, above a text for people. Programs read the other formats, so that it goes to standard error.
fn above(format: Format, integrity: &Integrity, screen: &Screen) -> String {
    if matches!(format, Format::Text | Format::Markdown) {
        return integrity.banner(screen.style());
    }
    integrity.lacks().for_each(|lack| screen.warning(&format!("incomplete: {lack}")));
    String::new()
}

fn plane(text: &str) -> Result<(String, String), String> {
    match text.split_once(',') {
        Some((x, y)) if !x.is_empty() && !y.is_empty() && x != y => Ok((x.to_owned(), y.to_owned())),
        _ => Err(format!("{text}: expected X,Y: the names of two settings")),
    }
}

/// `5%` and `5` are five percent. A value that looks like a fraction of one is rejected as ambiguous.
fn margin(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(percent) if percent < 0.1 && !text.ends_with('%') => {
            Err(format!("{text}: a margin is in percent; write {text}% or {}%", percent * 100.0))
        }
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent / 100.0),
        _ => Err(format!("{text}: a margin is a percentage up to 100, such as 5%")),
    }
}
