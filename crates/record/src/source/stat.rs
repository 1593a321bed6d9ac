//! /proc/stat: CPU times, interrupts, context switches, runnable and blocked tasks.

use model::metric::{Semantics, Unit};

use crate::bytes::{first_word_len, trimmed};
use crate::last_values::{Column, SampleWriter};
use crate::rows::Table;

/// Columns of the `cpu` lines (proc(5)). `user` holds `guest`, and `nice` `guest_nice`.
const CPU: [&str; 10] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"];

/// Columns of the `softirq` line behind its total (`softirq_to_name` of kernel/softirq.c).
const SOFTIRQ: [&str; 11] =
    ["total", "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// CPUs beyond this are seen only in the sum.
pub(crate) const CPU_LIMIT: u32 = 256;

pub(crate) struct StatTable;

impl Table for StatTable {
    fn key_len(&self, line: &[u8]) -> usize {
        first_word_len(line)
    }

    fn columns(&mut self, key: &[u8], _values: &[u8], writer: &mut SampleWriter<'_>) -> Vec<Column> {
        let key = std::str::from_utf8(trimmed(key)).unwrap_or("");
        match key {
            "cpu" => cpu_columns("stat.cpu", "", writer),
            "intr" => vec![writer.column(0, "stat.intr".to_owned(), "", Unit::Count, Semantics::Counter)],
            "ctxt" | "processes" => {
                vec![writer.column(0, format!("stat.{key}"), "", Unit::Count, Semantics::Counter)]
            }
            "procs_running" | "procs_blocked" => {
                vec![writer.column(0, format!("stat.{key}"), "", Unit::Count, Semantics::Gauge)]
            }
            "softirq" => {
                let named = SOFTIRQ.iter().enumerate();
                let column = |(word, name)| {
                    writer.column(word, format!("stat.softirq.{name}"), "", Unit::Count, Semantics::Counter)
                };
                named.map(column).collect()
            }
            _ => match key.strip_prefix("cpu").and_then(|number| number.parse::<u32>().ok()) {
                Some(number) if number < CPU_LIMIT => cpu_columns("stat.percpu", key, writer),
                _ => Vec::new(),
            },
        }
    }
}

fn cpu_columns(prefix: &str, instance: &str, writer: &mut SampleWriter<'_>) -> Vec<Column> {
    let named = CPU.iter().enumerate();
    let column =
        |(word, name)| writer.column(word, format!("{prefix}.{name}"), instance, Unit::ClockTicks, Semantics::Counter);
    named.map(column).collect()
}
