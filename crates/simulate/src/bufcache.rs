//! FreeBSD's buffer cache under files that are rewritten in place (kern/178997).
//!
//! The mechanism, from the sources of FreeBSD 9.1 (`kern/vfs_bio.c`, `kern/vfs_cluster.c`, `kern/vfs_vnops.c`,
//! `ufs/ffs/ffs_vnops.c`): how sequential an access looks is remembered per open file and not per direction; clusters of
//! what does not look sequential are left dirty; the file's own dirty buffers are limited, all files' together are
//! limited before a vnode is locked, and the space of all buffers is limited while one is. docs/models/BUFCACHE.md tells
//! what comes of it, and what is left out.

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
    Policy { name: "ignore-seqcount", about: "a complete cluster is written, however the access looks" },
    Policy { name: "bkvasize-64k", about: "buffers are counted as if they were of 64 KiB: a quarter of them" },
    Policy { name: "per-direction", about: "reads and writes each have their own heuristic (FreeBSD 13)" },
    Policy { name: "helper-upgrade", about: "who reads and lacks space tries for the exclusive lock (FreeBSD 9.3)" },
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

const DD: &str = "fitted to the document's dd: 1218, 844 and 518 MB/s with 64, 32 and 16 KiB";
const OURS: &str = "our choice";

const PARAMETERS: &[Parameter] = &[
    parameter("workload", Kind::Word(&["rewrite", "dd"]), "rewrite", "what the processes do", "the document"),
    parameter("rewriters", Kind::Count, "2", "processes that rewrite, a file each; dd is one process", "the document"),
    parameter(
        "offsets",
        Kind::Word(&["shared", "independent"]),
        "shared",
        "one open file that is sought back after each read, or one to read and one to write",
        "bonnie++; the document's program with one name or two",
    ),
    parameter("block_size", Kind::Size, "64k", "block of the file system", "the document: 64k, 32k, 16k"),
    parameter("file_size", Kind::Size, "64g", "of each file", "the document: bonnie++ -s 64g"),
    parameter("io_size", Kind::Size, "8k", "of each read and write of a rewriter", "bonnie++"),
    parameter("dd_size", Kind::Size, "100m", "of each write of dd", "the document: bs=100m"),
    parameter("runtime", Kind::Duration, "60s", "when to stop", OURS),
    parameter(
        "memory",
        Kind::Size,
        "33249856k",
        "memory that buffers are counted from",
        "gives the document's hidirtybuffers, 52139 and, with BKVASIZE 64 KiB, 13059",
    ),
    parameter("hidirtybuffers", Kind::Count, "0", "as a person tunes it; 0: nbuf / 4 + 20", "vfs.hidirtybuffers"),
    parameter("dirtybufthresh", Kind::Count, "0", "as a person tunes it; 0: 0.9 of that", "vfs.dirtybufthresh"),
    parameter("bkvasize", Kind::Size, "16k", "BKVASIZE: what a buffer is expected to be", "sys/param.h"),
    parameter("iosize_max", Kind::Size, "128k", "largest request, thus cluster", "MAXPHYS"),
    parameter("read_max", Kind::Count, "64", "most blocks to read ahead", "vfs.read_max"),
    parameter("fragmentation", Kind::Share, "0.01", "chance that a block does not follow the one before on disk", OURS),
    parameter("op_time", Kind::Duration, "1us", "CPU of a read or write with its vnode locked, beside copying", OURS),
    parameter("user_time", Kind::Duration, "1us", "CPU between two calls, nothing locked", OURS),
    parameter("block_time", Kind::Duration, "24240ns", "CPU to find a place for a block and make its buffer", DD),
    parameter("copy_rate", Kind::Size, "2114m", "bytes copied in a second", DD),
    parameter("wakeup_time", Kind::Duration, "5us", "mean time from a wakeup to running", OURS),
    parameter(
        "barging",
        Kind::Word(&["no", "yes"]),
        "no",
        "whether bufdaemon may take a vnode again before the one that waits for it has had it",
        OURS,
    ),
    parameter(
        "scan_time",
        Kind::Duration,
        "20ns",
        "bufdaemon passing over a buffer whose vnode is locked, the queues' lock in its hand",
        OURS,
    ),
    parameter("flush_time", Kind::Duration, "5us", "bufdaemon starting a write, with the vnode locked", OURS),
    parameter(
        "device_rate",
        Kind::Size,
        "1929m",
        "bytes that the disks move in a second",
        "with request_time: the document's iostat, 26730 requests of 64 KiB in a second",
    ),
    parameter("request_time", Kind::Duration, "5us", "what each request takes beside its bytes", OURS),
    parameter(
        "read_time",
        Kind::Duration,
        "390us",
        "mean time until a read's data begins to come",
        "fitted to the document's 300 MB/s of two rewriters before the hang",
    ),
    parameter("write_time", Kind::Duration, "100us", "mean time until a write is taken", OURS),
];

fn run(policy: &str, settings: &Settings, seed: u64, observer: &mut dyn Observer) -> Result<Outcome, SettingError> {
    let config = config::Config::new(policy, settings)?;
    Ok(engine::Engine::new(config, seed, observer).run())
}
