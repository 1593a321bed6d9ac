//! The document of `blk --json`.
//!
//! Times are integers in ns. A figure without values is `null`. Minimum, mean and maximum are exact; percentiles have 3
//! significant digits (within 1.6 % for processes and cgroups).

use lifecycle::{BlockReport, Certainty, DeviceTables, Histogram, PerPhase, Phase, SlowBio, SubmitterTimes};
use serde_json::{Map, Value, json};

use super::others::{kinds_json, others_json, threads_json};
use super::{BlkFindings, QUANTILES, Reading, merge_ratio, overhead};

/// The whole document.
pub fn document(findings: &BlkFindings<'_>) -> Value {
    let report = findings.report;
    let anomalies = report.anomalies.counts().into_iter().map(|(name, count)| (name.to_owned(), json!(count)));
    json!({
        "events": findings.reading.events,
        "bytes": findings.reading.bytes,
        "first_ns": report.first_ns,
        "last_ns": report.last_ns,
        "lost": lost(&findings.reading),
        "clock": clock(report),
        "damage": damage(findings),
        "missing_events": findings.missing_events(),
        "anomalies": anomalies.collect::<Map<_, _>>(),
        "oldest_given_up_ns": report.anomalies.oldest_age_ns,
        "all": {
            "phases": phases(&report.phases),
            "overhead": shares(report.devices.iter().map(|device| &device.tables)),
        },
        "devices": report.devices.iter().map(|report| device(&report.device.to_string(),
            &report.tables)).collect::<Vec<_>>(),
        "kinds": report.kinds.iter().map(|(kind, times)| json!({
            "rwbs": kind.to_string(), "bios": times.queued, "bytes": times.queued_bytes,
            "q2c": times_of(&times.q2c), "d2c": times_of(&times.d2c),
        })).collect::<Vec<_>>(),
        "processes": report.processes.iter().map(|sums| process(sums, findings)).collect::<Vec<_>>(),
        "cgroups": report.cgroups.iter().map(cgroup).collect::<Vec<_>>(),
        "slower_than_ns": findings.slower_than_ns,
        "slow_count": report.slow.count,
        "slow_unanswered": report.slow.unanswered,
        "slow_across_clock_jump": report.slow.across_clock_jump,
        "slow_overtaken_by": others_json(Some(&report.slow.overtakers), findings),
        "slow_behind": others_json(Some(&report.slow.ahead), findings),
        "slow": report.slow.kept.iter().map(|bio| slow(bio, findings)).collect::<Vec<_>>(),
    })
}

fn lost(reading: &Reading) -> Value {
    json!({
        "gaps": reading.gaps,
        "events": reading.lost_events,
        "before_start": reading.missing_at_start,
        "noticed_late": reading.noticed_late,
    })
}

fn clock(report: &BlockReport) -> Value {
    let jumps = report.clock.jumps.iter();
    let jumps = jumps.map(|jump| json!({"at_ns": jump.at_ns, "by_ns": jump.by_ns, "event": jump.event}));
    json!({
        "backward_steps": report.clock.backward_steps,
        "largest_forward_gap_ns": report.clock.largest_forward_gap_ns,
        "jump_count": report.clock.jump_count,
        "jumps": jumps.collect::<Vec<_>>(),
    })
}

fn process(times: &SubmitterTimes<u32>, findings: &BlkFindings<'_>) -> Value {
    let mut value = sums(times);
    value["pid"] = json!(times.submitter);
    value["comm"] = json!(findings.name(times.submitter));
    value
}

fn cgroup(times: &SubmitterTimes<u64>) -> Value {
    let mut value = sums(times);
    value["cgroup"] = json!(times.submitter);
    value
}

fn damage(findings: &BlkFindings<'_>) -> Value {
    let reading = &findings.reading;
    let counts = reading.damage.iter().filter(|(_, count, _)| *count > 0);
    json!({
        "counts": counts.map(|(name, count, amount)| ((*name).to_owned(), json!({"count": count,
            "amount": amount}))).collect::<Map<_, _>>(),
        "positions": reading.positions.iter().map(|(kind, input, offset, amount)| json!({
            "kind": kind, "input": reading.inputs.get(*input), "offset": offset, "amount": amount,
        })).collect::<Vec<_>>(),
    })
}

/// `P` of the contract: each phase's times.
fn phases(phases: &PerPhase<Histogram>) -> Value {
    Phase::ALL.iter().map(|&phase| (phase.key().to_owned(), times_of(&phases[phase]))).collect::<Map<_, _>>().into()
}

/// `M` of the contract.
fn times_of<const COARSE: u32>(times: &Histogram<COARSE>) -> Value {
    let mut value = json!({
        "count": times.count(), "min_ns": times.min(), "mean_ns": times.mean(), "max_ns": times.max(),
    });
    for (name, quantile) in QUANTILES {
        value[name] = json!(times.quantile(quantile));
    }
    value
}

/// Figures of a distribution without a time unit.
fn figures(histogram: &Histogram) -> Value {
    json!({
        "count": histogram.count(), "min": histogram.min(), "mean": histogram.mean(), "max": histogram.max(),
        "p50": histogram.quantile(0.5), "p99": histogram.quantile(0.99),
    })
}

fn shares<'a>(devices: impl Iterator<Item = &'a DeviceTables> + Clone) -> Value {
    let Some((parts, undivided)) = overhead(devices) else { return Value::Null };
    let mut value: Map<_, _> = parts.into_iter().map(|(phase, share)| (phase.key().to_owned(), json!(share))).collect();
    value.insert("undivided".to_owned(), json!(undivided));
    value.into()
}

fn device(name: &str, tables: &DeviceTables) -> Value {
    json!({
        "device": name,
        "events": tables.events,
        "phases": phases(&tables.phases),
        "overhead": shares(std::iter::once(tables)),
        "merge_ratio": merge_ratio(tables),
        "requests": tables.requests,
        "bios": tables.bios,
        "completed": tables.completed,
        "errors": tables.errors,
        "merges": tables.merges,
        "request_merges": tables.request_merges,
        "splits": tables.splits,
        "requeues": tables.requeues,
        "requeued_ns": tables.requeued_ns,
        "request_waits": tables.sleeps,
        "counted_out": counted_out(tables),
        "lost": {"gaps": tables.lost.0, "events": tables.lost.1},
        "remapped_from": tables.remapped_from.iter().map(|(from, count)| (from.to_string(),
            json!(count))).collect::<Map<_, _>>(),
        "flushes_d2c": times_of(&tables.flushes),
        "passthrough_d2c": times_of(&tables.passthrough),
        "request_sectors": {
            "read": figures(&tables.sizes[0]), "write": figures(&tables.sizes[1]), "discard": figures(&tables.sizes[2]),
        },
        "seek_sectors": {
            "q2q": seeks(&tables.q2q_seeks),
            "d2d": seeks(&tables.d2d_seeks),
        },
        "depth_at_queue": figures(&tables.depth_at_queue),
        "issued_at_queue": figures(&tables.issued_at_queue),
        "plugs": plugs(&tables.plugs),
        "active_ns": times_of(&tables.active),
        "idle_ns": times_of(&tables.idle),
    })
}

fn counted_out(tables: &DeviceTables) -> Value {
    json!({
        "after_loss": tables.counted_out.after_loss,
        "in_part": tables.counted_out.in_part,
        "across_clock_jump": tables.counted_out.across_clock_jump,
    })
}

fn plugs(plugs: &lifecycle::Plugs) -> Value {
    json!({
        "count": plugs.plugs, "unplugs": plugs.unplugs, "timer_unplugs": plugs.timer_unplugs,
        "unplugged": plugs.unplugged, "timer_unplugged": plugs.timer_unplugged, "plugged_ns": plugs.plugged_ns,
    })
}

fn seeks(seeks: &lifecycle::Seeks) -> Value {
    let mut value = figures(&seeks.distance);
    value["backward"] = json!(seeks.backward);
    value["sequential"] =
        json!(seeks.distance.ranges().next().map_or(0, |(low, _, count)| if low == 0 { count } else { 0 }));
    value["mode"] =
        json!(seeks.distance.mode().map(|(low, high, count)| json!({"low": low, "high": high, "count": count})));
    value
}

fn sums<K>(sums: &SubmitterTimes<K>) -> Value {
    json!({
        "bios": sums.queued, "bytes": sums.queued_bytes, "read_bytes": sums.read_bytes, "write_bytes": sums.write_bytes,
        "errors": sums.errors, "slow": sums.slow, "q2c": times_of(&sums.q2c), "d2c": times_of(&sums.d2c),
    })
}

fn slow(bio: &SlowBio, findings: &BlkFindings<'_>) -> Value {
    let phases = Phase::PARTS.iter().chain([&Phase::Q2C]);
    json!({
        "device": bio.device.to_string(),
        "sector": bio.sector,
        "sector_count": bio.sectors,
        "rwbs": bio.kind.to_string(),
        "pid": bio.pid,
        "comm": findings.names.get(bio.pid),
        "cgroup": (bio.cgroup != 0).then_some(bio.cgroup),
        "queued_ns": bio.queued_ns,
        "completed_ns": bio.completed_ns,
        "merged": bio.merged,
        "exact": bio.certainty == Certainty::Exact,
        "phases_ns": phases.map(|&phase| (phase.key().to_owned(), json!(bio.phases.get(phase)))).collect::<Map<_, _>>(),
        "in_flight": kinds_json(bio.in_flight.as_ref()),
        "overtaken_by": kinds_json(bio.overtaken_by.as_ref()),
        "behind": kinds_json(bio.behind.as_ref()),
        "overtaken_by_threads": threads_json(bio.overtaken_by.as_ref(), findings),
        "overtaken_by_cgroups": bio.overtaken_by.as_ref().map(|others| {
            others.by_cgroup.iter().map(|(cgroup, count)| (cgroup.to_string(), json!(count))).collect::<Map<_, _>>()
        }),
        "overtaken_by_devices": bio.overtaken_by.as_ref().map(|others| {
            others.by_device.iter().map(|(device, count)| (device.to_string(), json!(count))).collect::<Map<_, _>>()
        }),
    })
}
