//! Switches tracing on and off on command, within a few ms: bench/trace.py uses it to measure the cost of the programs,
//! and how much of that is the kernel's overhead of calling any program.
//!
//! A line of input says what to attach: `nothing` (empty programs, on the tracepoints of the tracer that a load of
//! requests hits most), `default`, `all` (each request is recorded) or `off`. The answer is `ok` when it is done.

use std::error::Error;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use libbpf_rs::{Link, Object, ObjectBuilder};
use model::stall::Traced;
use record::{Roots, TraceOptions, Tracing, clock};

/// Compiled by `build.rs` from `src/bpf/floor.bpf.c`.
const NOTHING: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/floor.bpf.o"));
const SLOW_NS: u64 = 1_000_000_000;
const POLL: Duration = Duration::from_millis(20);
/// The tracer makes the kernel measure its programs in the first second, which costs more than the programs do.
const SETTLE: Duration = Duration::from_millis(1200);

/// All that can be attached, loaded.
struct Switch {
    nothing: Object,
    nothing_attached: Vec<Link>,
    default: Tracing,
    all: Tracing,
}

impl Switch {
    fn load() -> Result<Switch, Box<dyn Error>> {
        let tracing = |all| {
            let options = TraceOptions::slower_than(SLOW_NS, all);
            let (mut tracing, _) = Tracing::open(&Roots::default(), &options);
            std::thread::sleep(SETTLE);
            tracing.interval(clock::monotonic_ns(), &mut Traced::default());
            tracing.set_attached(false);
            if tracing.is_tracing() { Ok(tracing) } else { Err("nothing can be traced: see doctor") }
        };
        Ok(Switch {
            nothing: ObjectBuilder::default().open_memory(NOTHING)?.load()?,
            nothing_attached: Vec::new(),
            default: tracing(false)?,
            all: tracing(true)?,
        })
    }

    /// The tracer that is attached then, if one is.
    fn set(&mut self, to: &str) -> Result<Option<&mut Tracing>, Box<dyn Error>> {
        self.nothing_attached.clear();
        self.default.set_attached(to == "default");
        self.all.set_attached(to == "all");
        match to {
            "off" => Ok(None),
            "default" => Ok(Some(&mut self.default)),
            "all" => Ok(Some(&mut self.all)),
            "nothing" => {
                let links = self.nothing.progs_mut().map(|program| program.attach_trace());
                self.nothing_attached = links.collect::<Result<_, _>>()?;
                Ok(None)
            }
            _ => Err(format!("'{to}' is none of nothing, default, all, off").into()),
        }
    }
}

/// The next line, while what is traced is taken; `None` at the end of input.
fn next_line(lines: &Receiver<String>, tracing: Option<&mut Tracing>) -> Option<String> {
    let Some(tracing) = tracing else { return lines.recv().ok() };
    let mut traced = Traced::default();
    loop {
        match lines.recv_timeout(POLL) {
            Ok(line) => return Some(line),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => tracing.poll(&mut traced),
        }
        traced.requests.clear();
        traced.stalls.clear();
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut switch = Switch::load()?;
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    println!("ok");
    let mut next = lines.recv().ok();
    while let Some(to) = next {
        let tracing = switch.set(&to)?;
        println!("ok");
        next = next_line(&lines, tracing);
    }
    Ok(())
}
