//! Times a kernel function, or the interval between two tracepoints. Calls are counted and put into histograms in the
//! kernel (`bpf/funclat.bpf.c`).
//!
//! A function is timed by fentry and fexit where the kernel allows that, else by kprobe and kretprobe. Where it allows
//! neither, the error says why, and which tracepoint pairs to use instead.

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

/// A timing. Dropping it ends it.
pub struct Funclat {
    site: Site,
    counts: Counts,
    // In this order: links are dropped before their programs.
    _links: [Link; 2],
    object: Object,
}

impl Funclat {
    /// Starts timing.
    pub fn open(roots: &Roots, options: &FunclatOptions) -> Result<Funclat, FunclatError> {
        // libbpf would write to the terminal; its errors are returned as well.
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

    /// The timed target by its kernel name: `vfs_fsync_range`, `vmscan:mm_shrink_slab_start..mm_shrink_slab_end`.
    pub fn what(&self) -> String {
        self.site.what()
    }

    /// The method: `fentry and fexit`, `kprobe and kretprobe`, `tracepoints`.
    pub fn method(&self) -> &'static str {
        self.site.method()
    }

    /// The counts until now.
    pub fn read(&mut self) -> Result<CallReading, FunclatError> {
        self.counts.read(&self.object).map_err(FunclatError::Unreadable)
    }
}
