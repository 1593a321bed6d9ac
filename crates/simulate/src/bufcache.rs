//! FreeBSD's buffer cache under files that are rewritten in place (kern/178997).
//!
//! The mechanism, from the sources of FreeBSD 9.1 (`kern/vfs_bio.c`, `kern/vfs_cluster.c`, `kern/vfs_vnops.c`,
//! `ufs/ffs/ffs_vnops.c`): the sequential count is kept per open file, not per direction; clusters of
//! an access that does not look sequential stay dirty; the file's own dirty buffers are limited, all files' together
//! are limited before a vnode is locked, and the space of all buffers is limited while one is. docs/models/BUFCACHE.md
//! shows the results, and says what is left out.

mod account;
mod buffers;
mod cluster;
mod config;
mod daemon;
mod daemon_steps;
mod device;
mod engine;
mod heuristic;
mod limits;
mod pushing;
mod read_calls;
mod task;
mod task_steps;
mod wait;
mod write_calls;

use crate::observer::Observer;
use crate::parameter::{Kind, Parameter, SettingError, Settings};
use crate::policy::{Model, Outcome, Policy};

/// The model.
pub const MODEL: Model = Model {
    name: "bufcache",
    about: "FreeBSD's buffer cache: rewriters whose dirty buffers fill it, until all hang (kern/178997)",
    policies: POLICIES,
    parameters: PARAMETERS,
    run,
};

const POLICIES: &[Policy] = &[
    Policy { name: "original", about: "FreeBSD 9.1: clusters are written when the open file looks sequential" },
    Policy { name: "noclusterw", about: "mounted without clustered writing: each full block is written at once" },
    Policy {
        name: "ignore-seqcount",
        about: "a complete cluster is written even if the access does not look sequential",
    },
    Policy { name: "bkvasize-64k", about: "nbuf is computed for 64 KiB buffers: a quarter as many" },
    Policy { name: "per-direction", about: "reads and writes each have their own heuristic (FreeBSD 13)" },
    Policy {
        name: "helper-upgrade",
        about: "a reader short of buffers tries to upgrade to the exclusive lock (FreeBSD 9.3)",
    },
];

const fn parameter(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    about: &'static str,
    source: &'static str,
) -> Parameter {
    Parameter { name, kind, default, about, source }
}

const DD: &str = "fitted to dd in kern/178997: 1218, 844 and 518 MB/s with 64, 32 and 16 KiB";
const OURS: &str = "our choice";

const PARAMETERS: &[Parameter] = &[
    parameter("workload", Kind::Word(&["rewrite", "dd"]), "rewrite", "what the processes do", "kern/178997"),
    parameter("rewriters", Kind::Count, "2", "processes that rewrite one file each; dd is one process", "kern/178997"),
    parameter(
        "offsets",
        Kind::Word(&["shared", "independent"]),
        "shared",
        "one open file that seeks back after each read, or one to read and one to write",
        "bonnie++; the PR's program with one name or two",
    ),
    parameter("block_size", Kind::Size, "64k", "block of the file system", "kern/178997: 64k, 32k, 16k"),
    parameter("file_size", Kind::Size, "64g", "size of each file", "kern/178997: bonnie++ -s 64g"),
    parameter("io_size", Kind::Size, "8k", "size of each read and write of a rewriter", "bonnie++"),
    parameter("dd_size", Kind::Size, "100m", "size of each write of dd", "kern/178997: bs=100m"),
    parameter("runtime", Kind::Duration, "60s", "simulated time to run", OURS),
    parameter(
        "memory",
        Kind::Size,
        "33249856k",
        "memory size from which nbuf is computed",
        "gives hidirtybuffers of kern/178997, 52139 and, with BKVASIZE 64 KiB, 13059",
    ),
    parameter("hidirtybuffers", Kind::Count, "0", "tuned value; 0: nbuf / 4 + 20", "vfs.hidirtybuffers"),
    parameter(
        "dirtybufthresh",
        Kind::Count,
        "0",
        "tuned value; 0: 0.9 of the default hidirtybuffers",
        "vfs.dirtybufthresh",
    ),
    parameter("bkvasize", Kind::Size, "16k", "BKVASIZE: expected buffer size", "sys/param.h"),
    parameter("iosize_max", Kind::Size, "128k", "maximum request size, and so cluster size", "MAXPHYS"),
    parameter("read_max", Kind::Count, "64", "maximum read-ahead, in blocks", "vfs.read_max"),
    parameter(
        "fragmentation",
        Kind::Share,
        "0.01",
        "probability that a block does not follow its predecessor on disk",
        OURS,
    ),
    parameter(
        "op_time",
        Kind::Duration,
        "1us",
        "CPU time of a read or write with its vnode locked, without copying",
        OURS,
    ),
    parameter("user_time", Kind::Duration, "1us", "CPU time between two calls, nothing locked", OURS),
    parameter("block_time", Kind::Duration, "24240ns", "CPU time to allocate a block and its buffer", DD),
    parameter("copy_rate", Kind::Size, "2114m", "copy rate, bytes per second", DD),
    parameter("wakeup_time", Kind::Duration, "5us", "mean time from a wakeup to running", OURS),
    parameter(
        "barging",
        Kind::Word(&["no", "yes"]),
        "no",
        "whether bufdaemon may relock a vnode before a process that waits for it gets it",
        OURS,
    ),
    parameter(
        "scan_time",
        Kind::Duration,
        "20ns",
        "time for bufdaemon to skip a buffer whose vnode is locked; it holds the queue lock",
        OURS,
    ),
    parameter("flush_time", Kind::Duration, "5us", "time for bufdaemon to start a write, with the vnode locked", OURS),
    parameter(
        "device_rate",
        Kind::Size,
        "1929m",
        "device bandwidth, bytes per second",
        "with request_time: iostat in kern/178997, 26730 requests of 64 KiB in a second",
    ),
    parameter("request_time", Kind::Duration, "5us", "fixed cost of each request", OURS),
    parameter(
        "read_time",
        Kind::Duration,
        "390us",
        "mean latency before a read's data begins to arrive",
        "fitted to the 300 MB/s of two rewriters in kern/178997 before the hang",
    ),
    parameter("write_time", Kind::Duration, "100us", "mean latency until a write is accepted", OURS),
];

fn run(policy: &str, settings: &Settings, seed: u64, observer: &mut dyn Observer) -> Result<Outcome, SettingError> {
    let config = config::Config::new(policy, settings)?;
    Ok(engine::Engine::new(config, seed, observer).run())
}
