//! Power cuts: of the writes to the archive's disk, those before the last flush are there; of the later ones some are
//! lost, torn or reordered. As CrashMonkey does (Mohan et al., OSDI 2018), with a disk of our own.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::Plan;
use crate::aftermath::{ask, problems_of_run, times};
use crate::disk::{Dated, Mounted, Order, RecordedDisk, output};
use crate::pool::side_by_side;
use crate::random::Random;
use crate::remains;
use crate::report::Report;
use crate::sys;
use crate::victim::program;

const SECTOR: usize = 512;
const BLOCK: usize = 4096;
const LIMIT: Duration = Duration::from_secs(120);
/// How much before and after the line that makes a consolidation live the power is cut.
const AROUND_NS: u64 = 1_500_000_000;

/// A file system, and the smallest disk that it takes.
struct FileSystem {
    name: &'static str,
    disk_bytes: usize,
    make: &'static [&'static str],
}

const FILE_SYSTEMS: [FileSystem; 3] = [
    FileSystem { name: "ext4", disk_bytes: 64 << 20, make: &["mkfs.ext4", "-q", "-F", "-E", "nodiscard"] },
    FileSystem { name: "xfs", disk_bytes: 320 << 20, make: &["mkfs.xfs", "-q", "-f", "-K"] },
    FileSystem { name: "btrfs", disk_bytes: 160 << 20, make: &["mkfs.btrfs", "-q", "-f", "-K"] },
];

/// Where the power is cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// At any order of a short recording.
    Any,
    /// Around the consolidation in the middle of a recording, which comes after a minute.
    Consolidation,
}

/// What a recording wrote.
struct Recorded {
    base: Image,
    disk_bytes: usize,
    orders: Vec<Dated>,
    /// The orders that first wrote a flush of the recorder, or its journal, with the time up to which it has the rows.
    flushes: Vec<(usize, u64)>,
    /// Of the orders, those after which the power is cut.
    cuts: Range<usize>,
}

/// The blocks of a disk that are not zero.
#[derive(Clone)]
struct Image(BTreeMap<usize, Vec<u8>>);

/// Cuts the power at that number of points of each file system and moment. Those of one recording follow each other: of
/// two file systems with one id, a kernel mounts one.
pub fn campaign(plan: &Plan) -> Report {
    let mut report = Report::default();
    let moments = [Moment::Any, Moment::Consolidation];
    let all: Vec<(&FileSystem, Moment)> =
        FILE_SYSTEMS.iter().flat_map(|system| moments.map(|moment| (system, moment))).collect();
    side_by_side(plan.at_a_time, &all, &mut report, |(system, moment)| cut_all(system, *moment, plan));
    report
}

fn cut_all(system: &FileSystem, moment: Moment, plan: &Plan) -> Report {
    let mut report = Report::default();
    let place = match moment {
        Moment::Any => system.name.to_owned(),
        Moment::Consolidation => format!("{} at a consolidation", system.name),
    };
    let recorded = match recorded(system, moment) {
        Ok(recorded) => recorded,
        Err(error) => {
            report.finding(format!("{place}: no recording: {error}"));
            return report;
        }
    };
    let flushes = recorded.orders.iter().filter(|(_, order)| matches!(order, Order::Flush)).count();
    let (writes, cuts) = (recorded.orders.len() - flushes, &recorded.cuts);
    report.note(format!("{place}: {writes} writes, {flushes} flushes; cuts after {} to {}", cuts.start + 1, cuts.end));
    let mut random = Random::new(plan.seed);
    for point in 0..plan.points {
        let cut = 1 + cuts.start + random.below(cuts.len() as u64) as usize;
        let (image, what) = after_the_cut(&recorded, cut, &mut random);
        let name = format!("{place}, point {point}, cut after {cut} of {} orders, {what}", recorded.orders.len());
        report.tried(format!("power cuts on {place}"));
        match judge(&image, &recorded, cut) {
            Ok(After::NotMounted(why)) => report.note(format!("{name}: the file system is lost: {why}")),
            Ok(After::Answered(lost_ns, problems)) => {
                report.lost("a power cut", lost_ns);
                problems.into_iter().for_each(|problem| report.finding(format!("{name}: {problem}")));
            }
            Err(error) => report.finding(format!("{name}: {error}")),
        }
    }
    report
}

fn recorded(system: &FileSystem, moment: Moment) -> Result<Recorded, String> {
    let disk = RecordedDisk::new(system.disk_bytes)?;
    let make: Vec<&str> = system.make[1..].iter().copied().chain([disk.device()]).collect();
    output(system.make[0], &make)?;
    let home = remains::folder();
    let place = home.path().join("place");
    let mounted = Mounted::device(disk.device(), &place)?;
    output("sync", &["-f", &place.display().to_string()])?;
    let base = Image::of(&disk.snapshot());
    let runtime = if moment == Moment::Any { "5s" } else { "66s" };
    // It goes before other work: what it loses shall be by its own doing.
    let mut command = Command::new("nice");
    command.args(["-n", "-20"]).arg(program());
    command.args("record -q --interval 100ms --slower-than 20ms --runtime".split(' ')).arg(runtime);
    command.arg("--out").arg(place.join("run"));
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let end = sys::run_bounded(&mut command, LIMIT).map_err(|error| error.to_string())?;
    if end.code != Some(0) {
        return Err(format!("exit code {:?}", end.code));
    }
    // The directory's last changes.
    drop(mounted);
    let orders = disk.orders();
    let flushes = flushes(&orders);
    let cuts = if moment == Moment::Any { 0..orders.len() } else { around_a_consolidation(&orders)? };
    Ok(Recorded { base, disk_bytes: system.disk_bytes, orders, flushes, cuts })
}

fn flushes(orders: &[Dated]) -> Vec<(usize, u64)> {
    let mut flushes: Vec<(usize, u64)> = Vec::new();
    for (at, (_, order)) in orders.iter().enumerate() {
        let Order::Write { data, .. } = order else { continue };
        let latest = times(data).max().unwrap_or_default();
        if flushes.last().is_none_or(|(_, before)| *before < latest) && latest > 0 {
            flushes.push((at, latest));
        }
    }
    flushes
}

/// The orders around the first write of a consolidation's line.
fn around_a_consolidation(orders: &[Dated]) -> Result<Range<usize>, String> {
    // One that replaces nothing is of a table with very many rows.
    const LINE: &[u8] = b"\"replaces\":[\"recent-";
    let has_line =
        |order: &Order| matches!(order, Order::Write { data, .. } if data.windows(LINE.len()).any(|at| at == LINE));
    let (live_ns, _) = orders.iter().find(|(_, order)| has_line(order)).ok_or("there was no consolidation")?;
    let from = orders.partition_point(|(at_ns, _)| at_ns + AROUND_NS < *live_ns);
    let to = orders.partition_point(|(at_ns, _)| *at_ns < live_ns + AROUND_NS);
    Ok(from..to)
}

/// The disk after a power cut, and what became of the writes since the last flush.
fn after_the_cut(recorded: &Recorded, cut: usize, random: &mut Random) -> (Image, &'static str) {
    let mut image = recorded.base.clone();
    let orders = &recorded.orders[..cut];
    let flushed = orders.iter().rposition(|(_, order)| matches!(order, Order::Flush)).map_or(0, |at| at + 1);
    let (safe, loose) = orders.split_at(flushed);
    safe.iter().for_each(|(_, order)| image.apply(order, usize::MAX));
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
            image.apply(order, if is_torn { random.below(256) as usize * SECTOR } else { usize::MAX });
        }
    }
    (image, what)
}

impl Image {
    fn of(bytes: &[u8]) -> Image {
        let blocks = bytes.chunks(BLOCK).enumerate().filter(|(_, block)| block.iter().any(|byte| *byte != 0));
        Image(blocks.map(|(at, block)| (at, block.to_vec())).collect())
    }

    /// Applies the first bytes of a write.
    fn apply(&mut self, order: &Order, most: usize) {
        let Order::Write { offset, data } = order else { return };
        let (mut at, mut left) = (*offset, &data[..data.len().min(most)]);
        while !left.is_empty() {
            let within = at % BLOCK;
            let (part, rest) = left.split_at(left.len().min(BLOCK - within));
            let block = self.0.entry(at / BLOCK).or_insert_with(|| vec![0; BLOCK]);
            block[within..within + part.len()].copy_from_slice(part);
            (at, left) = (at + part.len(), rest);
        }
    }

    fn write(&self, path: &Path, bytes: usize) -> std::io::Result<()> {
        let file = fs::File::create(path)?;
        file.set_len(bytes as u64)?;
        self.0.iter().try_for_each(|(at, block)| file.write_all_at(block, (at * BLOCK) as u64))
    }
}

/// What became of the disk.
enum After {
    /// The file system does not recover.
    NotMounted(String),
    /// What was lost, ns, and what is wrong.
    Answered(u64, Vec<String>),
}

fn judge(image: &Image, recorded: &Recorded, cut: usize) -> Result<After, String> {
    let memory = Path::new("/dev/shm");
    let home = remains::folder_in(memory);
    let file = home.path().join("image");
    image.write(&file, recorded.disk_bytes).map_err(|error| error.to_string())?;
    let mounted = match Mounted::image(&file, &home.path().join("place")) {
        Ok(mounted) => mounted,
        Err(why) => return Ok(After::NotMounted(why)),
    };
    let run = home.path().join("place/run");
    let (mut problems, is_cut_off) = if run.is_dir() { problems_of_run(&run) } else { (Vec::new(), true) };
    let show = ask(&["show", "--json"], &run);
    drop(mounted);
    let mut before = recorded.flushes.iter().rev().filter(|(at, _)| *at < cut).map(|(_, time_ns)| *time_ns);
    // The recorder begins a flush when the one before is on the disk, which must be there then.
    let (written_ns, synced_ns) = (before.next(), before.next().unwrap_or_default());
    if !is_cut_off && matches!(show.code, Some(0 | 1)) {
        return Ok(After::Answered(0, problems));
    }
    let end_ns = show.end_ns().unwrap_or_default();
    let missing =
        (end_ns < synced_ns).then(|| format!("{:.2} s that were synced are lost", (synced_ns - end_ns) as f64 / 1e9));
    problems.extend(missing);
    // Before the first flush there was nothing to lose.
    let lost_ns =
        if end_ns == 0 || written_ns.is_none() { 0 } else { recorded.orders[cut - 1].0.saturating_sub(end_ns) };
    Ok(After::Answered(lost_ns, problems))
}
