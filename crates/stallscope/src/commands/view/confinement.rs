//! What the server of the page may ask the kernel for: it reads files and answers connections. It cannot start a
//! program, open a file for writing, remove or rename one, connect to anywhere, or trace another process.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Without conditions. What is not listed fails with EPERM.
const ALLOWED: &[c_long] = &[
    // Files that are open, and names.
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_lseek,
    libc::SYS_fstat,
    libc::SYS_statx,
    libc::SYS_newfstatat,
    libc::SYS_fstatfs,
    libc::SYS_statfs,
    libc::SYS_getdents64,
    libc::SYS_readlinkat,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_getcwd,
    libc::SYS_flock,
    libc::SYS_fcntl,
    libc::SYS_close,
    libc::SYS_dup,
    // Standard output and error; no other file is open for writing.
    libc::SYS_write,
    libc::SYS_writev,
    // Connections that clients open.
    libc::SYS_accept4,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_shutdown,
    libc::SYS_setsockopt,
    libc::SYS_getsockopt,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_ppoll,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    // Memory, threads, signals, clocks.
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_clone3,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_membarrier,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_prlimit64,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_restart_syscall,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_getrandom,
    libc::SYS_uname,
    libc::SYS_sysinfo,
];

/// Older calls that a C library of this architecture still makes.
#[cfg(target_arch = "x86_64")]
const ALLOWED_HERE: &[c_long] = &[
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_poll,
    libc::SYS_epoll_wait,
    libc::SYS_getrlimit,
];
#[cfg(not(target_arch = "x86_64"))]
const ALLOWED_HERE: &[c_long] = &[];

/// Of a descriptor: FIONBIO, TCGETS and TIOCGWINSZ. The type of libc's constants differs between C libraries.
const REQUESTS: [u64; 3] = [0x5421, 0x5401, 0x5413];

/// Confines all threads of this process for the rest of its life.
pub fn confine() -> Result<(), Error> {
    // `clone3` has its flags in memory, where a filter does not see them: without it the C library uses `clone`.
    let no_clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let refused = SeccompAction::Errno(libc::ENOSYS as u32);
    let first = SeccompFilter::new(no_clone3, SeccompAction::Allow, refused, std::env::consts::ARCH.try_into()?)?;
    let denied = SeccompAction::Errno(libc::EPERM as u32);
    let second = SeccompFilter::new(rules()?, denied, SeccompAction::Allow, std::env::consts::ARCH.try_into()?)?;
    let programs: [BpfProgram; 2] = [first.try_into()?, second.try_into()?];
    // The second forbids what installs a filter.
    programs.iter().try_for_each(|program| seccompiler::apply_filter_all_threads(program))
}

fn rules() -> Result<Rules, Error> {
    let mut rules: Rules = ALLOWED.iter().chain(ALLOWED_HERE).map(|call| (*call, Vec::new())).collect();
    rules.insert(libc::SYS_openat, vec![for_reading(2)?]);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_open, vec![for_reading(1)?]);
    let thread = masked(0, libc::CLONE_THREAD as u64, libc::CLONE_THREAD as u64)?;
    rules.insert(libc::SYS_clone, vec![thread]);
    let requests: Result<_, Error> = REQUESTS.iter().map(|request| equal(1, *request)).collect();
    rules.insert(libc::SYS_ioctl, requests?);
    // The names of threads and of memory.
    const PR_SET_VMA: u64 = 0x5356_4d41;
    rules.insert(libc::SYS_prctl, vec![equal(0, libc::PR_SET_NAME as u64)?, equal(0, PR_SET_VMA)?]);
    Ok(rules)
}

/// A call whose flags of `open` neither write, nor make or shorten a file.
fn for_reading(argument: u8) -> Result<SeccompRule, Error> {
    let writing = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC | (libc::O_TMPFILE & !libc::O_DIRECTORY);
    masked(argument, writing as u64, libc::O_RDONLY as u64)
}

fn masked(argument: u8, mask: u64, value: u64) -> Result<SeccompRule, Error> {
    let operator = SeccompCmpOp::MaskedEq(mask);
    Ok(SeccompRule::new(vec![SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?])?)
}

fn equal(argument: u8, value: u64) -> Result<SeccompRule, Error> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)?;
    Ok(SeccompRule::new(vec![condition])?)
}
