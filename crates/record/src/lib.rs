//! Records the kernel's counters and traces, and counts every loss.
//!
//! A [`SamplerSet`] is opened once, on the files that this machine has, and takes a [`Sample`] at each tick of a
//! [`Ticker`]. What is missing becomes a [`model::preflight::Finding`]; recording continues without it.
//!
//! # Names of metrics
//!
//! A metric is called `source.field`, the field exactly as the kernel spells it. Where one source is several files or
//! has sections, their name stands between: `cgroup.memory.stat.total_dirty`, `xfs.log.writes`. Where the kernel prints
//! bare numbers, the names are those of its documentation (`stat`, `diskstats`, `xfs`).
//!
//! | source | file | name | instance |
//! |---|---|---|---|
//! | `vmstat` | proc/vmstat | `vmstat.pgscan_direct` | - |
//! | `meminfo` | proc/meminfo | `meminfo.Dirty` | - |
//! | `stat` | proc/stat | `stat.cpu.iowait`, `stat.ctxt`, `stat.procs_blocked` | - |
//! | | | `stat.percpu.iowait` | `cpu0` |
//! | `pressure` | proc/pressure/* | `pressure.io.some`, `pressure.memory.full` (total µs) | - |
//! | `diskstats` | proc/diskstats | `diskstats.read_sectors`, `diskstats.in_flight` | device identity |
//! | `mountstats` | proc/self/mountstats | `mountstats.READ.rtt`, `mountstats.bytes.normalread` | mount point |
//! | `slabinfo` | proc/slabinfo | `slabinfo.active_objs`, `slabinfo.num_slabs` | cache |
//! | `cgroup` | the load's cgroup | `cgroup.memory.failcnt`, `cgroup.memory.stat.total_dirty` | its label |
//! | | | `cgroup.io.stat.rbytes`, `cgroup.blkio.throttle.io_serviced.Read` | label, `:`, device identity |
//! | `xfs` | sys/fs/xfs/*/stats/stats | `xfs.log.noiclogs`, `xfs.push_ail.sleep_logspace` | device identity |
//! | `ext4` | sys/fs/ext4/* | `ext4.delayed_allocation_blocks` | device identity |
//! | `jbd2` | proc/fs/jbd2/*/info | `jbd2.transactions`, `jbd2.logging_transaction` | device identity |
//! | `bdi` | debugfs bdi/*/stats | `bdi.BdiWriteback`, `bdi.b_dirty` | device identity, or the bdi's name |
//! | `buddyinfo` | proc/buddyinfo | `buddyinfo.order0` ... | `node0/Normal` |
//! | `tracepoint` | perf_event_open | `tracepoint.vmscan.mm_vmscan_memcg_reclaim_begin` | - |
//! | `recorder` | own process | `recorder.cpu_ns`, `recorder.resident_kib` | - |
//!
//! Two metrics of one name never hold a whole and its part, which allows summing the instances of a name: the
//! sum over all CPUs is `stat.cpu.*`, a single CPU `stat.percpu.*`.
#![deny(unsafe_code)]

pub mod clock;
pub mod device;
pub mod host;
pub mod kernel;

mod bytes;
#[cfg(test)]
mod fake;
mod file;
pub mod funclat;
mod instances;
mod last_values;
mod mountinfo;
mod pace;
mod roots;
mod rows;
mod sampler;
mod source;
mod source_error;
#[allow(unsafe_code)]
mod sys;
mod ticker;
mod trace;

pub use last_values::{Sample, SourceFailure};
pub use roots::Roots;
pub use sampler::{SamplerOptions, SamplerSet, SourceCost};
pub use source::cgroup::LoadCgroup;
pub use source_error::SourceError;
pub use ticker::{ClockWatch, Tick, Ticker};
pub use trace::{Attention, BlockedNow, Followed, LostEvents, TRACE_CAPABILITY, TraceCost, TraceOptions, Tracing};
