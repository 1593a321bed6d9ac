//! Time that slow operations lost, as stacks with weights.

use std::collections::HashMap;

use archive::Run;
use explain::blame::{LostTime, UserFrame, UserStack};
use export::off_cpu::{Frame, OffCpuProfile};
use export::{folded, pprof, speedscope};
use model::quantity::Nanoseconds;
use model::quantity::counted;

use super::destination::Destination;
use super::run_rows::RunRows;
use crate::reading::explanation;
use crate::ui::failure::Failure;

/// Between functions of the program and of the kernel, and before those of another task.
const KERNEL: &str = "-";
const OTHER_TASK: &str = "--";

/// For flamegraph.pl and inferno.
pub fn folded(source: &RunRows<'_>, destination: &Destination) -> Result<String, Failure> {
    let profile = profile(source)?;
    let lines = folded::write(&profile, destination.file()?).map_err(|error| destination.failed(error))?;
    Ok(format!("{}, {}", lost(&profile), counted(lines as u64, "stack")))
}

/// For pprof.
pub fn pprof(source: &RunRows<'_>, destination: &Destination) -> Result<String, Failure> {
    let profile = profile(source)?;
    let run = source.run.description();
    let last_ns = source.run.samples().flatten().flatten().last().map(|sample| sample.at.monotonic_ns);
    let duration_ns = last_ns.and_then(|last_ns| last_ns.checked_sub(run.started.monotonic_ns));
    pprof::write(&profile, run, duration_ns, destination.file()?).map_err(|error| destination.failed(error))?;
    Ok(lost(&profile))
}

/// For speedscope.
pub fn speedscope(source: &RunRows<'_>, destination: &Destination) -> Result<String, Failure> {
    let profile = profile(source)?;
    let run = source.run.description();
    speedscope::write(&profile, run, destination.file()?).map_err(|error| destination.failed(error))?;
    Ok(lost(&profile))
}

fn lost(profile: &OffCpuProfile) -> String {
    format!("{} lost by slow operations", Nanoseconds(profile.time_ns()))
}

fn profile(source: &RunRows<'_>) -> Result<OffCpuProfile, Failure> {
    let run = source.run;
    let missing = |what: &str| Failure::usage(format_args!("{}: {what}", run.dir().display()));
    if !run.has_trace() {
        return Err(missing("has no trace, and so no stacks of waits; record without --no-trace"));
    }
    let stacks = kernel_stacks(run);
    // The damage is reported at the end.
    let (_, accounting) = explanation::explanation_with_accounting(run, None, 0, |_| {});
    if accounting.is_empty() {
        return Err(missing(
            "has no slow operations, so there is no lost time to export; record with a lower --slower-than",
        ));
    }
    let mut profile = OffCpuProfile::default();
    accounting.each_lost(|lost| {
        let task = lost.task.map_or_else(|| format!("thread {}", lost.tid), str::to_owned);
        profile.add((&task, lost.operation), lost.cause, frames(&lost, &stacks), lost.time_ns);
    });
    Ok(profile)
}

/// The outermost first.
fn frames(lost: &LostTime<'_>, stacks: &HashMap<u32, Vec<Frame>>) -> Vec<Frame> {
    let mut frames: Vec<Frame> = lost.user_stack.map(user_frames).unwrap_or_default();
    if let Some(other) = lost.of {
        frames.extend([OTHER_TASK, other].map(Frame::named));
    }
    if let Some(kernel) = lost.kernel_stack.and_then(|stack| stacks.get(&stack)) {
        frames.push(Frame::named(KERNEL));
        frames.extend(kernel.iter().cloned());
    }
    frames
}

/// Where the program waited. Where it released a lock is another place.
fn user_frames(stack: &UserStack) -> Vec<Frame> {
    let waited = Some(stack).filter(|stack| !stack.released);
    waited.map(|stack| stack.frames.iter().rev().map(user_frame).collect()).unwrap_or_default()
}

fn user_frame(frame: &UserFrame) -> Frame {
    let module = frame.module.as_deref().unwrap_or("[unknown]");
    let base = module.rsplit('/').next().unwrap_or(module);
    Frame {
        name: frame.function.clone().unwrap_or_else(|| format!("{base}+{:#x}", frame.offset)),
        file: frame.file.clone(),
        line: frame.line,
        module: frame.module.clone(),
        build_id: frame.build_id.clone(),
    }
}

/// By number, the outermost function first, without offsets.
fn kernel_stacks(run: &Run) -> HashMap<u32, Vec<Frame>> {
    let frame = |frame: &String| Frame::named(&frame[..frame.find(['+', ' ']).unwrap_or(frame.len())]);
    let stacks = run.stacks().flatten().flatten();
    stacks.map(|stack| (stack.stack, stack.frames.iter().rev().map(frame).collect())).collect()
}
