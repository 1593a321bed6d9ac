//! Any events in any order: ten bytes each, of small numbers, so that ranges overlap.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lifecycle::{Lifecycle, Settings};
use model::block::{Action, BlockEvent, DeviceNumber, Kind};

fn event(bytes: &[u8], now_ns: &mut u64) -> BlockEvent {
    let small = |byte: u8| u64::from(byte % 16);
    // Sometimes the clock jumps forward or steps back.
    *now_ns = match bytes[0] {
        255 => now_ns.wrapping_add(1 << 40),
        254 => now_ns.wrapping_sub(1 << 20),
        step => now_ns.wrapping_add(u64::from(step)),
    };
    BlockEvent {
        sector: if bytes[2] == 255 { u64::MAX - small(bytes[3]) } else { small(bytes[2]) * 8 },
        bytes: (small(bytes[3]) * 4096) as u32,
        argument: small(bytes[4]) * 8,
        pid: u32::from(bytes[5] % 4),
        kind: Kind::from_number(bytes[6]),
        from_device: DeviceNumber::new(8, u32::from(bytes[7] % 3)),
        error: u16::from(bytes[8] == 1),
        cgroup: u64::from(bytes[8] % 3),
        ..BlockEvent::new(
            *now_ns,
            Action::from_number(u32::from(bytes[1] % 21)).unwrap_or(Action::Lost),
            DeviceNumber::new(8, u32::from(bytes[9] % 3)),
        )
    }
}

fuzz_target!(|bytes: &[u8]| {
    let settings = Settings { max_in_flight: 32, slower_than_ns: 100, max_slow: 4, ..Settings::default() };
    let mut lifecycle = Lifecycle::with_observer(settings, Vec::new());
    let mut now_ns = 0;
    for bytes in bytes.chunks_exact(10) {
        lifecycle.feed(&event(bytes, &mut now_ns));
        assert!(lifecycle.bios_in_flight() <= 34);
    }
    let (report, bios) = lifecycle.finish();
    let entered: u64 = report.devices.iter().map(|device| device.tables.bios).sum();
    assert_eq!(entered, bios.len() as u64 + report.anomalies.unmatched_queue);
});
