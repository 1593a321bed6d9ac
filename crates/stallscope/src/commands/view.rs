//! `view`: runs in a browser on this machine, with all their data behind the report.
//!
//! Runs contain names of files, tasks and hosts, and every process on this machine can connect to the server. So it
//! answers only clients that know its address: the path contains a secret, and the Host header must be that of the
//! loopback, so a web site cannot connect by DNS rebinding. Nothing in a request names a file. The server has only the
//! system calls that it needs.

mod advisor;
mod answers;
mod confinement;
mod http;
mod server;

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use clap::Args;

use self::answers::Answers;
use self::http::{Answer, Request};
use crate::reading::document;
use crate::ui::failure::{Exit, Failure};
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

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
    let cannot_listen =
        |error| Failure::machine(format_args!("cannot listen on port {} of 127.0.0.1: {error}", args.port));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).map_err(cannot_listen)?;
    let port = listener.local_addr().map_err(cannot_listen)?.port();
    listener.set_nonblocking(true).map_err(cannot_listen)?;
    let secret = secret()?;
    let runtime = server::runtime().map_err(cannot_listen)?;
    let answers = Answers::new(&args.runs, screen.clone())?;
    if let Err(error) = confinement::confine() {
        screen.warning(&format!("the server may use any system call: {error}"));
    }
    screen.result(&format!("http://127.0.0.1:{port}/{secret}/\n"));
    screen.remark("Open it in a browser on this machine; press Ctrl-C to stop.");
    let of_run = Server { port, secret, answers: Mutex::new(answers) };
    let answer = Arc::new(move |request: &Request| of_run.answer(request));
    server::serve(&runtime, listener, answer, || interrupt.requests() > 0).map_err(Failure::machine)?;
    // An answer that is being made is not waited for.
    runtime.shutdown_background();
    Ok(Exit::Interrupted)
}

/// 128 random bits in hexadecimal.
fn secret() -> Result<String, Failure> {
    let mut bytes = [0u8; 16];
    rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())
        .map_err(|error| Failure::machine(format_args!("no random bytes from the kernel: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

struct Server {
    port: u16,
    secret: String,
    answers: Mutex<Answers>,
}

impl Server {
    fn answer(&self, request: &Request) -> Answer {
        let is_local =
            |host: &str| ["127.0.0.1", "localhost"].iter().any(|name| host == format!("{name}:{}", self.port));
        if !request.host.as_deref().is_some_and(is_local) {
            return Answer::refused(403, "wrong Host header: open the address that 'view' printed");
        }
        if request.is_cross_site {
            return Answer::refused(403, "cross-site request");
        }
        let Some(path) = request.path.strip_prefix('/').and_then(|path| path.strip_prefix(self.secret.as_str())) else {
            return Answer::refused(404, "not found: open the address that 'view' printed");
        };
        let api = match path {
            "/" => return Answer::page("text/html; charset=utf-8", page::shell()),
            "/page.js" => return Answer::page("text/javascript; charset=utf-8", page::SCRIPT.to_owned()),
            "/page.css" => return Answer::page("text/css; charset=utf-8", page::STYLE.to_owned()),
            path => path.strip_prefix("/api/"),
        };
        let Some(question) = api else { return Answer::refused(404, "not found") };
        match self.answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).answer(question, request) {
            Ok(value) => Answer::json(&value),
            Err(refused) => refused,
        }
    }
}
