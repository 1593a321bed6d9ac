//! The cgroups that hold a load, in both cgroup versions.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::effect;
use crate::resource::PREFIX;
use crate::{Entry, Hierarchy, Register, Resource, RigError};

/// A name that no other program and no other cgroup of this program has.
fn cgroup_name() -> String {
    static MADE: AtomicU32 = AtomicU32::new(0);
    format!("{PREFIX}{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed))
}

/// Makes a v1 cgroup below our own, so our own limits hold for the load as well. (A v1 cgroup may hold processes and
/// cgroups at once.)
pub(crate) fn make_v1(
    flag: &'static str,
    hierarchy: &Hierarchy,
    register: &Register,
    entries: &mut Vec<Entry>,
) -> Result<PathBuf, RigError> {
    let path = hierarchy.own.join(cgroup_name());
    entries.push(register.enter(Resource::Cgroup { path: path.clone() })?);
    effect::create_directory(&path, 0o777).map_err(RigError::cgroup(flag, "make".into(), &path))?;
    Ok(path)
}

/// Limits a v1 cgroup's memory. Swap must not hide the pressure: with swappiness 0, reclaim at a cgroup's limit never
/// swaps (Documentation/admin-guide/cgroup-v1/memory.rst, 5.3). A memsw limit has the same effect, but it is charged
/// first, and its failures are not counted: `memory.failcnt` would stay at 0 (seen on 6.18).
pub(crate) fn limit_memory_v1(group: &Path, bytes: u64) -> Result<(), RigError> {
    for (name, value) in [("memory.limit_in_bytes", bytes), ("memory.swappiness", 0)] {
        let file = group.join(name);
        effect::write(&file, value.to_string()).map_err(RigError::cgroup(
            "--memory",
            format!("write {value} to"),
            &file,
        ))?;
    }
    Ok(())
}

/// Limits a v2 cgroup's memory. `memory.swap.max` is missing if the kernel does not account swap.
pub(crate) fn limit_memory_v2(group: &Path, bytes: u64) -> Result<(), RigError> {
    let file = group.join("memory.max");
    let text = bytes.to_string();
    effect::write(&file, &text).map_err(RigError::cgroup("--memory", format!("write {text} to"), &file))?;
    let _ = effect::write(&group.join("memory.swap.max"), "0");
    Ok(())
}

/// Makes a v2 cgroup with the controllers.
///
/// A v2 cgroup that enables controllers for its children may hold no processes, so our own cgroup is rarely suitable.
/// As root, the new cgroup goes to the root of the hierarchy, which is exempt from that rule. Otherwise it goes beside
/// our own cgroup, if a service manager has delegated the subtree to us, or below our own as a last resort.
pub(crate) fn make_v2(
    flag: &'static str,
    hierarchy: &Hierarchy,
    controllers: &[&'static str],
    register: &Register,
    entries: &mut Vec<Entry>,
) -> Result<PathBuf, RigError> {
    let mut refusals = Vec::new();
    for parent in parents(hierarchy, rustix::process::geteuid().is_root()) {
        let mut made = Vec::new();
        match register.alone(|| make_below(flag, &parent, controllers, register, &mut made)) {
            Ok(path) => {
                entries.extend(made);
                return Ok(path);
            }
            Err(error) => {
                refusals.push(error.to_string());
                register.undo_all(made);
            }
        }
    }
    Err(RigError::NoController {
        flag,
        controller: if controllers.contains(&"memory") { "memory" } else { "io" },
        why: refusals.join("; "),
        remedy: "run as root, or in a delegated scope: systemd-run --user --scope -p Delegate=yes COMMAND".into(),
    })
}

fn parents(hierarchy: &Hierarchy, root: bool) -> Vec<PathBuf> {
    let beside = hierarchy.own.parent().filter(|parent| parent.starts_with(&hierarchy.mount));
    let mut parents: Vec<PathBuf> = root.then(|| hierarchy.mount.clone()).into_iter().collect();
    parents.extend(beside.map(Path::to_owned));
    parents.push(hierarchy.own.clone());
    let mut seen = Vec::new();
    parents.retain(|parent| {
        !seen.contains(parent) && {
            seen.push(parent.clone());
            true
        }
    });
    parents
}

fn make_below(
    flag: &'static str,
    parent: &Path,
    controllers: &[&'static str],
    register: &Register,
    entries: &mut Vec<Entry>,
) -> Result<PathBuf, RigError> {
    // To move itself into the new cgroup, a process must be allowed to write here.
    let procs = parent.join("cgroup.procs");
    if procs.exists() {
        let allowed = rustix::fs::access(&procs, rustix::fs::Access::WRITE_OK);
        allowed.map_err(io::Error::from).map_err(RigError::cgroup(flag, "write to".into(), &procs))?;
    }
    enable(flag, parent, controllers, register, entries)?;
    let path = parent.join(cgroup_name());
    entries.push(register.enter(Resource::Cgroup { path: path.clone() })?);
    effect::create_directory(&path, 0o777).map_err(RigError::cgroup(flag, "make".into(), &path))?;
    Ok(path)
}

/// Enables the controllers for the parent's children, if they are not enabled yet.
fn enable(
    flag: &'static str,
    parent: &Path,
    controllers: &[&'static str],
    register: &Register,
    entries: &mut Vec<Entry>,
) -> Result<(), RigError> {
    let words = |name: &str| -> Vec<String> {
        fs::read_to_string(parent.join(name)).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    };
    let missing_from = |list: &[String]| -> Vec<String> {
        controllers.iter().filter(|name| !list.iter().any(|word| word == *name)).map(|name| name.to_string()).collect()
    };
    let absent = missing_from(&words("cgroup.controllers"));
    if let Some(name) = absent.first() {
        let file = parent.join("cgroup.controllers");
        return Err(RigError::io(format!("find '{name}' in"), &file)(io::ErrorKind::NotFound.into()));
    }
    let names = missing_from(&words("cgroup.subtree_control"));
    if names.is_empty() {
        return Ok(());
    }
    let file = parent.join("cgroup.subtree_control");
    let text = names.iter().map(|name| format!("+{name}")).collect::<Vec<_>>().join(" ");
    entries.push(register.enter(Resource::Controllers { file: file.clone(), names })?);
    effect::write(&file, &text).map_err(RigError::cgroup(flag, format!("write {text} to"), &file))
}
