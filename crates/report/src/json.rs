//! Findings as JSON: the interface for scripts.
//!
//! Names keep their meaning once published; times are integers in ns unless the name says otherwise; unknown is `null`.

mod comparison;
mod explanation;
mod operation;
mod phase;
mod whatif;

use explain::summary::{CgroupFigures, FailureCount, Summary};
use model::operation::OperationRecord;
use serde_json::{Map, Value, json};
use statistics::RateSummary;

pub use comparison::{comparison, comparisons, scaling};
pub(crate) use explanation::{causes, culprit, scoped};
pub use explanation::{explanation, stall};
use operation::class;
use phase::seconds;
pub(crate) use whatif::behind;
pub use whatif::what_if;

/// The document of `run --json`, `record --json` and `show --json`.
pub fn summary(run: &str, summary: &Summary) -> Value {
    json!({
        "run": run,
        "workload": summary.workload,
        "simulated": summary.simulated.as_ref().map(crate::simulation::json_of_run),
        "duration_s": seconds(summary.duration_ns),
        "warmup_s": seconds(summary.warmup_ns),
        "ended": summary.ending,
        "slower_than_ns": summary.slower_than_ns,
        "operations": summary.operations.iter().map(|operation| (operation.class.clone(),
            class(operation))).collect::<Map<_, _>>(),
        "rates": summary.rates.iter().map(|(name, rates)| (format!("{name}_per_s"), rate(rates))).collect::<Map<_,
            _>>(),
        "printed": summary.printed.iter().map(|(name, value)| (name.clone(), json!(value))).collect::<Map<_, _>>(),
        "phases": summary.phases.iter().map(phase::phase).collect::<Vec<_>>(),
        "slow": summary.slow.iter().map(|slow| (slow.class.clone(), json!(slow.count))).collect::<Map<_, _>>(),
        "worst": summary.worst.iter().map(record).collect::<Vec<_>>(),
        "failed": summary.failed.iter().map(record).collect::<Vec<_>>(),
        "failures": summary.failures.iter().map(|one| failure(one, summary)).collect::<Vec<_>>(),
        "pressure": summary.pressure.iter().map(|pressure| (format!("{}_{}", pressure.resource, pressure.extent),
            json!(pressure.share))).collect::<Map<_, _>>(),
        "memory_cgroup": summary.memory_cgroup.map(|figures| json!({
            "limit_bytes": figures.limit_bytes,
            "max_usage_bytes": figures.max_usage_bytes,
            "limit_hits_per_s": figures.limit_hits_per_s,
            "reclaims_per_s": figures.reclaims_per_s,
        })),
        "cgroups": summary.cgroups.iter().map(cgroup).collect::<Vec<_>>(),
        "recording": recording(summary),
        "remarks": summary.remarks,
        "missing": summary.missing,
    })
}

fn recording(summary: &Summary) -> Value {
    let recording = &summary.recording;
    json!({
        "samples": recording.samples,
        "metrics": recording.metrics,
        "late_samples": recording.late_samples,
        "missing_samples": recording.missing_samples,
        "lost_events": recording.lost_events,
        "cpu_ms_per_sample": recording.cpu_ms_per_sample,
        "bytes_per_sample": recording.bytes_per_sample,
        "archive_bytes": recording.archive_bytes,
        "remarks_left_out": recording.remarks_left_out,
        "trace": recording.trace.map(|trace| json!({
            "events": trace.events,
            "consumer_cpu_ns": trace.consumer_cpu_ns,
            "programs_cpu_ns": trace.programs_cpu_ns,
            "cpu_share": trace.cpu_share(),
        })),
    })
}

/// One entry of `cgroups`.
fn cgroup(one: &CgroupFigures) -> Value {
    json!({
        "cgroup": one.path,
        "cpus": one.cpus,
        "read_bytes_per_s": one.read_bytes_per_s,
        "written_bytes_per_s": one.written_bytes_per_s,
        "memory_peak_bytes": one.memory_bytes,
        "cpu_throttled_share": one.throttled,
        "psi_io_some": one.io_pressure,
        "psi_memory_some": one.memory_pressure,
    })
}

fn rate(rates: &RateSummary) -> Value {
    json!({ "mean": rates.mean_per_s, "p50": rates.p50_per_s, "p95": rates.p95_per_s, "p99": rates.p99_per_s,
        "max": rates.max_per_s })
}

fn record(operation: &OperationRecord) -> Value {
    json!({
        "kind": operation.kind,
        "class": operation.class,
        "tid": operation.tid,
        "start_ns": operation.start_ns,
        "duration_ns": operation.duration_ns,
        "bytes": operation.bytes,
        "errno": operation.errno,
        "path": operation.path,
        "offset_bytes": operation.offset_bytes,
        "fault": operation.fault,
    })
}

fn failure(failure: &FailureCount, summary: &Summary) -> Value {
    let by = |first: &OperationRecord| {
        summary.member_of(first).map(|member| json!({"actor": member.actor, "ordinal": member.ordinal}))
    };
    json!({
        "class": failure.class,
        "error": failure.error(),
        "errno": failure.errno,
        "count": failure.count,
        "at_least": failure.at_least,
        "files": failure.files,
        "measured": failure.measured,
        "first": failure.first.as_ref().map(|first| json!({
            "path": first.path,
            "offset_bytes": first.offset_bytes,
            "start_ns": first.start_ns,
            "by": by(first),
        })),
    })
}
