//! Traces while a command runs, and prints the rows: shows what the tracer sees on a kernel.

use std::process::Command;
use std::time::{Duration, Instant};

use model::stall::Traced;
use record::{Roots, TraceOptions, Tracing, clock};

fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    let all = arguments.next_if(|argument| argument == "--all").is_some();
    let slow_ms: u64 = arguments.next().and_then(|text| text.parse().ok()).expect("usage: trace [--all] MS COMMAND...");
    let (mut tracing, findings) =
        Tracing::open(&Roots::default(), &TraceOptions::slower_than(slow_ms * 1_000_000, all));
    for finding in findings.iter().filter(|finding| !finding.available) {
        println!("missing: {}: {}", finding.capability, finding.why.as_deref().unwrap_or_default());
    }
    let command: Vec<String> = arguments.collect();
    let mut child = Command::new(&command[0]).args(&command[1..]).spawn().expect("the command starts");
    let (mut traced, began) = (Traced::default(), Instant::now());
    let (mut polls, mut counts) = (0u64, [0usize; 3]);
    while child.try_wait().expect("our child").is_none() {
        std::thread::sleep(Duration::from_millis(20));
        tracing.poll(&mut traced);
        polls += 1;
        if polls.is_multiple_of(50) {
            for blocked in tracing.interval(clock::monotonic_ns(), &mut traced) {
                println!("blocked: {} {} {:?}", blocked.tid, blocked.name, blocked.frames);
            }
        }
        if all {
            counts[0] += traced.requests.len();
            traced.requests.clear();
        }
    }
    tracing.finish(clock::monotonic_ns(), &mut traced);
    show(&traced);
    println!("{} more requests in {:?}", counts[0], began.elapsed());
    println!("lost: {:?}", tracing.lost());
    println!("cost: {:?}", tracing.cost());
}

fn show(traced: &Traced) {
    for task in &traced.tasks {
        println!("{task:?}");
    }
    for stack in &traced.stacks {
        println!("stack {}: {}", stack.stack, stack.frames.join(" < "));
    }
    for stall in &traced.stalls {
        println!("{stall:?}");
    }
    for request in traced.requests.iter().take(50) {
        println!("{request:?}");
    }
    for interval in &traced.request_intervals {
        let queued: u64 = interval.queue.iter().map(|bucket| bucket.count).sum();
        println!(
            "{} {} {} requests {} bytes, {queued} queued",
            interval.device, interval.kind, interval.count, interval.bytes
        );
    }
}
