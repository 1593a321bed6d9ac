//! Attaches the programs, and explains refusals of the kernel.

use std::os::fd::{AsRawFd, IntoRawFd};

use libbpf_rs::btf::types::Typedef;
use libbpf_rs::{Btf, Error, ErrorKind, Link, Object, ObjectBuilder, ProgramMut};

use super::counts::Counts;
use super::error::FunclatError;
use super::options::Method;
use super::tracepoints::{Pair, Tracepoint, Tracepoints};
use crate::bytes::read_text;
use crate::roots::Roots;
use crate::sys::count_tracepoint;

/// Compiled by `build.rs` from `bpf/funclat.bpf.c`.
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/funclat.bpf.o"));

/// The timed target, and how it is timed.
pub(super) enum Site {
    Traced(String),
    Probed(String),
    Between(Pair),
}

impl Site {
    pub(super) fn what(&self) -> String {
        match self {
            Site::Traced(function) | Site::Probed(function) => function.clone(),
            Site::Between(pair) => pair.to_string(),
        }
    }

    pub(super) fn method(&self) -> &'static str {
        match self {
            Site::Traced(_) => "fentry and fexit",
            Site::Probed(_) => "kprobe and kretprobe",
            Site::Between(_) => "tracepoints",
        }
    }
}

type Attached = (Site, Object, [Link; 2]);

/// Loads two of the programs; those of fentry and fexit are loaded for one function.
fn load(programs: [&str; 2], function: Option<&str>, counts: &Counts) -> Result<Object, Error> {
    let mut open = ObjectBuilder::default().open_memory(OBJECT)?;
    for mut program in open.progs_mut() {
        let wanted = programs.iter().any(|name| program.name() == *name);
        program.set_autoload(wanted);
        if let (true, Some(function)) = (wanted, function) {
            program.set_attach_target(0, Some(function.to_owned()))?;
        }
    }
    counts.configure(&mut open)?;
    let object = open.load()?;
    counts.prepare(&object)?;
    Ok(object)
}

fn attach(
    object: &Object,
    programs: [&str; 2],
    how: impl Fn(&ProgramMut<'_>, usize) -> Result<Link, Error>,
) -> Result<[Link; 2], Error> {
    let link = |at: usize| {
        let found = object.progs_mut().find(|program| program.name() == programs[at]);
        how(&found.ok_or_else(|| Error::from_raw_os_error(libc::ENOENT))?, at)
    };
    // The end first: every begin that is seen then has its end seen, too.
    let end = link(1)?;
    Ok([link(0)?, end])
}

/// Times a function by the best method that the kernel allows.
pub(super) fn function(
    roots: &Roots,
    name: &str,
    method: Option<Method>,
    counts: &Counts,
) -> Result<Attached, FunclatError> {
    let mut why = Vec::new();
    if method != Some(Method::Kprobe) {
        match by_fexit(name, counts) {
            Ok((object, links)) => return Ok((Site::Traced(name.to_owned()), object, links)),
            Err(error) => why.push(format!("fentry and fexit: {error}")),
        }
    }
    if method != Some(Method::Fexit) {
        match by_kprobe(roots, name, counts) {
            Ok((object, links)) => return Ok((Site::Probed(name.to_owned()), object, links)),
            Err(error) => why.push(format!("kprobe: {error}")),
        }
    }
    if !rustix::process::geteuid().is_root() {
        return Err(FunclatError::NotAllowed { what: why.remove(0) });
    }
    let pairs = Tracepoints::read(roots).map(|tracepoints| tracepoints.for_function(name)).unwrap_or_default();
    let needed = if has_kprobes(roots) {
        "It needs another function: one that calls this one, or is called by it".to_owned()
    } else {
        let lockdown = lockdown(roots).map_or_else(String::new, |chosen| format!(", which is '{chosen}' here"));
        format!(
            "It needs a kernel with CONFIG_KPROBES, or one that allows fexit (CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS, \
             CONFIG_DEBUG_INFO_BTF, no lockdown{lockdown})"
        )
    };
    Err(FunclatError::CannotTime { function: name.to_owned(), why, needed, pairs })
}

/// What prevents a method, in words.
type Refused = String;

fn by_fexit(name: &str, counts: &Counts) -> Result<(Object, [Link; 2]), Refused> {
    const PROGRAMS: [&str; 2] = ["function_begin", "function_end"];
    let object = load(PROGRAMS, Some(name), counts).map_err(|error| match reason(&error) {
        // libbpf's answer (ESRCH) if neither the types of the kernel nor those of its modules have the function.
        words if words == "No such process" => "the kernel's types (BTF) do not describe this function".to_owned(),
        words => words,
    })?;
    let links = attach(&object, PROGRAMS, |program, _| program.attach_trace()).map_err(|error| reason(&error))?;
    Ok((object, links))
}

fn by_kprobe(roots: &Roots, name: &str, counts: &Counts) -> Result<(Object, [Link; 2]), Refused> {
    const PROGRAMS: [&str; 2] = ["probe_begin", "probe_end"];
    if !has_kprobes(roots) {
        return Err("this kernel was built without kprobes".to_owned());
    }
    let object = load(PROGRAMS, None, counts).map_err(|error| reason(&error))?;
    let links = attach(&object, PROGRAMS, |program, at| program.attach_kprobe(at == 1, name));
    let links = links.map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::InvalidInput => format!("no probe can be set there ({})", reason(&error)),
        _ => reason(&error),
    })?;
    Ok((object, links))
}

/// Times the interval between two tracepoints.
pub(super) fn pair(tracepoints: &Tracepoints, text: &str, counts: &Counts) -> Result<Attached, FunclatError> {
    let pair = tracepoints.pair(text)?;
    let refused = |error: Error| match error.kind() {
        ErrorKind::PermissionDenied if !rustix::process::geteuid().is_root() => {
            FunclatError::NotAllowed { what: reason(&error) }
        }
        _ => FunclatError::CannotTimePair { pair: pair.to_string(), why: reason(&error) },
    };
    let both = [&pair.begin, &pair.end];
    // Tracepoints of single system calls are not raw tracepoints.
    let raw = Btf::from_vmlinux().is_ok_and(|kernel| both.iter().all(|tracepoint| is_raw(&kernel, tracepoint)));
    let programs = match raw {
        true => ["raw_tracepoint_begin", "raw_tracepoint_end"],
        false => ["tracepoint_begin", "tracepoint_end"],
    };
    let object = load(programs, None, counts).map_err(refused)?;
    let links = attach(&object, programs, |program, at| match raw {
        true => program.attach_raw_tracepoint(&both[at].name),
        false => attach_by_perf(program, tracepoints.id(both[at])),
    });
    let links = links.map_err(refused)?;
    Ok((Site::Between(pair.clone()), object, links))
}

/// Attaches by a perf event: libbpf would look for tracefs itself, in other places.
fn attach_by_perf(program: &ProgramMut<'_>, id: Option<u64>) -> Result<Link, Error> {
    let id = id.ok_or_else(|| Error::from_raw_os_error(libc::ENOENT))?;
    // An event on one CPU covers all CPUs.
    let event = count_tracepoint(id, 0, None).map_err(|error| Error::from_raw_os_error(error.raw_os_error()))?;
    let link = program.attach_perf_event(event.as_raw_fd())?;
    // The link closes it.
    let _ = event.into_raw_fd();
    Ok(link)
}

fn is_raw(kernel: &Btf<'_>, tracepoint: &Tracepoint) -> bool {
    kernel.type_by_name::<Typedef<'_>>(&format!("btf_trace_{}", tracepoint.name)).is_some()
}

/// An error's innermost cause in words.
fn reason(error: &Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let words = innermost.to_string();
    // The number adds nothing to the words.
    words.split(" (os error").next().unwrap_or_default().to_owned()
}

fn has_kprobes(roots: &Roots) -> bool {
    roots.sys.join("bus/event_source/devices/kprobe").exists()
}

/// The kernel lockdown mode, if it can be read: `[integrity]` of `none [integrity] confidentiality`.
fn lockdown(roots: &Roots) -> Option<String> {
    let text = read_text(roots.sys.join("kernel/security/lockdown")).ok()?;
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(chosen, _)| chosen.to_owned())
}
