//! `simulate sched --trace`: a recorded load under other I/O schedulers.

use std::path::Path;

use archive::{ArchiveError, Run};
use lifecycle::{FinishedBio, Lifecycle, Phase, Settings as LifecycleSettings};
use model::block::{DeviceNumber, SECTOR_BYTES};
use model::quantity::counted;
use model::simulation::Origin;
use model::stall::RequestRecord;
use simulate::parameter::Settings;
use simulate::sched::predict::{Question, predict};

use super::request::SimulationRequest;
use crate::reading::integrity::Integrity;
use crate::reading::{archived_run, block_trace};
use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

/// The recorded load of one device.
struct Load {
    device: DeviceNumber,
    requests: Vec<RequestRecord>,
    /// Requests of other devices, which are excluded.
    others: u64,
    loss: Loss,
    /// The model that made the run, if one did.
    made_by: Option<Origin>,
    /// The device's scheduler by the model's name, and its number of requests, if recorded.
    scheduler: Option<&'static str>,
    nr_requests: Option<u32>,
    /// What of the run is damaged.
    integrity: Integrity,
}

/// What a block trace lacks; a run reports its losses itself.
#[derive(Debug, Clone, Copy, Default)]
struct Loss {
    /// Events missing by sequence number.
    events: u64,
    /// Requests excluded because their times are uncertain.
    requests: u64,
}

/// Reads the load, predicts its latencies under each policy, and prints them.
pub(super) fn what_if(request: &SimulationRequest, path: &Path) -> Result<Exit, Failure> {
    let options = &request.options;
    let screen = Screen::new(options.output.json, options.output.quiet);
    if request.model.name != simulate::sched::MODEL.name {
        let why = format_args!("--trace: the model '{}' does not replay traces; 'sched' does", request.model.name);
        return Err(Failure::usage(why));
    }
    let settings = request.settings()?;
    let load = read(path, options.device.as_deref(), &screen)?;
    let question = question(request, &load, &settings)?;
    screen.doing(counted(load.requests.len() as u64, "request"));
    let prediction = predict(&load.requests, &question);
    screen.rest();
    let integrity = load.integrity;
    let source = report::whatif::Recording {
        path: path.display().to_string(),
        device: load.device.to_string(),
        recorded_under: load.scheduler.map(str::to_owned),
        made_by: load.made_by,
        others: load.others,
        uncertain: load.loss.requests,
        lost_events: load.loss.events,
    };
    if options.output.json {
        screen.json(&integrity.added(report::whatif::json(&source, &prediction)));
    } else {
        let style = screen.style();
        screen.result(&(integrity.banner(style) + &report::whatif::text(&source, &prediction, style)));
    }
    Ok(integrity.exit())
}

/// What to predict: only parameters that the user set override what was recorded.
fn question<'a>(request: &SimulationRequest, load: &Load, settings: &'a Settings) -> Result<Question<'a>, Failure> {
    let options = &request.options;
    let given = |name: &str| options.set.iter().any(|set| set.split('=').next().is_some_and(|n| n.trim() == name));
    let number = |name: &str| u32::try_from(settings.whole(name)).ok().filter(|_| given(name));
    let policies = match options.policy.is_empty() {
        true => vec!["none", "deadline", "bfq"],
        false => request.policies()?.iter().map(|policy| policy.name).collect(),
    };
    Ok(Question {
        policies,
        recorded_under: load.scheduler,
        nr_requests: number("nr_requests").or(load.nr_requests),
        depth: number("depth"),
        servers: number("servers"),
        wake_ns: None,
        settings,
    })
}

/// A run directory, or a block trace.
fn read(path: &Path, device: Option<&str>, screen: &Screen) -> Result<Load, Failure> {
    let is_run = path.join("run.json").is_file();
    let (all, loss, run) = match is_run {
        true => of_run(path)?,
        false => of_trace(path)?,
    };
    let device = chosen(&all, device, path)?;
    let count = all.len() as u64;
    let requests: Vec<RequestRecord> = all.into_iter().filter(|request| request.device == device).collect();
    let others = count - requests.len() as u64;
    let described = run.as_ref().and_then(|run| run.description().device(device));
    let scheduler = described.and_then(|device| match device.scheduler.as_deref()? {
        "mq-deadline" => Some("deadline"),
        "bfq" => Some("bfq"),
        "none" => Some("none"),
        _ => None,
    });
    // Without a scheduler, the kernel's number is the device's.
    let depth = described.and_then(|device| u32::try_from(device.queue_depth?).ok());
    let nr_requests = depth.filter(|_| scheduler.is_some_and(|scheduler| scheduler != "none"));
    let partial = |run: &Run| !run.description().trace.as_ref().is_some_and(|trace| trace.all_requests);
    if run.as_ref().is_some_and(partial) {
        screen.warning(
            "only slow requests, and those that a task waited for, were recorded: the replay lacks the rest; record \
             with \
             --requests all",
        );
    }
    let made_by = run.as_ref().and_then(|run| run.description().origin());
    let integrity = run.as_ref().map_or_else(Integrity::default, Integrity::of);
    Ok(Load { device, requests, others, loss, made_by, scheduler, nr_requests, integrity })
}

fn of_run(path: &Path) -> Result<(Vec<RequestRecord>, Loss, Option<Run>), Failure> {
    let run = archived_run::open(path)?;
    let mut requests = Vec::new();
    for batch in run.requests() {
        match batch {
            Ok(rows) => requests.extend(rows),
            Err(ArchiveError::Damaged { .. }) => {}
            Err(error) => return Err(archived_run::unreadable(error)),
        }
    }
    Ok((requests, Loss::default(), Some(run)))
}

fn of_trace(path: &Path) -> Result<(Vec<RequestRecord>, Loss, Option<Run>), Failure> {
    let mut trace = block_trace::open([path])?;
    let mut lifecycle = Lifecycle::with_observer(LifecycleSettings::default(), Vec::new());
    while let Some(events) = trace.next_batch().map_err(block_trace::unreadable)? {
        lifecycle.feed_all(events);
    }
    let (_, mut bios) = lifecycle.finish();
    bios.retain(|bio| !bio.merged);
    let count = bios.len();
    bios.retain(|bio| bio.certainty.is_certain());
    let loss = Loss { events: trace.notes().lost_events(), requests: (count - bios.len()) as u64 };
    Ok(((0..).zip(&bios).map(|(number, bio)| request(number, bio)).collect(), loss, None))
}

/// A request is represented by its first bio; merged bios are ignored.
fn request(number: u32, bio: &FinishedBio) -> RequestRecord {
    let got_ns = bio.phases.get(Phase::Q2G).map(|q2g_ns| bio.queued_ns + q2g_ns);
    RequestRecord {
        request: number,
        device: bio.device,
        sector: bio.sector,
        bytes: bio.sectors * SECTOR_BYTES,
        kind: bio.kind,
        tid: bio.pid,
        merges: 0,
        queued_ns: Some(bio.queued_ns),
        got_ns,
        inserted_ns: got_ns.zip(bio.phases.get(Phase::G2I)).map(|(got_ns, g2i_ns)| got_ns + g2i_ns),
        issued_ns: bio.phases.get(Phase::D2C).map(|d2c_ns| bio.completed_ns - d2c_ns),
        completed_ns: bio.completed_ns,
        errno: None,
        throttled: false,
        parts: None,
        in_flight: Vec::new(),
        overtaken_by: Vec::new(),
    }
}

/// The given device, or the device with the most requests.
fn chosen(requests: &[RequestRecord], name: Option<&str>, path: &Path) -> Result<DeviceNumber, Failure> {
    let mut counts: Vec<(DeviceNumber, u64)> = Vec::new();
    for request in requests {
        match counts.iter_mut().find(|(device, _)| *device == request.device) {
            Some((_, count)) => *count += 1,
            None => counts.push((request.device, 1)),
        }
    }
    let busiest = counts.iter().max_by_key(|(device, count)| (*count, std::cmp::Reverse(*device)));
    let Some((busiest, _)) = busiest else {
        let why = format_args!("{}: has no block requests; record with --requests all", path.display());
        return Err(Failure::usage(why));
    };
    let Some(name) = name else { return Ok(*busiest) };
    let found = counts.iter().find(|(device, _)| device.to_string() == name.replace(':', ","));
    found.map(|(device, _)| *device).ok_or_else(|| {
        let known: Vec<String> = counts.iter().map(|(device, count)| format!("{device} ({count})")).collect();
        Failure::usage(format_args!("--device {name}: not in {}; devices: {}", path.display(), known.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use model::block::{DeviceNumber, Kind, Operation};

    use super::chosen;

    #[test]
    fn the_busiest_device_is_the_default() {
        let row = |minor| super::request(0, &finished(DeviceNumber::new(7, minor)));
        let rows = [row(0), row(1), row(1)];
        let path = Path::new("run");
        assert_eq!(chosen(&rows, None, path).unwrap(), DeviceNumber::new(7, 1));
        assert_eq!(chosen(&rows, Some("7:0"), path).unwrap(), DeviceNumber::new(7, 0));
        assert!(chosen(&rows, Some("8:0"), path).is_err());
        assert!(chosen(&[], None, path).is_err());
    }

    fn finished(device: DeviceNumber) -> super::FinishedBio {
        super::FinishedBio {
            device,
            kind: Kind::of(Operation::Read),
            sector: 0,
            sectors: 8,
            pid: 1,
            cgroup: 0,
            queued_ns: 0,
            completed_ns: 9,
            error: 0,
            merged: false,
            split_off: false,
            certainty: lifecycle::Certainty::Exact,
            phases: lifecycle::PhaseTimes::default(),
        }
    }
}
