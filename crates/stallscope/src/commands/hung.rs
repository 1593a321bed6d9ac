//! `hung`: dumps of blocked tasks.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use hung::{Reader, advice, analyze};
use report::hung::HungFindings;

use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

/// The longest part of a line that is read; the rest is skipped.
const LONGEST: usize = 8 << 10;

/// Options of `hung`.
#[derive(Debug, Args)]
pub struct HungArgs {
    /// A log with hung-task reports or the output of SysRq-w or SysRq-t, a collection of /proc/PID/stack, or output of
    /// crash; - for standard input.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Print a single JSON document to standard output.
    #[arg(long)]
    pub json: bool,
}

/// Reads a dump and prints who waits for what.
pub fn hung(args: &HungArgs, screen: &Screen) -> Result<Exit, Failure> {
    let name = args.file.display();
    let mut reader = Reader::default();
    let source: Box<dyn Read> = if args.file == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        let opened = symbols::open(&args.file);
        Box::new(opened.map_err(|error| Failure::path(&error, format_args!("{name}: cannot read: {error}")))?)
    };
    read_lines(source, |line| reader.line(line))
        .map_err(|error| Failure::path(&error, format_args!("{name}: cannot read: {error}")))?;
    let dump = reader.finish();
    if dump.tasks.is_empty() {
        return Err(Failure::usage(format_args!(
            "{name}: no kernel stack of a task; take dmesg with 'blocked for more than', the log after 'echo w > \
             /proc/sysrq-trigger', \
             'head -n 64 /proc/[0-9]*/stack', or crash's 'foreach UN bt'"
        )));
    }
    let analysis = analyze(&dump);
    let advice = advice(&dump, &analysis);
    let findings = HungFindings { dump: &dump, analysis: &analysis, advice: &advice };
    if args.json {
        screen.json(&report::hung::json::document(&findings));
    } else {
        screen.result(&report::hung::text::text(&findings, screen.style()));
    }
    Ok(Exit::Done)
}

/// Hands over the lines of a source, of any encoding; of an endless line only its begin.
fn read_lines(source: impl Read, mut take: impl FnMut(&str)) -> std::io::Result<()> {
    let mut source = BufReader::with_capacity(64 << 10, source);
    let mut line = Vec::new();
    loop {
        line.clear();
        if source.by_ref().take(LONGEST as u64).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        take(&String::from_utf8_lossy(&line));
        if line.last() != Some(&b'\n') && line.len() == LONGEST {
            skip_line(&mut source)?;
        }
    }
}

fn skip_line(source: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let buffer = source.fill_buf()?;
        let (end, length) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(at) => (true, at + 1),
            None => (buffer.is_empty(), buffer.len()),
        };
        source.consume(length);
        if end {
            return Ok(());
        }
    }
}
