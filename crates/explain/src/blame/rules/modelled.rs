//! Stack rules of kernels that no recording of ours can come from: Lustre's client, and FreeBSD's buffer cache. Our models of
//! them tell their waits by these functions, named as the sources name them.

use super::stacks::{innermost, io, rule};
use super::{Rank, Rule};
use crate::blame::cause::Cause;

const IN_A_MODEL: &[&str] = &["model"];

/// What only one subsystem does.
pub(in crate::blame) const MODELLED: Rank = &[
    seen(rule(&["osc_enter_cache"], Cause::NetworkFs, "room for dirty pages, or a grant of the server")),
    seen(rule(&["cl_sync_io_wait"], Cause::NetworkFs, "a write RPC of its own")),
    seen(rule(&["osc_extent_wait", "osc_cache_wait_range"], Cause::NetworkFs, "its pages to be written by RPCs")),
    seen(rule(&["ldlm_completion_ast"], Cause::Lock, "an extent lock that another client holds")),
    seen(rule(&["getnewbuf"], Cause::ReclaimThrottle, "space for a buffer")),
    seen(rule(&["bwillwrite"], Cause::DirtyThrottle, "fewer dirty buffers")),
    seen(rule(&["waitrunningbufspace"], Cause::DirtyThrottle, "fewer bytes on their way to the disk")),
    seen(rule(&["_vn_lock"], Cause::Lock, "the lock of a vnode")),
    seen(rule(&["_mtx_lock_sleep"], Cause::Lock, "the lock of the buffer queues")),
    seen(rule(&["congestion_wait"], Cause::ReclaimThrottle, "paused by reclaim")),
    seen(innermost(&["__do_page_fault"], Cause::Lock, "the lock of the address space")),
];

/// What a request's completion ends.
pub(in crate::blame) const MODELLED_IO: Rank = &[
    seen(io(&["bufwait", "bwait"], Cause::Device, "a block")),
    // A buffer is locked while it is transferred.
    seen(io(&["getblk"], Cause::Device, "the lock of a buffer that is being written")),
    seen(io(&["__lock_page*", "wait_on_page_bit*"], Cause::Device, "pages to be read")),
];

const fn seen(rule: Rule) -> Rule {
    Rule { seen_on: IN_A_MODEL, ..rule }
}
