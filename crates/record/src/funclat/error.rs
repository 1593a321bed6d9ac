//! Why a target cannot be timed, and what to use instead.

/// Why a target cannot be timed.
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
        /// The requested name.
        name: String,
        /// Names like it.
        similar: Vec<String>,
    },
    /// The kernel has no such tracepoint.
    #[error("the kernel has no tracepoint '{name}'{}", similar_words(.similar))]
    UnknownTracepoint {
        /// The requested name.
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
    /// A function that cannot be timed on this kernel.
    #[error("{function} cannot be timed on this kernel: {}. {needed}{}", .why.join("; "), pair_words(.pairs))]
    CannotTime {
        /// The function.
        function: String,
        /// What prevents each method.
        why: Vec<String>,
        /// What is required.
        needed: String,
        /// Tracepoint pairs to use instead.
        pairs: Vec<String>,
    },
    /// Tracepoints that cannot be used on this kernel.
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
        pairs => format!("; tracepoint pairs to use instead: --pair {}", pairs.join(" or --pair ")),
    }
}
