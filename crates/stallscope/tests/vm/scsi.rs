//! The SCSI disk that the kernel emulates (scsi_debug), whose delay and failures are set.

use std::path::Path;
use std::process::Command;

use crate::devices::DELAY_MS;
use crate::scenes::tool;

/// A SCSI disk whose commands take [`DELAY_MS`]; its module is unloaded when dropped.
pub struct SlowScsi;

impl SlowScsi {
    pub const DRIVER: &str = "/sys/bus/pseudo/drivers/scsi_debug";

    /// Of that size.
    pub fn new(mebibytes: u32) -> SlowScsi {
        SlowScsi::with(&[&format!("dev_size_mb={mebibytes}")])
    }

    /// With these parameters of the driver.
    pub fn with(parameters: &[&str]) -> SlowScsi {
        tool("modprobe", &[&["scsi_debug"], parameters].concat());
        let disk = SlowScsi;
        disk.name();
        disk.set("ndelay", &(DELAY_MS * 1_000_000).to_string());
        disk
    }

    /// Changes a parameter of the driver, which refuses that while a command is in flight, such as one of writeback.
    pub fn set(&self, parameter: &str, value: &str) {
        let (began, file) = (std::time::Instant::now(), format!("{}/{parameter}", SlowScsi::DRIVER));
        while let Err(error) = std::fs::write(&file, value) {
            assert!(began.elapsed() < std::time::Duration::from_secs(30), "{file}: {error}");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }

    /// The same as commands of a shell.
    pub fn setting(parameter: &str, value: &str) -> String {
        let set = format!("echo {value} > {}/{parameter}", SlowScsi::DRIVER);
        format!("for attempt in $(seq 200); do {set} && break; sleep 0.1; done")
    }

    /// Once its disk is found, which the kernel does in the background.
    pub fn name(&self) -> String {
        self.names(1).swap_remove(0)
    }

    /// Those of so many units, by number.
    pub fn names(&self, units: usize) -> Vec<String> {
        let began = std::time::Instant::now();
        let name = |path: &str| Path::new(path).parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        loop {
            let found = tool("find", &["/sys/devices/pseudo_0/adapter0/", "-path", "*/block/sd*", "-name", "dev"]);
            if found.lines().count() >= units {
                let mut paths: Vec<&str> = found.lines().collect();
                paths.sort_unstable();
                return paths.into_iter().map(name).collect();
            }
            assert!(began.elapsed() < std::time::Duration::from_secs(30), "no disk of scsi_debug");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}

impl Drop for SlowScsi {
    fn drop(&mut self) {
        for (parameter, value) in [("ndelay", "10000"), ("opts", "0"), ("every_nth", "0")] {
            let _ = std::fs::write(format!("{}/{parameter}", SlowScsi::DRIVER), value);
        }
        let _ = Command::new("rmmod").arg("scsi_debug").status();
    }
}
