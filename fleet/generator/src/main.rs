//! Generates a lake of a made-up fleet, with injected events, and the truth about it beside it. `docs/FLEET.md`
//! describes it.
#![forbid(unsafe_code)]

mod day;
mod event;
mod host;
mod issue;
mod minutes;
mod truth;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use lake::{Contents, IntervalMinutes, Lake, RunKey, RunRow, StallRow};
use model::run::{Device, RunDescription};
use model::time::Moment;

use crate::day::{DAY_NS, Seeds};
use crate::host::{Host, KERNELS};
use statistics::SplitMix64;

/// 2026-11-02, a Monday.
const BEGIN_NS: i64 = 1_793_577_600_000_000_000;
/// Length of a saved run.
const RUN_MINUTES: i64 = 11;

/// Generate a lake of a made-up fleet.
#[derive(Debug, Parser)]
#[command(name = "fleet-generator")]
struct Cli {
    /// Machines.
    #[arg(long, default_value_t = 1000)]
    hosts: usize,
    /// Days, from 2026-11-02 on.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=365))]
    days: u32,
    /// Seed of all choices.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Runs that a machine saves a day.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=144))]
    runs: u32,
    /// Stalls of a host-day: 100 means about 120.
    #[arg(long, default_value_t = 100.0)]
    stalls: f64,
    /// Injected events.
    #[arg(long, default_value_t = 5)]
    events: usize,
    /// The day, from 0, since which there are events; default: half of the days.
    #[arg(long)]
    event_day: Option<usize>,
    /// Also generate counters and request intervals, which the questions do not read.
    #[arg(long)]
    minutes: bool,
    /// New directory of the lake; the truth goes to DIR.truth.json.
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
}

fn main() -> ExitCode {
    match generated(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fleet-generator: {error}");
            ExitCode::FAILURE
        }
    }
}

fn generated(cli: &Cli) -> Result<(), Box<dyn std::error::Error>> {
    let days = cli.days as usize;
    let hosts: Vec<Host> = (0..cli.hosts).map(|number| Host::of(cli.seed, number, days, cli.stalls)).collect();
    let events = event::events(cli.seed, &hosts, cli.events, cli.event_day.unwrap_or(days / 2));
    let mut seeds = Seeds::new();
    let lake = Lake::open_or_create(&cli.to)?;
    let (mut rows, mut bytes) = (0, 0);
    for day in 0..days {
        let begin_ns = BEGIN_NS + day as i64 * DAY_NS;
        for host in &hosts {
            let Some(stalls) = day::stalls((cli.seed, &events), host, (day, begin_ns), &mut seeds) else { continue };
            for contents in runs(cli, host, (day, begin_ns), stalls)? {
                rows += contents.rows();
                bytes += lake.add(&contents)?;
            }
        }
    }
    truth::write(&cli.to, &hosts, &events, &seeds)?;
    println!("{}: {rows} rows, {bytes} bytes", cli.to.display());
    Ok(())
}

/// The runs of a host-day: its stalls by the time at which they began.
fn runs(
    cli: &Cli,
    host: &Host,
    (day, begin_ns): (usize, i64),
    stalls: Vec<StallRow>,
) -> Result<Vec<Contents>, Box<dyn std::error::Error>> {
    let length_ns = DAY_NS / i64::from(cli.runs);
    let mut by_run: Vec<Vec<StallRow>> = (0..cli.runs).map(|_| Vec::new()).collect();
    for stall in stalls {
        let at = (stall.explained.start_wall_ns - begin_ns) / length_ns;
        by_run[at.clamp(0, i64::from(cli.runs) - 1) as usize].push(stall);
    }
    let of = |(at, stalls)| run(cli, host, (day, begin_ns + at as i64 * length_ns, length_ns), stalls);
    by_run.into_iter().enumerate().map(of).collect()
}

fn run(
    cli: &Cli,
    host: &Host,
    (day, begin_ns, length_ns): (usize, i64, i64),
    stalls: Vec<StallRow>,
) -> Result<Contents, Box<dyn std::error::Error>> {
    let description = description(host, day, begin_ns);
    let key = RunKey {
        run: lake::run_id(&description, Some(2)),
        host: host.name.clone(),
        kernel: description.host.kernel_release.clone(),
        complete: true,
    };
    let row = RunRow {
        path: format!("/var/lib/stallscope/{}", key.run),
        end_wall_ns: Some(begin_ns + length_ns.min(RUN_MINUTES * lake::MINUTE_NS)),
        closed: true,
        damage: 0,
        lost: 0,
        untraced: Vec::new(),
        stalls: Some(stalls.len() as u64),
        stall_ns: Some(stalls.iter().map(|stall| stall.explained.duration_ns).sum()),
        unfinished: Some(0),
        longest_unfinished_ns: Some(0),
        description,
    };
    let mut random = SplitMix64::of_parts(&[cli.seed, 4, host.number as u64, begin_ns as u64]);
    let minutes = if cli.minutes { RUN_MINUTES } else { 0 };
    let intervals =
        if minutes > 0 { minutes::intervals(host, begin_ns, minutes, &mut random) } else { IntervalMinutes::default() };
    let counters = if minutes > 0 { minutes::counters(begin_ns, minutes, &mut random) } else { Vec::new() };
    Ok(Contents::new(key, row, stalls, intervals, counters)?)
}

fn description(host: &Host, day: usize, begin_ns: i64) -> RunDescription {
    let started = Moment { monotonic_ns: 1, wall_ns: begin_ns };
    let mut description = RunDescription::new("record", started);
    description.version = "generated".into();
    description.slower_than_ns = 20_000_000;
    description.host.hostname = host.name.clone();
    description.host.kernel_release = KERNELS[host.kernel(day)].into();
    description.host.boot_id = format!("generated-{}", host.number);
    description.host.architecture = "x86_64".into();
    (description.host.cpus, description.host.memory_bytes) = (32, 128 << 30);
    description.devices = vec![device(host)];
    description
}

fn device(host: &Host) -> Device {
    Device {
        number: "259:0".into(),
        name: if host.model.is_some() { "nvme0n1" } else { "vda" }.into(),
        identity: String::new(),
        model: host.model.map(str::to_owned),
        size_bytes: 1 << 40,
        rotational: Some(false),
        scheduler: None,
        queue_depth: None,
        strict_limit: None,
        mapper: None,
    }
}
