//! How long a kernel function takes, or what lies between two tracepoints, counted and put into histograms in the kernel
//! (`bpf/funclat.bpf.c`).
//!
//! A function is timed by fentry and fexit where the kernel allows that, else by kprobe and kretprobe. Where it allows
//! neither, the error says why, and which tracepoint pairs may do instead.

mod attach;
mod cgroups;
mod counts;
mod functions;
mod tracepoints;

use libbpf_rs::{Link, Object};
use model::calls::{CallCounts, LatencyGroup, LatencyUnit};

use crate::Roots;
use attach::Site;
use counts::Counts;
use functions::Functions;
use tracepoints::Tracepoints;
pub use tracepoints::{Pair, Tracepoint};

/// What to time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A kernel function, from its entry to its return.
    Function(String),
    /// Tracepoints, as a person writes them: `SUBSYSTEM:BEGIN..END`.
    Pair(String),
}

/// Which calls go into one histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupBy {
    /// Those of one thread.
    Task,
    /// Those of one cgroup: of the memory hierarchy of cgroup v1, or of cgroup v2.
    Cgroup,
}

/// A means to time a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// fentry and fexit: cheap, and no return is missed.
    Fexit,
    /// kprobe and kretprobe: for more functions and older kernels; the kernel misses returns where very many tasks are in
    /// the function at once.
    Kprobe,
}

/// What to time, and what to keep of it.
#[derive(Debug, Clone)]
pub struct FunclatOptions {
    /// What.
    pub target: Target,
    /// By this means only; `None`: by the best that the kernel allows. Of no meaning for tracepoints.
    pub method: Option<Method>,
    /// Calls that took less are only counted.
    pub above_ns: u64,
    /// Calls that took more are only counted.
    pub below_ns: u64,
    /// Only this process.
    pub pid: Option<u32>,
    /// One histogram for each of these; `None`: one for all.
    pub by: Option<GroupBy>,
    /// The unit that the histograms are made for.
    pub unit: LatencyUnit,
}

/// Why nothing can be timed.
#[derive(Debug, thiserror::Error)]
pub enum FunclatError {
    /// No permission for BPF or for the files that name tracepoints.
    #[error("timing the kernel needs root (or CAP_BPF, CAP_PERFMON and a tracefs that you may read): {what}")]
    NotAllowed {
        /// What was refused.
        what: String,
    },
    /// The kernel has no such function.
    #[error("the kernel has no function '{name}'{}", similar_words(.similar))]
    UnknownFunction {
        /// What was asked for.
        name: String,
        /// Names like it.
        similar: Vec<String>,
    },
    /// The kernel has no such tracepoint.
    #[error("the kernel has no tracepoint '{name}'{}", similar_words(.similar))]
    UnknownTracepoint {
        /// What was asked for.
        name: String,
        /// Names like it.
        similar: Vec<String>,
    },
    /// Not the form of a pair.
    #[error(
        "'{text}' is not a pair of tracepoints; write SUBSYSTEM:BEGIN..END, such as vmscan:mm_shrink_slab_start..end"
    )]
    NotAPair {
        /// What was written.
        text: String,
    },
    /// tracefs is not mounted.
    #[error("tracefs is not mounted, and tracepoints cannot be looked up: mount -t tracefs none /sys/kernel/tracing")]
    NoTracefs,
    /// A function that this kernel does not let anybody time.
    #[error("{function} cannot be timed on this kernel: {}. {needed}{}", .why.join("; "), pair_words(.pairs))]
    CannotTime {
        /// The function.
        function: String,
        /// What stands in the way of each method.
        why: Vec<String>,
        /// What would have to be different.
        needed: String,
        /// Tracepoint pairs that may do instead.
        pairs: Vec<String>,
    },
    /// Tracepoints that this kernel does not let anybody use.
    #[error("{pair} cannot be timed: {why}")]
    CannotTimePair {
        /// The pair.
        pair: String,
        /// What the kernel says.
        why: String,
    },
    /// The histograms cannot be read.
    #[error("the kernel's histograms cannot be read: {0}")]
    Unreadable(libbpf_rs::Error),
}

fn similar_words(similar: &[String]) -> String {
    if similar.is_empty() { String::new() } else { format!("; did you mean {}?", similar.join(", ")) }
}

fn pair_words(pairs: &[String]) -> String {
    match pairs {
        [] => String::new(),
        pairs => format!("; tracepoints that may do instead: --pair {}", pairs.join(" or --pair ")),
    }
}

/// What was counted up to a moment, since the timing began.
#[derive(Debug, Clone)]
pub struct CallReading {
    /// The groups, those with the most time first.
    pub groups: Vec<LatencyGroup>,
    /// What became of begins and ends.
    pub counts: CallCounts,
}

/// A timing that goes on for as long as this lives.
pub struct Funclat {
    site: Site,
    counts: Counts,
    // In this order: links go before what they link to.
    _links: [Link; 2],
    object: Object,
}

impl Funclat {
    /// Begins to time.
    pub fn open(roots: &Roots, options: &FunclatOptions) -> Result<Funclat, FunclatError> {
        // libbpf would write to the terminal; what it has to say comes back as an error, too.
        libbpf_rs::set_print(None::<(libbpf_rs::PrintLevel, libbpf_rs::PrintCallback)>);
        let counts = Counts::new(roots, options);
        let (site, object, links) = match &options.target {
            Target::Function(name) => {
                let functions = Functions::read(roots);
                functions.check(name)?;
                attach::function(roots, name, options.method, &counts)?
            }
            Target::Pair(text) => attach::pair(&Tracepoints::read(roots)?, text, &counts)?,
        };
        counts.start(&object).map_err(FunclatError::Unreadable)?;
        Ok(Funclat { site, counts, _links: links, object })
    }

    /// What is timed, as it is called in the kernel: `vfs_fsync_range`, `vmscan:mm_shrink_slab_start..mm_shrink_slab_end`.
    pub fn what(&self) -> String {
        self.site.what()
    }

    /// By what means: `fentry and fexit`, `kprobe and kretprobe`, `tracepoints`.
    pub fn method(&self) -> &'static str {
        self.site.method()
    }

    /// What was counted until now.
    pub fn read(&mut self) -> Result<CallReading, FunclatError> {
        self.counts.read(&self.object).map_err(FunclatError::Unreadable)
    }
}
