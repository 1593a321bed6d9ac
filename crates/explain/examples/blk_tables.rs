//! Reads traces and prints what took how long; a first look at the library, and what its speed is measured with.

use explain::lifecycle::{Lifecycle, Phase, Settings};

fn main() -> Result<(), blktrace::TraceError> {
    let started = std::time::Instant::now();
    let mut trace = blktrace::Trace::open(std::env::args_os().skip(1).map(std::path::PathBuf::from))?;
    let mut lifecycle = Lifecycle::new(Settings::default());
    while let Some(events) = trace.next_batch()? {
        lifecycle.feed_all(events);
    }
    let (report, ()) = lifecycle.finish();
    for phase in Phase::ALL {
        let times = &report.phases[phase];
        println!("{} {:?} {:?} {:?} {}", phase.name(), times.min(), times.mean(), times.max(), times.count());
    }
    println!("{} events, {:?}, {:?}", report.events, report.clock, report.anomalies);
    eprintln!("{:?}", started.elapsed());
    Ok(())
}
