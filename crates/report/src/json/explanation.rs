//! The document of `explain --json`.

use explain::blame::{Cause, CauseTime, ClassTimes, Culprit, Evidence, EvidenceTimes, Explanation, Link, Stall};
use model::stall::KindCounts;
use serde_json::{Map, Value, json};

/// The whole document. `causes` include `running` and `unexplained` and sum exactly to `wall_ns`; those of a stall sum to
/// its duration.
pub fn explanation(run: &str, explanation: &Explanation) -> Value {
    json!({
        "run": run,
        "simulated": explanation.simulated.as_ref(),
        "slower_than_ns": explanation.slower_than_ns,
        "asked_for_ns": explanation.asked_for_ns,
        "traced": explanation.trace.as_ref(),
        "operations": explanation.operations,
        "slow_operations": explanation.slow_operations,
        "slow_operations_of_others": explanation.others,
        "outside_of_measured_phases": explanation.outside,
        "slowest": explanation.slowest.as_ref().map(|(class, ns)| json!({"operation": class, "duration_ns": ns})),
        "wall_ns": explanation.wall_ns,
        "running_ns": explanation.time_ns(Cause::Running),
        "unexplained_ns": explanation.time_ns(Cause::Unexplained),
        "causes": causes(&explanation.causes, explanation.wall_ns),
        "classes": explanation.classes.iter().map(class).collect::<Vec<_>>(),
        "culprits": explanation.culprits.iter().map(culprit).collect::<Vec<_>>(),
        "stalls": explanation.stalls.iter().map(stall).collect::<Vec<_>>(),
        "losses": losses(explanation),
    })
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
        "cgroup": culprit.cgroup,
        "device": culprit.device.map(|device| device.to_string()),
        "file_system": culprit.file_system,
        "cause": culprit.cause.name(),
        "time_ns": culprit.time_ns,
    })
}

/// One stall in the form of `explain --json`.
pub fn stall(stall: &Stall) -> Value {
    let causes = stall.causes.iter().map(|cause| {
        json!({
            "cause": cause.cause.name(),
            "time_ns": cause.time_ns,
            "evidence": cause.evidence.main().name(),
            "evidence_ns": evidence(&cause.evidence),
            "detail": cause.detail,
        })
    });
    json!({
        "task": stall.task.to_string(),
        "tid": stall.task.tid,
        "cgroup": stall.cgroup,
        "operation": stall.operation,
        "path": stall.path,
        "start_ns": stall.start_ns,
        "duration_ns": stall.duration_ns,
        "finished": stall.finished,
        "causes": causes.collect::<Vec<_>>(),
        "chain": stall.chain.iter().map(link).collect::<Vec<_>>(),
        "request": stall.request.as_ref().map(|request| json!({
            "device": request.device.to_string(),
            "sector": request.sector,
            "bytes": request.bytes,
            "rwbs": request.kind.to_string(),
            "task": request.task.to_string(),
            "queue_ns": request.queue_ns,
            "device_ns": request.device_ns,
            "throttled": request.throttled,
            "in_flight": kinds(&request.in_flight),
            "overtaken_by": kinds(&request.overtaken_by),
        })),
    })
}

fn link(link: &Link) -> Value {
    json!({
        "task": link.task.as_ref().map(ToString::to_string),
        "waits_for": link.cause.name(),
        "detail": link.detail,
        "time_ns": link.time_ns,
    })
}

fn kinds(counts: &KindCounts) -> Value {
    counts.iter().map(|(kind, count)| (kind.to_string(), json!(count))).collect::<Map<_, _>>().into()
}

fn losses(explanation: &Explanation) -> Value {
    let losses = &explanation.losses;
    json!({
        "lost": losses.lost.iter().map(|(what, count)| (what.clone(), json!(count))).collect::<Map<_, _>>(),
        "tables": losses.tables.iter().map(|(table, why)| json!({"table": table, "why": why})).collect::<Vec<_>>(),
        "missing": losses.missing.iter().map(|(what, why, remedy)| json!({"what": what, "why": why, "remedy": remedy})).collect::<Vec<_>>(),
        "damaged_rows": losses.damaged,
        "unknown_requests": losses.unknown_requests,
    })
}
