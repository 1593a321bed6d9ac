//! What processes of one program say in their titles that they are: a server's checkpointer, or its child that writes a snapshot.

use std::path::{Path, PathBuf};

use super::bounded_cache::BoundedCache;

const PROCESSES: usize = 16_384;
const LONGEST: usize = 60;
/// A child takes its title a little after its begin.
const MOST_LOOKS: u32 = 3;

/// A process as it was looked at.
struct Seen {
    start_ns: u64,
    looks: u32,
    role: Option<String>,
}

/// The roles of processes.
pub(super) struct Roles {
    proc: PathBuf,
    known: BoundedCache<u32, Seen>,
}

impl Roles {
    pub(super) fn new(proc: PathBuf) -> Roles {
        Roles { proc, known: BoundedCache::new(PROCESSES) }
    }

    /// Looks at a process that has none yet, a few times at most.
    pub(super) fn learn(&mut self, pid: u32, start_ns: u64) {
        let known = self.known.get(&pid).filter(|seen| seen.start_ns == start_ns);
        let looks = match known {
            Some(seen) if seen.role.is_some() || seen.looks >= MOST_LOOKS => return,
            Some(seen) => seen.looks,
            None => 0,
        };
        let folder = self.proc.join(pid.to_string());
        // Its title is in its memory, whose lock a blocked process may hold.
        if is_blocked(&folder) {
            return;
        }
        let read = |file| std::fs::read(folder.join(file)).unwrap_or_default();
        let role = role(&read("cmdline"), String::from_utf8_lossy(&read("comm")).trim_end());
        self.known.insert(pid, Seen { start_ns, looks: looks + 1, role });
    }

    /// `checkpointer`
    pub(super) fn of(&mut self, pid: u32) -> Option<&str> {
        self.known.get(&pid)?.role.as_deref()
    }
}

/// Whether any of its threads sleeps uninterruptibly.
fn is_blocked(folder: &Path) -> bool {
    let Ok(threads) = std::fs::read_dir(folder.join("task")) else { return true };
    let state = |stat: String| stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    let is_blocked = |thread: std::fs::DirEntry| {
        let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        state(stat) == Some('D')
    };
    threads.flatten().any(is_blocked)
}

/// The role in a title, without what changes from moment to moment: `postgres: checkpointer`, `postgres: bob shop [local] UPDATE`,
/// `nginx: worker process`; a program's name of its own: `redis-rdb-bgsave *:6379`. A title is one argument; a command line has words
/// without spaces.
fn role(line: &[u8], comm: &str) -> Option<String> {
    let first = line.split(|byte| *byte == 0).next()?;
    let title = String::from_utf8_lossy(first);
    let (name, rest) = title.split_once(' ')?;
    if name.is_empty() || name.contains('/') {
        return None;
    }
    let Some(name) = name.strip_suffix(':') else {
        // The kernel cuts the name of a process after 15 bytes.
        let is_other = !comm.is_empty() && !name.starts_with(comm);
        return is_other.then(|| cut(name));
    };
    let changes = |word: &str| word.contains(['[', '(', '/']) || word.bytes().all(|byte| byte.is_ascii_digit());
    let words: Vec<&str> = rest.split_whitespace().take_while(|word| !changes(word)).collect();
    (!name.is_empty() && !words.is_empty()).then(|| cut(&words.join(" ")))
}

fn cut(role: &str) -> String {
    role.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::{Roles, role};

    #[test]
    fn a_title_says_what_a_process_is() {
        for (line, comm, expected) in [
            ("postgres: checkpointer \0\0\0", "postgres", Some("checkpointer")),
            ("postgres: bob shop [local] UPDATE waiting\0", "postgres", Some("bob shop")),
            ("postgres: bob shop 10.0.0.3(5432) idle\0", "postgres", Some("bob shop")),
            ("postgres: parallel worker for PID 812 \0", "postgres", Some("parallel worker for PID")),
            ("nginx: worker process\0", "nginx", Some("worker process")),
            ("nginx: master process /usr/sbin/nginx -g\0", "nginx", Some("master process")),
            ("redis-rdb-bgsave *:6379\0", "redis-server", Some("redis-rdb-bgsave")),
            ("redis-server *:6379\0", "redis-server", None),
            ("sshd: /usr/sbin/sshd -D [listener]\0", "sshd", None),
            ("/usr/bin/python3 job: 3\0", "python3", None),
            ("curl\0http: //here\0", "curl", None),
            ("a-very-long-name-of-a-server with words\0", "a-very-long-nam", None),
            ("", "kworker/0:1", None),
        ] {
            assert_eq!(role(line.as_bytes(), comm).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn a_child_is_looked_at_until_it_has_its_title_and_not_while_it_is_blocked() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("7");
        std::fs::create_dir_all(folder.join("task/7")).unwrap();
        let put = |file: &str, text: &str| std::fs::write(folder.join(file), text).unwrap();
        let mut roles = Roles::new(home.path().to_owned());
        put("comm", "postgres\n");
        put("cmdline", "postgres: checkpointer\0");
        put("task/7/stat", "7 (a) D) D 1");
        roles.learn(7, 100);
        assert_eq!(roles.of(7), None);
        put("task/7/stat", "7 (a) D) S 1");
        put("cmdline", "postgres\0-D\0");
        roles.learn(7, 100);
        assert_eq!(roles.of(7), None);
        put("cmdline", "postgres: walwriter\0");
        roles.learn(7, 100);
        assert_eq!(roles.of(7), Some("walwriter"));
        put("cmdline", "tar\0x\0");
        roles.learn(7, 200);
        assert_eq!(roles.of(7), None, "another process");
    }
}
