//! A disk whose writes and flushes are recorded with their data: a FUSE file system of a single file, and a loop device
//! on it.
//!
//! A flush of the loop device is an fsync of that file. What was written before it is on the disk; of what came later a
//! power cut may leave any part.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Most bytes of one write, and what a request needs beside them.
const MOST_WRITE: usize = 128 << 10;
const REQUEST_BYTES: usize = MOST_WRITE + 4096;
const HEADER: usize = 40;
const WRITE_HEADER: usize = 40;
const ROOT: u64 = 1;
const DISK: u64 = 2;

// From include/uapi/linux/fuse.h, version 7.31.
mod opcode {
    pub(super) const LOOKUP: u32 = 1;
    pub(super) const FORGET: u32 = 2;
    pub(super) const GETATTR: u32 = 3;
    pub(super) const SETATTR: u32 = 4;
    pub(super) const OPEN: u32 = 14;
    pub(super) const READ: u32 = 15;
    pub(super) const WRITE: u32 = 16;
    pub(super) const RELEASE: u32 = 18;
    pub(super) const FSYNC: u32 = 20;
    pub(super) const FLUSH: u32 = 25;
    pub(super) const INIT: u32 = 26;
    pub(super) const ACCESS: u32 = 34;
    pub(super) const INTERRUPT: u32 = 36;
    pub(super) const BATCH_FORGET: u32 = 42;
}

/// What the disk was asked to do.
#[derive(Debug, Clone)]
pub enum Order {
    Write { offset: usize, data: Vec<u8> },
    Flush,
}

/// An order, and when it was obeyed, ns of the monotonic clock.
pub type Dated = (u64, Order);

#[derive(Debug)]
struct Content {
    bytes: Vec<u8>,
    orders: Vec<Dated>,
    is_gone: bool,
}

/// A disk that does not answer, as long as this lives.
pub struct Stopped<'a> {
    _content: MutexGuard<'a, Content>,
}

/// The disk; removed when it is dropped.
pub struct RecordedDisk {
    home: tempfile::TempDir,
    content: Arc<Mutex<Content>>,
    device: String,
}

impl RecordedDisk {
    /// A disk of that size.
    pub fn new(bytes: usize) -> Result<RecordedDisk, String> {
        let home = crate::remains::folder();
        let host = home.path().join("host");
        fs::create_dir(&host).map_err(|error| error.to_string())?;
        let fuse = OpenOptions::new().read(true).write(true).open("/dev/fuse").map_err(|error| error.to_string())?;
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", fuse.as_raw_fd());
        let options = std::ffi::CString::new(options).map_err(|error| error.to_string())?;
        rustix::mount::mount("torture", &host, "fuse", rustix::mount::MountFlags::empty(), Some(options.as_c_str()))
            .map_err(|error| format!("fuse: {error}"))?;
        let content = Content { bytes: vec![0; bytes], orders: Vec::new(), is_gone: false };
        let mut disk = RecordedDisk { home, content: Arc::new(Mutex::new(content)), device: String::new() };
        let served = Arc::clone(&disk.content);
        std::thread::spawn(move || serve(fuse, &served));
        disk.device = output("losetup", &["--find", "--show", &text(&host.join("disk"))])?;
        Ok(disk)
    }

    pub fn device(&self) -> &str {
        &self.device
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes as they are now. Orders are recorded from here on.
    pub fn snapshot(&self) -> Vec<u8> {
        let mut content = self.content();
        content.orders.clear();
        content.bytes.clone()
    }

    /// The orders since the snapshot.
    pub fn orders(&self) -> Vec<Dated> {
        self.content().orders.clone()
    }

    /// Orders are not answered until the guard is dropped.
    pub fn stop(&self) -> Stopped<'_> {
        Stopped { _content: self.content() }
    }

    /// From now on every order fails, as of a disk that was pulled out.
    pub fn pull_out(&self) {
        self.content().is_gone = true;
    }
}

impl Drop for RecordedDisk {
    fn drop(&mut self) {
        let _ = output("losetup", &["--detach", &self.device]);
        let host = self.home.path().join("host");
        // The kernel frees the loop device some time after its last user.
        for _ in 0..50 {
            if output("umount", &[&text(&host)]).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let _ = output("umount", &["--lazy", &text(&host)]);
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Runs a tool, and returns what it printed.
pub fn output(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output =
        Command::new(program).args(arguments).stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// A loop device and its mount, removed when it is dropped.
pub struct Mounted {
    place: PathBuf,
    device: Option<String>,
}

impl Mounted {
    /// Mounts a device.
    pub fn device(device: &str, place: &Path) -> Result<Mounted, String> {
        fs::create_dir_all(place).map_err(|error| error.to_string())?;
        output("mount", &[device, &text(place)])?;
        Ok(Mounted { place: place.to_owned(), device: None })
    }

    /// Mounts an image, whose file system recovers.
    pub fn image(image: &Path, place: &Path) -> Result<Mounted, String> {
        // Btrfs knows a disk with this id, which is gone, and would take the older of the two for stale.
        let _ = output("btrfs", &["device", "scan", "--forget"]);
        let device = output("losetup", &["--find", "--show", &text(image)])?;
        match Mounted::device(&device, place) {
            Ok(mut mounted) => {
                mounted.device = Some(device);
                Ok(mounted)
            }
            Err(error) => {
                let _ = output("losetup", &["--detach", &device]);
                Err(error)
            }
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = output("umount", &[&text(&self.place)]).or_else(|_| output("umount", &["--lazy", &text(&self.place)]));
        if let Some(device) = self.device.take() {
            let _ = output("losetup", &["--detach", &device]);
        }
    }
}

/// Answers the kernel until the file system is unmounted.
fn serve(mut fuse: File, content: &Mutex<Content>) {
    let mut request = vec![0; REQUEST_BYTES];
    loop {
        let length = match fuse.read(&mut request) {
            Ok(length) if length >= HEADER => length,
            Err(error) if [Some(libc::EINTR), Some(libc::ENOENT)].contains(&error.raw_os_error()) => continue,
            _ => return,
        };
        let request = &request[..length];
        let answer = answer(request, &mut content.lock().unwrap_or_else(PoisonError::into_inner));
        let Some(answer) = answer else { continue };
        let (error, body) = match answer {
            Ok(body) => (0, body),
            Err(errno) => (-errno, Vec::new()),
        };
        let mut bytes = ((16 + body.len()) as u32).to_le_bytes().to_vec();
        bytes.extend(error.to_le_bytes());
        bytes.extend(&request[8..16]);
        bytes.extend(body);
        // It fails for a request that was interrupted.
        let _ = fuse.write(&bytes);
    }
}

fn number(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}

fn small(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// `None`: a request without an answer.
fn answer(request: &[u8], content: &mut Content) -> Option<Result<Vec<u8>, i32>> {
    let (opcode, node, body) = (small(request, 4), number(request, 16), &request[HEADER..]);
    let size = content.bytes.len() as u64;
    Some(match opcode {
        opcode::INIT => Ok(init(small(body, 8))),
        opcode::FORGET | opcode::BATCH_FORGET | opcode::INTERRUPT => return None,
        opcode::LOOKUP if body.starts_with(b"disk\0") => {
            Ok([words(&[DISK, 0, 3600, 3600, 0]), attributes(DISK, size)].concat())
        }
        opcode::LOOKUP => Err(libc::ENOENT),
        opcode::GETATTR | opcode::SETATTR => Ok([words(&[3600, 0]), attributes(node, size)].concat()),
        // Each write reaches the server as it is, past the page cache.
        opcode::OPEN => Ok(words(&[1, 1])),
        opcode::FLUSH | opcode::RELEASE | opcode::ACCESS => Ok(Vec::new()),
        opcode::READ | opcode::WRITE | opcode::FSYNC if content.is_gone => Err(libc::EIO),
        opcode::READ => {
            let from = (number(body, 8) as usize).min(content.bytes.len());
            let to = (from + small(body, 16) as usize).min(content.bytes.len());
            Ok(content.bytes[from..to].to_vec())
        }
        opcode::WRITE => write(content, number(body, 8) as usize, &body[WRITE_HEADER.min(body.len())..]),
        opcode::FSYNC => {
            content.orders.push((monotonic_ns(), Order::Flush));
            Ok(Vec::new())
        }
        _ => Err(libc::ENOSYS),
    })
}

fn write(content: &mut Content, offset: usize, data: &[u8]) -> Result<Vec<u8>, i32> {
    let to = offset.checked_add(data.len()).filter(|to| *to <= content.bytes.len()).ok_or(libc::ENOSPC)?;
    content.bytes[offset..to].copy_from_slice(data);
    content.orders.push((monotonic_ns(), Order::Write { offset, data: data.to_vec() }));
    Ok(words(&[data.len() as u64]))
}

fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn init(readahead: u32) -> Vec<u8> {
    const BIG_WRITES: u32 = 1 << 5;
    const MAX_PAGES: u32 = 1 << 22;
    let pages = (MOST_WRITE / 4096) as u32;
    let words = [7, 31, readahead, BIG_WRITES | MAX_PAGES, 16 | 12 << 16, MOST_WRITE as u32, 1, pages];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    bytes.resize(64, 0);
    bytes
}

fn attributes(node: u64, size: u64) -> Vec<u8> {
    let (mode, links) = if node == ROOT { (0o040_755_u32, 2_u32) } else { (0o100_600, 1) };
    let mut bytes = words(&[node, size, size / 512, 0, 0, 0]);
    bytes.extend([0, 0, 0, mode, links, 0, 0, 0, 4096, 0].iter().flat_map(|word: &u32| word.to_le_bytes()));
    bytes
}
