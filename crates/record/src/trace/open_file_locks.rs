//! Holders of locks that belong to an open file: flock(2), and fcntl(2) with `F_OFD_SETLK`. The kernel notes the
//! process that took the lock. This process may be gone, or have closed the file: then its children hold the lock, or
//! another process with the same open file (`flock FILE COMMAND &` whose `flock` is killed; `flock 9` of a shell). It
//! is released when the last of them closes it, or any of them unlocks it.

use std::path::{Path, PathBuf};

use super::bounded_cache::BoundedCache;
use super::lasting_waits::descriptors::{info, target};

/// Locks whose holders are remembered.
const KEPT: usize = 1024;
/// Descriptors that are read at most.
const MOST: usize = 65_536;

/// What a process waits on: its descriptor.
pub(super) type Waiter = (u32, u32);

/// Holders that were found while tasks waited: when a wait has ended, they may have given the lock back.
pub(super) struct OpenFileLocks {
    proc: PathBuf,
    /// By lock, and the process that took it.
    known: BoundedCache<(u64, u32), Option<u32>>,
}

impl OpenFileLocks {
    pub(super) fn new(proc: PathBuf) -> OpenFileLocks {
        OpenFileLocks { proc, known: BoundedCache::new(KEPT) }
    }

    /// The holder of a lock that a process took, where another one has it now; looked for while somebody waits for it.
    pub(super) fn look(&mut self, lock: u64, taken_by: u32, waiter: Waiter) -> Option<u32> {
        if let Some(known) = self.known.get(&(lock, taken_by)) {
            return *known;
        }
        let found = other_holder(&self.proc, taken_by, waiter);
        self.known.insert((lock, taken_by), found);
        found
    }

    /// The same of a wait that has ended.
    pub(super) fn seen(&mut self, lock: u64, taken_by: u32) -> Option<u32> {
        self.known.get(&(lock, taken_by)).and_then(|known| *known)
    }
}

/// The process that holds a lock which another process took (`taken_by`; 0: unknown); the latest of several, since a
/// shell may have the file open beside its children. `None` where the taker still holds the lock or waits for it as
/// well, or no holder is found.
pub(super) fn other_holder(proc: &Path, taken_by: u32, waiter: Waiter) -> Option<u32> {
    let file = LockedFile::of(proc, taken_by, waiter)?;
    let mut left = MOST;
    if taken_by != 0 && file.is_open_in(taken_by, &mut left) {
        return None;
    }
    let mut holders: Vec<u32> = Vec::new();
    for entry in std::fs::read_dir(proc).ok()?.flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(pid) = pid.filter(|pid| *pid != waiter.0) else { continue };
        if file.is_held_by(pid, &mut left) {
            holders.push(pid);
        }
        if left == 0 {
            break;
        }
    }
    holders.into_iter().max()
}

/// The file with the lock.
struct LockedFile<'a> {
    proc: &'a Path,
    taken_by: u32,
    /// Its number, where this kernel shows it (since 5.14), and its path.
    inode: Option<String>,
    path: String,
}

impl LockedFile<'_> {
    fn of(proc: &Path, taken_by: u32, (pid, descriptor): Waiter) -> Option<LockedFile<'_>> {
        let path = target(proc, pid, descriptor)?;
        Some(LockedFile { proc, taken_by, inode: info(proc, pid, descriptor, "ino:"), path })
    }

    fn is_open_in(&self, pid: u32, left: &mut usize) -> bool {
        self.any(pid, left, |descriptor, text| self.is_it(pid, descriptor, text))
    }

    fn is_held_by(&self, pid: u32, left: &mut usize) -> bool {
        self.any(pid, left, |descriptor, text| {
            text.lines().any(|line| self.is_its_lock(line)) && self.is_it(pid, descriptor, text)
        })
    }

    fn is_it(&self, pid: u32, descriptor: u32, text: &str) -> bool {
        let inode = text.lines().find_map(|line| line.strip_prefix("ino:"));
        match self.inode.as_deref().zip(inode) {
            Some((inode, of_other)) if inode != of_other.trim() => false,
            // A lock that names its process is known by that: the file may have other names.
            Some(_) if self.taken_by != 0 => true,
            _ => target(self.proc, pid, descriptor).as_ref() == Some(&self.path),
        }
    }

    /// `lock:  1: FLOCK  ADVISORY  WRITE 812 07:01:14 0 EOF`, or `OFDLCK ADVISORY  WRITE -1`, which has no process.
    fn is_its_lock(&self, line: &str) -> bool {
        let Some(lock) = line.strip_prefix("lock:") else { return false };
        let mut words = lock.split_whitespace().skip(1);
        let (kind, pid) = (words.next(), words.nth(2));
        match kind {
            Some("FLOCK") => self.taken_by == 0 || pid.and_then(|pid| pid.parse().ok()) == Some(self.taken_by),
            Some("OFDLCK") => self.taken_by == 0,
            _ => false,
        }
    }

    fn any(&self, pid: u32, left: &mut usize, is_it: impl Fn(u32, &str) -> bool) -> bool {
        let Ok(entries) = std::fs::read_dir(self.proc.join(format!("{pid}/fdinfo"))) else { return false };
        let entries = entries.flatten().take(*left);
        for entry in entries {
            *left -= 1;
            let descriptor = entry.file_name().to_str().and_then(|name| name.parse().ok());
            let text = std::fs::read_to_string(entry.path());
            if descriptor.zip(text.ok()).is_some_and(|(descriptor, text)| is_it(descriptor, &text)) {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::path::Path;
    use std::process::{Child, Command, Stdio};

    use super::{OpenFileLocks, other_holder};

    /// A shell with the file as its input.
    fn locked(file: &Path, script: &str) -> Child {
        let input: OwnedFd = File::options().read(true).write(true).open(file).unwrap().into();
        Command::new("sh").args(["-c", script]).stdin(input).stdout(Stdio::piped()).spawn().unwrap()
    }

    fn line(child: &mut Child) -> String {
        use std::io::{BufRead, BufReader};
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    #[test]
    fn a_lock_is_with_whom_it_was_left() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lock");
        std::fs::write(&file, "").unwrap();
        // flock(1) takes it for the shell and is gone; the shell says which process that was.
        let mut shell = locked(&file, "exec 3<&0; flock 3 & taken=$!; wait $taken; echo $taken; exec sleep 1000");
        let waiter = File::open(&file).unwrap();
        let waiter = (std::process::id(), waiter.as_raw_fd() as u32);
        let taken_by: u32 = line(&mut shell).parse().unwrap();
        let proc = Path::new("/proc");
        let is_shell = |holder: Option<u32>| holder == Some(shell.id());
        let found = other_holder(proc, taken_by, waiter);
        let mut locks = OpenFileLocks::new(proc.to_owned());
        let looked = locks.look(7, taken_by, waiter);
        let others = [other_holder(proc, shell.id(), waiter), other_holder(proc, 4_000_000, waiter)];
        let is_found = [found, looked].map(is_shell);
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert_eq!((is_found, others), ([true; 2], [None; 2]), "{found:?}");
        assert_eq!(other_holder(proc, taken_by, waiter), None, "given back");
        assert_eq!((locks.seen(7, taken_by), locks.seen(8, taken_by)), (looked, None), "a wait that has ended");
    }

    #[test]
    fn a_lock_without_a_process_is_with_the_one_that_has_the_open_file() {
        let proc = tempfile::tempdir().unwrap();
        let put = |pid: u32, text: &str, path: &str| {
            let folder = proc.path().join(pid.to_string());
            std::fs::create_dir_all(folder.join("fdinfo")).unwrap();
            std::fs::create_dir_all(folder.join("fd")).unwrap();
            std::fs::write(folder.join("fdinfo/3"), text).unwrap();
            std::os::unix::fs::symlink(path, folder.join("fd/3")).unwrap();
        };
        let lock = "lock:\t1: OFDLCK  ADVISORY  WRITE -1 07:01:14 0 EOF\n";
        put(7, "pos:\t0\nino:\t14\n", "/a");
        put(8, &format!("pos:\t0\nino:\t14\n{lock}"), "/a");
        put(9, &format!("pos:\t0\nino:\t14\n{lock}"), "/b");
        put(10, &format!("pos:\t0\nino:\t15\n{lock}"), "/a");
        let found = |taken_by| other_holder(proc.path(), taken_by, (7, 3));
        assert_eq!(found(0), Some(8));
        // The same open file in another process.
        put(11, &format!("pos:\t0\nino:\t14\n{lock}"), "/a");
        assert_eq!(found(0), Some(11));
        assert_eq!(found(8), None, "it has the file open itself");
    }
}
