//! The keys of each job.

use super::job::{JobKey, JobKeyKind, VERIFY};
use crate::value::ValueKind;

/// The jobs by name, with their keys.
pub(super) const JOBS: [(&str, &[JobKey]); 9] = [
    ("checkout", CHECKOUT),
    ("items", ITEMS),
    ("maildir", MAILDIR),
    ("probe", PROBE),
    ("files", FILES),
    ("random", RANDOM),
    ("ranks", RANKS),
    ("stream", STREAM),
    (VERIFY, VERIFY_KEYS),
];

/// The key of jobs that read cold.
const DROP: JobKey = JobKey::maybe("drop", JobKeyKind::Word(&["caches", "fadvise", "none"]));

const CHECKOUT: &[JobKey] = &[
    JobKey::needed("set", JobKeyKind::Set),
    JobKey::needed("pack", JobKeyKind::Set),
    JobKey::needed("revisions", JobKeyKind::Formula(ValueKind::Count)),
    JobKey::needed("changed", JobKeyKind::Formula(ValueKind::Percent)),
    JobKey::needed("added", JobKeyKind::Formula(ValueKind::Percent)),
    JobKey::maybe("times", JobKeyKind::Formula(ValueKind::Count)),
    JobKey::maybe("cold", JobKeyKind::Word(&["each", "iteration"])),
    DROP,
];

const FILES: &[JobKey] = &[
    JobKey::needed("set", JobKeyKind::Set),
    JobKey::needed("action", JobKeyKind::Word(&["create", "stat", "unlink"])),
    JobKey::needed("count", JobKeyKind::Formula(ValueKind::Count)),
    JobKey::maybe("order", JobKeyKind::Word(&["sequential", "random", "any", "readdir"])),
    JobKey::maybe("block", JobKeyKind::Formula(ValueKind::Size)),
    JobKey::maybe("least_size", JobKeyKind::Formula(ValueKind::Size)),
    JobKey::maybe("sync", JobKeyKind::Formula(ValueKind::Count)),
    JobKey::maybe("per_subdirectory", JobKeyKind::Formula(ValueKind::Count)),
    JobKey::maybe("linger", JobKeyKind::Formula(ValueKind::Duration)),
    JobKey::maybe("read", JobKeyKind::Formula(ValueKind::Flag)),
    JobKey::maybe("links", JobKeyKind::Word(&["none", "hard", "symbolic"])),
];

const ITEMS: &[JobKey] = &[
    JobKey::needed("set", JobKeyKind::Set),
    JobKey::needed(
        "action",
        JobKeyKind::Word(&[
            "make-tree",
            "remove-tree",
            "mkdir",
            "stat-directory",
            "rmdir",
            "create",
            "stat",
            "read",
            "unlink",
        ]),
    ),
    JobKey::maybe("shift", JobKeyKind::Formula(ValueKind::Count)),
    JobKey::maybe("random", JobKeyKind::Formula(ValueKind::Flag)),
    JobKey::maybe("bytes", JobKeyKind::Formula(ValueKind::Size)),
    JobKey::maybe("fsync", JobKeyKind::Formula(ValueKind::Flag)),
];

const MAILDIR: &[JobKey] = &[
    JobKey::needed("set", JobKeyKind::Set),
    JobKey::needed("action", JobKeyKind::Word(&["write", "read"])),
    JobKey::maybe("batch", JobKeyKind::Formula(ValueKind::Count)),
    DROP,
];

const PROBE: &[JobKey] = &[
    JobKey::needed("action", JobKeyKind::Word(&["read", "write", "sync"])),
    JobKey::needed("set", JobKeyKind::Set),
    JobKey::maybe("block", JobKeyKind::Formula(ValueKind::Size)),
    JobKey::maybe("random", JobKeyKind::Formula(ValueKind::Flag)),
];

const RANDOM: &[JobKey] = &[
    JobKey::needed("set", JobKeyKind::Set),
    JobKey::needed("block", JobKeyKind::Formula(ValueKind::Size)),
    JobKey::maybe("reads", JobKeyKind::Formula(ValueKind::Percent)),
    JobKey::maybe("engine", JobKeyKind::Word(&["sync", "io_uring", "null"])),
    JobKey::maybe("depth", JobKeyKind::Formula(ValueKind::Count)),
    JobKey::maybe("direct", JobKeyKind::Formula(ValueKind::Flag)),
    JobKey::maybe("sync", JobKeyKind::Word(&["none", "o_sync", "o_dsync", "fsync", "fdatasync", "sync_file_range"])),
    JobKey::maybe("every", JobKeyKind::Formula(ValueKind::Count)),
    JobKey::maybe("verify", JobKeyKind::Formula(ValueKind::Flag)),
];

const RANKS: &[JobKey] = &[
    JobKey::needed("set", JobKeyKind::Set),
    JobKey::needed("action", JobKeyKind::Word(&["write", "read", "check"])),
    JobKey::maybe("shared_set", JobKeyKind::Set),
    JobKey::maybe("apart_set", JobKeyKind::Set),
    JobKey::maybe("shared", JobKeyKind::Formula(ValueKind::Flag)),
    JobKey::maybe("apart", JobKeyKind::Formula(ValueKind::Flag)),
    JobKey::maybe("transfer", JobKeyKind::Formula(ValueKind::Size)),
    JobKey::maybe("block", JobKeyKind::Formula(ValueKind::Size)),
    JobKey::maybe("segments", JobKeyKind::Formula(ValueKind::Count)),
    JobKey::maybe("shift", JobKeyKind::Formula(ValueKind::Count)),
    JobKey::maybe("random", JobKeyKind::Formula(ValueKind::Flag)),
    JobKey::maybe("truncate", JobKeyKind::Formula(ValueKind::Flag)),
    JobKey::maybe("direct", JobKeyKind::Formula(ValueKind::Flag)),
    JobKey::maybe("fsync", JobKeyKind::Formula(ValueKind::Flag)),
    JobKey::maybe("sync_each", JobKeyKind::Formula(ValueKind::Flag)),
    JobKey::maybe("stamped", JobKeyKind::Formula(ValueKind::Flag)),
    JobKey::maybe("signature", JobKeyKind::Formula(ValueKind::Count)),
    JobKey::maybe("time", JobKeyKind::Formula(ValueKind::Duration)),
];

const STREAM: &[JobKey] = &[
    JobKey::needed("set", JobKeyKind::Set),
    JobKey::needed("action", JobKeyKind::Word(&["write", "read", "rewrite", "seek", "put", "get"])),
    JobKey::maybe("block", JobKeyKind::Formula(ValueKind::Size)),
    JobKey::maybe("size", JobKeyKind::Formula(ValueKind::Size)),
    JobKey::maybe("descriptors", JobKeyKind::Word(&["one", "two"])),
    JobKey::maybe("direct", JobKeyKind::Formula(ValueKind::Flag)),
    JobKey::maybe("fsync", JobKeyKind::Formula(ValueKind::Flag)),
    JobKey::maybe("sync_each", JobKeyKind::Formula(ValueKind::Flag)),
    JobKey::maybe("passes", JobKeyKind::Formula(ValueKind::Count)),
    JobKey::maybe("time", JobKeyKind::Formula(ValueKind::Duration)),
    JobKey::maybe("sharers", JobKeyKind::Formula(ValueKind::Count)),
    JobKey::maybe("seeks", JobKeyKind::Formula(ValueKind::Count)),
    JobKey::maybe("update", JobKeyKind::Formula(ValueKind::Percent)),
];

const VERIFY_KEYS: &[JobKey] = &[JobKey::needed("set", JobKeyKind::Set)];
