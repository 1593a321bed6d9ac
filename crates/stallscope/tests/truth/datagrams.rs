//! Servers of datagrams (UDP), and what their clients send and receive. An address is `udp:PATH`, or
//! `connected_udp:PATH` for a client that connects its socket; the server writes its port to that file.

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

/// A client's socket, and its server.
pub struct Datagrams {
    socket: UdpSocket,
    server: SocketAddr,
    connected: bool,
}

impl Datagrams {
    pub fn to(path: &str, connected: bool) -> Datagrams {
        let port: u16 = fs::read_to_string(path).unwrap().parse().unwrap();
        let (socket, server) = (UdpSocket::bind("127.0.0.1:0").unwrap(), SocketAddr::from(([127, 0, 0, 1], port)));
        if connected {
            socket.connect(server).unwrap();
        }
        Datagrams { socket, server, connected }
    }

    pub fn duplicate(&self) -> Datagrams {
        Datagrams { socket: self.socket.try_clone().unwrap(), ..*self }
    }

    pub fn send(&self) {
        let sent =
            if self.connected { self.socket.send(b"message!") } else { self.socket.send_to(b"message!", self.server) };
        assert_eq!(sent.unwrap(), 8);
    }

    pub fn receive(&self) -> bool {
        self.socket.recv(&mut [0; 8]).is_ok()
    }
}

impl AsFd for Datagrams {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A server's socket: its port is one that it asked for.
fn at(address: &str) -> UdpSocket {
    let (_, path) = address.split_once(':').expect("KIND:PATH");
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let socket = UdpSocket::bind(("127.0.0.1", port)).unwrap();
    let new = format!("{path}.new");
    fs::write(&new, port.to_string()).unwrap();
    fs::rename(&new, path).unwrap();
    socket
}

/// Does the work for each request, and answers it, until the actor is killed.
pub fn serve(address: &str, mut work: impl FnMut()) {
    let socket = at(address);
    loop {
        let (_, client) = socket.recv_from(&mut [0; 8]).unwrap();
        work();
        socket.send_to(b"message!", client).unwrap();
    }
}

/// Receives so many, and answers none.
pub fn swallow(address: &str, times: u32) {
    let socket = at(address);
    (0..times).for_each(|_| assert!(socket.recv(&mut [0; 8]).is_ok()));
}
