//! A moment as JSON: the document of `top --once --json`.

use explain::glance::{DeviceLoad, Glance, Stuck, Work};
use serde_json::{Value, json};

use crate::json::{causes, culprit, stall};

/// The whole moment. Times are on the monotonic clock, in ns; what is not known is null.
pub fn json(run: Option<&str>, glance: &Glance) -> Value {
    let explanation = &glance.explanation;
    let stalls = explanation.stalls.iter().zip(&glance.whole).map(|(one, (start_ns, duration_ns))| {
        let mut value = stall(one);
        value["whole"] = json!({"start_ns": start_ns, "duration_ns": duration_ns});
        value
    });
    let memory = &glance.memory;
    let pressure = memory.pressure.iter();
    json!({
        "run": run,
        "simulated": explanation.simulated.as_ref(),
        "from_ns": glance.window.from_ns,
        "to_ns": glance.window.to_ns,
        "phase": glance.phase,
        "traced": explanation.trace.is_some(),
        "work": glance.work.iter().map(work).collect::<Vec<_>>(),
        "wall_ns": explanation.wall_ns,
        "slow_operations": explanation.slow_operations,
        "causes": causes(&explanation.causes, explanation.wall_ns),
        "culprits": explanation.culprits.iter().map(culprit).collect::<Vec<_>>(),
        "stalls": stalls.collect::<Vec<_>>(),
        "stuck": glance.stuck.iter().map(stuck).collect::<Vec<_>>(),
        "devices": glance.devices.iter().map(device).collect::<Vec<_>>(),
        "memory": {
            "total_bytes": memory.total_bytes,
            "available_bytes": memory.available_bytes,
            "dirty_bytes": memory.dirty_bytes,
            "writeback_bytes": memory.writeback_bytes,
        },
        "pressure": pressure.map(|one| json!({"resource": one.resource, "extent": one.extent, "share": one.share}))
            .collect::<Vec<_>>(),
    })
}

fn work(one: &Work) -> Value {
    json!({
        "name": one.name,
        "per_s": one.per_s,
        "bytes_per_s": one.bytes_per_s,
        "errors": one.errors,
        "p50_ns": one.p50_ns,
        "p99_ns": one.p99_ns,
        "max_ns": one.max_ns,
        "stuck": one.stuck,
        "oldest_running_ns": one.oldest_running_ns,
        "history_per_s": one.history,
    })
}

fn stuck(one: &Stuck) -> Value {
    json!({
        "task": one.task.to_string(),
        "tid": one.task.tid,
        "cgroup": one.cgroup,
        "operation": one.operation,
        "path": one.path,
        "since_ns": one.since_ns,
        "lasts_ns": one.lasts_ns,
        "frames": one.frames,
    })
}

fn device(one: &DeviceLoad) -> Value {
    json!({
        "name": one.name,
        "device": one.number,
        "mount": one.mount,
        "in_flight": one.in_flight,
        "reads_per_s": one.reads_per_s,
        "writes_per_s": one.writes_per_s,
        "read_bytes_per_s": one.read_bytes_per_s,
        "written_bytes_per_s": one.written_bytes_per_s,
        "busy": one.busy,
        "mean_ns": one.mean_ns,
        "device_p99_ns": one.device_p99_ns,
    })
}
