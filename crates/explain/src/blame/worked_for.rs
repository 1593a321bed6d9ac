//! For whom a server worked while another client waited for it: one that works on one request at a time sends the answer when it
//! is done with it.

use model::stall::StallKind;

use super::rows::Row;
use super::run_index::RunIndex;

/// The client for whom a thread of a server worked at a moment, and until when. In between it did not sleep: else what it did may have been
/// for others.
pub(super) fn client_of(index: &RunIndex, server: u32, at_ns: u64) -> Option<(u32, u64)> {
    let (client, sent_ns) = index.answers.next(server, at_ns)?;
    let sleeps = |row: &Row| {
        row.kind == StallKind::OffCpu
            && row.interruptible
            && row.start_ns >= at_ns
            && row.runnable_ns > row.start_ns + 1
    };
    let slept = index.rows_between(server, at_ns, sent_ns).any(|(_, row)| sleeps(row));
    (!slept).then_some((client, sent_ns))
}
