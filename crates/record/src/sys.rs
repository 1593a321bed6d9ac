//! The system calls that rustix lacks: perf_event_open(2), bpf(2), semctl(2), those of netlink sockets, and the device
//! mapper's ioctl(2).

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libbpf_rs::libbpf_sys;
use rustix::io::Errno;

use crate::bytes::shown;

/// `struct perf_event_attr` as it was first (PERF_ATTR_SIZE_VER0); the kernel takes every field behind it as 0.
#[repr(C)]
#[derive(Default)]
struct PerfEventAttr {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    bp_type: u32,
    config1: u64,
}

const ATTR_BYTES: usize = 64;
const _: () = assert!(size_of::<PerfEventAttr>() == ATTR_BYTES);

const PERF_TYPE_TRACEPOINT: u32 = 2;
const PERF_FORMAT_GROUP: u64 = 1 << 3;
const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;

/// Counts a tracepoint on one CPU, in all processes, without sampling: the kernel adds to a per-CPU number and nothing
/// else. Reading the descriptor of a group's first event returns the counts of the whole group.
pub(crate) fn count_tracepoint(id: u64, cpu: u32, group: Option<BorrowedFd<'_>>) -> Result<OwnedFd, Errno> {
    let attr = PerfEventAttr {
        kind: PERF_TYPE_TRACEPOINT,
        size: ATTR_BYTES as u32,
        config: id,
        read_format: PERF_FORMAT_GROUP,
        ..PerfEventAttr::default()
    };
    let group = group.map_or(-1, |group| group.as_raw_fd());
    let (all_processes, cpu) = (-1 as libc::pid_t, cpu as libc::c_int);
    // SAFETY: `attr` lives through the call, which reads its `size` bytes and writes at most those; the other arguments
    // are plain numbers.
    let fd = unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw const attr, all_processes, cpu, group, PERF_FLAG_FD_CLOEXEC)
    };
    if fd < 0 {
        let error = std::io::Error::last_os_error();
        return Err(Errno::from_io_error(&error).unwrap_or(Errno::INVAL));
    }
    // SAFETY: the kernel has just created this descriptor, and nothing else uses it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) })
}

/// `enum bpf_stats_type`: how long programs run.
const BPF_STATS_RUN_TIME: libc::c_uint = 0;

/// Makes the kernel measure the run time of BPF programs while the descriptor is open (Linux 5.8).
pub(crate) fn measure_bpf_programs() -> Result<OwnedFd, Errno> {
    // SAFETY: the argument is a plain number.
    let fd = unsafe { libbpf_sys::bpf_enable_stats(BPF_STATS_RUN_TIME) };
    if fd < 0 {
        return Err(Errno::from_raw_os_error(-fd));
    }
    // SAFETY: the kernel has just created this descriptor, and nothing else uses it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Statistics of a BPF program's runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ProgramRuns {
    /// CPU time taken while it was measured, ns.
    pub(crate) run_ns: u64,
    /// Runs skipped, because the program would have interrupted itself.
    pub(crate) skipped: u64,
}

/// Statistics of a BPF program's runs so far.
pub(crate) fn bpf_program_runs(program: BorrowedFd<'_>) -> Option<ProgramRuns> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut bytes = size_of_val(&info) as libc::c_uint;
    // SAFETY: `info` lives through the call, which writes at most `bytes` bytes of it; its pointers are null and its
    // counts 0, so that the kernel follows none.
    let failed = unsafe { libbpf_sys::bpf_prog_get_info_by_fd(program.as_raw_fd(), &raw mut info, &raw mut bytes) };
    (failed == 0).then_some(ProgramRuns { run_ns: info.run_time_ns, skipped: info.recursion_misses })
}

/// A semaphore of System V.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SemaphoreState {
    pub(crate) value: u32,
    /// The process that changed it last.
    pub(crate) pid: u32,
}

/// `None` if there is none of that number, or it may not be read.
pub(crate) fn semaphore_state(set: i32, number: u16) -> Option<SemaphoreState> {
    let get = |command: i32| {
        // SAFETY: these commands take no fourth argument and write nothing.
        let got = unsafe { libc::semctl(set, i32::from(number), command) };
        u32::try_from(got).ok()
    };
    Some(SemaphoreState { value: get(libc::GETVAL)?, pid: get(libc::GETPID)? })
}

/// A set of one semaphore for a test, which is removed with it.
#[cfg(test)]
pub(crate) struct SemaphoreSet(pub(crate) i32);

#[cfg(test)]
impl SemaphoreSet {
    pub(crate) fn new() -> SemaphoreSet {
        // SAFETY: takes no pointers.
        let set = unsafe { libc::semget(libc::IPC_PRIVATE, 1, 0o600) };
        assert!(set >= 0, "{}", std::io::Error::last_os_error());
        SemaphoreSet(set)
    }

    pub(crate) fn change(&self, by: i16) {
        let mut change = libc::sembuf { sem_num: 0, sem_op: by, sem_flg: 0 };
        // SAFETY: one change, which lives through the call.
        assert_eq!(unsafe { libc::semop(self.0, &raw mut change, 1) }, 0, "{}", std::io::Error::last_os_error());
    }
}

#[cfg(test)]
impl Drop for SemaphoreSet {
    fn drop(&mut self) {
        // SAFETY: this command takes no fourth argument.
        unsafe { libc::semctl(self.0, 0, libc::IPC_RMID) };
    }
}

/// `struct nlmsghdr` and `struct unix_diag_req`: all UNIX sockets, with names, peers and what their queues hold.
#[repr(C)]
struct UnixDiagRequest {
    length: u32,
    kind: u16,
    flags: u16,
    sequence: u32,
    port: u32,
    family: u8,
    protocol: u8,
    padding: u16,
    states: u32,
    inode: u32,
    show: u32,
    cookie: [u32; 2],
}

const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// `UDIAG_SHOW_NAME | UDIAG_SHOW_PEER | UDIAG_SHOW_ICONS | UDIAG_SHOW_RQLEN`.
const SHOW: u32 = 1 | 4 | 8 | 16;
const DIAG_BYTES: usize = 64 << 10;

/// What sock_diag(7) says of the UNIX sockets of this network namespace, each answer of the kernel to `visit` until
/// that returns `false`.
pub(crate) fn unix_sockets(mut visit: impl FnMut(&[u8]) -> bool) -> Result<(), Errno> {
    let failed = || Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL);
    let length = size_of::<UnixDiagRequest>();
    let request = UnixDiagRequest {
        length: length as u32,
        kind: SOCK_DIAG_BY_FAMILY,
        flags: (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16,
        sequence: 1,
        port: 0,
        family: libc::AF_UNIX as u8,
        protocol: 0,
        padding: 0,
        states: u32::MAX,
        inode: 0,
        show: SHOW,
        cookie: [u32::MAX; 2],
    };
    // SAFETY: the arguments are plain numbers.
    let fd = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_SOCK_DIAG) };
    if fd < 0 {
        return Err(failed());
    }
    // SAFETY: the kernel has just created this descriptor, and nothing else uses it.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: `request` lives through the call, which reads its `length` bytes.
    if unsafe { libc::send(socket.as_raw_fd(), (&raw const request).cast(), length, 0) } < 0 {
        return Err(failed());
    }
    let mut answer = vec![0_u8; DIAG_BYTES];
    loop {
        // SAFETY: `answer` lives through the call, which writes at most its length. The kernel has made its answer by
        // now: no wait.
        let read =
            unsafe { libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), DIAG_BYTES, libc::MSG_DONTWAIT) };
        let Ok(read) = usize::try_from(read) else { return Err(failed()) };
        if read == 0 || !visit(&answer[..read]) {
            return Ok(());
        }
    }
}

/// `struct dm_ioctl`, a `struct dm_target_spec`, and the target's parameters, without which the kernel gives none of
/// it.
#[repr(C)]
struct MapperRequest {
    version: [u32; 3],
    bytes: u32,
    data_at: u32,
    targets: u32,
    open_count: i32,
    flags: u32,
    event: u32,
    padding: u32,
    device: u64,
    name: [u8; 128],
    uuid: [u8; 129],
    data: [u8; 7],
    sector: u64,
    sectors: u64,
    status: i32,
    next: u32,
    target: [u8; 16],
    parameters: [u8; 1024],
}

const MAPPER_REQUEST_BYTES: usize = 1376;
const MAPPER_HEADER_BYTES: usize = 312;
const _: () = assert!(size_of::<MapperRequest>() == MAPPER_REQUEST_BYTES);
/// `DM_TABLE_STATUS`, whose number has the header's size.
const DM_TABLE_STATUS: libc::Ioctl = 0xc138_fd0c_u32 as libc::Ioctl;
/// The table as it was loaded: a status may wait for the metadata of its target.
const DM_STATUS_TABLE_FLAG: u32 = 1 << 4;
/// The kernel wipes what it had of the parameters, which may be a key.
const DM_SECURE_DATA_FLAG: u32 = 1 << 15;

/// The type of the first target of a device of the device mapper.
pub(crate) fn mapper_target(major: u32, minor: u32) -> Option<String> {
    let control = std::fs::OpenOptions::new().read(true).write(true).open("/dev/mapper/control").ok()?;
    let mut request = MapperRequest {
        version: [4, 0, 0],
        bytes: MAPPER_REQUEST_BYTES as u32,
        data_at: MAPPER_HEADER_BYTES as u32,
        targets: 0,
        open_count: 0,
        flags: DM_STATUS_TABLE_FLAG | DM_SECURE_DATA_FLAG,
        event: 0,
        padding: 0,
        device: libc::makedev(major, minor),
        name: [0; 128],
        uuid: [0; 129],
        data: [0; 7],
        sector: 0,
        sectors: 0,
        status: 0,
        next: 0,
        target: [0; 16],
        parameters: [0; 1024],
    };
    // SAFETY: `request` lives through the call, which reads and writes at most the bytes that it says it has.
    let failed = unsafe { libc::ioctl(control.as_raw_fd(), DM_TABLE_STATUS, &raw mut request) };
    std::hint::black_box(&mut request.parameters).fill(0);
    let name = request.target.split(|byte| *byte == 0).next().unwrap_or_default();
    (failed == 0 && !name.is_empty()).then(|| shown(name))
}
