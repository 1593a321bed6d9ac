//! The keys of each job.

use super::job::{Key, KeyKind, VERIFY};
use crate::value::Kind;

/// The jobs by name, with their keys.
pub(super) const JOBS: [(&str, &[Key]); 8] = [
    ("checkout", CHECKOUT),
    ("mails", MAILS),
    ("probe", PROBE),
    ("files", FILES),
    ("random", RANDOM),
    ("ranks", RANKS),
    ("stream", STREAM),
    (VERIFY, VERIFY_KEYS),
];

/// The key of the jobs that read cold.
const DROP: Key = Key::maybe("drop", KeyKind::Word(&["caches", "fadvise", "none"]));

const CHECKOUT: &[Key] = &[
    Key::needed("set", KeyKind::Set),
    Key::needed("pack", KeyKind::Set),
    Key::needed("revisions", KeyKind::Formula(Kind::Count)),
    Key::needed("changed", KeyKind::Formula(Kind::Percent)),
    Key::needed("added", KeyKind::Formula(Kind::Percent)),
    Key::maybe("times", KeyKind::Formula(Kind::Count)),
    Key::maybe("cold", KeyKind::Word(&["each", "iteration"])),
    DROP,
];

const FILES: &[Key] = &[
    Key::needed("set", KeyKind::Set),
    Key::needed("action", KeyKind::Word(&["create", "stat", "unlink"])),
    Key::needed("count", KeyKind::Formula(Kind::Count)),
    Key::maybe("order", KeyKind::Word(&["sequential", "random", "any", "readdir"])),
    Key::maybe("block", KeyKind::Formula(Kind::Size)),
    Key::maybe("least_size", KeyKind::Formula(Kind::Size)),
    Key::maybe("sync", KeyKind::Formula(Kind::Count)),
    Key::maybe("per_subdirectory", KeyKind::Formula(Kind::Count)),
    Key::maybe("linger", KeyKind::Formula(Kind::Duration)),
    Key::maybe("read", KeyKind::Formula(Kind::Flag)),
    Key::maybe("links", KeyKind::Word(&["none", "hard", "symbolic"])),
];

const MAILS: &[Key] = &[
    Key::needed("set", KeyKind::Set),
    Key::needed("action", KeyKind::Word(&["write", "read"])),
    Key::maybe("batch", KeyKind::Formula(Kind::Count)),
    DROP,
];

const PROBE: &[Key] = &[
    Key::needed("action", KeyKind::Word(&["read", "write", "sync"])),
    Key::needed("set", KeyKind::Set),
    Key::maybe("block", KeyKind::Formula(Kind::Size)),
    Key::maybe("random", KeyKind::Formula(Kind::Flag)),
];

const RANDOM: &[Key] = &[
    Key::needed("set", KeyKind::Set),
    Key::needed("block", KeyKind::Formula(Kind::Size)),
    Key::maybe("reads", KeyKind::Formula(Kind::Percent)),
    Key::maybe("engine", KeyKind::Word(&["sync", "io_uring", "null"])),
    Key::maybe("depth", KeyKind::Formula(Kind::Count)),
    Key::maybe("direct", KeyKind::Formula(Kind::Flag)),
    Key::maybe("sync", KeyKind::Word(&["none", "o_sync", "o_dsync", "fsync", "fdatasync", "sync_file_range"])),
    Key::maybe("every", KeyKind::Formula(Kind::Count)),
    Key::maybe("verify", KeyKind::Formula(Kind::Flag)),
];

const RANKS: &[Key] = &[
    Key::needed("set", KeyKind::Set),
    Key::needed("action", KeyKind::Word(&["write", "read", "check"])),
    Key::maybe("shared_set", KeyKind::Set),
    Key::maybe("apart_set", KeyKind::Set),
    Key::maybe("shared", KeyKind::Formula(Kind::Flag)),
    Key::maybe("apart", KeyKind::Formula(Kind::Flag)),
    Key::maybe("transfer", KeyKind::Formula(Kind::Size)),
    Key::maybe("block", KeyKind::Formula(Kind::Size)),
    Key::maybe("segments", KeyKind::Formula(Kind::Count)),
    Key::maybe("shift", KeyKind::Formula(Kind::Count)),
    Key::maybe("random", KeyKind::Formula(Kind::Flag)),
    Key::maybe("truncate", KeyKind::Formula(Kind::Flag)),
    Key::maybe("direct", KeyKind::Formula(Kind::Flag)),
    Key::maybe("fsync", KeyKind::Formula(Kind::Flag)),
    Key::maybe("sync_each", KeyKind::Formula(Kind::Flag)),
    Key::maybe("stamped", KeyKind::Formula(Kind::Flag)),
    Key::maybe("signature", KeyKind::Formula(Kind::Count)),
    Key::maybe("time", KeyKind::Formula(Kind::Duration)),
];

const STREAM: &[Key] = &[
    Key::needed("set", KeyKind::Set),
    Key::needed("action", KeyKind::Word(&["write", "read", "rewrite", "seek", "put", "get"])),
    Key::maybe("block", KeyKind::Formula(Kind::Size)),
    Key::maybe("size", KeyKind::Formula(Kind::Size)),
    Key::maybe("descriptors", KeyKind::Word(&["one", "two"])),
    Key::maybe("direct", KeyKind::Formula(Kind::Flag)),
    Key::maybe("fsync", KeyKind::Formula(Kind::Flag)),
    Key::maybe("sync_each", KeyKind::Formula(Kind::Flag)),
    Key::maybe("passes", KeyKind::Formula(Kind::Count)),
    Key::maybe("time", KeyKind::Formula(Kind::Duration)),
    Key::maybe("sharers", KeyKind::Formula(Kind::Count)),
    Key::maybe("seeks", KeyKind::Formula(Kind::Count)),
    Key::maybe("update", KeyKind::Formula(Kind::Percent)),
];

const VERIFY_KEYS: &[Key] = &[Key::needed("set", KeyKind::Set)];
