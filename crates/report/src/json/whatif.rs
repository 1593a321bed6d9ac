//! The keys `what_if` and `behind` of `explain --json`.

use explain::waits::Behind;
use explain::whatif::{Absence, Advice, Change, Choice, Estimate, Prediction, SlowLatencies};
use model::container::Containers;
use remedy::{Remedy, RemedyAction};
use serde_json::{Value, json};

/// What would help, the most helpful first.
pub fn what_if(advice: &Advice) -> Value {
    json!({
        "of_short_waits": advice.of_short_waits,
        "recorded": latencies(&advice.recorded),
        "choices": advice.choices.iter().map(|one| choice(one, &advice.containers)).collect::<Vec<_>>(),
        "memory_limit_is_unknown": advice.memory_limit_is_unknown,
        "assumptions": crate::explain::ASSUMPTIONS,
    })
}

/// What is behind the waits of slow operations, the most time first.
pub(crate) fn behind(list: &[Behind]) -> Value {
    let task = |(task, ns): &(String, u64)| json!({"task": task, "time_ns": ns});
    let entry = |behind: &Behind| {
        json!({
            "cause": behind.cause.name(),
            "end": behind.end.name(),
            "time_ns": behind.time_ns,
            "share": behind.share,
            "tasks": behind.tasks.iter().map(task).collect::<Vec<_>>(),
        })
    };
    list.iter().map(entry).collect()
}

fn choice(choice: &Choice, containers: &Containers) -> Value {
    let target = &choice.target;
    json!({
        "title": crate::answer::title(choice),
        "change": change(&choice.change),
        "at_most": choice.is_bound(),
        "saved_ns": choice.saved_ns(),
        "saved_share": choice.saved(),
        "predicted": prediction(&choice.prediction),
        "target": {
            "device": target.device,
            "number": target.number,
            "cgroup": target.cgroup,
            "container": target.cgroup.as_deref().and_then(|cgroup| containers.words(cgroup)),
            "mount": target.mount,
        },
        "remedies": choice.remedies.iter().map(remedy).collect::<Vec<_>>(),
    })
}

fn change(change: &Change) -> Value {
    match change {
        Change::Edge { effect, of } => {
            let of: Vec<&str> = of.iter().map(|kind| kind.name()).collect();
            json!({"edge": effect.edge, "factor": effect.factor, "of": of})
        }
        Change::Refaults(refaults) => json!({"edge": "refault", "cgroup": refaults.cgroup, "share": refaults.share}),
        Change::Absent(absence) => {
            let Absence { task, pid, duty, cgroup, evicts, .. } = absence;
            json!({"absent": {"task": task, "pid": pid, "role": duty, "cgroup": cgroup, "evicts": evicts}})
        }
    }
}

fn prediction(prediction: &Prediction) -> Value {
    json!({
        "recorded": latencies(&prediction.recorded),
        "slow_operations": estimate(prediction.slow),
        "total_ns": estimate(prediction.total_ns),
        "p50_ns": estimate(prediction.p50_ns),
        "p99_ns": estimate(prediction.p99_ns),
        "max_ns": estimate(prediction.max_ns),
        "changed": prediction.changed,
        "assumed": prediction.assumed,
        "elapsed_ns": prediction.elapsed_ns,
        "in_same_time": {
            "slow_operations": estimate(prediction.in_same_time.slow),
            "total_ns": estimate(prediction.in_same_time.total_ns),
            "sets_pauses": prediction.in_same_time.sets_pauses,
            "p50_ns": prediction.in_same_time.p50_ns.map(estimate),
            "p99_ns": prediction.in_same_time.p99_ns.map(estimate),
        },
    })
}

fn latencies(latencies: &SlowLatencies) -> Value {
    json!({
        "slow_operations": latencies.slow,
        "total_ns": latencies.total_ns,
        "again_ns": latencies.again_ns,
        "p50_ns": latencies.p50_ns,
        "p99_ns": latencies.p99_ns,
        "max_ns": latencies.max_ns,
    })
}

fn estimate(estimate: Estimate) -> Value {
    json!({"value": estimate.value, "low": estimate.low, "high": estimate.high})
}

fn remedy(remedy: &Remedy) -> Value {
    let apply = match &remedy.change {
        RemedyAction::Setting(setting) => json!({
            "path": setting.path,
            // The file has a line for each disk.
            "per_device": setting.is_per_device(),
        }),
        RemedyAction::Command { apply, revert } | RemedyAction::Manual { apply, revert, .. } => {
            json!({"apply": apply, "revert": revert})
        }
    };
    json!({
        "id": remedy.id,
        "title": remedy.title,
        "live": remedy.live,
        "risk": remedy.risk,
        "source": remedy.source,
        "claim": remedy.claim,
        "read": remedy.read,
        "changes": apply,
    })
}
