//! Attempts that fail until another task acts: at lock files, lock folders, and servers that do not listen yet.

use super::clients::slow_disk;
use super::{GO, Test, alone, sharing};
use crate::ground::Ground;
use crate::victim::{Truth, Victim};

pub const TESTS: &[Test] = &[
    sharing("lock_file", &[lock_file]),
    sharing("lock_file_with_a_sleeping_holder", &[lock_file_of_sleeper]),
    alone("lock_folder_of_a_script", &[lock_folder]),
    sharing("server_that_does_not_listen_yet", &[late_server]),
    sharing("tcp_server_that_does_not_listen_yet", &[late_tcp_server]),
    sharing("quiet_folder_that_is_there", &[folder_that_is_there]),
];

/// Its holder writes to a slow disk, and removes the file.
fn lock_file() -> Truth {
    let ground = Ground::new();
    let (data, lock) = (slow_disk(&ground).file("data"), ground.at("lock"));
    held(&ground, &lock, &format!("open {data} direct\ntake_name {lock}\nHELD\nwrite {data} 0 3m\ndrop_name {lock}"))
}

fn lock_file_of_sleeper() -> Truth {
    let ground = Ground::new();
    let lock = ground.at("lock");
    held(&ground, &lock, &format!("take_name {lock}\nHELD\nsleep 1200\ndrop_name {lock}"))
}

/// The victim tries to create the file while a neighbour has it, whose script says when at HELD.
fn held(ground: &Ground, lock: &str, script: &str) -> Truth {
    let (held, go) = (ground.at("held"), ground.at(GO));
    let victim = Victim::start(ground, &format!("await {go}\ntake_name {lock}"));
    ground.wait_for(&format!("{go}.awaited"));
    let holder = ground.neighbour(&format!("{}\nsleep 3000", script.replace("HELD", &format!("signal {held}"))));
    ground.wait_for(&held);
    ground.go(&go);
    Truth { held_by: Some(holder), says: Some("lock file"), ..victim.suffered("lock") }
}

/// A script makes the folder, and removes it, by programs that end at once: it is the script that has the lock.
fn lock_folder() -> Truth {
    let ground = Ground::new();
    let (data, lock, go) = (slow_disk(&ground).file("data"), ground.at("lock.d"), ground.at(GO));
    let victim = Victim::start(&ground, &format!("await {go}\ntake_folder {lock}"));
    ground.wait_for(&format!("{go}.awaited"));
    let script = ground.at("rotate");
    let lines =
        format!("mkdir {lock}\ndd if=/dev/zero of={data} bs=1M count=3 oflag=direct 2> /dev/null\nrmdir {lock}\n:\n");
    std::fs::write(&script, lines).unwrap();
    let holder = ground.neighbour(&format!("become /bin/sh {script}"));
    ground.wait_for(&lock);
    ground.go(&go);
    Truth { held_by: Some(holder), says: Some("lock file"), ..victim.suffered("lock") }
}

/// It writes to a slow disk before it listens: the address does not exist yet.
fn late_server() -> Truth {
    let ground = Ground::new();
    late(&ground, &format!("unix:{}", ground.at("address")))
}

/// The same where the kernel refuses the connection: the port is known.
fn late_tcp_server() -> Truth {
    let ground = Ground::new();
    let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    late(&ground, &format!("port:{port}"))
}

fn late(ground: &Ground, address: &str) -> Truth {
    let (data, go) = (slow_disk(ground).file("data"), ground.at(GO));
    let victim = Victim::start(ground, &format!("await {go}\nreach {address}"));
    ground.wait_for(&format!("{go}.awaited"));
    let server = ground.neighbour(&format!("open {data} direct\nwrite {data} 0 3m\naccept_one {address}\nsleep 3000"));
    ground.wait_until_in(server, "ext4_file_write_iter");
    ground.go(&go);
    Truth { waited_for: Some("neighbour"), ..victim.suffered("io_throttle") }
}

/// A folder that nobody makes or removes is no lock, however often a program sees to it that it is there.
fn folder_that_is_there() -> Truth {
    let ground = Ground::new();
    let folder = ground.at("spool");
    std::fs::create_dir(&folder).unwrap();
    Victim::start(&ground, &format!("times 8\nensure {folder}\nsleep 60")).idled()
}
