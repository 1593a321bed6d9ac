//! What processes of one program are: what they say in their titles (a server's checkpointer, or its child that writes
//! a snapshot), and what their command line has them do (the script of an interpreter, the subcommand of `git`).

use std::path::{Path, PathBuf};

use super::bounded_cache::BoundedCache;
use crate::bytes::{read_text, shown};

const PROCESSES: usize = 16_384;
const LONGEST: usize = 60;
/// A child takes its title a little after its begin.
const MOST_LOOKS: u32 = 3;

/// Programs that do what their first argument says.
const TOOLS: [&str; 22] = [
    "apt", "apt-get", "borg", "btrfs", "buildah", "cargo", "docker", "git", "go", "hg", "kubectl", "npm", "openssl",
    "pip", "podman", "qemu-img", "rclone", "restic", "skopeo", "snap", "svn", "zfs",
];
/// Programs that run the script that their first argument names. A number may follow: `python3.11`.
const INTERPRETERS: [&str; 10] = ["bash", "dash", "java", "node", "perl", "php", "python", "Rscript", "ruby", "sh"];
/// Options of these that a value of its own follows, which is no script.
const VALUED: [&str; 8] = ["-cp", "-classpath", "--class-path", "-p", "--module-path", "-W", "-X", "-C"];

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
        let role = role(&read("cmdline"), shown(read("comm")).trim_end());
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
        let stat = read_text(thread.path().join("stat")).unwrap_or_default();
        state(stat) == Some('D')
    };
    threads.flatten().any(is_blocked)
}

/// The role in a title, without what changes from moment to moment: `postgres: checkpointer`, `postgres: bob shop
/// [local] UPDATE`, `nginx: worker process`; a program's name of its own: `redis-rdb-bgsave *:6379`. A title is one
/// argument; a command line has words without spaces.
fn role(line: &[u8], comm: &str) -> Option<String> {
    let line = shown(line);
    let mut arguments = line.trim_end_matches('\0').split('\0');
    let title = arguments.next()?;
    let Some((name, rest)) = title.split_once(' ') else { return task(title, arguments).map(cut) };
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

/// What a command line tells a program to do: `repack` of `git repack -d`, `backup.py` of `python3 -u /opt/backup.py`.
fn task<'a>(program: &str, arguments: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let program = base(program);
    let interpreter = program.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let (is_tool, runs_scripts) = (TOOLS.contains(&program), INTERPRETERS.contains(&interpreter));
    let mut skip = false;
    for argument in arguments.filter(|_| is_tool || runs_scripts) {
        match argument {
            _ if std::mem::take(&mut skip) => {}
            // The program's text follows, or its input is a pipe.
            "-c" | "-e" | "-" if runs_scripts => return None,
            // A module, or an archive.
            "-m" | "-jar" if runs_scripts => {}
            "-c" => skip = true,
            option if VALUED.contains(&option) => skip = true,
            option if option.starts_with('-') => {}
            script if runs_scripts => return Some(base(script)).filter(|name| !name.is_empty()),
            word => {
                return Some(word).filter(|word| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'));
            }
        }
    }
    None
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
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
            ("git\0-C\0/srv/a\0repack\0-d\0", "git", Some("repack")),
            ("/usr/lib/git-core/git\0pack-objects\0--local\0", "git", Some("pack-objects")),
            ("git\0--version\0", "git", None),
            ("btrfs\0/mnt\0", "btrfs", None),
            ("python3\0-u\0/opt/backup.py\0--all\0", "python3", Some("backup.py")),
            ("python3.11\0-m\0http.server\0", "python3.11", Some("http.server")),
            ("python3\0-c\0import this\0", "python3", None),
            ("java\0-Xmx1g\0-cp\0/a.jar:/b.jar\0org.apache.Main\0", "java", Some("org.apache.Main")),
            ("bash\0/etc/cron.daily/rotate.sh\0", "bash", Some("rotate.sh")),
            ("tar\0x\0", "tar", None),
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
