//! `funclat`: latency histograms of a kernel function, or of the interval between two tracepoints.

pub mod args;

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use model::call_latency::{CallCounts, LatencyGroup, LatencyUnit};
use model::quantity::Nanoseconds;
use record::funclat::{CallReading, Funclat, FunclatError, FunclatOptions, GroupBy, Method, Target};
use record::{Roots, clock};
use report::funclat::{Timing, TimingInterval};
use rig::{KernelFiles, Register};
use serde_json::{Value, json};

use crate::commands::funclat::args::{AttachMethod, By, FunclatArgs, Unit};
use crate::recording::machine;
use crate::ui::failure::{Exit, Failure};
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

/// Poll interval for Ctrl-C.
const POLL: Duration = Duration::from_millis(20);

/// Times calls and prints histograms until the limit or Ctrl-C.
pub fn funclat(args: &FunclatArgs) -> Result<Exit, Failure> {
    let screen = Screen::new(args.json, args.quiet);
    let options = options(args)?;
    let interrupt = Interrupt::install()?;
    let register = machine::register(|remark| screen.remark(remark)).map_err(Failure::machine)?;
    let (mut funclat, _kernel_files) = open(&options, &register)?;
    screen.remark(&format!("Timing {} by {}; press Ctrl-C to stop.", funclat.what(), funclat.method()));
    let timed = time(&mut funclat, args, &interrupt, &screen)?;
    let what = funclat.what();
    let timing = Timing {
        what: &what,
        method: funclat.method(),
        unit: options.unit,
        duration_ns: timed.duration_ns,
        groups: &timed.all.groups,
        counts: timed.all.counts,
    };
    screen.rest();
    screen.result(&report::funclat::summary(&timing, timed.shown > 1, screen.style()));
    if args.json {
        screen.json(&report::funclat::document(&timing, &timed.intervals, filter(args)));
    }
    // Without a limit, Ctrl-C is the normal way to stop.
    let has_limit = args.count.is_some() || args.runtime.is_some();
    Ok(if has_limit && interrupt.requests() > 0 { Exit::Interrupted } else { Exit::Done })
}

/// Another process may unmount tracefs between the check and its use.
const MAX_TRIES: usize = 3;

fn open(options: &FunclatOptions, register: &Register) -> Result<(Funclat, KernelFiles), Failure> {
    let mut tries = 0;
    loop {
        tries += 1;
        let kernel_files = KernelFiles::mount(register);
        match Funclat::open(&Roots::default(), options) {
            Err(FunclatError::NoTracefs) if tries < MAX_TRIES => {}
            opened => return Ok((opened.map_err(refused)?, kernel_files)),
        }
    }
}

fn options(args: &FunclatArgs) -> Result<FunclatOptions, Failure> {
    let target = match (&args.function, &args.pair) {
        (_, Some(pair)) => Target::Pair(pair.clone()),
        (Some(function), None) => Target::Function(function.clone()),
        (None, None) => return Err(Failure::usage("name a function, or two tracepoints with --pair")),
    };
    let (above_ns, below_ns) = (args.above.unwrap_or(0), args.below.unwrap_or(u64::MAX));
    if above_ns > below_ns {
        let (above, below) = (Nanoseconds(above_ns), Nanoseconds(below_ns));
        return Err(Failure::usage(format_args!("--above {above} is more than --below {below}: no call matches")));
    }
    if let Some(pid) = args.pid.filter(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
        return Err(Failure::usage(format_args!("--pid {pid}: no such process")));
    }
    let by = args.by.map(|by| match by {
        By::Task => GroupBy::Task,
        By::Cgroup => GroupBy::Cgroup,
    });
    let method = args.method.map(|how| match how {
        AttachMethod::Fexit => Method::Fexit,
        AttachMethod::Kprobe => Method::Kprobe,
    });
    let unit = match args.unit {
        Unit::Ns => LatencyUnit::Nanoseconds,
        Unit::Us => LatencyUnit::Microseconds,
        Unit::Ms => LatencyUnit::Milliseconds,
    };
    Ok(FunclatOptions { target, method, above_ns, below_ns, pid: args.pid, by, unit })
}

fn filter(args: &FunclatArgs) -> Value {
    let by = args.by.map(|by| match by {
        By::Task => "task",
        By::Cgroup => "cgroup",
    });
    json!({ "above_ns": args.above, "below_ns": args.below, "pid": args.pid, "by": by })
}

/// A wrong name is a usage error; everything else is the machine's.
fn refused(error: FunclatError) -> Failure {
    let message = report::style::printable(&error.to_string());
    match error {
        FunclatError::UnknownFunction { .. }
        | FunclatError::UnknownTracepoint { .. }
        | FunclatError::NotAPair { .. } => Failure::usage(message),
        _ => Failure::machine(message),
    }
}

struct Timed {
    duration_ns: u64,
    all: CallReading,
    /// Intervals with calls.
    shown: usize,
    /// For the JSON document only.
    intervals: Vec<TimingInterval>,
}

fn time(funclat: &mut Funclat, args: &FunclatArgs, interrupt: &Interrupt, screen: &Screen) -> Result<Timed, Failure> {
    let what = funclat.what();
    let begin_ns = clock::monotonic_ns();
    let end_ns = args.runtime.or_else(|| args.count.map(|count| count.saturating_mul(args.interval)));
    let end_ns = end_ns.map_or(u64::MAX, |runtime_ns| begin_ns.saturating_add(runtime_ns));
    let mut start_ns = begin_ns;
    let mut earlier = CallReading { groups: Vec::new(), counts: CallCounts::default() };
    let (mut shown, mut intervals) = (0, Vec::new());
    loop {
        let lasted_ns = start_ns - begin_ns;
        screen.doing(format!("timing {what} for {}", Nanoseconds(lasted_ns / 1_000_000_000 * 1_000_000_000)));
        wait_until(start_ns.saturating_add(args.interval).min(end_ns), interrupt);
        let now_ns = clock::monotonic_ns();
        // Checked before reading: calls before Ctrl-C are in the last reading.
        let is_last = interrupt.requests() > 0 || now_ns >= end_ns;
        let reading = funclat.read().map_err(refused)?;
        let groups = since(&reading.groups, &earlier.groups);
        let time_of_day = jiff::Zoned::now().strftime("%H:%M:%S").to_string();
        screen.result(&report::funclat::interval(&time_of_day, &what, &groups, screen.style()));
        shown += usize::from(!groups.is_empty());
        if args.json {
            intervals.push(TimingInterval { start_ns, end_ns: now_ns, groups });
        }
        earlier = reading;
        start_ns = now_ns.min(start_ns.saturating_add(args.interval));
        if is_last {
            return Ok(Timed { duration_ns: now_ns - begin_ns, all: earlier, shown, intervals });
        }
    }
}

/// Returns early after a Ctrl-C.
fn wait_until(until_ns: u64, interrupt: &Interrupt) {
    while interrupt.requests() == 0 {
        let left_ns = until_ns.saturating_sub(clock::monotonic_ns());
        if left_ns == 0 {
            return;
        }
        std::thread::sleep(POLL.min(Duration::from_nanos(left_ns)));
    }
}

/// Calls since an earlier reading; empty groups are left out.
fn since(now: &[LatencyGroup], earlier: &[LatencyGroup]) -> Vec<LatencyGroup> {
    let before: HashMap<&Option<String>, &LatencyGroup> = earlier.iter().map(|group| (&group.name, group)).collect();
    let mut groups = Vec::new();
    for group in now {
        let histogram = match before.get(&group.name) {
            Some(earlier) => group.histogram.since(&earlier.histogram),
            None => group.histogram.clone(),
        };
        if histogram.count > 0 {
            groups.push(LatencyGroup { name: group.name.clone(), histogram });
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.histogram.sum_ns));
    groups
}
