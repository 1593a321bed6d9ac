//! Block requests as a job of fio that replays them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::io::Write;

use export::fio_replay::{Iolog, Replayed, file_name, job_file};
use model::block::{Action, BlockEvent, DeviceNumber, SECTOR_BYTES};
use model::quantity::counted;
use model::run::RunDescription;

use super::block::in_order;
use super::destination::{Destination, OutputFile};
use super::run_rows::RunRows;
use crate::reading::request_events;
use crate::ui::failure::Failure;

/// Discards in iologs.
const DISCARDS_SINCE: &str = "fio 3.34";

/// A job file, and the requests of each disk.
pub fn fio(source: &mut RunRows<'_>, destination: &Destination) -> Result<String, Failure> {
    let run = source.run;
    let failed = |error| destination.failed(error);
    let names = names(run.description());
    let mut logs: BTreeMap<DeviceNumber, Iolog<OutputFile>> = BTreeMap::new();
    in_order(source, destination, request_events::ends_of, |event| {
        let log = match logs.entry(event.device) {
            Entry::Occupied(log) => log.into_mut(),
            Entry::Vacant(place) => {
                let name = names.get(&event.device).cloned().unwrap_or_else(|| numbered(event.device));
                let file = destination.begin_in(&format!("{name}.iolog"))?;
                place.insert(Iolog::begin(file, &name)?)
            }
        };
        take(log, event)
    })?;
    let mut replayed: Vec<(String, Replayed)> = Vec::new();
    for (device, log) in logs {
        let name = names.get(&device).cloned().unwrap_or_else(|| numbered(device));
        replayed.push((name, log.finish().map_err(failed)?));
    }
    remarks(source, &replayed);
    replayed.retain(|(_, of)| of.has_data());
    let title = format!("the run {}", run.dir().display());
    let mut file = destination.file_in("replay.fio")?;
    file.write_all(job_file(&title, &replayed).as_bytes()).and_then(|()| file.flush()).map_err(failed)?;
    let actions: u64 = replayed.iter().map(|(_, of)| of.actions()).sum();
    Ok(format!("{} of {}", counted(actions, "action"), counted(replayed.len() as u64, "disk")))
}

fn take(log: &mut Iolog<OutputFile>, event: &BlockEvent) -> std::io::Result<()> {
    if event.action == Action::Complete {
        log.completes();
        return Ok(());
    }
    let offset_bytes = event.sector.saturating_mul(u64::from(SECTOR_BYTES));
    log.arrives(event.time_ns, event.kind, offset_bytes, u64::from(event.bytes))
}

/// What fio will not replay.
fn remarks(source: &RunRows<'_>, replayed: &[(String, Replayed)]) {
    let sum = |of: fn(&Replayed) -> u64| replayed.iter().map(|(_, replayed)| of(replayed)).sum::<u64>();
    let (left_out, discards) = (sum(|of| of.left_out), sum(|of| of.discards));
    if left_out > 0 {
        source.screen.remark(&format!("left out: {} that fio has no action for", counted(left_out, "request")));
    }
    if discards > 0 {
        source.screen.remark(&format!("{} replayed only by {DISCARDS_SINCE} and later", counted(discards, "discard")));
    }
    for (name, _) in replayed.iter().filter(|(_, of)| !of.has_data()) {
        source.screen.remark(&format!("{name}: no job: fio cannot replay an iolog without reads, writes or discards"));
    }
}

/// Names for files and jobs; a disk whose name another one has is numbered.
fn names(run: &RunDescription) -> BTreeMap<DeviceNumber, String> {
    let mut taken = HashSet::new();
    let named = run.devices.iter().filter_map(|device| Some((device.device_number()?, file_name(&device.name))));
    named.filter(|(_, name)| !name.is_empty() && taken.insert(name.clone())).collect()
}

fn numbered(device: DeviceNumber) -> String {
    format!("disk_{}", file_name(&device.to_string()))
}
