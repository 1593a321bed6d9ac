//! The other ends of the machine's stream sockets, and of UDP sockets that are connected.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use model::detail::{OtherEnd, Progress};

use crate::bytes::read_text;
use crate::sys::unix_sockets;

/// Sockets of one network namespace that are read at most.
const MOST: usize = 65_536;
const HEADER: usize = 16;
/// `NLMSG_DONE` and `NLMSG_ERROR`.
const ENDS: [u16; 2] = [3, 2];
const DIAG_HEADER: usize = 16;
const NAME: u16 = 0;
const PEER: u16 = 2;
const PENDING: u16 = 3;
const QUEUES: u16 = 4;
/// As /proc/net/tcp writes the state of a socket that listens.
const LISTENS: &str = "0A";
/// And that of one that is connected.
const CONNECTED: &str = "01";
const LISTENS_UNIX: u8 = 10;
/// An IPv4 address in an IPv6 socket.
const MAPPED: &str = "0000000000000000FFFF0000";

/// Which end of a connection a socket is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
    /// A socket pair, or unknown.
    Either,
    Listens,
}

/// A socket of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Connection {
    pub(super) side: Side,
    /// Its other end, if that is on this machine and in this namespace.
    pub(super) peer: Option<u64>,
    pub(super) end: OtherEnd,
}

/// The sockets of a network namespace, by inode.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    connections: HashMap<u64, Connection>,
    /// Bytes received and not read.
    unread: HashMap<u64, u64>,
    /// Clients that their server has not accepted, with its listening socket.
    pending: HashMap<u64, u64>,
}

impl Sockets {
    /// Of the namespace of that process. UNIX sockets only where it is the recorder's own.
    pub(super) fn read(process: &Path, is_own: bool) -> Sockets {
        let mut sockets = Sockets::default();
        let text = |name: &str| read_text(process.join(name)).unwrap_or_default();
        sockets.add_tcp(&[text("net/tcp"), text("net/tcp6")].concat());
        sockets.add_udp(&[text("net/udp"), text("net/udp6")].concat());
        if is_own {
            // Without the module unix_diag their other ends are unknown.
            let _ = unix_sockets(|answer| sockets.add_unix(answer));
        }
        sockets
    }

    pub(super) fn of(&self, inode: u64) -> Option<&Connection> {
        self.connections.get(&inode)
    }

    /// The listening socket of the server that has not accepted a connection.
    pub(super) fn not_accepted(&self, inode: u64) -> Option<u64> {
        self.pending.get(&inode).copied()
    }

    /// Bytes that a socket has received and its process has not read.
    pub(super) fn unread(&self, inode: u64) -> u64 {
        self.unread.get(&inode).copied().unwrap_or(0)
    }

    /// Lines as `0: 0100007F:1538 0100007F:D6F8 01 00000000:00000000 02:000A 00000000 0 0 4711 ...`.
    fn add_tcp(&mut self, text: &str) {
        let lines: Vec<TcpSocket<'_>> = text.lines().filter_map(TcpSocket::parse).take(MOST).collect();
        let listeners: Vec<&TcpSocket<'_>> = lines.iter().filter(|line| line.state == LISTENS).collect();
        let ports: HashSet<&str> =
            listeners.iter().filter_map(|line| line.local.rsplit_once(':')).map(|(_, port)| port).collect();
        // Of a connection that was not accepted, the server's end is of no process.
        let waiting: HashSet<(&str, &str)> =
            lines.iter().filter(|line| line.inode == 0).map(|line| (line.local, line.remote)).collect();
        let by_ends: HashMap<(&str, &str), u64> =
            lines.iter().filter(|line| line.inode != 0).map(|line| ((line.local, line.remote), line.inode)).collect();
        let serves = |address: &str| address.rsplit_once(':').is_some_and(|(_, port)| ports.contains(port));
        for line in &lines {
            let side = match (line.state == LISTENS, serves(line.local), serves(line.remote)) {
                (true, ..) => Side::Listens,
                (_, true, _) => Side::Server,
                (_, false, true) => Side::Client,
                (_, false, false) => Side::Either,
            };
            let peer = by_ends.get(&(line.remote, line.local)).copied();
            let is_waiting = peer.is_none() && waiting.contains(&(line.remote, line.local));
            let listener = listeners.iter().find(|other| is_waiting && other.listens_for(line.remote));
            if let Some(listener) = listener {
                self.pending.insert(line.inode, listener.inode);
            }
            // Who connects to another machine, or to one that listens in another namespace, is the client.
            let side = if side == Side::Either && peer.is_none() { Side::Client } else { side };
            let end = if peer.is_some() { OtherEnd::Tcp } else { OtherEnd::TcpElsewhere }(Progress::Open);
            self.unread.insert(line.inode, line.unread);
            self.connections.insert(line.inode, Connection { side, peer, end });
        }
    }

    /// Lines as those of TCP. Who connects a UDP socket sends to one address, as resolvers do: the socket that is bound
    /// to it receives that.
    fn add_udp(&mut self, text: &str) {
        let lines: Vec<TcpSocket<'_>> = text.lines().filter_map(TcpSocket::parse).take(MOST).collect();
        self.unread.extend(lines.iter().map(|line| (line.inode, line.unread)));
        for line in lines.iter().filter(|line| line.state == CONNECTED) {
            let server = lines.iter().find(|other| other.inode != line.inode && other.listens_for(line.remote));
            let Some(server) = server.filter(|server| server.inode != 0) else { continue };
            let end = OtherEnd::UdpSocket;
            self.connections.insert(line.inode, Connection { side: Side::Client, peer: Some(server.inode), end });
        }
    }

    /// Messages of netlink. Returns whether more may come.
    fn add_unix(&mut self, mut answer: &[u8]) -> bool {
        while let (Some(length), Some(kind)) = (u32_at(answer, 0), u16_at(answer, 4)) {
            let length = length as usize;
            if ENDS.contains(&kind) || length < HEADER || length > answer.len() || self.connections.len() >= MOST {
                return false;
            }
            self.add_unix_socket(&answer[HEADER..length]);
            answer = answer.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        true
    }

    fn add_unix_socket(&mut self, message: &[u8]) -> Option<()> {
        let (state, inode) = (*message.get(2)?, u64::from(u32_at(message, 4)?));
        let mut attributes = message.get(DIAG_HEADER..)?;
        let (mut peer, mut named) = (None, false);
        while let (Some(length), Some(kind)) = (u16_at(attributes, 0), u16_at(attributes, 2)) {
            let length = usize::from(length);
            let value = attributes.get(4..length)?;
            match kind {
                NAME => named = !value.is_empty(),
                PENDING => {
                    let clients =
                        value.chunks_exact(4).filter_map(|client| u32_at(client, 0)).filter(|client| *client != 0);
                    self.pending.extend(clients.map(|client| (u64::from(client), inode)));
                }
                PEER => peer = u32_at(value, 0).filter(|peer| *peer != 0).map(u64::from),
                QUEUES => _ = self.unread.insert(inode, u64::from(u32_at(value, 0)?)),
                _ => {}
            }
            attributes = attributes.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        let side = match (state, named) {
            (LISTENS_UNIX, _) => Side::Listens,
            (_, true) => Side::Server,
            _ => Side::Either,
        };
        self.connections.insert(inode, Connection { side, peer, end: OtherEnd::UnixSocket(Progress::Open) });
        Some(())
    }

    /// A socket without a name is that of the client, if its other end has the server's name.
    pub(super) fn side(&self, connection: &Connection) -> Side {
        let is_server = |peer: u64| self.of(peer).is_some_and(|peer| peer.side == Side::Server);
        match connection.side {
            Side::Either if connection.peer.is_some_and(is_server) => Side::Client,
            side => side,
        }
    }
}

struct TcpSocket<'a> {
    local: &'a str,
    remote: &'a str,
    state: &'a str,
    unread: u64,
    inode: u64,
}

impl TcpSocket<'_> {
    /// Whether it, which listens or is bound, does so on that address, or on all of that port.
    fn listens_for(&self, address: &str) -> bool {
        let is_any = |host: &str| host.bytes().all(|byte| byte == b'0');
        let ends = self.local.rsplit_once(':').zip(address.rsplit_once(':'));
        ends.is_some_and(|(own, its)| own.1 == its.1 && (own.0 == its.0 || is_any(own.0)))
    }

    fn parse(line: &str) -> Option<TcpSocket<'_>> {
        let mut words = line.split_whitespace().skip(1);
        let plain = |address: &str| address.strip_prefix(MAPPED).map_or(0, |_| MAPPED.len());
        let (local, remote, state) = (words.next()?, words.next()?, words.next()?);
        let unread = u64::from_str_radix(words.next()?.split_once(':')?.1, 16).ok()?;
        let inode = words.nth(4)?.parse().ok()?;
        Some(TcpSocket { local: &local[plain(local)..], remote: &remote[plain(remote)..], state, unread, inode })
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::{Side, Sockets};

    #[test]
    fn both_ends_of_a_connection_are_found() {
        let text = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1538 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 70 1 0 100 0 0 10 0
   1: 0100007F:1538 0100007F:D6F8 01 00000000:00000011 00:00000000 00000000     0        0 71 1 0 20 4 30 10 -1
   2: 0100007F:D6F8 0100007F:1538 01 00000000:00000000 00:00000000 00000000     0        0 72 1 0 20 4 30 10 -1
   3: 0000000000000000FFFF00000100007F:0FA0 0A00007F:0050 01 00000000:00000000 00:00000000 00000000 0 0 73 1
damaged";
        let mut sockets = Sockets::default();
        sockets.add_tcp(text);
        let known = |inode| sockets.of(inode).map(|known| (known.side, known.peer, sockets.unread(inode)));
        assert_eq!(known(70), Some((Side::Listens, None, 0)));
        assert_eq!(known(71), Some((Side::Server, Some(72), 17)));
        assert_eq!(known(72), Some((Side::Client, Some(71), 0)));
        assert_eq!(known(73), Some((Side::Client, None, 0)), "of another machine");
        assert_eq!(known(74), None);
        assert_eq!((sockets.not_accepted(72), sockets.not_accepted(73)), (None, None));
        let elsewhere = "   4: 0100007F:D6F9 0A00007F:1538 01 00000000:00000000 00:00000000 00000000 0 0 76 1";
        sockets.add_tcp(&[text, "\n", elsewhere].concat());
        assert_eq!(sockets.not_accepted(76), None, "another machine has that port, too");
        let waits = "   4: 0100007F:D6F9 0100007F:1538 01 00000000:00000000 00:00000000 00000000 0 0 75 1
   5: 0100007F:1538 0100007F:D6F9 01 00000000:00000005 00:00000000 00000000 0 0 0 1";
        sockets.add_tcp(&[text, "\n", waits].concat());
        assert_eq!(sockets.not_accepted(75), Some(70), "its server has not accepted it");
    }

    #[test]
    fn a_connected_udp_socket_has_the_one_that_is_bound_to_its_address() {
        let text = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
  10: 4E00007F:0035 00000000:0000 07 00000000:00000240 00:00000000 00000000 0 0 80 2 0 0
  11: 00000000:0045 00000000:0000 07 00000000:00000000 00:00000000 00000000 0 0 81 2 0 0
  12: 0100007F:9C40 4E00007F:0035 01 00000000:00000000 00:00000000 00000000 0 0 82 2 0 0
  13: 0100007F:9C41 0100007F:0045 01 00000000:00000000 00:00000000 00000000 0 0 83 2 0 0
  14: 0100007F:9C42 0A00007F:0035 01 00000000:00000000 00:00000000 00000000 0 0 84 2 0 0";
        let mut sockets = Sockets::default();
        sockets.add_udp(text);
        let peer = |inode| sockets.of(inode).and_then(|known| known.peer);
        assert_eq!([80, 82, 83, 84].map(peer), [None, Some(80), Some(81), None]);
        assert_eq!((sockets.unread(80), sockets.unread(82)), (576, 0));
    }

    #[test]
    fn unix_sockets_of_this_machine_have_their_peers() {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("socket")).unwrap();
        let mut client = UnixStream::connect(folder.path().join("socket")).unwrap();
        let server = listener.accept().unwrap().0;
        client.write_all(b"a request").unwrap();
        let waiting = UnixStream::connect(folder.path().join("socket")).unwrap();
        let inode = |fd: BorrowedFd<'_>| std::fs::metadata(format!("/proc/self/fd/{}", fd.as_raw_fd())).unwrap().ino();
        let [client, server, waiting] = [client.as_fd(), server.as_fd(), waiting.as_fd()].map(inode);
        let sockets = Sockets::read("/proc/self".as_ref(), true);
        let known = sockets.of(client).unwrap();
        assert_eq!((sockets.side(known), known.peer, sockets.unread(server)), (Side::Client, Some(server), 9));
        assert_eq!(sockets.not_accepted(waiting), Some(inode(listener.as_fd())));
        assert_eq!(sockets.of(server).map(|known| (known.side, known.peer)), Some((Side::Server, Some(client))));
    }

    #[test]
    fn a_damaged_answer_is_read_as_far_as_it_goes() {
        let mut sockets = Sockets::default();
        for damaged in [&[][..], &[0; 3], &[0; 64], &[255; 64], &[20, 0, 0, 0, 20, 0, 0, 0, 0, 0]] {
            sockets.add_unix(damaged);
        }
        let mut short = [0; 40];
        (short[0], short[4], short[32]) = (40, 20, 200);
        assert!(sockets.add_unix(&short));
        assert!(sockets.connections.is_empty());
    }
}
