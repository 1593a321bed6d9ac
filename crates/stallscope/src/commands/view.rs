//! `view`: runs in a browser on this machine, with all their data behind the page.
//!
//! The runs hold names of files, tasks and hosts, and the server is open to every program on this machine. So it answers only
//! who knows its address: a secret stands in the path, and a web site cannot ask under a name of its own, because the Host
//! header must be that of the loopback. Nothing in a request names a file.

mod answers;
mod http;

use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::Args;

use self::answers::Answers;
use self::http::{Answer, Request};
use crate::reading::document;
use crate::ui::failure::{Exit, Failure};
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

/// A browser uses a handful.
const MOST_CONNECTIONS: usize = 32;
/// A request, and an answer to who does not read it, take no longer.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(50);

/// Options of `view`.
#[derive(Debug, Args)]
pub struct ViewArgs {
    /// Run directories; the first is the baseline for the others. A run that is still recording is followed.
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// TCP port on 127.0.0.1 [default: any free port].
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
}

/// Serves until Ctrl-C.
pub fn view(args: &ViewArgs, screen: &Screen) -> Result<Exit, Failure> {
    document::refuse_twice(&args.runs)?;
    let interrupt = Interrupt::install()?;
    let unlistened =
        |error| Failure::machine(format_args!("port {} of 127.0.0.1 cannot be listened on: {error}", args.port));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).map_err(unlistened)?;
    let port = listener.local_addr().map_err(unlistened)?.port();
    listener.set_nonblocking(true).map_err(unlistened)?;
    let secret = secret()?;
    let answers = Answers::new(&args.runs, screen.clone())?;
    screen.result(&format!("http://127.0.0.1:{port}/{secret}/\n"));
    screen.remark("Open it in a browser on this machine; Ctrl-C ends it.");
    let server = Arc::new(Server { port, secret, answers: Mutex::new(answers), connections: AtomicUsize::new(0) });
    while interrupt.requests() == 0 {
        match listener.accept() {
            Ok((stream, _)) => Server::take(&server, stream),
            Err(_) => std::thread::sleep(LOOK),
        }
    }
    Ok(Exit::Interrupted)
}

/// 128 random bits as letters.
fn secret() -> Result<String, Failure> {
    let mut bytes = [0u8; 16];
    rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())
        .map_err(|error| Failure::machine(format_args!("the kernel gives no random bytes: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

struct Server {
    port: u16,
    secret: String,
    answers: Mutex<Answers>,
    connections: AtomicUsize,
}

impl Server {
    /// Answers one connection on a thread of its own.
    fn take(server: &Arc<Server>, stream: TcpStream) {
        if server.connections.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
            server.connections.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let of_thread = Arc::clone(server);
        let thread = std::thread::Builder::new().name("view".into()).spawn(move || {
            // Who went away meanwhile needs no answer.
            let _ = of_thread.serve(stream);
            of_thread.connections.fetch_sub(1, Ordering::Relaxed);
        });
        if thread.is_err() {
            server.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let answer = match http::read(&mut stream) {
            Ok(request) => self.answer(&request),
            Err(refused) => refused,
        };
        stream.write_all(&answer.bytes())?;
        stream.flush()
    }

    fn answer(&self, request: &Request) -> Answer {
        let is_here =
            |host: &str| ["127.0.0.1", "localhost"].iter().any(|name| host == format!("{name}:{}", self.port));
        if !request.host.as_deref().is_some_and(is_here) {
            return Answer::refused(403, "the Host header is not this server's: open the address that 'view' printed");
        }
        if request.is_cross_site {
            return Answer::refused(403, "another site asked");
        }
        let Some(path) = request.path.strip_prefix('/').and_then(|path| path.strip_prefix(self.secret.as_str())) else {
            return Answer::refused(404, "nothing is here: open the address that 'view' printed");
        };
        let api = match path {
            "/" => return Answer::page("text/html; charset=utf-8", page::shell()),
            "/page.js" => return Answer::page("text/javascript; charset=utf-8", page::SCRIPT.to_owned()),
            "/page.css" => return Answer::page("text/css; charset=utf-8", page::STYLE.to_owned()),
            path => path.strip_prefix("/api/"),
        };
        let Some(question) = api else { return Answer::refused(404, "nothing is here") };
        match self.answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).answer(question, request) {
            Ok(value) => Answer::json(&value),
            Err(refused) => refused,
        }
    }
}
