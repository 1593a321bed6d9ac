//! `report` and `view`: a run in a browser.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::browser::Browser;
use crate::stage::program::{Running, run};

/// A small run of this machine.
fn record(folder: &Path, name: &str) -> String {
    let directory = folder.join(name).display().to_string();
    let ended = run(&format!("record --no-trace --interval 100ms --runtime 2s --quiet --out {directory}"));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    directory
}

/// A server of a run, and the address that it printed.
fn serve(directory: &str) -> (Running, String) {
    let mut server = Running::start(&format!("view {directory}"));
    server.wait_until("it listens", |server| server.stdout().ends_with("/\n"));
    let address = server.stdout().trim().to_owned();
    (server, address)
}

/// `http://127.0.0.1:port/secret/` in parts.
fn parts(address: &str) -> (&str, &str) {
    address.strip_prefix("http://").unwrap().split_once('/').unwrap()
}

/// Sends a raw request, and returns head and body of the answer.
fn ask(host: &str, request: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(host).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    (String::from_utf8_lossy(&answer[..end]).into_owned(), answer[end + 4..].to_vec())
}

fn get(address: &str, path: &str) -> (String, Vec<u8>) {
    let (host, secret) = parts(address);
    ask(host, &format!("GET /{secret}{path} HTTP/1.1\r\nHost: {host}\r\n\r\n"))
}

fn status(answer: &(String, Vec<u8>)) -> &str {
    answer.0.split(' ').nth(1).unwrap()
}

fn json(answer: &(String, Vec<u8>)) -> Value {
    let mut body = answer.1.clone();
    if answer.0.contains("Content-Encoding: gzip") {
        body.clear();
        flate2::read::GzDecoder::new(&answer.1[..]).read_to_end(&mut body).unwrap();
    }
    serde_json::from_slice(&body).unwrap()
}

/// Visitors that send a byte a second, again and again, until dropped.
struct SlowVisitors {
    is_over: Arc<AtomicBool>,
    sent_away: Arc<AtomicUsize>,
    threads: Vec<JoinHandle<()>>,
}

impl SlowVisitors {
    fn new(host: &str, count: usize) -> SlowVisitors {
        let (is_over, sent_away) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let visitor = |_| {
            let (is_over, sent_away, host) = (Arc::clone(&is_over), Arc::clone(&sent_away), host.to_owned());
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let Ok(mut stream) = TcpStream::connect(&host) else { continue };
                    for byte in b"GET /none HTTP/1.1\r\nX: ".iter().chain(std::iter::repeat(&b'x')) {
                        if is_over.load(Ordering::Relaxed) {
                            return;
                        }
                        if stream.write_all(&[*byte]).is_err() {
                            sent_away.fetch_add(1, Ordering::Relaxed);
                            break;
                        }
                        std::thread::sleep(Duration::from_secs(1));
                    }
                }
            })
        };
        let threads = (0..count).map(visitor).collect();
        SlowVisitors { is_over, sent_away, threads }
    }
}

impl Drop for SlowVisitors {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

/// Any local user can connect.
#[test]
fn slow_visitors_keep_no_other_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, address) = serve(&record(folder.path(), "run"));
    let (host, _) = parts(&address);
    let slow = SlowVisitors::new(host, 60);
    let began = Instant::now();
    let mut longest = Duration::ZERO;
    while slow.sent_away.load(Ordering::Relaxed) < 60 && began.elapsed() < Duration::from_secs(120) {
        let asked = Instant::now();
        for path in ["", "api/document"] {
            assert_eq!(status(&get(&address, path)), "200");
        }
        longest = longest.max(asked.elapsed());
        std::thread::sleep(Duration::from_millis(200));
    }
    println!("answered within {longest:?}; {} visitors sent away", slow.sent_away.load(Ordering::Relaxed));
    assert!(longest < Duration::from_secs(5), "{longest:?}");
    assert!(slow.sent_away.load(Ordering::Relaxed) >= 60, "no slow visitor stays");
}

/// More connections than are allowed: the oldest without a request go.
#[test]
fn many_silent_connections_keep_no_request_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, address) = serve(&record(folder.path(), "run"));
    let (host, _) = parts(&address);
    let silent: Vec<TcpStream> = (0..400).filter_map(|_| TcpStream::connect(host).ok()).collect();
    assert_eq!(silent.len(), 400);
    let asked = Instant::now();
    assert_eq!(status(&get(&address, "")), "200");
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
}

#[test]
fn a_report_is_one_self_contained_file() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (record(folder.path(), "first"), record(folder.path(), "second"));
    let file = folder.path().join("report.html").display().to_string();
    let ended = run(&format!("report {first} {second} -o {file}"));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let html = std::fs::read_to_string(&file).unwrap();
    assert!(!html.contains(" src=") && !html.contains("<link"), "it loads nothing");
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&format!("file://{file}"));
    assert_eq!(browser.evaluate("document.querySelectorAll('.overview').length"), 2);
    assert_eq!(browser.evaluate("document.querySelectorAll('.comparison').length"), 1);
    browser.evaluate("document.querySelector('[data-chart=memory]').scrollIntoView()");
    browser.wait_for("document.querySelectorAll('.u-wrap canvas').length > 0");
    assert_eq!(browser.errors, [""; 0]);
}

#[test]
fn an_impossible_report_is_one_error() {
    let folder = tempfile::tempdir().unwrap();
    let directory = record(folder.path(), "run");
    for (words, said) in [
        (format!("report {directory} {directory} -o x.html"), "named twice"),
        (format!("report {directory} -o {}/none/x.html", folder.path().display()), "cannot write"),
        ("report /nowhere -o x.html".to_owned(), "/nowhere"),
        (format!("view {directory} /nowhere"), "/nowhere"),
    ] {
        let ended = run(&words);
        assert!(matches!(ended.code, Some(2 | 3)) && ended.stderr.contains(said), "{words}: {}", ended.stderr);
    }
}

#[test]
fn the_server_answers_only_requests_with_its_secret() {
    let folder = tempfile::tempdir().unwrap();
    let (server, address) = serve(&record(folder.path(), "run"));
    let (host, secret) = parts(&address);
    let page = get(&address, "");
    assert_eq!(status(&page), "200");
    let policy = page.0.lines().find(|line| line.starts_with("Content-Security-Policy: ")).unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    let refused = |request: String, expected: &str| {
        let answer = ask(host, &request);
        assert_eq!(status(&answer), expected, "{request}");
    };
    for name in ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:80", ""] {
        refused(format!("GET /{secret} HTTP/1.1\r\nHost: {name}\r\n\r\n"), "403");
    }
    refused(format!("GET /{secret} HTTP/1.1\r\n\r\n"), "403");
    refused(format!("GET /{secret} HTTP/1.1\r\nHost: {host}\r\nSec-Fetch-Site: cross-site\r\n\r\n"), "403");
    refused(format!("POST /{secret} HTTP/1.1\r\nHost: {host}\r\n\r\n"), "405");
    refused(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"), "404");
    refused(format!("GET /{}/ HTTP/1.1\r\nHost: {host}\r\n\r\n", "0".repeat(32)), "404");
    for path in ["../../etc/passwd", "..%2f..%2fetc%2fpasswd", "run.json", "api/../run.json", "/etc/passwd", "api/none"]
    {
        assert_eq!(status(&get(&address, path)), "404", "{path}");
    }
    for path in ["api/stall?run=0", "api/stall?run=7&number=0", "api/series?run=0&metric=x", "api/requests?run=0"] {
        assert!(matches!(status(&get(&address, path)), "400" | "404"), "{path}");
    }
    server.signal(Signal::INT);
    let ended = server.wait();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
}

#[test]
fn any_counter_of_a_run_can_be_charted() {
    let folder = tempfile::tempdir().unwrap();
    let (server, address) = serve(&record(folder.path(), "run"));
    let metrics = json(&get(&address, "api/metrics?run=0"));
    let free = metrics.as_array().unwrap().iter().find(|one| one[1] == "meminfo.MemFree").unwrap();
    let found = json(&get(&address, &format!("api/series?run=0&metric={}", free[0])));
    let values = found["chart"]["series"][0]["v"].as_array().unwrap();
    assert!(values.len() > 5 && values.iter().all(|value| value.as_f64().is_some_and(|kib| kib > 0.0)), "{found}");
    if let Some(mut browser) = Browser::start() {
        browser.open(&address);
        browser.evaluate(
            "const find = document.querySelector('.search input'); find.value = 'memfree'; \
             find.dispatchEvent(new Event('input'))",
        );
        browser.wait_for("document.querySelector('.found button') !== null");
        browser.evaluate("document.querySelector('.found button').click()");
        browser.wait_for("document.querySelector('.charts figure').dataset.chart.startsWith('metric.')");
        assert_eq!(browser.errors, [""; 0]);
    }
    drop(server);
}

#[test]
fn a_live_run_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("live").display().to_string();
    let mut recording = Running::start(&format!("record --no-trace --interval 100ms --quiet --out {directory}"));
    recording.wait_for_the_archive(Path::new(&directory));
    let (server, address) = serve(&directory);
    let samples = || json(&get(&address, "api/document"))["runs"][0]["axes"]["samples"]["t"].as_array().unwrap().len();
    let (first, ends) = (samples(), Instant::now() + Duration::from_secs(180));
    assert!(json(&get(&address, "api/state")).is_string(), "it is live");
    while samples() <= first + 5 {
        assert!(Instant::now() < ends, "nothing new is seen");
        std::thread::sleep(Duration::from_millis(100));
    }
    recording.signal(Signal::INT);
    recording.wait();
    samples();
    assert!(json(&get(&address, "api/state")).is_null(), "it has ended");
    drop(server);
}

#[test]
fn the_view_survives_the_growth_of_its_run() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("live").display().to_string();
    let mut recording = Running::start(&format!("record --no-trace --interval 100ms --quiet --out {directory}"));
    recording.wait_for_the_archive(Path::new(&directory));
    let (server, address) = serve(&directory);
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&address);
    browser.evaluate(
        "find = document.querySelector('.search input'); find.value = 'memfree'; find.dispatchEvent(new \
         Event('input')); \
         find.focus()",
    );
    browser.wait_for("document.querySelector('.found button') !== null");
    browser.evaluate("document.querySelector('.found button').click()");
    browser.wait_for("document.querySelector('.charts figure').dataset.chart.startsWith('metric.')");
    browser.evaluate("old = document.querySelector('.charts figure')");
    browser.wait_for("!old.isConnected && document.querySelector('.charts figure') !== null");
    assert_eq!(browser.evaluate("find.isConnected && document.activeElement === find && find.value"), "memfree");
    assert_eq!(browser.evaluate("document.querySelectorAll('.found button').length > 0"), true);
    assert_eq!(browser.evaluate("document.querySelector('.charts figure').dataset.chart.startsWith('metric.')"), true);
    assert_eq!(browser.errors, [""; 0]);
    drop((server, recording));
}

/// Files of others and low ports: CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_NET_BIND_SERVICE.
const CAPABILITIES_OF_A_READER: u64 = 1 << 1 | 1 << 2 | 1 << 10;

#[test]
fn the_server_has_no_more_than_it_needs_and_still_answers() {
    let folder = tempfile::tempdir().unwrap();
    let (server, address) = serve(&record(folder.path(), "run"));
    assert_eq!(status(&get(&address, "api/document")), "200");
    for thread in std::fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap().flatten() {
        let text = std::fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        let field = |name: &str| Some(text.lines().find_map(|line| line.strip_prefix(name))?.trim().to_owned());
        let Some(capabilities) = field("CapEff:") else { continue };
        let held = u64::from_str_radix(&capabilities, 16).unwrap();
        assert_eq!(held & !CAPABILITIES_OF_A_READER, 0, "{text}");
        assert_eq!((field("NoNewPrivs:").as_deref(), field("Seccomp:").as_deref()), (Some("1"), Some("2")), "{text}");
    }
}
