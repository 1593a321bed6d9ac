//! Client and server of NFS on one machine: the client's waits lead through the server's thread to its disk.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};

use crate::scenes::{Scene, is_since, number_of, play, tool};
use crate::scsi::SlowScsi;

/// Of each request of the server's disk, below the second that is its limit: the emulator's CPU time is little beside
/// it.
const DELAY_MS: u64 = 900;
/// What the server exports, and where the client mounts it, by version.
const EXPORTED: &str = "/run/exported";
const MOUNTS: [(&str, &str); 4] =
    [("4.2", "/run/nfs4"), ("3", "/run/nfs3"), ("4.2", "/run/nfs4-other"), ("3", "/run/nfs3-other")];
/// The same again, which the client does not take for the same file system: only the server knows who holds its locks.
const OTHER: &str = "-other";
/// Of each file that is read, and of each read.
const READ_KIB: u64 = 64;

/// The server, which exports a file system on a slow disk, mounted by both versions; stopped when dropped.
struct Server {
    disk: SlowScsi,
    name: String,
    rpcbind: Child,
    /// Locks of version 3 need it.
    statd: Child,
}

impl Server {
    fn new() -> Server {
        let disk = SlowScsi::new(64);
        disk.set("ndelay", "1000");
        let name = disk.name();
        let device = format!("/dev/{name}");
        let mounts = MOUNTS.map(|(_, folder)| folder);
        for folder in mounts.iter().chain(&[
            EXPORTED,
            "/run/rpcbind",
            "/var/lib/nfs/v4recovery",
            "/var/lib/nfs/sm",
            "/var/lib/nfs/sm.bak",
        ]) {
            fs::create_dir_all(folder).unwrap();
        }
        tool("mkfs.ext4", &["-q", &device]);
        tool("mount", &["-t", "ext4", &device, EXPORTED]);
        for version in ["4.2", "3"] {
            for number in 0..2 {
                let text = vec![b'x'; 2 * READ_KIB as usize * 1024];
                fs::write(format!("{EXPORTED}/read-{version}-{number}"), text).unwrap();
            }
        }
        fs::write("/etc/passwd", "root:x:0:0::/root:/bin/sh\n_rpc:x:100:100::/run/rpcbind:/bin/sh\n").unwrap();
        fs::write("/etc/group", "root:x:0:\n_rpc:x:100:\n").unwrap();
        tool("ifconfig", &["lo", "127.0.0.1", "up"]);
        let rpcbind = Command::new("rpcbind").arg("-f").spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_secs(2));
        let statd = Command::new("rpc.statd").args(["--foreground", "--no-notify"]).spawn().unwrap();
        let server = Server { disk, name, rpcbind, statd };
        server.start();
        server
    }

    fn start(&self) {
        // Old programs do not load what they need.
        for module in ["nfsd", "nfsv3", "nfsv4"] {
            tool("modprobe", &[module]);
        }
        tool("mount", &["-t", "nfsd", "nfsd", "/proc/fs/nfsd"]);
        for file in ["etab", "rmtab"] {
            fs::write(Path::new("/var/lib/nfs").join(file), "").unwrap();
        }
        let options = "rw,sync,no_root_squash,fsid=0,insecure,no_subtree_check";
        fs::write("/etc/exports", format!("{EXPORTED} *({options})\n")).unwrap();
        tool("exportfs", &["-ra"]);
        for time in ["nfsv4gracetime", "nfsv4leasetime"] {
            fs::write(Path::new("/proc/fs/nfsd").join(time), "10").unwrap();
        }
        let _ = fs::write("/proc/sys/fs/nfs/nlm_grace_period", "1");
        tool("rpc.mountd", &[]);
        tool("rpc.nfsd", &["4"]);
        // No delegations (Linux 6.6 and newer give them for writing, too): a client that has one does not ask for
        // locks.
        fs::write("/proc/sys/fs/leases-enable", "0").unwrap();
        // Nobody has to reclaim locks of an earlier server.
        let _ = fs::write("/proc/fs/nfsd/v4_end_grace", "Y");
        for (version, folder) in MOUNTS {
            let from = if version == "3" { format!("127.0.0.1:{EXPORTED}") } else { "127.0.0.1:/".to_owned() };
            let more = if folder.ends_with(OTHER) { ",nosharecache" } else { "" };
            let options = format!("vers={version},sec=sys,retry=0{more}");
            tool("mount.nfs", &[&from, folder, "-o", &options]);
        }
        // Pages that are dirty are not dropped.
        tool("sync", &[]);
        fs::write("/proc/sys/vm/drop_caches", "3").unwrap();
        self.disk.set("ndelay", &(DELAY_MS * 1_000_000).to_string());
    }

    /// A lock that a client holds from another mount.
    fn locked(&self, name: &'static str, mount: &str) -> Scene {
        let (file, held) = (format!("{}/locked", &mount["/run/".len()..]), format!("{mount}-held"));
        let script = format!(
            "flock {mount}{OTHER}/locked sh -c 'touch {held}; sleep 6' & until [ -e {held} ]; do sleep 0.1; done; \
             flock {mount}/locked true; wait"
        );
        let waits = self.scene(name, "flock", &file, script);
        Scene { cause: "lock", at_least_ms: 2000, device: None, waited_for: None, ..waits }
    }

    fn scene(&self, name: &'static str, operation: &'static str, file: &str, script: String) -> Scene {
        Scene {
            name,
            script,
            operation,
            path: file.to_owned(),
            cause: "network_fs",
            at_least_ms: DELAY_MS,
            // An earlier tracer does not know whose answer the client's worker received.
            device: is_since(5, 17).then(|| number_of(&self.name)),
            waited_for: Some(if is_since(5, 17) { "nfsd/" } else { "nfsd/|kworker/" }),
            failure: None,
            held_in: None,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.disk.set("ndelay", "1000");
        for (_, folder) in MOUNTS {
            let _ = Command::new("umount").arg(folder).status();
        }
        let _ = Command::new("rpc.nfsd").arg("0").status();
        let _ = Command::new("exportfs").arg("-ua").status();
        for program in [&mut self.statd, &mut self.rpcbind] {
            let _ = program.kill();
            let _ = program.wait();
        }
        let _ = Command::new("umount").arg(EXPORTED).status();
    }
}

fn read(folder: &str, version: &str, number: u32, flag: &str) -> String {
    format!("dd if={folder}/read-{version}-{number} of=/dev/null bs={READ_KIB}k count=1 {flag}")
}

#[test]
fn waits_for_a_server_of_this_machine_lead_to_its_disk() {
    if Command::new("rpc.nfsd").arg("--help").output().is_err() {
        println!("skipped: no programs of the NFS server");
        return;
    }
    let server = Server::new();
    let [(_, v4), (_, v3), ..] = MOUNTS;
    play(&[
        server.scene("NFS 4.2, direct reads", "read", "nfs4/read-4.2-0", read(v4, "4.2", 0, "iflag=direct")),
        server.scene("NFS 4.2, reads", "read", "nfs4/read-4.2-1", read(v4, "4.2", 1, "")),
        server.scene(
            "NFS 4.2, fsync (COMMIT)",
            "fsync",
            "nfs4/written",
            format!("dd if=/dev/zero of={v4}/written bs=4k count=4 conv=fsync"),
        ),
        server.scene(
            "NFS 4.2, direct writes (WRITE)",
            "write",
            "nfs4/direct",
            format!("dd if=/dev/zero of={v4}/direct bs=4k count=4 oflag=direct"),
        ),
        server.scene("NFS 3, direct reads", "read", "nfs3/read-3-0", read(v3, "3", 0, "iflag=direct")),
        server.scene(
            "NFS 3, fsync (COMMIT)",
            "fsync",
            "nfs3/written",
            format!("dd if=/dev/zero of={v3}/written bs=4k count=4 conv=fsync"),
        ),
        server.scene(
            "NFS 3, direct writes (WRITE)",
            "write",
            "nfs3/direct",
            format!("dd if=/dev/zero of={v3}/direct bs=4k count=4 oflag=direct"),
        ),
        server.locked("NFS 4.2, a lock that another client holds", v4),
        server.locked("NFS 3, a lock that another client holds", v3),
    ]);
}
