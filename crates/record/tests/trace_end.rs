//! A tracer leaves nothing in the kernel. A separate test program, because it counts the descriptors of its process.

use record::{Roots, TraceOptions, Tracing};

/// Programs that this process holds, from /proc.
fn programs() -> usize {
    let entries = std::fs::read_dir("/proc/self/fdinfo").unwrap().flatten();
    let texts = entries.filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
    texts.filter(|text| text.lines().any(|line| line.starts_with("prog_id:"))).count()
}

#[test]
fn nothing_is_left_attached() {
    let before = programs();
    let (tracing, _) = Tracing::open(&Roots::default(), &TraceOptions::slower_than(1_000_000_000, true));
    if !tracing.is_tracing() {
        println!("skipped: no BPF");
        return;
    }
    assert!(programs() > before + 20, "{}", programs());
    drop(tracing);
    assert_eq!(programs(), before);
}
