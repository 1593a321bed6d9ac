//! What unlocked a page or a buffer that a task slept for: an I/O, or the server of a FUSE file system.

use model::detail::OtherEnd;
use model::stall::StallRecord;

use super::RunIndex;
use super::lasting::other_end;
use crate::blame::facts::cause::Cause;
use crate::blame::facts::rows::Row;
use crate::blame::rule::{Example, Rule};
use crate::thresholds::LOOKS_APART_NS;

pub(crate) const HELD_BY_IO: Rule = Rule {
    id: "io-holds-lock",
    concludes: "What a task waited for that an I/O had locked is that I/O.",
    from: "The stack that woke the sleeper ends an I/O, and a request completed then.",
    because: "A buffer or a page under a read-ahead, of its own or of another task, is locked until the request ends, \
              and no task holds it.",
    unless: "The lock is one of tasks: then a task releases it, not the end of an I/O.",
    example: Example {
        timeline: "
            call:read 7 |==============|
            off       7 | ssssssssssss | call=read tp=contention_begin waker=5 waker_stack=up,xfs_buf_ioend,bio_endio \
            request=1
            request   1 | Q D         C| device=8,0",
        causes: "device 10, request_wait 2, running 2",
        chain: "thread 7: device 10",
    },
};

pub(crate) const ANSWERED: Rule = Rule {
    id: "fuse-server-answered",
    concludes: "A read of pages waited for the server of a FUSE file system.",
    from: "The stack that woke the sleeper ends a FUSE request; its own shows a read like any other, or a page fault. \
           Of a wait that had not ended with the recording, /proc shows that its file is on such a file system.",
    because: "Pages of such a file system are unlocked when its server has written them.",
    unless: "A task of the server itself reads the pages.",
    example: Example {
        timeline: "
            op:read   7 |==================|
            off       7 | ssssssssssssssss | stack=folio_wait_bit_common,filemap_read waker=4 \
            waker_stack=fuse_request_end,fuse_dev_do_write",
        causes: "network_fs 16, running 2",
        chain: "thread 7: network_fs 16 < thread 4: unexplained 16",
    },
};

impl RunIndex {
    /// Whether it slept for pages until the server of a FUSE file system answered. Its own stack shows a read like any
    /// other.
    pub(crate) fn is_answered(&self, row: &Row) -> bool {
        let rule = self.stack(row.stack.get()).and_then(|stack| stack.rule);
        let is_for_pages = rule.is_none_or(|rule| rule.on_request || rule.cause == Cause::PageFault);
        let is_known = || self.waker_stack(row).is_some_and(|waker| waker.answers) || self.lasts_on_fuse(row);
        self.applies(&ANSWERED) && is_for_pages && is_known()
    }

    /// Whether /proc showed at the end of the recording that it waits for the server of a FUSE file system.
    fn lasts_on_fuse(&self, row: &Row) -> bool {
        let known = self.lasting.get(&row.tid).filter(|known| other_end(known) == Some(&OtherEnd::FuseServer));
        let is_last = |known: &StallRecord| {
            row.start_ns < known.end_ns() && known.end_ns() <= row.end_ns.saturating_add(LOOKS_APART_NS)
        };
        known.is_some_and(is_last)
    }

    /// Whether it slept until an I/O let go of what it had locked: a buffer or a page, under a read-ahead of its own or
    /// of another task, is locked until the request ends, and no task holds it. It follows from what woke the sleeper,
    /// and from the request that ended then.
    pub(super) fn is_held_by_io(&self, row: &Row) -> bool {
        self.applies(&HELD_BY_IO) && self.names_request(row) && self.waker_stack(row).is_some_and(|waker| waker.ends_io)
    }

    /// Whether that says more than its own stack does.
    pub(crate) fn is_unlocked_by_io(&self, row: &Row) -> bool {
        let is_lock = |cause: Cause| cause == Cause::Lock;
        let is_for_lock = row.announced.is_some_and(|announced| is_lock(announced.cause))
            || self.stack(row.stack.get()).and_then(|stack| stack.rule).is_some_and(|rule| is_lock(rule.cause));
        is_for_lock && self.is_held_by_io(row)
    }
}
