//! Power cuts: of the writes to the archive's disk, those before the last flush are there; of the later ones some are lost, torn or
//! reordered. As CrashMonkey does (Mohan et al., OSDI 2018), with a disk of our own.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::aftermath::{ask, problems_of_run};
use crate::disk::{Dated, Mounted, Order, RecordedDisk, output};
use crate::random::Random;
use crate::report::Report;
use crate::sys;
use crate::victim::program;

const DISK_BYTES: usize = 64 << 20;
const SECTOR: usize = 512;
const LIMIT: Duration = Duration::from_secs(60);
/// A flush a second, and the time that one takes on a slow machine.
const LOSS_LIMIT_NS: u64 = 1_500_000_000;
/// What a recording wrote.
struct Recorded {
    base: Vec<u8>,
    orders: Vec<Dated>,
    started_ns: u64,
}

/// Cuts the power at that number of points.
pub fn campaign(seed: u64, points: u64) -> Report {
    let mut report = Report::default();
    let mut worst_ns = 0;
    let recorded = match recorded() {
        Ok(recorded) => recorded,
        Err(error) => {
            report.finding(format!("no recording: {error}"));
            return report;
        }
    };
    let flushes = recorded.orders.iter().filter(|(_, order)| matches!(order, Order::Flush)).count();
    report.note(format!("{} writes, {flushes} flushes", recorded.orders.len() - flushes));
    let mut random = Random::new(seed);
    for point in 0..points {
        let cut = 1 + random.below(recorded.orders.len() as u64) as usize;
        let (image, what) = after_the_cut(&recorded, cut, &mut random);
        let name = format!("point {point}, cut after {cut} of {} orders, {what}", recorded.orders.len());
        report.tried("power cuts");
        match judge(&image, &recorded, recorded.orders[cut - 1].0) {
            Ok((lost_ns, problems)) => {
                worst_ns = worst_ns.max(lost_ns);
                problems.into_iter().for_each(|problem| report.finding(format!("{name}: {problem}")));
            }
            Err(error) => report.finding(format!("{name}: {error}")),
        }
    }
    report.note(format!("most that a power cut lost: {:.2} s", worst_ns as f64 / 1e9));
    report
}

fn recorded() -> Result<Recorded, String> {
    let disk = RecordedDisk::new(DISK_BYTES)?;
    output("mkfs.ext4", &["-q", "-F", "-E", "nodiscard", disk.device()])?;
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let place = home.path().join("place");
    let mounted = Mounted::device(disk.device(), &place)?;
    output("sync", &["-f", &place.display().to_string()])?;
    let base = disk.snapshot();
    let mut command = Command::new(program());
    command.args("record -q --interval 100ms --slower-than 20ms --runtime 5s --out".split(' ')).arg(place.join("run"));
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let end = sys::run_bounded(&mut command, LIMIT).map_err(|error| error.to_string())?;
    if end.code != Some(0) {
        return Err(format!("exit code {:?}", end.code));
    }
    // The directory's last changes.
    drop(mounted);
    let orders = disk.orders();
    let begin = orders.first().map_or(0, |(at_ns, _)| *at_ns);
    Ok(Recorded { base, orders, started_ns: begin })
}

/// The disk after a power cut, and what became of the writes since the last flush.
fn after_the_cut(recorded: &Recorded, cut: usize, random: &mut Random) -> (Vec<u8>, &'static str) {
    let mut image = recorded.base.clone();
    let orders = &recorded.orders[..cut];
    let flushed = orders.iter().rposition(|(_, order)| matches!(order, Order::Flush)).map_or(0, |at| at + 1);
    let (safe, loose) = orders.split_at(flushed);
    safe.iter().for_each(|(_, order)| apply(&mut image, order, usize::MAX));
    let mut loose: Vec<&Order> = loose.iter().map(|(_, order)| order).collect();
    let kind = random.below(5);
    let what = match kind {
        0 => "what was not flushed is lost",
        1 => "what was not flushed is there, the last write torn",
        2 => "half of what was not flushed is lost",
        3 => "half of what was not flushed is lost, each write torn",
        _ => "what was not flushed is there",
    };
    // Writes to one place must keep their order: a disk does not reorder those either. Others commute.
    let last = loose.len().saturating_sub(1);
    for (at, order) in loose.drain(..).enumerate() {
        let is_kept = match kind {
            0 => false,
            2 | 3 => random.below(2) == 0,
            _ => true,
        };
        let is_torn = kind == 3 || kind == 1 && at == last;
        if is_kept {
            apply(&mut image, order, if is_torn { random.below(256) as usize * SECTOR } else { usize::MAX });
        }
    }
    (image, what)
}

/// Applies the first bytes of a write.
fn apply(image: &mut [u8], order: &Order, most: usize) {
    if let Order::Write { offset, data } = order {
        let length = data.len().min(most);
        image[*offset..offset + length].copy_from_slice(&data[..length]);
    }
}

/// What was lost, and what is wrong.
fn judge(image: &[u8], recorded: &Recorded, cut_ns: u64) -> Result<(u64, Vec<String>), String> {
    let memory = Path::new("/dev/shm");
    let home = tempfile::tempdir_in(memory).map_err(|error| error.to_string())?;
    let file = home.path().join("image");
    fs::write(&file, image).map_err(|error| error.to_string())?;
    let mounted = Mounted::image(&file, &home.path().join("place"))?;
    let run = home.path().join("place/run");
    let lived_ns = cut_ns - recorded.started_ns;
    let mut problems = if run.is_dir() { problems_of_run(&run) } else { Vec::new() };
    let show = ask(&["show", "--json"], &run);
    let lost_ns = match (show.code, show.end_ns()) {
        (Some(0), _) => 0,
        (_, Some(end_ns)) => cut_ns.saturating_sub(end_ns),
        _ => lived_ns,
    };
    problems.extend((lost_ns > LOSS_LIMIT_NS).then(|| format!("lost {:.2} s", lost_ns as f64 / 1e9)));
    drop(mounted);
    Ok((lost_ns, problems))
}
