//! For whom a server worked while another client waited for it: one that works on one request at a time sends the answer when it
//! is done with it.

use model::stall::{Awaits, StallKind};

use super::path::is_by_choice;
use super::rows::Row;
use super::run_index::RunIndex;

/// Proxies in front of a server that are followed.
const PROXIES: usize = 8;

/// Whether a thread's client at a moment was at work for that process itself: a proxy, of which the answer at `sent_ns` was passed on.
pub(super) fn works_for(index: &RunIndex, client: (u32, u64), at_ns: u64, pid: u32) -> bool {
    let above = |&(proxy, sent_ns): &(u32, u64)| index.answers.after(proxy, sent_ns, at_ns);
    let mut clients = std::iter::successors(Some(client), above).take(PROXIES);
    clients.any(|(client, sent_ns)| index.tasks.pid(client, sent_ns).unwrap_or(client) == pid)
}

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

/// The client whose request made a thread of a server sleep in that row, until a timer: `SLEEP()` of a database, which keeps what the
/// client's transaction has locked.
pub(super) fn client_of_sleep(index: &RunIndex, sleep: &Row) -> Option<u32> {
    let by_nobody = matches!(sleep.awaits, Some(Awaits::Interrupt | Awaits::ForClient)) && index.waker(sleep).is_none();
    let by_timer = sleep.asked_ns.is_some() && by_nobody;
    // The client's own call may end when the server sleeps already.
    let middle_ns = sleep.start_ns + (sleep.runnable_ns - sleep.start_ns) / 2;
    let (client, _) = index.answers.after(sleep.tid, sleep.start_ns, middle_ns)?;
    (by_timer || is_by_choice(index, sleep)).then_some(client)
}
