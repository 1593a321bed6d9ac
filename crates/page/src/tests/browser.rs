//! A headless browser, driven through its debugging protocol. Two test programs include this file.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const PROGRAMS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);
const POLL: Duration = Duration::from_millis(20);

/// The browser; dropping it ends the process.
pub(crate) struct Browser {
    child: Child,
    socket: TcpStream,
    calls: u64,
    /// Errors that pages reported.
    pub(crate) errors: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.call("Browser.close", json!({}));
        let ends = Instant::now() + Duration::from_secs(5);
        while Instant::now() < ends && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(POLL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Browser {
    /// `None`, with a message, if there is no browser.
    pub(crate) fn start() -> Option<Browser> {
        let profile = tempfile::tempdir().unwrap();
        let words = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0"];
        let start = |program: &&str| {
            let mut command = Command::new(program);
            command.args(words).arg(format!("--user-data-dir={}", profile.path().display())).arg("about:blank");
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
        };
        let Some(child) = PROGRAMS.iter().find_map(start) else {
            println!("skipped: no chromium to open the page in");
            return None;
        };
        let port = port(profile.path());
        let page = first_page(port);
        let address = page["webSocketDebuggerUrl"].as_str().unwrap();
        let path = address.splitn(4, '/').nth(3).unwrap();
        let socket = upgraded(port, path);
        let mut browser = Browser { child, socket, calls: 0, errors: Vec::new(), _profile: profile };
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Opens a page, waits until it is ready, and returns how long that took.
    pub(crate) fn open(&mut self, url: &str) -> Duration {
        let began = Instant::now();
        self.call("Page.navigate", json!({ "url": url }));
        self.wait_for("document.documentElement.dataset.ready === 'yes'");
        began.elapsed()
    }

    /// Waits until an expression holds.
    pub(crate) fn wait_for(&mut self, expression: &str) {
        let ends = Instant::now() + PATIENCE;
        while self.evaluate(expression) != json!(true) {
            assert!(Instant::now() < ends, "timeout: {expression}; {:?}", self.errors);
            std::thread::sleep(POLL);
        }
    }

    /// A picture of the window as a PNG, in base64.
    #[allow(dead_code)] // One of the two test programs takes none.
    pub(crate) fn picture(&mut self) -> String {
        self.call("Page.captureScreenshot", json!({ "format": "png" }))["data"].as_str().unwrap().to_owned()
    }

    /// The value of an expression in the page.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let request = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        self.call("Runtime.evaluate", request)["result"]["value"].clone()
    }

    /// Calls a method of the protocol.
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.calls += 1;
        let call = json!({ "id": self.calls, "method": method, "params": parameters });
        send(&mut self.socket, call.to_string().as_bytes());
        loop {
            let Some(text) = receive(&mut self.socket) else { return Value::Null };
            let message: Value = serde_json::from_slice(&text).unwrap();
            if message["id"] == self.calls {
                return message["result"].clone();
            }
            self.note(&message);
        }
    }

    fn note(&mut self, message: &Value) {
        let parameters = &message["params"];
        let is_error = match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Log.entryAdded") => parameters["entry"]["level"] == "error",
            Some("Runtime.consoleAPICalled") => parameters["type"] == "error",
            _ => false,
        };
        if is_error {
            self.errors.push(parameters.to_string());
        }
    }
}

/// The browser writes its port into its profile.
fn port(profile: &Path) -> u16 {
    let ends = Instant::now() + PATIENCE;
    loop {
        let text = std::fs::read_to_string(profile.join("DevToolsActivePort")).unwrap_or_default();
        if let Some(port) = text.lines().next().and_then(|line| line.parse().ok()) {
            return port;
        }
        assert!(Instant::now() < ends, "the browser does not listen");
        std::thread::sleep(POLL);
    }
}

/// The browser listens before its first page exists.
fn first_page(port: u16) -> Value {
    let ends = Instant::now() + PATIENCE;
    loop {
        let pages: Vec<Value> = serde_json::from_str(&get(port, "/json/list")).unwrap();
        if let Some(page) = pages.into_iter().find(|one| one["type"] == "page") {
            return page;
        }
        assert!(Instant::now() < ends, "the browser has no page");
        std::thread::sleep(POLL);
    }
}

fn get(port: u16, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n").unwrap();
    let head = head(&mut stream);
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap()];
    stream.read_exact(&mut body).unwrap();
    String::from_utf8(body).unwrap()
}

fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

/// A WebSocket (RFC 6455) to our child process: its key and masks need not be secret.
fn upgraded(port: u16, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "GET /{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    .unwrap();
    let head = head(&mut stream);
    assert!(head.starts_with("HTTP/1.1 101"), "{head}");
    stream
}

fn send(stream: &mut TcpStream, text: &[u8]) {
    const LAST_TEXT: u8 = 0x81;
    const MASKED: u8 = 0x80;
    let mut frame = vec![LAST_TEXT];
    match text.len() {
        length @ 0..126 => frame.push(MASKED | length as u8),
        length @ 126..65_536 => {
            frame.push(MASKED | 126);
            frame.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            frame.push(MASKED | 127);
            frame.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(text);
    let _ = stream.write_all(&frame);
}

/// The next message, of one frame or several; `None` once the browser is gone.
fn receive(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut message = Vec::new();
    loop {
        let mut head = [0; 2];
        stream.read_exact(&mut head).ok()?;
        let length = match head[1] & 0x7f {
            126 => {
                let mut length = [0; 2];
                stream.read_exact(&mut length).ok()?;
                u64::from(u16::from_be_bytes(length))
            }
            127 => {
                let mut length = [0; 8];
                stream.read_exact(&mut length).ok()?;
                u64::from_be_bytes(length)
            }
            length => u64::from(length),
        };
        let mut part = vec![0; length as usize];
        stream.read_exact(&mut part).ok()?;
        let (is_last, is_text) = (head[0] & 0x80 != 0, matches!(head[0] & 0x0f, 0..=2));
        if is_text {
            message.extend_from_slice(&part);
        }
        if is_last && is_text {
            return Some(message);
        }
    }
}
