//! A moment as JSON: the document of `top --once --json`.

use explain::snapshot::{DeviceLoad, Snapshot, Stuck, Work};
use serde_json::{Value, json};

use crate::json::{causes, culprit, scoped, stall};

/// The whole moment. Times are monotonic, in ns; unknown values are null.
pub fn json(run: Option<&str>, snapshot: &Snapshot) -> Value {
    let explanation = &snapshot.explanation;
    let stalls = explanation.stalls.iter().zip(&snapshot.whole).map(|(one, (start_ns, duration_ns))| {
        let mut value = stall(one);
        value["whole"] = json!({"start_ns": start_ns, "duration_ns": duration_ns});
        value
    });
    let memory = &snapshot.memory;
    let pressure = memory.pressure.iter();
    json!({
        "run": run,
        "simulated": explanation.simulated.as_ref(),
        "from_ns": snapshot.window.from_ns,
        "to_ns": snapshot.window.to_ns,
        "phase": snapshot.phase,
        "traced": explanation.trace.is_some(),
        "work": snapshot.work.iter().map(work).collect::<Vec<_>>(),
        "wall_ns": explanation.wall_ns,
        "slow_operations": explanation.slow_operations,
        "causes": causes(&explanation.causes, explanation.wall_ns),
        "scope": explanation.scoped.as_ref().map(scoped),
        "culprits": explanation.culprits.iter().map(culprit).collect::<Vec<_>>(),
        "stalls": stalls.collect::<Vec<_>>(),
        "stuck": snapshot.stuck.iter().map(stuck).collect::<Vec<_>>(),
        "devices": snapshot.devices.iter().map(device).collect::<Vec<_>>(),
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

fn work(work: &Work) -> Value {
    json!({
        "name": work.name,
        "per_s": work.per_s,
        "bytes_per_s": work.bytes_per_s,
        "errors": work.errors,
        "p50_ns": work.p50_ns,
        "p99_ns": work.p99_ns,
        "max_ns": work.max_ns,
        "stuck": work.stuck,
        "oldest_running_ns": work.oldest_running_ns,
        "history_per_s": work.history,
    })
}

fn stuck(stuck: &Stuck) -> Value {
    json!({
        "task": stuck.task.to_string(),
        "tid": stuck.task.tid,
        "cgroup": stuck.cgroup,
        "operation": stuck.operation,
        "path": stuck.path,
        "since_ns": stuck.since_ns,
        "lasts_ns": stuck.lasts_ns,
        "holder": stuck.holder.as_ref().map(ToString::to_string),
        "peer": stuck.peer.as_ref().map(ToString::to_string),
        "frames": stuck.frames,
    })
}

fn device(device: &DeviceLoad) -> Value {
    json!({
        "name": device.name,
        "device": device.number,
        "mount": device.mount,
        "under_test": device.under_test,
        "in_flight": device.in_flight,
        "reads_per_s": device.reads_per_s,
        "writes_per_s": device.writes_per_s,
        "read_bytes_per_s": device.read_bytes_per_s,
        "written_bytes_per_s": device.written_bytes_per_s,
        "busy": device.busy,
        "mean_ns": device.mean_ns,
        "device_p99_ns": device.device_p99_ns,
    })
}
