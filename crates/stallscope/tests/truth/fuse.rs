//! A FUSE server with two files of 64 MiB, by the protocol of <linux/fuse.h> (7.31): `file`, which is never cached, and
//! `pages`, which is read ahead into the page cache. Reads beyond the first 64 KiB are slow.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

const LOOKUP: u32 = 1;
const FORGET: u32 = 2;
const GETATTR: u32 = 3;
const OPEN: u32 = 14;
const READ: u32 = 15;
const RELEASE: u32 = 18;
const FLUSH: u32 = 25;
const INIT: u32 = 26;
const INTERRUPT: u32 = 36;
const BATCH_FORGET: u32 = 42;
/// Nodes: the root folder is 1.
const FILE: u64 = 2;
const PAGES: u64 = 3;
const SLOW_FROM: u64 = 64 << 10;
const FILE_BYTES: u64 = 64 << 20;

/// Serves until it is killed; `slowly` comes before the answer to a slow read.
pub fn serve(point: &Path, mut slowly: impl FnMut()) -> ! {
    let mut device = OpenOptions::new().read(true).write(true).open("/dev/fuse").unwrap();
    let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", device.as_raw_fd());
    let (options, flags) = (CString::new(options).unwrap(), rustix::mount::MountFlags::empty());
    rustix::mount::mount("stallscope-truth", point, "fuse", flags, Some(options.as_c_str())).unwrap();
    let mut request = vec![0; 1 << 18];
    loop {
        let bytes = device.read(&mut request).unwrap();
        answer(&mut device, &request[..bytes], &mut slowly);
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn answer(device: &mut File, request: &[u8], slowly: &mut impl FnMut()) {
    let (code, unique, node, body) = (word(request, 4), long(request, 8), long(request, 16), &request[40..]);
    let answer = match code {
        FORGET | INTERRUPT | BATCH_FORGET => return,
        // Read ahead by up to 128 KiB, by requests that the reader does not wait for (FUSE_ASYNC_READ).
        INIT => [words(&[7, 31, 1 << 17, 1, 0, 1 << 16, 1, 0, 0]), vec![0; 28]].concat(),
        LOOKUP => {
            let node = if body.starts_with(b"pages\0") { PAGES } else { FILE };
            [longs(&[node, 0, 3600, 3600]), words(&[0, 0]), attributes(node)].concat()
        }
        GETATTR => [longs(&[3600, 0]), attributes(node)].concat(),
        // FOPEN_DIRECT_IO
        OPEN => [longs(&[0]), words(&[u32::from(node == FILE), 0])].concat(),
        READ => {
            if long(body, 8) >= SLOW_FROM {
                slowly();
            }
            vec![0; word(body, 16) as usize]
        }
        RELEASE | FLUSH => Vec::new(),
        _ => {
            const ENOSYS: i32 = -38;
            return send(device, ENOSYS, unique, &[]);
        }
    };
    send(device, 0, unique, &answer);
}

/// A request that was interrupted takes no answer.
fn send(device: &mut File, error: i32, unique: u64, answer: &[u8]) {
    let header = [words(&[16 + answer.len() as u32, error as u32]), longs(&[unique])].concat();
    let _ = device.write(&[&header, answer].concat());
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn longs(longs: &[u64]) -> Vec<u8> {
    longs.iter().flat_map(|long| long.to_ne_bytes()).collect()
}

/// `struct fuse_attr`: node 1 is the root folder.
fn attributes(node: u64) -> Vec<u8> {
    let (mode, bytes) = if node == 1 { (0o40755, 0) } else { (0o100644, FILE_BYTES) };
    [longs(&[node, bytes, 0, 0, 0, 0]), words(&[0, 0, 0, mode, 1, 0, 0, 0, 4096, 0])].concat()
}
