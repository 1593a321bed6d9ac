//! A disk of the network (NBD) whose server is on the same machine.

use std::fs;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::{Bottom, DELAY_MS};
use crate::scenes::{Scene, is_since, tool};
use crate::stacks::Mapped;

const CONFIGURATION: &str = "/run/nbd-server";

/// The server, which exports a device, and its client, the kernel; stopped when dropped.
pub struct Server {
    server: Child,
    _exported: Mapped,
}

impl Server {
    /// `None` without the programs.
    pub fn new(exported: Mapped) -> Option<Server> {
        if Command::new("nbd-server").arg("-V").output().is_err() {
            println!("skipped: no programs of NBD");
            return None;
        }
        tool("modprobe", &["nbd", "nbds_max=1"]);
        tool("ifconfig", &["lo", "127.0.0.1", "up"]);
        let text = "[generic]\nlistenaddr = 127.0.0.1\n[slow]\nexportname = /dev/mapper/exported\n";
        fs::write(CONFIGURATION, text).unwrap();
        let server = Command::new("nbd-server").args(["-d", "-C", CONFIGURATION]).spawn().unwrap();
        let server = Server { server, _exported: exported };
        let began = Instant::now();
        loop {
            std::thread::sleep(Duration::from_millis(500));
            let connected = Command::new("nbd-client").args(["-N", "slow", "127.0.0.1", "/dev/nbd0"]).output().unwrap();
            if connected.status.success() {
                return Some(server);
            }
            assert!(began.elapsed() < Duration::from_secs(30), "{connected:?}");
        }
    }

    /// Far enough from each other that the server's read-ahead has none. The server reads in threads of this name.
    pub fn scene(&self, bottom: &Bottom) -> Scene {
        let read = |block: u32| format!("dd if=/dev/nbd0 of=/dev/null bs=4k skip={block} count=1 iflag=direct");
        let script = [1000, 3000, 5000, 7000, 9000].map(read).join("\n");
        let scene = bottom.scene("NBD, reads", script, ("read", "nbd0"), "device");
        let server = is_since(5, 17).then_some("pool/");
        Scene { at_least_ms: 5 * DELAY_MS, waited_for: server, ..bottom.scene_above(scene, "nbd0") }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("nbd-client").args(["-d", "/dev/nbd0"]).status();
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
