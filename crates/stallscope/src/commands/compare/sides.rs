//! The sides of a comparison.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use archive::{ArchiveError, Run, RunState, is_set};
use compare::{ForeignError, Group, NodeRun, RunFigures, RunReader, foreign_runs, set_figures, wanted_counter};
use model::damage::Damage;
use model::event::{Ending, RunEvent};
use model::lost::Lost;
use model::quantity::counted;
use model::run::Configuration;
use model::set::NodeClock;

use crate::reading::integrity::{Integrity, excluded};
use crate::reading::run_set::{self, RunSet};
use crate::reading::text_file::decoded;
use crate::reading::{archived_run, document, explanation, summary};
use crate::ui::failure::Failure;
use crate::ui::screen::Screen;

/// Maximum depth of subfolders in a folder of runs.
const DEPTH: usize = 3;
/// Maximum size of a tool's output.
const MAX_FILE: u64 = 64 << 20;
/// The default name of the baseline configuration.
const BASELINE: &str = "baseline";
/// In a sweep's folder: its marker file, and the subfolder of unfinished runs.
const SWEEP: (&str, &str) = ("sweep.json", "cut-off");
/// Names shown of excluded runs.
const MAX_NAMED: usize = 3;

/// The baseline, the groups to compare with it, and extra baseline runs, if any.
pub struct Sides {
    /// A.
    pub baseline: Group,
    /// B.
    pub others: Vec<Group>,
    /// A again.
    pub again: Option<Group>,
}

impl Sides {
    /// What the runs lack.
    pub fn integrity(&self) -> Integrity {
        let mut integrity = Integrity::default();
        for run in std::iter::once(&self.baseline).chain(&self.others).chain(&self.again).flat_map(|group| &group.runs)
        {
            integrity.add(Path::new(&run.name), run.damage.clone(), run.lost.clone());
        }
        integrity
    }

    /// The sides named by the user.
    pub fn given(a: &[PathBuf], b: &[PathBuf], again: &[PathBuf], screen: &Screen) -> Result<Sides, Failure> {
        document::refuse_twice(&[a, b, again].concat())?;
        let side = |name: &str, paths: &[PathBuf]| group(name, paths, screen);
        let (mut a, mut b) = (side("a", a)?, side("b", b)?);
        let again = if again.is_empty() { None } else { Some(side("a again", again)?.0) };
        refuse_shared(&[Some(&a.0), Some(&b.0), again.as_ref()])?;
        // Use the configuration labels as names if they differ.
        if let (Some(of_a), Some(of_b)) = (a.1.take(), b.1.take())
            && of_a.name != of_b.name
        {
            entitle(&mut a.0, of_a);
            entitle(&mut b.0, of_b);
        }
        Ok(Sides { baseline: a.0, others: vec![b.0], again })
    }

    /// All runs below a folder, by configuration. A twin of a configuration repeats it.
    pub fn of_folder(folder: &Path, baseline: Option<&str>, screen: &Screen) -> Result<Sides, Failure> {
        if is_run(folder) {
            let name = folder.display();
            let message = format_args!("{name} is a run; compare it with others: compare --a {name} --b RUN...");
            return Err(Failure::usage(message));
        }
        if folder.is_file() {
            let name = folder.display();
            let message = format_args!(
                "{name} is a file, not a directory of runs; compare it with others: compare --a {name} --b RUN..."
            );
            return Err(Failure::usage(message));
        }
        let mut groups: BTreeMap<(String, bool), Group> = BTreeMap::new();
        let mut unfinished = Vec::new();
        for path in runs_below(folder, DEPTH)? {
            let subfolder =
                || path.parent().and_then(|parent| parent.strip_prefix(folder).ok()).map_or_else(String::new, text);
            let Some(found) = read_found(&path, &mut unfinished, screen)? else { continue };
            let configuration = found.configuration.unwrap_or_else(|| Configuration::named(&subfolder()));
            let group = groups.entry((configuration.name.clone(), configuration.is_twin)).or_default();
            entitle(group, configuration);
            group.runs.extend(found.figures);
        }
        warn_of_unfinished(&unfinished, screen);
        let mut twins: Vec<Group> = Vec::new();
        let mut plain: Vec<Group> = Vec::new();
        for ((_, is_twin), group) in groups {
            if is_twin { twins.push(group) } else { plain.push(group) }
        }
        Sides::by_baseline(plain, twins, baseline, folder)
    }

    fn by_baseline(
        mut groups: Vec<Group>,
        mut twins: Vec<Group>,
        requested: Option<&str>,
        folder: &Path,
    ) -> Result<Sides, Failure> {
        // If there is nothing else, compare with the twin.
        if let ([_], Some(mut twin)) = (&groups[..], twins.pop_if(|_| groups.len() == 1)) {
            twin.name.push_str(" again");
            groups.push(twin);
        }
        if groups.len() < 2 {
            let found = groups.first().map_or(0, |group| group.runs.len());
            return Err(Failure::usage(format_args!(
                "{}: found {} of {}, at least two configurations are needed; label each run with \
                 --configuration NAME, or use a subfolder per configuration",
                folder.display(),
                counted(found as u64, "run"),
                counted(groups.len() as u64, "configuration")
            )));
        }
        let at = baseline_of(&groups, &twins, requested, folder)?;
        let baseline = groups.remove(at);
        let again = twins.iter().position(|twin| twin.name == baseline.name).map(|at| twins.remove(at));
        // A twin of another configuration adds runs to it.
        for twin in twins {
            if let Some(group) = groups.iter_mut().find(|group| group.name == twin.name) {
                group.runs.extend(twin.runs);
            }
        }
        groups.sort_by_key(first_start);
        Ok(Sides { baseline, others: groups, again })
    }
}

/// The baseline: the requested configuration, or the one with a twin, or the one named `baseline`, or the earliest.
fn baseline_of(groups: &[Group], twins: &[Group], requested: Option<&str>, folder: &Path) -> Result<usize, Failure> {
    let named = |name: &str| groups.iter().position(|group| group.name == name);
    if let Some(name) = requested {
        return named(name).ok_or_else(|| {
            let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
            let known = names.join(", ");
            Failure::usage(format_args!("{}: no configuration '{name}'; configurations: {known}", folder.display()))
        });
    }
    let first = (0..groups.len()).min_by_key(|&at| first_start(&groups[at])).unwrap_or(0);
    let with_twin = twins.iter().find_map(|twin| named(&twin.name));
    Ok(with_twin.or_else(|| named(BASELINE)).unwrap_or(first))
}

fn first_start(group: &Group) -> Option<u64> {
    group.runs.iter().filter_map(|run| run.started_wall_ns).min()
}

fn entitle(group: &mut Group, configuration: Configuration) {
    group.name = configuration.name;
    group.settings.extend(configuration.settings);
    group.varied = configuration.varied;
}

/// Refuses a run that two sides have found: it would be compared with itself. A file of another tool may hold several
/// runs.
fn refuse_shared(sides: &[Option<&Group>]) -> Result<(), Failure> {
    let of_side = |group: &&Group| {
        let mut paths: Vec<PathBuf> = group.runs.iter().map(|run| PathBuf::from(&run.name)).collect();
        paths.dedup();
        paths
    };
    document::refuse_twice(&sides.iter().flatten().flat_map(of_side).collect::<Vec<_>>())
}

/// The runs of a side, and their common configuration, if any.
fn group(name: &str, paths: &[PathBuf], screen: &Screen) -> Result<(Group, Option<Configuration>), Failure> {
    let mut side = Group { name: name.to_owned(), ..Group::default() };
    let mut configurations: Vec<Option<Configuration>> = Vec::new();
    let mut unfinished = Vec::new();
    for path in paths {
        let before = side.runs.len();
        let found = if path.is_dir() && !is_run(path) {
            let read = |path: &PathBuf| read_found(path, &mut unfinished, screen).transpose();
            runs_below(path, DEPTH)?.iter().filter_map(read).collect()
        } else {
            vec![read(path, screen)]
        };
        for read in found {
            let read = read?;
            side.runs.extend(read.figures);
            configurations.push(read.configuration);
        }
        if side.runs.len() == before {
            return Err(Failure::usage(format_args!("{}: neither a run nor a directory of runs", path.display())));
        }
    }
    warn_of_unfinished(&unfinished, screen);
    configurations.dedup_by(|x, y| name_of(x) == name_of(y));
    let common = if configurations.len() == 1 { configurations.pop().flatten() } else { None };
    Ok((side, common))
}

fn name_of(configuration: &Option<Configuration>) -> Option<&str> {
    configuration.as_ref().map(|configuration| configuration.name.as_str())
}

/// A run on several nodes is one run: its nodes are its parts.
fn is_run(path: &Path) -> bool {
    path.join("run.json").exists() || is_set(path)
}

/// Run directories and files below a folder, by name. Files in a run belong to it, and unfinished runs of a sweep are
/// excluded.
fn runs_below(folder: &Path, depth: usize) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error| Failure::path(&error, format_args!("{}: cannot read: {error}", folder.display()));
    let entries = std::fs::read_dir(folder).map_err(unreadable)?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        if !path.is_dir() || is_run(&path) {
            found.push(path);
        } else if folder.join(SWEEP.0).exists() && path.ends_with(SWEEP.1) {
            continue;
        } else if depth > 1 {
            found.extend(runs_below(&path, depth - 1)?);
        }
    }
    Ok(found)
}

/// The runs of one path: one for a run directory, one or more for a file.
struct Found {
    figures: Vec<RunFigures>,
    configuration: Option<Configuration>,
}

/// Reads a path found in a folder. `None` for a file of another kind, and for an unfinished run, whose path is added to
/// `unfinished`.
fn read_found(path: &Path, unfinished: &mut Vec<PathBuf>, screen: &Screen) -> Result<Option<Found>, Failure> {
    if let Some(set) = run_set::open(path)? {
        if !set.description.is_final || set.read().any(|(_, run)| !is_finished(run)) {
            unfinished.push(path.to_owned());
            return Ok(None);
        }
        return read_set(&set, screen).map(Some);
    }
    if path.is_dir() {
        return match Run::open(path) {
            Ok(run) if is_finished(&run) => {
                run.verify();
                Ok(Some(read_run(&run, screen)))
            }
            Ok(_) | Err(ArchiveError::NotARun { .. } | ArchiveError::NoJournal { .. }) => {
                unfinished.push(path.to_owned());
                Ok(None)
            }
            Err(error) => Err(archived_run::unreadable(error)),
        };
    }
    match file_text(path)?.map(|contents| foreign_runs(&text(path), &contents)) {
        None | Some(Err(ForeignError::Unknown)) => Ok(None),
        Some(Ok(figures)) => Ok(Some(Found { figures, configuration: None })),
        // One file does not end a folder: the others may be whole.
        Some(Err(malformed)) => {
            screen.warning(&format!("left out: {}: {malformed}", path.display()));
            Ok(None)
        }
    }
}

/// Whether a run is finished. A killed sweep closes its run cleanly but early, and repeats it when it resumes. An
/// interrupted run of a user counts as finished: it may have no other end.
fn is_finished(run: &Run) -> bool {
    let is_of_sweep = run.description().command.iter().any(|word| word == "--with-parent");
    let interrupted = |event: &RunEvent| matches!(event, RunEvent::Ended { how: Ending::Interrupted, .. });
    run.state() == RunState::Closed && !(is_of_sweep && run.events().iter().any(interrupted))
}

fn warn_of_unfinished(unfinished: &[PathBuf], screen: &Screen) {
    if unfinished.is_empty() {
        return;
    }
    let names: Vec<String> = unfinished.iter().take(MAX_NAMED).map(|path| text(path)).collect();
    let more = unfinished.len() - names.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    screen.warning(&format!(
        "left out: {} not finished: {}{more}; a resumed sweep repeats such a run, and --a and --b accept it",
        counted(unfinished.len() as u64, "run"),
        names.join(", "),
    ));
}

/// Reads a path named by the user.
fn read(path: &Path, screen: &Screen) -> Result<Found, Failure> {
    if path.is_file() {
        let contents = file_text(path)?.unwrap_or_default();
        let figures = foreign_runs(&text(path), &contents);
        let figures = figures.map_err(|error| Failure::usage(format_args!("{}: {error}", path.display())))?;
        return Ok(Found { figures, configuration: None });
    }
    match run_set::open(path)? {
        Some(set) => read_set(&set, screen),
        None => archived_run::open(path).map(|run| read_run(&run, screen)),
    }
}

/// A run on several nodes.
fn read_set(set: &RunSet, screen: &Screen) -> Result<Found, Failure> {
    let nodes: Vec<NodeRun> = set.read().map(|(node, run)| read_node(node.clock, run, screen)).collect();
    let configuration = set.read().next().and_then(|(_, run)| run.description().configuration.clone());
    let name = text(&set.directory);
    let mut figures = set_figures(&name, &nodes).ok_or_else(|| {
        Failure::usage(format_args!("{name}: no run of its {} can be read", counted(set.nodes.len() as u64, "node")))
    })?;
    figures.damage = set.damage();
    for (node, run) in set.read() {
        let place = |damage: Damage| Damage { file: format!("{}/{}", node.node.directory(), damage.file), ..damage };
        figures.damage.extend(run.damage().into_iter().map(place));
        let of_node = |lost: Lost| Lost { what: format!("{} of node {}", lost.what, node.node.name), ..lost };
        figures.lost.extend(run.lost().into_iter().map(of_node));
    }
    figures.lost.extend(nodes.iter().filter_map(|node| node.explanation.as_ref()).filter_map(excluded));
    Ok(Found { figures: vec![figures], configuration })
}

fn read_node(clock: NodeClock, run: &Run, screen: &Screen) -> NodeRun {
    let _busy = screen.busy(&format!("reading {}", text(run.dir())));
    let warn = |warning: &str| screen.warning(warning);
    let mut reader = RunReader::default();
    let (summary, series) =
        summary::summary_and_series(run, wanted_counter, |interval| reader.interval(interval), warn);
    let explanation = run.has_trace().then(|| explanation::explanation(run, None, 0, warn));
    NodeRun { reader, run: run.description().clone(), summary, series, explanation, clock }
}

fn read_run(run: &Run, screen: &Screen) -> Found {
    // It is the only one: its clock is that of all.
    let NodeRun { reader, run: description, summary, series, explanation, .. } =
        read_node(NodeClock::default(), run, screen);
    let mut figures = reader.figures(&text(run.dir()), &description, &summary, &series, explanation.as_ref());
    figures.damage = run.damage();
    figures.lost = run.lost();
    figures.lost.extend(explanation.as_ref().and_then(excluded));
    Found { figures: vec![figures], configuration: description.configuration }
}

/// The text of a file; `None` if it is too large or not text.
fn file_text(path: &Path) -> Result<Option<String>, Failure> {
    let unreadable = |error| Failure::path(&error, format_args!("{}: cannot read: {error}", path.display()));
    if !path.is_file() || std::fs::metadata(path).map_err(unreadable)?.len() > MAX_FILE {
        return Ok(None);
    }
    // It may have become a pipe, or have grown.
    let mut bytes = Vec::new();
    let file = symbols::open(path).map_err(unreadable)?;
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(decoded(bytes).filter(|text| text.len() as u64 <= MAX_FILE))
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
