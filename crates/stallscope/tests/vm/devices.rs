//! Devices of a known delay, which only this kernel has: reads through them are explained by the device.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::scenes::tool;
use crate::stage::{folder, number, run};

/// What each read is delayed by.
pub const DELAY_MS: u64 = 300;
const READS: u64 = 5;

/// Reads from the device past the page cache, recorded; gives the explanation.
fn explained_reads(device: &Path) -> Value {
    let folder = folder();
    let out = folder.path().join("run");
    // fio, since busybox's `dd` lacks O_DIRECT.
    let load = format!(
        "fio --name=reads --filename={} --readonly --rw=read --bs=4k --direct=1 --ioengine=psync --size={}k \
         --output=/dev/null",
        device.display(),
        READS * 4
    );
    run(&format!("record --slower-than 20ms -q --out {} -- {load}", out.display())).expect_code(0);
    let document = run(&format!("explain --json {}", out.display())).expect_code(0).document();
    println!("{}", run(&format!("explain --worst 1 {}", out.display())).expect_code(0).stdout);
    document
}

/// The time of the reads' stalls that the cause explains, and all of it.
fn read_time(document: &Value, cause: &str) -> (f64, f64) {
    let (mut explained, mut all, mut reads) = (0.0, 0.0, 0);
    for stall in document["stalls"].as_array().unwrap() {
        if !stall["operation"].as_str().unwrap().contains("read") {
            continue;
        }
        reads += 1;
        all += number(stall, "/duration_ns");
        let causes = stall["causes"].as_array().unwrap().iter();
        explained += causes.filter(|found| found["cause"] == cause).map(|found| number(found, "/time_ns")).sum::<f64>();
    }
    assert!(reads >= READS, "{reads} slow reads are reported:\n{document:#}");
    assert!(all >= (READS * DELAY_MS) as f64 * 1e6, "{all}");
    (explained, all)
}

/// A null_blk whose requests are completed by a timer; removed when dropped.
pub struct SlowNull(PathBuf);

impl SlowNull {
    pub fn new(name: &str, delay_ms: u64) -> SlowNull {
        let delay_ns = (delay_ms * 1_000_000).to_string();
        SlowNull::with(name, &[("irqmode", "2"), ("completion_nsec", &delay_ns)])
    }

    pub fn with(name: &str, settings: &[(&str, &str)]) -> SlowNull {
        let _ = Command::new("mount").args(["-t", "configfs", "none", "/sys/kernel/config"]).status();
        let made = SlowNull(Path::new("/sys/kernel/config/nullb").join(name));
        fs::create_dir(&made.0).unwrap();
        for (name, value) in settings.iter().chain(&[("size", "64"), ("power", "1")]) {
            fs::write(made.0.join(name), value).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        made
    }

    /// Named like its folder, or by its number, as older kernels do.
    pub fn device(&self) -> PathBuf {
        SlowNull::device_of(self.0.file_name().unwrap().to_str().unwrap())
    }

    pub fn device_of(name: &str) -> PathBuf {
        let folder = Path::new("/sys/kernel/config/nullb").join(name);
        let index = fs::read_to_string(folder.join("index")).unwrap();
        let named = Path::new("/dev").join(name);
        let names = [named, PathBuf::from(format!("/dev/nullb{}", index.trim()))];
        names.into_iter().find(|name| name.exists()).expect("the device has a name")
    }
}

impl Drop for SlowNull {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join("power"), "0");
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_read_from_a_slow_null_blk_is_explained_by_the_device() {
    let disk = SlowNull::new("slow", DELAY_MS);
    let (device, all) = read_time(&explained_reads(&disk.device()), "device");
    println!("device: {:.1} % of {:.1} ms", device / all * 100.0, all / 1e6);
    assert!(device >= 0.8 * all, "{device} of {all}");
}

/// A device of the device mapper that delays each read of a loop device; removed when dropped.
struct Delayed {
    loop_device: String,
    _home: tempfile::TempDir,
}

impl Delayed {
    fn new() -> Delayed {
        let home = folder();
        let image = home.path().join("image");
        fs::write(&image, vec![0; 8 << 20]).unwrap();
        let loop_device = tool("losetup", &["--find", "--show", &image.display().to_string()]);
        let delayed = Delayed { loop_device, _home: home };
        tool(
            "dmsetup",
            &["create", "delayed", "--table", &format!("0 16384 delay {} 0 {DELAY_MS}", delayed.loop_device)],
        );
        tool("dmsetup", &["mknodes"]);
        delayed
    }
}

impl Drop for Delayed {
    fn drop(&mut self) {
        let _ = Command::new("dmsetup").args(["remove", "delayed"]).status();
        let _ = Command::new("losetup").args(["-d", &self.loop_device]).status();
    }
}

#[test]
fn a_read_through_a_delaying_mapper_is_explained_by_the_device() {
    let _delayed = Delayed::new();
    let (device, all) = read_time(&explained_reads(Path::new("/dev/mapper/delayed")), "device");
    println!("device: {:.1} % of {:.1} ms", device / all * 100.0, all / 1e6);
    assert!(device >= 0.8 * all, "{device} of {all}");
}
