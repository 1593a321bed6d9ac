//! How long a kernel function takes, or what lies between two tracepoints, counted and put into histograms in the kernel
//! (`bpf/funclat.bpf.c`).
//!
//! A function is timed by fentry and fexit where the kernel allows that, else by kprobe and kretprobe. Where it allows
//! neither, the error says why, and which tracepoint pairs may do instead.

mod attach;
mod cgroups;
mod counts;
mod error;
mod functions;
mod options;
mod tracepoints;

use libbpf_rs::{Link, Object};

use crate::roots::Roots;
use attach::Site;
pub use counts::CallReading;
use counts::Counts;
pub use error::FunclatError;
use functions::Functions;
pub use options::{FunclatOptions, GroupBy, Method, Target};
use tracepoints::Tracepoints;
pub use tracepoints::{Pair, Tracepoint};

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
