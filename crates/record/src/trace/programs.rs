//! Loading and attaching the programs. Sources are independent: one that this kernel lacks or refuses costs only
//! itself.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Mutex, PoisonError};

use libbpf_rs::{Error, ErrorKind, Iter, Link, Map, MapCore, Object, ObjectBuilder, OpenObject, PrintLevel};
use model::preflight::Finding;
use model::signal::TracepointProgram;

pub(super) use super::running_kernel::Kernel;
use super::running_kernel::fits;
use super::settings::ProgramSettings;
use super::tracepoints::{self, TraceSource, When};

/// Compiled by `build.rs` from `bpf/stall.bpf.c`.
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/stall.bpf.o"));
/// The core of it for earlier kernels, from `bpf/early.bpf.c`.
const EARLY_OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/early.bpf.o"));

/// Name of the finding that says whether the kernel can be traced at all.
pub const CAPABILITY: &str = model::preflight::capability::TRACING;
pub(super) const PURPOSE: &str = "What tasks wait for: the evidence for the causes of stalls";
/// Why an earlier kernel lacks a source.
pub(super) const EARLY: &str =
    "this kernel is older than Linux 5.17: only system calls, waits and block requests are traced";
const SETTINGS_MAP: &str = ".rodata.settings";
const EACH_REQUEST_RING: &str = "each_request";
const COUNTS_MAP: &str = "counts";
const RUNS_MAP: &str = "runs";
const USAGE_PLACES_MAP: &str = "usage_places";
/// 1 << `USAGE_BITS` of the programs.
const USAGE_PLACES: u32 = 512;
/// `QUEUES` of the programs.
pub(super) const QUEUES: u32 = 256;
/// 256 thousand requests of 64 bytes, a second at the rate of a fast disk. A larger ring would cost each request more,
/// because it would not stay in the CPU's cache.
const EACH_REQUEST_BYTES: u32 = 16 << 20;

/// What libbpf logged while it loaded. It has one log callback for the whole process.
static LIBBPF_LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());
static LOADING: Mutex<()> = Mutex::new(());

fn log(_: PrintLevel, text: String) {
    LIBBPF_LOG.lock().unwrap_or_else(PoisonError::into_inner).push(text);
}

/// The loaded programs.
pub(super) struct Loaded {
    pub(super) object: Object,
    /// Their sources.
    pub(super) sources: Vec<TraceSource>,
    /// Why sources are missing, by name.
    pub(super) missing: HashMap<&'static str, Missing>,
}

/// Why a source is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Missing {
    /// In words, and what to do.
    Because(String, &'static str),
    /// The module that has its tracepoints is not loaded.
    NotLoaded(&'static str),
}

/// Loads the programs whose tracepoints this kernel has, as far as it accepts them; with the maps of those that were
/// loaded `before`.
pub(super) fn load(
    sources: &[TraceSource],
    kernel: &Kernel,
    settings: &ProgramSettings,
    before: Option<&Object>,
) -> Result<Loaded, Error> {
    let _alone = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    libbpf_rs::set_print(Some((PrintLevel::Warn, log)));
    let loaded = load_all(sources, kernel, settings, before);
    libbpf_rs::set_print(None);
    loaded
}

fn load_all(
    sources: &[TraceSource],
    kernel: &Kernel,
    settings: &ProgramSettings,
    before: Option<&Object>,
) -> Result<Loaded, Error> {
    let has_prev_state = kernel.arguments("sched_switch") >= Some(4);
    let settings = &settings.clone().for_kernel(has_prev_state, kernel.flags);
    let (mut missing, mut wanted) = (HashMap::new(), HashSet::new());
    let (sources, lacked) = if kernel.is_early { tracepoints::early(sources) } else { (sources.to_vec(), Vec::new()) };
    let sources = tracepoints::at_functions(&sources, |name| kernel.arguments(name).is_some());
    let early = || Missing::Because(EARLY.to_owned(), "use Linux 5.17 or newer");
    missing.extend(lacked.iter().map(|source| (source.name, early())));
    let (arguments, lacks) = (|name: &str| kernel.arguments(name), |module: &str| kernel.lacks_module(module));
    for source in &sources {
        match chosen(source, arguments, lacks) {
            Ok(programs) => wanted.extend(programs),
            Err(why) => {
                missing.insert(source.name, why);
            }
        }
    }
    load_chosen((sources, missing, wanted), kernel, settings, before)
}

/// Loads the chosen programs; those that the kernel refuses give way, or make their source a missing one.
fn load_chosen(
    (sources, mut missing, mut wanted): (Vec<TraceSource>, HashMap<&'static str, Missing>, HashSet<&'static str>),
    kernel: &Kernel,
    settings: &ProgramSettings,
    before: Option<&Object>,
) -> Result<Loaded, Error> {
    loop {
        LIBBPF_LOG.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let error = match prepared(kernel, &wanted, settings, before)?.load() {
            Ok(object) => return Ok(Loaded { object, sources, missing }),
            Err(error) => error,
        };
        let log_text = std::mem::take(&mut *LIBBPF_LOG.lock().unwrap_or_else(PoisonError::into_inner)).concat();
        // A refused program gives way to the next one of its tracepoint; without any it removes its source. The others
        // are loaded again.
        let refused = refused_program(&log_text).and_then(|name| source_of(&sources, name));
        let Some((source, name)) = refused.filter(|(_, name)| wanted.remove(name)) else { return Err(error) };
        if let Some(next) = next_of(source, name, |name| kernel.arguments(name)) {
            wanted.insert(next);
            continue;
        }
        let why = format!("the kernel refuses its program {name}: {}", tail_of_log(&log_text));
        missing.insert(source.name, Missing::Because(why, "unknown kernel version: please report it"));
        for program in source.programs {
            wanted.remove(program.name);
        }
    }
}

fn prepared(
    kernel: &Kernel,
    wanted: &HashSet<&'static str>,
    settings: &ProgramSettings,
    before: Option<&Object>,
) -> Result<OpenObject, Error> {
    let mut builder = ObjectBuilder::default();
    if let Some(types) = &kernel.types {
        builder.btf_custom_path(format!("/proc/self/fd/{}", types.as_raw_fd()))?;
    }
    let object = if kernel.is_early { EARLY_OBJECT } else { OBJECT };
    let mut object = builder.open_memory(object)?;
    for mut program in object.progs_mut() {
        let is_wanted = program.name().to_str().is_some_and(|name| wanted.contains(name));
        program.set_autoload(is_wanted);
    }
    for mut map in object.maps_mut() {
        let shared = before.and_then(|before| before.maps().find(|known| known.name() == map.name()));
        if let Some(shared) = shared {
            map.reuse_fd(shared.as_fd())?;
        } else if map.name() == SETTINGS_MAP {
            map.set_initial_value(&settings.bytes())?;
        } else if map.name() == EACH_REQUEST_RING && settings.all_requests {
            map.set_max_entries(EACH_REQUEST_BYTES)?;
        } else if map.name() == COUNTS_MAP {
            map.set_max_entries(u32::from(settings.cpus) * QUEUES)?;
        } else if map.name() == RUNS_MAP {
            map.set_max_entries(u32::from(settings.cpus))?;
        } else if map.name() == USAGE_PLACES_MAP {
            map.set_max_entries(u32::from(settings.cpus) * USAGE_PLACES)?;
        }
    }
    Ok(object)
}

/// The programs of a source that fit this kernel, one for each of its tracepoints; else why not, and what to do.
pub(super) fn chosen(
    source: &TraceSource,
    arguments: impl Fn(&str) -> Option<usize>,
    lacks_module: impl Fn(&str) -> bool,
) -> Result<Vec<&'static str>, Missing> {
    if source.when == When::Asked {
        return Ok(source.programs.iter().map(|program| program.name).collect());
    }
    let mut chosen: Vec<&TracepointProgram> = Vec::new();
    for program in source.programs {
        if chosen.iter().any(|other| other.tracepoint == program.tracepoint) {
            continue;
        }
        let alternatives = || source.programs.iter().filter(|other| other.tracepoint == program.tracepoint);
        let Some(given) = arguments(program.tracepoint) else {
            if let Some(module) = source.module.filter(|module| lacks_module(module)) {
                return Err(Missing::NotLoaded(module));
            }
            let why = format!("this kernel has no tracepoint {}", program.tracepoint);
            return Err(Missing::Because(why, "a newer kernel has it"));
        };
        match alternatives().find(|program| fits(program, given)) {
            Some(fitting) => chosen.push(fitting),
            None => {
                let why = format!("tracepoint {} has another layout in this kernel", program.tracepoint);
                return Err(Missing::Because(why, "unknown kernel version: please report it"));
            }
        }
    }
    Ok(chosen.into_iter().map(|program| program.name).collect())
}

/// The program of a source that takes the place of a refused one: the next that fits the same tracepoint.
pub(super) fn next_of(
    source: &TraceSource,
    refused: &str,
    arguments: impl Fn(&str) -> Option<usize>,
) -> Option<&'static str> {
    let at = source.programs.iter().position(|program| program.name == refused)?;
    let tracepoint = source.programs[at].tracepoint;
    let given = arguments(tracepoint)?;
    let mut later = source.programs[at + 1..].iter();
    later.find(|program| program.tracepoint == tracepoint && fits(program, given)).map(|program| program.name)
}

fn source_of<'s>(sources: &'s [TraceSource], program: &str) -> Option<(&'s TraceSource, &'static str)> {
    sources
        .iter()
        .find_map(|source| source.programs.iter().find(|known| known.name == program).map(|known| (source, known.name)))
}

/// Attaches the loaded programs, and adds a finding for each source.
pub(super) fn attach(
    loaded: &mut Loaded,
    sources: &[TraceSource],
    findings: &mut Vec<Finding>,
) -> Result<Vec<Link>, Error> {
    let mut links: Vec<Link> = Vec::new();
    for source in sources {
        let known = loaded.sources.iter().find(|known| known.name == source.name);
        let known = known.filter(|known| !loaded.missing.contains_key(known.name));
        if let Some(known) = known.filter(|known| !matches!(known.when, When::Wanted | When::Asked)) {
            match attach_source(&loaded.object, known) {
                Ok(attached) => links.extend(attached),
                Err(error) => {
                    let why = format!("it cannot be attached: {error}");
                    loaded.missing.insert(source.name, Missing::Because(why, "see the kernel's log for the reason"));
                }
            }
        }
        findings.push(match loaded.missing.get(source.name) {
            Some(Missing::Because(why, remedy)) => Finding::missing(source.name, source.purpose, why.clone(), *remedy),
            Some(Missing::NotLoaded(module)) => Finding::not_loaded(source.name, source.purpose, *module),
            None => Finding::available(source.name, source.purpose),
        });
    }
    if links.is_empty() {
        return Err(Error::from_raw_os_error(libc::ENOENT));
    }
    Ok(links)
}

/// Attaches those programs of a source that were loaded.
pub(super) fn attach_source(object: &Object, source: &TraceSource) -> Result<Vec<Link>, Error> {
    let is_ours = |name: &str| source.programs.iter().any(|known| known.name == name);
    let programs = object.progs_mut().filter(|program| program.autoload());
    programs
        .filter(|program| program.name().to_str().is_some_and(is_ours))
        .map(|program| program.attach_trace())
        .collect()
}

/// Runs a program once for each task.
pub(super) fn visit_tasks(object: &Object, name: &str) -> Result<(), Error> {
    // It runs while it is read, and writes nothing.
    output_of_tasks(object, name).map(drop)
}

/// Runs a program once for each task, and returns what it writes.
pub(super) fn output_of_tasks(object: &Object, name: &str) -> Result<Vec<u8>, Error> {
    let found = object.progs_mut().find(|program| program.name() == name && program.autoload());
    let link = found.ok_or_else(|| Error::from_raw_os_error(libc::ENOENT))?.attach()?;
    let mut output = Vec::new();
    Iter::new(&link)?.read_to_end(&mut output)?;
    Ok(output)
}

/// A map of the object.
pub(super) fn map<'a>(object: &'a Object, name: &str) -> Result<Map<'a>, Error> {
    let found = object.maps().find(|map| map.name() == name);
    found.ok_or_else(|| Error::from_raw_os_error(libc::ENOENT))
}

/// The program that libbpf could not load: `prog 'NAME': ... failed ...`, or a tracepoint that is not found.
pub(super) fn refused_program(log_text: &str) -> Option<&str> {
    log_text.lines().find_map(|line| {
        let (_, rest) = line.split_once("prog '")?;
        let (name, what) = rest.split_once('\'')?;
        what.contains("fail").then_some(name)
    })
}

/// The end of the verifier's log, which holds its objection; else libbpf's last lines.
pub(super) fn tail_of_log(log_text: &str) -> String {
    const BEGIN: &str = "-- BEGIN PROG LOAD LOG --";
    const END: &str = "-- END PROG LOAD LOG --";
    let log = log_text.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).map_or(log_text, |(log, _)| log);
    let is_informative = |line: &&str| !line.trim().is_empty() && !line.starts_with("processed ");
    let mut lines: Vec<&str> = log.lines().rev().filter(is_informative).take(3).map(str::trim).collect();
    lines.reverse();
    lines.join("; ")
}

/// The finding when nothing could be loaded.
pub(super) fn refused(error: &Error) -> Finding {
    let (why, remedy) = match error.kind() {
        ErrorKind::PermissionDenied => (
            format!("the kernel refuses BPF programs: {error}"),
            "run as root, or with CAP_BPF and CAP_PERFMON (and kernel lockdown not 'confidentiality')",
        ),
        ErrorKind::NotFound => (
            format!("the kernel's types (BTF) are missing: {error}"),
            "use a kernel with CONFIG_DEBUG_INFO_BTF and CONFIG_BPF_SYSCALL (/sys/kernel/btf/vmlinux)",
        ),
        _ => (format!("the BPF programs cannot be loaded: {error}"), "use Linux 5.9 or newer with BTF"),
    };
    Finding::missing(CAPABILITY, PURPOSE, why, remedy)
}
