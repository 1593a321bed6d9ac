//! The document of `explain --json`.

use explain::blame::{
    Cause, CauseTime, ClassTimes, Convoy, Culprit, Evidence, EvidenceTimes, Explanation, Holds, Link, OtherEnd, Part,
    ProcessShortWaits, Scope, Scoped, Served, ServedTo, ShortWaits, Sleep, Sleeps, Stall, StallCause, TaskId,
    TaskState, UserFrame, UserStack, VictimGroup,
};
use model::detail::OtherEnd as End;
use model::stall::KindCounts;
use model::title::Activity;
use serde_json::{Map, Value, json};

/// The whole document. `causes` include `running` and `unexplained` and sum exactly to `wall_ns`; those of a stall sum
/// to its duration.
pub fn explanation(run: &str, explanation: &Explanation) -> Value {
    json!({
        "run": run,
        "simulated": explanation.simulated.as_ref(),
        "slower_than_ns": explanation.slower_than_ns,
        "asked_for_ns": explanation.asked_for_ns,
        "traced": explanation.trace.as_ref(),
        "followed": explanation.followed,
        "operations": explanation.operations,
        "slow_operations": explanation.slow_operations,
        "unfinished": {"waits": explanation.unfinished.waits, "longest_ns": explanation.unfinished.longest_ns},
        "slow_operations_of_others": explanation.others,
        "outside_of_measured_phases": explanation.outside,
        "slowest": explanation.slowest.as_ref().map(|(class, ns)| json!({"operation": class, "duration_ns": ns})),
        "wall_ns": explanation.wall_ns,
        "running_ns": explanation.time_ns(Cause::Running),
        "unexplained_ns": explanation.time_ns(Cause::Unexplained),
        "causes": counted_causes(&explanation.causes, explanation.wall_ns),
        "classes": explanation.classes.iter().map(class).collect::<Vec<_>>(),
        "culprits": explanation.culprits.iter().map(culprit).collect::<Vec<_>>(),
        "scope": explanation.scoped.as_ref().map(scoped),
        "command": explanation.command.as_ref().map(part),
        "neighbours": explanation.neighbours.as_ref().map(part),
        "processes": explanation.processes.iter().map(|process| victim_group("process", process)).collect::<Vec<_>>(),
        "cgroups": explanation.cgroups.iter().map(|cgroup| victim_group("cgroup", cgroup)).collect::<Vec<_>>(),
        "containers": explanation.containers.names(),
        "convoys": explanation.convoys.iter().map(convoy).collect::<Vec<_>>(),
        "stalls_total": explanation.slow_operations,
        "stalls_listed": explanation.stalls.len(),
        "stalls": explanation.stalls.iter().map(stall).collect::<Vec<_>>(),
        "sleeps": sleeps(&explanation.sleeps),
        "short_waits": short_waits(explanation),
        "most_short_waits": explanation.most_short_waits.as_ref().map(most_short_waits),
        "losses": losses(explanation),
        "untraced": explanation.untraced.iter().map(crate::damage::untraced).collect::<Vec<_>>(),
    })
}

/// The scope of an explanation.
pub(crate) fn scoped(scoped: &Scoped) -> Value {
    let Scope { devices, cgroups, comms, pids, paths } = &scoped.scope;
    json!({
        "devices": devices,
        "cgroups": cgroups,
        "comms": comms,
        "pids": pids,
        "paths": paths,
        "outside_operations": scoped.outside,
        "outside_ns": scoped.outside_ns,
        "present": scoped.present.iter().map(|(kind, names)| ((*kind).to_owned(), json!(names))).collect::<Map<_, _>>(),
    })
}

/// The operations of the recorded command, or of its neighbours.
fn part(part: &Part) -> Value {
    json!({
        "operations": part.operations,
        "wall_ns": part.wall_ns,
        "causes": counted_causes(&part.causes, part.wall_ns),
        "classes": part.classes.iter().map(class).collect::<Vec<_>>(),
        "culprits": part.culprits.iter().map(culprit).collect::<Vec<_>>(),
    })
}

fn victim_group(kind: &str, victim_group: &VictimGroup) -> Value {
    json!({
        kind: victim_group.name,
        "pid": victim_group.pid,
        "processes": victim_group.processes,
        "neighbour": victim_group.of_command.map(|of_command| !of_command),
        "operations": victim_group.operations,
        "wall_ns": victim_group.wall_ns,
        "again_ns": victim_group.again_ns,
        "again_within_ns": victim_group.again_within_ns,
        "lost_ns": victim_group.lost_ns,
        "cause": victim_group.cause.map(Cause::name),
        "cause_ns": victim_group.cause_ns,
        "culprit": victim_group.culprit.as_ref().map(culprit),
    })
}

fn other_end(end: &OtherEnd) -> Value {
    json!({
        "task": end.task.to_string(),
        "through": end.through.as_ref().map(ToString::to_string),
        "through_type": end.through.as_ref().map(End::name),
        "certain": end.is_certain,
        "unread_bytes": end.unread_bytes,
        "title": end.title,
        "activity": end.title.as_deref().and_then(Activity::of_title).map(Activity::name),
        "state": end.state.map(TaskState::name),
        "call": end.call,
        "on": end.on.as_ref().map(ToString::to_string),
        "on_type": end.on.as_ref().map(End::name),
    })
}

fn sleeps(sleeps: &Sleeps) -> Value {
    let sleep = |sleep: &Sleep| {
        json!({
            "task": sleep.task.to_string(),
            "tid": sleep.task.tid,
            "call": sleep.call,
            "start_ns": sleep.start_ns,
            "duration_ns": sleep.duration_ns,
            "cpu_quota": sleep.cpu_quota,
            "unfinished": sleep.unfinished,
            "throughout": sleep.throughout,
            "hangs": sleep.hangs,
            "stack": sleep.stack,
            "waits_for": sleep.waits_for.as_ref().map(ToString::to_string),
            "waits_for_type": sleep.waits_for.as_ref().map(End::name),
            "waker": sleep.waker.as_ref().map(ToString::to_string),
            "other_ends": sleep.other_ends.iter().map(other_end).collect::<Vec<_>>(),
        })
    };
    json!({
        "count": sleeps.count,
        "total_ns": sleeps.total_ns,
        "longest": sleeps.longest.iter().map(sleep).collect::<Vec<_>>(),
        "idle": {
            "count": sleeps.idle_count,
            "total_ns": sleeps.idle_ns,
            "calls": sleeps.idle_calls,
            "throughout": sleeps.idle_throughout,
        },
    })
}

fn short_waits(explanation: &Explanation) -> Value {
    let mut waits = waits_of_some(&explanation.short_waits);
    waits["matter"] = json!(explanation.short_waits_matter());
    waits["share"] = json!(explanation.share_of_short_waits());
    waits
}

fn most_short_waits(most: &ProcessShortWaits) -> Value {
    let mut waits = waits_of_some(&most.waits);
    waits["process"] = json!(most.process.to_string());
    waits
}

fn waits_of_some(waits: &ShortWaits) -> Value {
    json!({
        "count": waits.count,
        "time_ns": waits.time_ns,
        "recorded_individually": waits.recorded,
        "shortest_ns": waits.shortest_ns,
        "longest_ns": waits.longest_ns,
        "causes": causes(&waits.causes, waits.time_ns),
        "calls": waits.calls.iter().map(class).collect::<Vec<_>>(),
        "culprits": waits.culprits.iter().map(culprit).collect::<Vec<_>>(),
        "running_ns": waits.running_ns,
        "unknown": {"count": waits.unknown, "total_ns": waits.unknown_ns},
    })
}

/// With what of them counts for a client as well: of classes and shorter waits that is not known.
fn counted_causes(all: &[CauseTime], wall_ns: u64) -> Vec<Value> {
    let mut values = causes(all, wall_ns);
    values.iter_mut().zip(all).for_each(|(value, time)| value["again_ns"] = json!(time.again.total_ns()));
    values
}

pub(crate) fn causes(causes: &[CauseTime], wall_ns: u64) -> Vec<Value> {
    let cause = |time: &CauseTime| {
        json!({
            "cause": time.cause.name(),
            "time_ns": time.time_ns,
            "share": time.time_ns as f64 / wall_ns.max(1) as f64,
            "operations": time.operations,
            "evidence": evidence(&time.evidence),
        })
    };
    causes.iter().map(cause).collect()
}

fn evidence(times: &EvidenceTimes) -> Value {
    Evidence::ALL
        .iter()
        .map(|&evidence| (evidence.name().to_owned(), json!(times.of(evidence))))
        .collect::<Map<_, _>>()
        .into()
}

fn class(class: &ClassTimes) -> Value {
    json!({
        "operation": class.class,
        "operations": class.operations,
        "wall_ns": class.wall_ns,
        "causes": causes(&class.causes, class.wall_ns),
    })
}

pub(crate) fn culprit(culprit: &Culprit) -> Value {
    json!({
        "task": culprit.task.as_ref().map(ToString::to_string),
        "tasks": culprit.tasks,
        "started_by": culprit.started_by,
        "through": culprit.through.as_ref().map(ToString::to_string),
        "role": culprit.role,
        "cgroup": culprit.cgroup,
        "container": culprit.container,
        "device": culprit.device.map(|device| device.to_string()),
        "device_name": culprit.device_name,
        "file_system": culprit.file_system,
        "cause": culprit.cause.name(),
        "evicts": Some(culprit.evicts).filter(|evicts| *evicts),
        "time_ns": culprit.time_ns,
        "own_ns": culprit.own_ns,
        "victims": culprit.victims.iter().map(|(task, ns)| json!({"task": task.to_string(),
            "time_ns": ns})).collect::<Vec<_>>(),
        "victims_total": culprit.victims_count,
        "at_once": Some(culprit.at_once).filter(|tasks| *tasks > 0),
    })
}

fn convoy(convoy: &Convoy) -> Value {
    let victim = |(task, ns): &(TaskId, u64)| json!({"task": task.to_string(), "time_ns": ns});
    json!({
        "cause": convoy.cause.name(),
        "holder": convoy.holder.as_ref().map(ToString::to_string),
        "device": convoy.device.map(|device| device.to_string()),
        "device_name": convoy.device_name,
        "detail": convoy.detail,
        "lock": convoy.lock,
        "start_ns": convoy.start_ns,
        "end_ns": convoy.end_ns,
        "times": convoy.times,
        "at_once": convoy.at_once,
        "victims": convoy.victims,
        "processes": convoy.processes,
        "process": convoy.process.as_ref().map(ToString::to_string),
        "time_ns": convoy.time_ns,
        "longest_ns": convoy.longest_ns,
        "longest": convoy.named.iter().map(victim).collect::<Vec<_>>(),
    })
}

/// One stall in the form of `explain --json`.
pub fn stall(stall: &Stall) -> Value {
    json!({
        "task": stall.task.to_string(),
        "tid": stall.task.tid,
        "cgroup": stall.cgroup,
        "neighbour": stall.of_command.map(|of_command| !of_command),
        "operation": stall.operation,
        "path": stall.path,
        "start_ns": stall.start_ns,
        "duration_ns": stall.duration_ns,
        "finished": stall.finished,
        "began_before": stall.cut,
        "causes": stall.causes.iter().map(stall_cause).collect::<Vec<_>>(),
        "chain": stall.chain.iter().map(link).collect::<Vec<_>>(),
        "request": stall.request.as_ref().map(|request| json!({
            "device": request.device.to_string(),
            "device_name": request.device_name,
            "sector": request.sector,
            "bytes": request.bytes,
            "rwbs": request.kind.to_string(),
            "task": request.task.as_ref().map(ToString::to_string),
            "queue_ns": request.queue_ns,
            "device_ns": request.device_ns,
            "throttled": request.throttled,
            "errno": request.failed.as_ref().and_then(|failed| failed.errno),
            "retries": request.failed.as_ref().and_then(|failed| failed.failures.retries),
            "timeouts": request.failed.as_ref().and_then(|failed| failed.failures.timeouts),
            "failure": request.failed.as_ref().map(|failed| &failed.words),
            "in_flight": kinds(&request.in_flight),
            "overtaken_by": kinds(&request.overtaken_by),
            "in_flight_of": request.in_flight_of.as_deref().map(submitters),
            "overtakers": request.overtakers.as_deref().map(submitters),
        })),
        "served": stall.served.as_ref().map(served),
        "user_stack": stall.user_stack.as_ref().map(user_stack),
        "rules": stall.rules.iter().map(|rule| rule.id).collect::<Vec<_>>(),
    })
}

fn stall_cause(cause: &StallCause) -> Value {
    json!({
        "cause": cause.cause.name(),
        "time_ns": cause.time_ns,
        "evidence": cause.evidence.main().name(),
        "evidence_ns": evidence(&cause.evidence),
        "detail": cause.detail,
    })
}

fn served(served: &Served) -> Value {
    json!({"requests": served.requests, "bytes": served.bytes, "by": submitters(&served.by)})
}

fn submitters(by: &[ServedTo]) -> Value {
    let one = |one: &ServedTo| {
        json!({
            "task": one.task.as_ref().map(ToString::to_string),
            "cgroup": one.cgroup,
            "own": one.is_own,
            "requests": one.requests,
            "bytes": one.bytes,
        })
    };
    by.iter().map(one).collect()
}

fn link(link: &Link) -> Value {
    json!({
        "task": link.task.as_ref().map(ToString::to_string),
        "waits_for": link.cause.name(),
        "detail": link.detail,
        "time_ns": link.time_ns,
        "holds_lock": link.holds.and_then(|holds| match holds {
            Holds::Exactly => Some("yes"),
            Holds::Perhaps => Some("perhaps"),
            Holds::Stopped | Holds::OtherEnd => None,
        }),
        "stopped_it": link.holds == Some(Holds::Stopped),
        "kernel_stack": (link.holds.is_some() && !link.kernel_stack.is_empty()).then_some(&link.kernel_stack),
        "user_stack": link.user_stack.as_ref().map(user_stack),
        "user_stack_at": link.user_stack.as_ref().map(|stack| if stack.released { "release" } else { "wait" }),
    })
}

/// Callers that are unknown are one `null` at the end.
fn user_stack(stack: &UserStack) -> Value {
    let frame = |frame: &UserFrame| {
        json!({
            "function": frame.function,
            "file": frame.file,
            "line": frame.line,
            "module": frame.module,
            "build_id": frame.build_id,
            "offset": frame.offset,
        })
    };
    let missing = (!stack.whole).then_some(Value::Null);
    stack.frames.iter().map(frame).chain(missing).collect::<Vec<_>>().into()
}

fn kinds(counts: &KindCounts) -> Value {
    counts.iter().map(|(kind, count)| (kind.to_string(), json!(count))).collect::<Map<_, _>>().into()
}

fn losses(explanation: &Explanation) -> Value {
    let losses = &explanation.losses;
    json!({
        "lost": losses.lost.iter().map(|(what, count)| (what.clone(), json!(count))).collect::<Map<_, _>>(),
        "tables": losses.tables.iter().map(|(table, why)| json!({"table": table, "why": why})).collect::<Vec<_>>(),
        "missing": losses.missing.iter().map(|(what, why, remedy)| json!({"what": what, "why": why,
            "remedy": remedy})).collect::<Vec<_>>(),
        "damaged_rows": losses.damaged,
        "damaged_parts": losses.parts,
        "unknown_requests": losses.unknown_requests,
    })
}
