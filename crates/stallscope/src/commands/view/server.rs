//! The connections: hyper on one thread, and a few threads for answers that read the run.
//!
//! Any process of the machine can connect. A connection without a whole request costs a few KiB and ends after 5 s;
//! where there are too many, the one that has waited longest goes. So a request that arrives at once is answered,
//! however many do not.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::AbortHandle;

use super::http::{Answer, Request};

/// Maximum concurrent connections; a browser uses a handful.
const MAX_CONNECTIONS: usize = 256;
/// Time for a whole request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Time in which a client takes its answer, and in which that is made: a prediction may be waited for.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(300);
/// Maximum length of a request's head, and of its headers.
const MAX_BYTES: usize = 16 << 10;
const MAX_HEADERS: usize = 64;
/// Threads for answers: one reads, others wait for it.
const THREADS: usize = 4;
/// Pause after a failure to accept, such as too many open files.
const PAUSE: Duration = Duration::from_millis(50);

/// The runtime. Its descriptors are open before the process is confined.
pub(super) fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_io().enable_time().max_blocking_threads(THREADS).build()
}

/// A connection, while it can be ended for another.
struct Waiting {
    task: AbortHandle,
    /// Its request is complete.
    is_answered: Arc<AtomicBool>,
}

/// Answers connections until `is_over`, which is asked often.
pub(super) fn serve(
    runtime: &Runtime,
    listener: TcpListener,
    answer: Arc<dyn Fn(&Request) -> Answer + Send + Sync>,
    is_over: impl Fn() -> bool,
) -> io::Result<()> {
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let mut waiting: VecDeque<Waiting> = VecDeque::new();
        while !is_over() {
            match tokio::time::timeout(PAUSE, listener.accept()).await {
                Ok(Ok((stream, _))) => {
                    make_room(&mut waiting);
                    let is_answered = Arc::new(AtomicBool::new(false));
                    let connection = connection(stream, Arc::clone(&answer), Arc::clone(&is_answered));
                    let task = tokio::spawn(connection).abort_handle();
                    waiting.push_back(Waiting { task, is_answered });
                }
                Ok(Err(_)) => tokio::time::sleep(PAUSE).await,
                Err(_) => {}
            }
        }
        Ok(())
    })
}

/// Ends the connection that has waited longest for its request where there are too many.
fn make_room(waiting: &mut VecDeque<Waiting>) {
    waiting.retain(|one| !one.task.is_finished());
    if waiting.len() < MAX_CONNECTIONS {
        return;
    }
    let idle = waiting.iter().position(|one| !one.is_answered.load(Ordering::Relaxed)).unwrap_or(0);
    if let Some(oldest) = waiting.remove(idle) {
        oldest.task.abort();
    }
}

/// One request, and its answer. The client may be gone.
async fn connection(
    stream: TcpStream,
    answer: Arc<dyn Fn(&Request) -> Answer + Send + Sync>,
    is_answered: Arc<AtomicBool>,
) {
    let service = service_fn(|request: hyper::Request<Incoming>| {
        is_answered.store(true, Ordering::Relaxed);
        let request = taken(&request);
        let answer = Arc::clone(&answer);
        async move {
            let answer = match request {
                // Reading a run blocks.
                Ok(request) => tokio::task::spawn_blocking(move || answer(&request)).await.ok(),
                Err(refused) => Some(refused),
            };
            Ok::<_, Infallible>(response(answer.unwrap_or_else(|| Answer::refused(500, "no answer"))))
        }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder
        .keep_alive(false)
        .title_case_headers(true)
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIMEOUT)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_BYTES);
    let served = builder.serve_connection(TokioIo::new(stream), service);
    let _ = tokio::time::timeout(CONNECTION_TIMEOUT, served).await;
}

fn taken(request: &hyper::Request<Incoming>) -> Result<Request, Answer> {
    let values = |name: &str| -> Vec<String> {
        let found = request.headers().get_all(name).iter();
        found.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
    };
    let target = (request.uri().path(), request.uri().query().unwrap_or_default());
    Request::new(request.method().as_str(), target, &values("host"), &values("sec-fetch-site"))
}

fn response(answer: Answer) -> Response<Full<Bytes>> {
    let status = StatusCode::from_u16(answer.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let (headers, body) = answer.into_parts();
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (name.parse::<hyper::header::HeaderName>(), value.parse()) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}
