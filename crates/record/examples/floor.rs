//! Attaches BPF programs that do nothing where the tracer attaches its own, until it is killed: bench/trace.sh shows by it
//! how much of the tracer's cost is the kernel's for calling any program at all.

use std::error::Error;

use libbpf_rs::ObjectBuilder;

/// Compiled by `build.rs` from `src/bpf/floor.bpf.c`.
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/floor.bpf.o"));

fn main() -> Result<(), Box<dyn Error>> {
    let object = ObjectBuilder::default().open_memory(OBJECT)?.load()?;
    let links: Vec<_> = object.progs_mut().map(|program| program.attach_trace()).collect::<Result<_, _>>()?;
    println!("{} programs that do nothing", links.len());
    loop {
        std::thread::park();
    }
}
