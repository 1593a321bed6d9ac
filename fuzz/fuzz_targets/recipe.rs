//! Any text as a recipe, resolved to a plan on a small machine. Nothing is run.
#![no_main]

use libfuzzer_sys::fuzz_target;
use load::facts::MachineFacts;
use load::plan::{Plan, PlanRequest};
use load::recipe::Recipe;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let Ok(recipe) = Recipe::parse("fuzz.toml", &text) else { return };
    let facts = MachineFacts {
        cpus: 2,
        memory_bytes: 1 << 30,
        in_memory_cgroup: false,
        thread_limit: Some(1000),
        may_drop_caches: false,
        directories: Vec::new(),
    };
    if let Ok(plan) =
        Plan::resolve(&recipe, &facts, &PlanRequest { slower_than_ns: 1_000_000, ..PlanRequest::default() })
    {
        plan.remarks();
        plan.board_shape();
        plan.measured_ns();
        plan.warmup_ns();
    }
});
