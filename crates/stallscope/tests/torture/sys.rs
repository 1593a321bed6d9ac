//! Stops of a program's system calls, by seccomp and ptrace.
//!
//! A filter stops the listed calls of the program and of all processes that it starts, before they are executed. All
//! other calls run at full speed.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use libc::{c_int, c_long, c_void, pid_t, sock_filter, sock_fprog, user_regs_struct};

/// A system call that is about to be executed.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    pub number: i64,
    pub arguments: [u64; 6],
}

/// Why a traced thread stopped, or that it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Before a listed call.
    Call,
    /// After the call that [`finish_call`] let go on.
    CallDone,
    /// A new thread, a fork, an exec: nothing to do.
    Event,
    /// A signal that it is about to receive.
    Signal(c_int),
    /// It is gone: exit code, or 128 and the signal.
    Ended(i32),
}

/// Starts the command with a filter that stops the listed calls.
pub fn spawn_stopping(mut command: Command, calls: &[i64]) -> io::Result<Child> {
    let filter = filter(calls);
    let install = move || {
        let program = sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
        // SAFETY: the program outlives the call, and the kernel copies it.
        let done = unsafe {
            check(libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0))
                .and_then(|()| check(libc::syscall(libc::SYS_seccomp, 1, 0, &program)))
        };
        done.map_err(|_| io::Error::last_os_error())
    };
    // SAFETY: between fork and exec it makes two system calls, and allocates nothing.
    let child = unsafe { command.pre_exec(install) }.spawn()?;
    let options = libc::PTRACE_O_TRACESECCOMP
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_EXITKILL;
    let pid = child.id() as pid_t;
    wait_for_stop(pid)?;
    // SAFETY: the options are a number.
    unsafe { check(libc::ptrace(libc::PTRACE_SETOPTIONS, pid, 0, options)) }?;
    resume(pid, 0);
    Ok(child)
}

fn wait_for_stop(pid: pid_t) -> io::Result<()> {
    let mut status = 0;
    // SAFETY: the status is ours.
    match unsafe { libc::waitpid(pid, &mut status, libc::__WALL) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn check(result: c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// "If the call's number is listed, stop it, else allow it."
fn filter(calls: &[i64]) -> Vec<sock_filter> {
    const LOAD_WORD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, k| sock_filter { code, jt, jf: 0, k };
    let mut filter = vec![step(LOAD_WORD, 0, 0)];
    for (position, number) in calls.iter().enumerate() {
        let to_trace = (calls.len() - position) as u8;
        filter.push(step(JUMP_IF_EQUAL, to_trace, *number as u32));
    }
    filter.push(step(RETURN, 0, libc::SECCOMP_RET_ALLOW));
    filter.push(step(RETURN, 0, libc::SECCOMP_RET_TRACE));
    filter
}

/// Waits for the next stop or end of a thread that this thread traces: `None` if none is left. Other threads trace
/// other victims.
pub fn next_stop() -> Option<(i32, Stop)> {
    let mut status = 0;
    // SAFETY: the status is ours.
    let tid = unsafe { libc::waitpid(-1, &mut status, libc::__WALL | libc::__WNOTHREAD) };
    (tid > 0).then(|| (tid, meaning(status)))
}

fn meaning(status: c_int) -> Stop {
    if libc::WIFEXITED(status) {
        return Stop::Ended(libc::WEXITSTATUS(status));
    }
    if libc::WIFSIGNALED(status) {
        return Stop::Ended(128 + libc::WTERMSIG(status));
    }
    let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
    match (signal, event) {
        (_, libc::PTRACE_EVENT_SECCOMP) => Stop::Call,
        (signal, 0) if signal == libc::SIGTRAP | 0x80 => Stop::CallDone,
        // What a new thread begins with.
        (libc::SIGSTOP, 0) => Stop::Event,
        (signal, 0) => Stop::Signal(signal),
        _ => Stop::Event,
    }
}

/// Continues a thread, which receives the signal unless it is 0. A thread that was killed meanwhile is left alone.
pub fn resume(tid: i32, signal: c_int) {
    // SAFETY: the signal is a number.
    unsafe { libc::ptrace(libc::PTRACE_CONT, tid, 0, signal) };
}

/// Continues a thread to the end of the call before which it stopped.
pub fn finish_call(tid: i32) {
    // SAFETY: no memory is involved.
    unsafe { libc::ptrace(libc::PTRACE_SYSCALL, tid, 0, 0) };
}

/// The call before which a thread stopped.
pub fn call_of(tid: i32) -> Option<Call> {
    let registers = registers(tid)?;
    let arguments = [registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9];
    Some(Call { number: registers.orig_rax as i64, arguments })
}

/// Lets the call fail with an error number instead of being executed.
pub fn fail_call(tid: i32, errno: i32) {
    change(tid, |registers| {
        registers.orig_rax = u64::MAX;
        registers.rax = i64::from(-errno) as u64;
    });
}

/// Limits the length of the read or write before which a thread stopped.
pub fn shorten_call(tid: i32, length: u64) {
    change(tid, |registers| registers.rdx = length);
}

fn registers(tid: i32) -> Option<user_regs_struct> {
    // SAFETY: registers are numbers, for which zero is valid.
    let mut registers: user_regs_struct = unsafe { std::mem::zeroed() };
    let place = (&raw mut registers).cast::<c_void>();
    // SAFETY: the kernel fills the structure, which has its type.
    let done = unsafe { libc::ptrace(libc::PTRACE_GETREGS, tid, 0, place) };
    (done == 0).then_some(registers)
}

fn change(tid: i32, change: impl FnOnce(&mut user_regs_struct)) {
    let Some(mut registers) = registers(tid) else { return };
    change(&mut registers);
    let place = (&raw mut registers).cast::<c_void>();
    // SAFETY: the kernel reads the structure, which has its type.
    unsafe { libc::ptrace(libc::PTRACE_SETREGS, tid, 0, place) };
}

/// Kills a process.
pub fn kill(pid: i32) {
    // SAFETY: no memory is involved.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// How a command ended that was given a limit of its time.
#[derive(Debug, Clone, Copy)]
pub struct End {
    /// Exit code, or 128 and the signal; `None`: it was killed at the limit.
    pub code: Option<i32>,
    /// The most memory that it had.
    pub peak_kib: i64,
}

/// Runs a command, which is killed after the limit.
pub fn run_bounded(command: &mut Command, limit: std::time::Duration) -> io::Result<End> {
    run_watched(command, limit, |_| ())
}

/// The same; `watch` is called with its process id all the time.
// It is waited for, by its id.
#[allow(clippy::zombie_processes)]
pub fn run_watched(command: &mut Command, limit: std::time::Duration, mut watch: impl FnMut(u32)) -> io::Result<End> {
    let child = command.spawn()?;
    let (pid, began) = (child.id() as pid_t, std::time::Instant::now());
    let mut killed = false;
    loop {
        let mut status = 0;
        // SAFETY: counters are numbers, for which zero is valid.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: status and usage are ours.
        match unsafe { libc::wait4(pid, &mut status, libc::WNOHANG, &mut usage) } {
            -1 => return Err(io::Error::last_os_error()),
            0 if began.elapsed() > limit && !killed => {
                kill(pid);
                killed = true;
            }
            0 => {
                watch(child.id());
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            _ => {
                let code =
                    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) };
                return Ok(End { code: (!killed).then_some(code), peak_kib: usage.ru_maxrss });
            }
        }
    }
}

/// Removes loop devices that are not in use beyond those that the kernel makes at boot.
pub fn remove_loop_devices(devices: &[String]) {
    const LOOP_CTL_REMOVE: libc::c_ulong = 0x4c81;
    const AT_BOOT: c_int = 8;
    let Ok(control) = std::fs::File::open("/dev/loop-control") else { return };
    let numbers = devices.iter().filter_map(|device| device.strip_prefix("/dev/loop")?.parse::<c_int>().ok());
    for number in numbers.filter(|number| *number >= AT_BOOT) {
        // SAFETY: the argument is a number. A device in use is refused.
        unsafe { libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(&control), LOOP_CTL_REMOVE, number) };
    }
}
