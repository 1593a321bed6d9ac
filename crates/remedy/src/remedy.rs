//! One remedy, and how an entry of a table becomes one.

use model::cause::Cause;
use model::effect::{Edge, Effect};
use model::wait_kind::WaitKind;
use serde::Deserialize;

use crate::setting::{Format, Setting, Value};
use crate::target::{PLACEHOLDERS, placeholders};

/// Something that can be changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Remedy {
    /// Unique, for flags and JSON: `scheduler-none`.
    pub id: String,
    /// In the imperative, without a period: `switch the I/O scheduler to none`.
    pub title: String,
    /// The causes that call for it.
    pub causes: Vec<Cause>,
    /// Of the waits of its effect's edge, it changes only those of these kinds, by their names: a lock
    /// (`file_inode_lock`), `read` or `write` for a limit, `own_work` or `work_of_another`, `direct_io` or
    /// (`page_read`) all others for a device. Empty: all.
    pub of: Vec<WaitKind>,
    /// What must hold of the run.
    pub requires: Requires,
    /// What is changed, and how.
    pub change: RemedyAction,
    /// Whether it can be tried while the load runs, and reverted at once.
    pub live: bool,
    /// What it may cost.
    pub risk: String,
    /// The document that the claim is from.
    pub source: String,
    /// What that document says.
    pub claim: String,
    /// Whether the document was read for the claim; else it is from memory.
    pub read: bool,
    /// It says where to look rather than what to change.
    pub vague: bool,
    /// What it does to waits.
    pub effect: Effect,
}

/// What must hold of a run; an empty list or `None` requires nothing. What a run does not know counts as met, but for
/// the scheduler, the kernel's version, what programs are, and whether files keep their size.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Requires {
    /// The device's I/O scheduler is one of these.
    pub scheduler: Vec<String>,
    /// The file system's type is one of these.
    pub file_system: Vec<String>,
    /// The device is rotational, or not.
    pub rotational: Option<bool>,
    /// Version of the cgroup hierarchy.
    pub cgroup_version: Option<u8>,
    /// The time was lost in one of these kinds of operation (system call, or class of a load).
    pub operation: Vec<String>,
    /// One of these programs waited.
    pub program: Vec<String>,
    /// A cgroup has one of these limits on the device: `read_bps`, `write_bps`, `read_iops`, `write_iops`.
    pub io_limit: Vec<String>,
    /// The waiting tasks' memory cgroup, or one above it, is at its limit.
    pub memory_limit: Option<bool>,
    /// Most of the waits were above the cgroup's `memory.high`.
    pub memory_high: Option<bool>,
    /// Such a cgroup reads again what its limit evicted.
    pub refaults: Option<bool>,
    /// The waiting tasks ran on a part of the CPUs only, while others were idle.
    pub pinned: Option<bool>,
    /// The device's own share limits dirty pages (bdi strict_limit).
    pub strict_limit: Option<bool>,
    /// The file system is mounted with one of these options.
    pub mounted: Vec<String>,
    /// It is mounted with none of these: they make the remedy useless, or are it.
    pub not_mounted: Vec<String>,
    /// Others than those that waited used most of what these lacked.
    pub others: Option<bool>,
    /// The kernel is of this version or a later one: `5.16`.
    pub kernel: Option<String>,
    /// The waiting tasks use SQLite: `rollback` (journal) or `wal`.
    pub sqlite: Vec<String>,
    /// The files that were synced mostly kept their size since the sync before, or not.
    pub file_size_kept: Option<bool>,
    /// Tasks wait for each other's locks.
    pub deadlock: Option<bool>,
    /// The frozen cgroup is that of a unit, which the machine's manager can thaw.
    pub unit: Option<bool>,
    /// Version of the hierarchy with the frozen cgroup.
    pub freezer_version: Option<u8>,
}

/// What a run records of what remedies require.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The device's I/O scheduler.
    pub scheduler: Option<String>,
    /// The file system's type.
    pub file_system: Option<String>,
    /// Whether the device is rotational.
    pub rotational: Option<bool>,
    /// Version of the cgroup hierarchy.
    pub cgroup_version: Option<u8>,
    /// Kinds of the slow operations.
    pub operations: Vec<String>,
    /// Names of the processes that waited.
    pub programs: Vec<String>,
    /// Limits that cgroups have on the device; empty: unknown.
    pub io_limits: Vec<String>,
    /// Whether the memory cgroup of those that waited is at its limit.
    pub memory_limit: Option<bool>,
    /// Whether most of the waits were above its `memory.high`.
    pub memory_high: Option<bool>,
    /// Whether it reads again what its limit evicted.
    pub refaults: Option<bool>,
    /// Whether those that waited ran on a part of the CPUs only, while others were idle.
    pub pinned: Option<bool>,
    /// Whether the device's own share limits dirty pages.
    pub strict_limit: Option<bool>,
    /// Options that the file system is mounted with; empty: unknown.
    pub mount_options: Vec<String>,
    /// Whether others than those that waited used most of what these lacked.
    pub others: Option<bool>,
    /// Version of the kernel: its release, as of `uname -r`.
    pub kernel: Option<String>,
    /// The journals of SQLite that the waiting tasks use.
    pub sqlite: Vec<String>,
    /// Whether the files that were synced mostly kept their size since the sync before.
    pub file_size_kept: Option<bool>,
    /// Whether tasks wait for each other's locks.
    pub deadlock: Option<bool>,
    /// Whether a frozen cgroup is that of a unit.
    pub unit: Option<bool>,
    /// Version of the hierarchy with a frozen cgroup.
    pub freezer_version: Option<u8>,
}

/// The first two numbers of a kernel's release.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// What is not wanted, or not known, is met.
fn is<T: PartialEq>(wanted: Option<T>, known: Option<T>) -> bool {
    wanted.zip(known).is_none_or(|(wanted, known)| wanted == known)
}

impl Requires {
    /// Whether it holds. What is unknown counts as met.
    pub fn met_by(&self, facts: &Facts) -> bool {
        let one_of = |wanted: &[String], known: &Option<String>| {
            wanted.is_empty() || known.as_ref().is_none_or(|known| wanted.contains(known))
        };
        let any =
            |wanted: &[String], known: &[String]| wanted.is_empty() || known.iter().any(|known| wanted.contains(known));
        // Another scheduler ignores what this one honours.
        (self.scheduler.is_empty() || facts.scheduler.as_ref().is_some_and(|known| self.scheduler.contains(known)))
            && self.kernel.as_deref().is_none_or(|least| facts.kernel.as_deref().and_then(version) >= version(least))
            && any(&self.sqlite, &facts.sqlite)
            && one_of(&self.file_system, &facts.file_system)
            && is(self.rotational, facts.rotational)
            && is(self.cgroup_version, facts.cgroup_version)
            && any(&self.operation, &facts.operations)
            && any(&self.program, &facts.programs)
            && self.met_by_limits(&facts.io_limits)
            && is(self.memory_limit, facts.memory_limit)
            && is(self.memory_high, facts.memory_high)
            && is(self.refaults, facts.refaults)
            && is(self.pinned, facts.pinned)
            && is(self.strict_limit, facts.strict_limit)
            && any(&self.mounted, &facts.mount_options)
            && (self.not_mounted.is_empty() || !any(&self.not_mounted, &facts.mount_options))
            && is(self.others, facts.others)
            && self.file_size_kept.is_none_or(|kept| facts.file_size_kept == Some(kept))
            && is(self.deadlock, facts.deadlock)
            && is(self.unit, facts.unit)
            && is(self.freezer_version, facts.freezer_version)
    }

    /// Whether a disk's limits are those wanted, or unknown: a limit on reads does not say that there is none on
    /// writes, since that may be one of a cgroup which was not sampled.
    fn met_by_limits(&self, known: &[String]) -> bool {
        let direction = |limit: &String| limit.split('_').next().map(str::to_owned);
        let is_wanted = |limit: &&String| self.io_limit.iter().any(|wanted| direction(wanted) == direction(limit));
        let mut of_direction = known.iter().filter(is_wanted).peekable();
        of_direction.peek().is_none() || of_direction.any(|limit| self.io_limit.contains(limit))
    }

    /// Whether it was found for what the run shows, not only for its cause.
    pub fn is_specific(&self) -> bool {
        let of_run = [self.memory_limit, self.refaults, self.pinned, self.strict_limit, self.others, self.deadlock];
        of_run.contains(&Some(true)) || !self.mounted.is_empty() || !self.program.is_empty() || !self.sqlite.is_empty()
    }
}

/// What a remedy changes.
#[derive(Debug, Clone, PartialEq)]
pub enum RemedyAction {
    /// A file of sysfs, /proc/sys or a cgroup.
    Setting(Setting),
    /// A command, with placeholders, and the one that reverts it.
    Command {
        /// Applies it.
        apply: String,
        /// Reverts it.
        revert: String,
    },
    /// Something that people do: another mkfs, another program, another disk.
    Manual {
        /// What to do.
        apply: String,
        /// The command that does it, with placeholders, where one does.
        command: Option<String>,
        /// How to undo it.
        revert: String,
    },
}

/// An entry as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    pub(crate) id: String,
    title: String,
    causes: Vec<String>,
    #[serde(default)]
    of: Vec<String>,
    #[serde(default)]
    requires: Requires,
    changes: Kind,
    path: Option<String>,
    set: Option<String>,
    multiply: Option<f64>,
    #[serde(default)]
    format: FormatName,
    key: Option<String>,
    apply: Option<String>,
    command: Option<String>,
    revert: Option<String>,
    live: bool,
    risk: String,
    source: String,
    claim: String,
    #[serde(default)]
    read: bool,
    #[serde(default)]
    vague: bool,
    effect: Effect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Setting,
    Command,
    Manual,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FormatName {
    #[default]
    Plain,
    Choice,
    PerDevice,
    Keyed,
}

impl Entry {
    /// The remedy; the error says what is wrong with the entry.
    pub(crate) fn check(self) -> Result<Remedy, String> {
        let change = self.change()?;
        let causes: Result<Vec<Cause>, String> = self.causes.iter().map(|name| cause(name)).collect();
        let causes = causes?;
        let of: Result<Vec<WaitKind>, String> = self.of.iter().map(|name| wait_kind(name)).collect();
        let of = of?;
        if causes.is_empty() {
            return Err("'causes' is empty; name at least one".into());
        }
        if self.command.is_some() && !matches!(change, RemedyAction::Manual { .. }) {
            return Err("'command' belongs to changes = \"manual\"; otherwise the program knows it".into());
        }
        if self.live && matches!(change, RemedyAction::Manual { .. }) {
            return Err("'live' is true, but changes = \"manual\" cannot be applied by the program".into());
        }
        check_effect(self.effect)?;
        if let Some(kernel) = self.requires.kernel.as_deref().filter(|kernel| version(kernel).is_none()) {
            return Err(format!("'kernel' is not a version such as 5.16: {kernel}"));
        }
        for (name, text) in [("title", &self.title), ("risk", &self.risk), ("source", &self.source)] {
            if text.trim().is_empty() {
                return Err(format!("'{name}' is empty"));
            }
        }
        let Entry { id, title, requires, live, risk, source, claim, read, vague, effect, .. } = self;
        Ok(Remedy { id, title, causes, of, requires, change, live, risk, source, claim, read, vague, effect })
    }

    fn change(&self) -> Result<RemedyAction, String> {
        let texts = || match (&self.apply, &self.revert) {
            (Some(apply), Some(revert)) => Ok((apply.clone(), revert.clone())),
            _ => Err("'apply' and 'revert' are required unless changes = \"setting\"".to_owned()),
        };
        let change = match self.changes {
            Kind::Setting => RemedyAction::Setting(self.setting()?),
            Kind::Command => {
                let (apply, revert) = texts()?;
                RemedyAction::Command { apply, revert }
            }
            Kind::Manual => {
                let (apply, revert) = texts()?;
                RemedyAction::Manual { apply, command: self.command.clone(), revert }
            }
        };
        let templates = [&self.path, &self.set, &self.apply, &self.command, &self.revert].into_iter().flatten();
        let unknown = templates.flat_map(|template| placeholders(template)).find(|name| !PLACEHOLDERS.contains(name));
        match unknown {
            Some(name) => Err(format!("unknown placeholder {{{name}}}; known: {}", PLACEHOLDERS.join(", "))),
            None => Ok(change),
        }
    }

    fn setting(&self) -> Result<Setting, String> {
        let path = self.path.clone().ok_or("'path' is required with changes = \"setting\"")?;
        if !path.starts_with('/') {
            return Err(format!("'path' is not absolute: {path}"));
        }
        let value = match (&self.set, self.multiply) {
            (Some(text), None) => Value::Set(text.clone()),
            (None, Some(factor)) if factor.is_finite() && factor > 0.0 => Value::Multiply(factor),
            (None, Some(factor)) => return Err(format!("'multiply' must be a positive number, not {factor}")),
            _ => return Err("exactly one of 'set' and 'multiply' is required".into()),
        };
        let format = match (self.format, &self.key) {
            (FormatName::Plain, None) => Format::Plain,
            (FormatName::Choice, None) => Format::Choice,
            (FormatName::PerDevice, None) => Format::PerDevice,
            (FormatName::Keyed, Some(key)) => Format::Keyed(key.clone()),
            _ => return Err("'key' and format = \"keyed\" belong together".into()),
        };
        Ok(Setting { path, value, format })
    }
}

/// Nothing is known to help against time of which nothing is known.
fn cause(name: &str) -> Result<Cause, String> {
    Cause::from_name(name).filter(|cause| *cause != Cause::Unexplained).ok_or_else(|| format!("unknown cause '{name}'"))
}

fn wait_kind(name: &str) -> Result<WaitKind, String> {
    let known = || WaitKind::ALL.map(WaitKind::name).join(", ");
    WaitKind::from_name(name).ok_or_else(|| format!("unknown kind of wait '{name}' in 'of'; known: {}", known()))
}

fn check_effect(effect: Effect) -> Result<(), String> {
    match effect.factor {
        Some(factor) if !factor.is_finite() || factor <= 1.0 => Err(format!("'factor' must exceed 1, not {factor}")),
        _ if effect.edge == Edge::Culprit => Err("the effect of a remedy cannot be 'culprit'".into()),
        _ => Ok(()),
    }
}
