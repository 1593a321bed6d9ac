//! A cluster of Ballista for `fleet/tests/engines.py`: its scheduler, its executors and a client, each a process on the
//! loopback.
//!
//!     stallscope-ballista scheduler PORT
//!     stallscope-ballista executor PORT FLIGHT_PORT GRPC_PORT DIR
//!     stallscope-ballista client PORT LAKE
//!
//! Scheduler and executor end with their standard input. The client reads statements, each ended by a zero byte, and
//! answers each with a stream of Arrow.
#![forbid(unsafe_code)]

mod client;

use std::error::Error;
use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;

use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::start_server;

/// Nothing here is reached from other machines.
const HOST: &str = "127.0.0.1";
/// What each executor may use, as those of Spark in the same test.
const MEMORY_BYTES: u64 = 1 << 30;
/// Plans are trees: the scheduler's own program has stacks of this size.
const STACK_BYTES: usize = 32 << 20;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(STACK_BYTES).build();
    let ended = runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(process(&words)));
    if let Err(error) = ended {
        eprintln!("stallscope-ballista: {error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

async fn process(words: &[&str]) -> Result<(), Box<dyn Error>> {
    match words {
        ["scheduler", port] => scheduler(port.parse()?).await,
        ["executor", port, flight, grpc, directory] => {
            executor(port.parse()?, (flight.parse()?, grpc.parse()?), directory).await
        }
        ["client", port, lake] => client::answer(&format!("df://{HOST}:{port}"), lake.as_ref()).await,
        _ => Err("scheduler PORT, executor PORT FLIGHT_PORT GRPC_PORT DIR, or client PORT LAKE".into()),
    }
}

async fn scheduler(port: u16) -> Result<(), Box<dyn Error>> {
    end_with_input();
    let config =
        SchedulerConfig { bind_host: HOST.into(), bind_port: port, external_host: HOST.into(), ..Default::default() };
    let cluster = BallistaCluster::new_from_config(&config).await?;
    Ok(start_server(cluster, format!("{HOST}:{port}").parse()?, Arc::new(config)).await?)
}

async fn executor(scheduler: u16, (flight, grpc): (u16, u16), directory: &str) -> Result<(), Box<dyn Error>> {
    end_with_input();
    let config = ExecutorProcessConfig {
        bind_host: HOST.into(),
        external_host: Some(HOST.into()),
        port: flight,
        grpc_port: grpc,
        scheduler_host: HOST.into(),
        scheduler_port: scheduler,
        scheduler_connect_timeout_seconds: 10,
        vcores: 1,
        work_dir: Some(directory.into()),
        memory_pool_size: Some(MEMORY_BYTES),
        ..Default::default()
    };
    Ok(start_executor_process(Arc::new(config)).await?)
}

/// The process that started this one may be killed.
fn end_with_input() {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
}
