//! A server of S3 for tests.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server that ends when it is dropped.
pub(crate) struct Server {
    /// `http://127.0.0.1:PORT`.
    pub(crate) url: String,
    address: String,
    child: Child,
}

impl Server {
    /// Starts one; `None`, and a line about it, where Python lacks moto.
    pub(crate) fn started() -> Option<Server> {
        let python = std::env::var_os("STALLSCOPE_PYTHON").unwrap_or_else(|| "python3".into());
        let has = Command::new(&python).args(["-c", "import moto.server, flask"]).stderr(Stdio::null()).status();
        if !has.is_ok_and(|status| status.success()) {
            println!("skipped: 1 test of S3 needs Python with moto[server]; name one in STALLSCOPE_PYTHON");
            return None;
        }
        // Free now; another process could take it before the server does, and the test would fail.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = format!("127.0.0.1:{port}");
        let child = Command::new(&python)
            .args(["-m", "moto.server", "-H", "127.0.0.1", "-p", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Server { url: format!("http://{address}"), address, child };
        let begun = Instant::now();
        while TcpStream::connect(&server.address).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(120), "the server does not answer");
            std::thread::sleep(Duration::from_millis(100));
        }
        Some(server)
    }

    /// Makes a bucket or an object, which this server takes without a signature.
    pub(crate) fn put(&self, path: &str, bytes: &[u8]) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "PUT {path} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.address,
            bytes.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(bytes).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains(" 200 "), "{path}: {answer}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
