//! Requests that fail at a SCSI disk: time outs, retries and errors are a cause of their own, with the disk's status.

use crate::scenes::{Scene, is_since, number_of, play};
use crate::scsi::SlowScsi;

/// Bits of the driver's `opts`.
const TIMEOUT: u32 = 4;
const TRANSPORT_ERROR: u32 = 16;
const MEDIUM_ERROR: u32 = 2;
/// The block of 4 KiB with the driver's first bad sector (0x1234).
const BAD_BLOCK: u32 = 0x1234 / 8;

/// Direct reads of a disk whose driver lets each `every_nth` command fail, or with -1 all; only this.
struct Failing {
    name: &'static str,
    opts: u32,
    every_nth: i32,
    delay_ms: u64,
    /// First block, and number.
    blocks: (u32, u32),
    at_least_ms: u64,
    failure: &'static str,
}

impl Failing {
    fn scene(&self, mapped: &str, disk: &str) -> Scene {
        let Failing { name, opts, every_nth, delay_ms, blocks: (first, count), at_least_ms, failure } = *self;
        let set = |parameter: &str, value: String| SlowScsi::setting(parameter, &value) + "\n";
        let script = [
            // Error handling of the scene before may have taken it offline.
            format!("echo running > /sys/block/{disk}/device/state\n"),
            set("ndelay", (delay_ms * 1_000_000).to_string()),
            set("every_nth", every_nth.to_string()),
            set("opts", opts.to_string()),
            format!("dd if=/dev/mapper/{mapped} of=/dev/null bs=4k skip={first} count={count} iflag=direct\n"),
            set("opts", "0".to_owned()),
            set("every_nth", "0".to_owned()),
        ];
        Scene {
            name,
            script: script.concat(),
            operation: "read",
            path: mapped.to_owned(),
            cause: "device_error",
            at_least_ms,
            device: Some(number_of(disk)),
            waited_for: None,
            // A kernel without types of modules does not say what the driver knows.
            failure: if is_since(5, 11) { Some(failure) } else { failure.split(" (").next() },
            held_in: None,
        }
    }
}

#[test]
fn requests_that_fail_at_a_disk_are_said_to() {
    let scsi = SlowScsi::new(8);
    let disk = scsi.name();
    // Of requests, and of what error handling asks the disk.
    for name in ["timeout", "eh_timeout"] {
        std::fs::write(format!("/sys/block/{disk}/device/{name}"), "1").unwrap();
    }
    // A device on top for each, by which their reads are known.
    let scenes = [
        Failing {
            name: "SCSI: all six attempts are aborted, each after 100 ms",
            opts: TRANSPORT_ERROR,
            every_nth: -1,
            delay_ms: 100,
            blocks: (100, 1),
            at_least_ms: 600,
            failure: "failed and was tried again 5 times",
        },
        Failing {
            name: "SCSI: a bad sector, found after 600 ms",
            opts: MEDIUM_ERROR,
            every_nth: 0,
            delay_ms: 600,
            blocks: (BAD_BLOCK, 1),
            at_least_ms: 600,
            failure: "failed with ENODATA (medium error, sense 03/11/00)",
        },
        Failing {
            name: "SCSI: two of five reads time out after 1 s",
            opts: TIMEOUT,
            every_nth: 3,
            delay_ms: 1,
            blocks: (0, 5),
            at_least_ms: 2000,
            failure: "timed out and was tried again",
        },
        // The last: resets do not help either, and error handling gives the disk up, which may have said that it was
        // reset.
        Failing {
            name: "SCSI: all commands time out after 1 s, until the disk is offline",
            opts: TIMEOUT,
            every_nth: -1,
            delay_ms: 1,
            blocks: (0, 1),
            at_least_ms: 4000,
            failure: "failed with EIO (timed out...its disk is offline)",
        },
    ];
    let names = ["aborting", "bad", "timing-out", "offline"];
    let _mapped = names.map(|name| crate::stacks::Mapped::new(name, &format!("0 16384 linear /dev/{disk} 0")));
    play(&names.iter().zip(&scenes).map(|(name, failing)| failing.scene(name, &disk)).collect::<Vec<_>>());
}
