//! The system calls through which tasks wait for one another: servers, clients, threads.

use model::stall::{Awaits, StallRecord};

use super::event::TraceEvent;

/// Higher numbers are not followed: `CALLS` of the programs.
const CALLS: usize = 512;

/// `enum with_others` of the programs.
const SENDS: u16 = 1;
const RECEIVES: u16 = 2;
const CLOSES: u16 = 4;
const WAITS: u16 = 8;
const WAITS_FOR_THREAD: u16 = 16;
const SIGNALS: u16 = 32;
const SEMAPHORE: u16 = 64;
const WAITS_FOR_CHILD: u16 = 128;
const QUEUES: u16 = 256;
const DEQUEUES: u16 = 512;
const ACCEPTS: u16 = 1024;

/// Number, what it does with another task.
type Call = (libc::c_long, u16);

const COMMON: [Call; 37] = [
    (libc::SYS_read, RECEIVES | WAITS),
    (libc::SYS_readv, RECEIVES | WAITS),
    (libc::SYS_recvfrom, RECEIVES | WAITS),
    (libc::SYS_recvmsg, RECEIVES | WAITS),
    (libc::SYS_recvmmsg, RECEIVES | WAITS),
    (libc::SYS_write, SENDS),
    (libc::SYS_writev, SENDS),
    (libc::SYS_sendto, SENDS),
    (libc::SYS_sendmsg, SENDS),
    (libc::SYS_sendmmsg, SENDS),
    (libc::SYS_sendfile, SENDS),
    // It waits for room among the connections that the server has not accepted yet. What the descriptor was before is over.
    (libc::SYS_connect, SENDS | CLOSES),
    (libc::SYS_accept, SIGNALS | WAITS | ACCEPTS),
    (libc::SYS_accept4, SIGNALS | WAITS | ACCEPTS),
    (libc::SYS_close, CLOSES),
    // It closes all.
    (libc::SYS_exit_group, CLOSES),
    (libc::SYS_exit, CLOSES),
    (libc::SYS_ppoll, WAITS),
    (libc::SYS_pselect6, WAITS),
    (libc::SYS_epoll_pwait, WAITS),
    (libc::SYS_epoll_pwait2, WAITS),
    (libc::SYS_futex, WAITS_FOR_THREAD),
    // futex_wait(2), since Linux 6.7.
    (455, WAITS_FOR_THREAD),
    (libc::SYS_kill, SIGNALS),
    (libc::SYS_tkill, SIGNALS),
    (libc::SYS_tgkill, SIGNALS),
    (libc::SYS_rt_sigqueueinfo, SIGNALS),
    (libc::SYS_rt_tgsigqueueinfo, SIGNALS),
    (libc::SYS_pidfd_send_signal, SIGNALS),
    (libc::SYS_semop, SEMAPHORE),
    (libc::SYS_semtimedop, SEMAPHORE),
    (libc::SYS_msgsnd, QUEUES),
    (libc::SYS_msgrcv, DEQUEUES),
    (libc::SYS_mq_timedsend, QUEUES),
    (libc::SYS_mq_timedreceive, DEQUEUES),
    (libc::SYS_wait4, WAITS_FOR_CHILD),
    (libc::SYS_waitid, WAITS_FOR_CHILD),
];

/// Calls that newer architectures lack.
#[cfg(target_arch = "x86_64")]
const OLD: &[Call] = &[(libc::SYS_poll, WAITS), (libc::SYS_select, WAITS), (libc::SYS_epoll_wait, WAITS)];
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[Call] = &[];

fn all() -> impl Iterator<Item = &'static Call> {
    COMMON.iter().chain(OLD)
}

/// By number: what the call does with another task.
pub(super) fn table() -> [u16; CALLS] {
    let mut table = [0; CALLS];
    for (number, what) in all() {
        if let Some(place) = usize::try_from(*number).ok().and_then(|number| table.get_mut(number)) {
            *place = *what;
        }
    }
    table
}

/// By `enum awaits` of the programs: in the same order.
pub(super) fn of(number: u32) -> Option<Awaits> {
    let after_nobody = number.checked_sub(1)? as usize;
    Awaits::ALL.get(after_nobody).copied()
}

/// A client received what it had asked a server for, or a part of it.
pub(super) fn answered(event: &TraceEvent, row: &mut StallRecord) {
    row.awaits = of(event.awaits);
    row.asked_ns = Some(event.asked_ns);
    (row.woken_ns, row.waker_tid) = (Some(event.woken_ns), Some(event.waker_tid));
}
