//! XFS statistics of each mount, from `sys/fs/xfs/DEVICE/stats/stats`; of all together from proc/fs/xfs/stat where the
//! kernel is older than 4.4.
//!
//! The names are those of `struct __xfsstats` (fs/xfs/xfs_stats.h) without prefix. The lines of single b-trees are left
//! out: 180 numbers that say more of the tree's shape than of stalls.

use std::path::PathBuf;

use model::metric::{Semantics, Unit};

use crate::bytes::first_word_len;
use crate::instances::{Instance, Instances};
use crate::last_values::{Column, SampleWriter};
use crate::rows::Table;
use crate::source::{MetricSource, TableFile};
use crate::source_error::SourceError;

type Field = (&'static str, Unit, Semantics);

const fn count(name: &'static str) -> Field {
    (name, Unit::Count, Semantics::Counter)
}

const fn bytes(name: &'static str) -> Field {
    (name, Unit::Bytes, Semantics::Counter)
}

const fn gauge(name: &'static str) -> Field {
    (name, Unit::Count, Semantics::Gauge)
}

const LINES: [(&str, &[Field]); 18] = [
    ("extent_alloc", &[count("allocx"), count("allocb"), count("freex"), count("freeb")]),
    ("abt", &[count("lookup"), count("compare"), count("insrec"), count("delrec")]),
    (
        "blk_map",
        &[
            count("read_ops"),
            count("write_ops"),
            count("unmap"),
            count("add_exlist"),
            count("del_exlist"),
            count("look_exlist"),
            count("cmp_exlist"),
        ],
    ),
    ("bmbt", &[count("lookup"), count("compare"), count("insrec"), count("delrec")]),
    ("dir", &[count("lookup"), count("create"), count("remove"), count("getdents")]),
    ("trans", &[count("sync"), count("async"), count("empty")]),
    (
        "ig",
        &[
            count("attempts"),
            count("found"),
            count("frecycle"),
            count("missed"),
            count("dup"),
            count("reclaims"),
            count("attrchg"),
        ],
    ),
    ("log", &[count("writes"), count("blocks"), count("noiclogs"), count("force"), count("force_sleep")]),
    (
        "push_ail",
        &[
            count("try_logspace"),
            count("sleep_logspace"),
            count("push_ail"),
            count("success"),
            count("pushbuf"),
            count("pinned"),
            count("locked"),
            count("flushing"),
            count("restarts"),
            count("flush"),
        ],
    ),
    ("xstrat", &[count("quick"), count("split")]),
    ("rw", &[count("write_calls"), count("read_calls")]),
    ("attr", &[count("get"), count("set"), count("remove"), count("list")]),
    ("icluster", &[count("iflush_count"), count("icluster_flushcnt"), count("icluster_flushinode")]),
    (
        "vnodes",
        &[
            gauge("active"),
            count("alloc"),
            count("get"),
            count("hold"),
            count("rele"),
            count("reclaim"),
            count("remove"),
            count("free"),
        ],
    ),
    (
        "buf",
        &[
            count("get"),
            count("create"),
            count("get_locked"),
            count("get_locked_waited"),
            count("busy_locked"),
            count("miss_locked"),
            count("page_retries"),
            count("page_found"),
            count("get_read"),
        ],
    ),
    (
        "qm",
        &[
            count("dqreclaims"),
            count("dqreclaim_misses"),
            count("dquot_dups"),
            count("dqcachemisses"),
            count("dqcachehits"),
            count("dqwants"),
            gauge("dquot"),
            gauge("dquot_unused"),
        ],
    ),
    ("xpc", &[bytes("xstrat_bytes"), bytes("write_bytes"), bytes("read_bytes")]),
    ("defer_relog", &[count("defer_relog")]),
];

pub(crate) struct XfsTable {
    instance: String,
}

impl Table for XfsTable {
    fn key_len(&self, line: &[u8]) -> usize {
        first_word_len(line)
    }

    fn columns(&mut self, key: &[u8], _values: &[u8], writer: &mut SampleWriter<'_>) -> Vec<Column> {
        let Some((line, fields)) = LINES.iter().find(|(line, _)| line.as_bytes() == key) else { return Vec::new() };
        let column = |(word, (field, unit, semantics)): (usize, &Field)| {
            writer.column(word, format!("xfs.{line}.{field}"), &self.instance, *unit, *semantics)
        };
        fields.iter().enumerate().map(column).collect()
    }
}

impl Instance for TableFile<XfsTable> {
    fn sample(&mut self, writer: &mut SampleWriter<'_>) -> Result<(), SourceError> {
        self.update(writer)
    }

    fn vanish(&mut self, writer: &mut SampleWriter<'_>) {
        TableFile::vanish(self, writer);
    }
}

/// The statistics of all mounts together.
pub(crate) fn global(path: PathBuf) -> TableFile<XfsTable> {
    TableFile::new(path, XfsTable { instance: String::new() })
}

/// The statistics of each mount.
pub(crate) struct Xfs {
    folder: PathBuf,
    instances: Instances<TableFile<XfsTable>>,
}

impl Xfs {
    pub(crate) fn new(folder: PathBuf) -> Xfs {
        Xfs { instances: Instances::new(folder.clone()), folder }
    }
}

impl MetricSource for Xfs {
    fn sample(&mut self, writer: &mut SampleWriter<'_>) -> Result<(), SourceError> {
        let folder = &self.folder;
        self.instances.sample(writer, |name, writer| {
            let stats = folder.join(name).join("stats/stats");
            // Beside the mounts there are the folders `stats` (the sum) and `debug`.
            let instance = stats.is_file().then(|| writer.devices.identity_of(name))?;
            Some(TableFile::new(stats, XfsTable { instance }))
        })
    }
}
