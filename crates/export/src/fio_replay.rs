//! Block requests for fio to replay: an iolog of version 3 (fio 3.31 and later) for each disk, and a job file.

use std::fmt::Write as _;
use std::io::{self, Write};

use model::block::{Kind, Operation};

/// An iolog of one disk.
#[derive(Debug)]
pub struct Iolog<W> {
    sink: W,
    name: String,
    began_ns: Option<u64>,
    in_flight: u64,
    /// What has been written.
    pub replayed: Replayed,
}

/// What an iolog holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Discards.
    pub discards: u64,
    /// Flushes of the device's cache.
    pub flushes: u64,
    /// Requests that fio has no action for: commands of drivers and programs, and those of zones.
    pub left_out: u64,
    /// Where the last byte is: the target needs this many.
    pub end_bytes: u64,
    /// The most requests that were in flight at once.
    pub depth: u64,
}

impl Replayed {
    /// Whether fio takes the iolog: it refuses one without data.
    pub fn has_data(&self) -> bool {
        self.reads + self.writes + self.discards > 0
    }

    /// All actions.
    pub fn actions(&self) -> u64 {
        self.reads + self.writes + self.discards + self.flushes
    }
}

impl<W: Write> Iolog<W> {
    /// Begins the iolog of a disk of that [name](file_name).
    pub fn begin(mut sink: W, name: &str) -> io::Result<Iolog<W>> {
        // A delay is counted from the action before, and a time of 0 is none.
        write!(sink, "fio version 3 iolog\n1 {name} add\n1 {name} open\n")?;
        let replayed = Replayed::default();
        Ok(Iolog { sink, name: name.to_owned(), began_ns: None, in_flight: 0, replayed })
    }

    /// A request arrives. Requests come in the order of time.
    pub fn arrives(&mut self, at_ns: u64, kind: Kind, offset_bytes: u64, bytes: u64) -> io::Result<()> {
        let began_ns = *self.began_ns.get_or_insert(at_ns);
        self.in_flight += 1;
        self.replayed.depth = self.replayed.depth.max(self.in_flight);
        let at_us = at_ns.saturating_sub(began_ns) / 1000 + 1;
        let is_flush = kind.has(Kind::PREFLUSH);
        if kind.has(Kind::PASSTHROUGH) {
            // A flush without a sector is a part of another request.
            self.replayed.left_out += u64::from(!is_flush);
            return Ok(());
        }
        if is_flush {
            self.replayed.flushes += 1;
            writeln!(self.sink, "{at_us} {} sync 0 0", self.name)?;
        }
        let (action, count) = match kind.operation() {
            Operation::Read => ("read", &mut self.replayed.reads),
            Operation::Write => ("write", &mut self.replayed.writes),
            Operation::Discard => ("trim", &mut self.replayed.discards),
            Operation::None => ("", &mut self.replayed.left_out),
        };
        // fio's lengths have 32 bits.
        if action.is_empty() || bytes == 0 || bytes > u64::from(u32::MAX) {
            self.replayed.left_out += u64::from(!is_flush);
            return Ok(());
        }
        *count += 1;
        self.replayed.end_bytes = self.replayed.end_bytes.max(offset_bytes.saturating_add(bytes));
        writeln!(self.sink, "{at_us} {} {action} {offset_bytes} {bytes}", self.name)
    }

    /// A request completes.
    pub fn completes(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// Ends the iolog.
    pub fn finish(mut self) -> io::Result<Replayed> {
        self.sink.flush()?;
        Ok(self.replayed)
    }
}

/// A disk's name as part of a file's name, a job's and a variable's: letters, digits and underscores.
pub fn file_name(device: &str) -> String {
    device.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect()
}

/// The job file: one job a disk, all at once. What it writes to is named by the environment: without it, fio refuses
/// the job.
pub fn job_file(title: &str, devices: &[(String, Replayed)]) -> String {
    let title: String = title.chars().filter(|letter| !letter.is_control()).collect();
    let mut text = format!(
        "; Block requests of {title}\n; Name a target for each disk, whose contents are destroyed, and run fio here:\n"
    );
    let targets: Vec<String> = devices.iter().map(|(name, _)| format!("TARGET_{name}=/dev/...")).collect();
    let _ =
        writeln!(text, ";     {} fio replay.fio\n; Of several disks, --section NAME replays one.", targets.join(" "));
    text.push_str("[global]\nioengine=libaio\ndirect=1\n");
    for (name, replayed) in devices {
        let Replayed { reads, writes, discards, flushes, end_bytes, depth, .. } = replayed;
        let _ = write!(
            text,
            "\n; {reads} reads, {writes} writes, {discards} discards, {flushes} flushes; the target needs {end_bytes} \
             bytes\n\
             [{name}]\nread_iolog={name}.iolog\nreplay_redirect=${{TARGET_{name}}}\niodepth={}\n",
            depth.max(&1)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use model::block::{Kind, Operation};

    use super::{Iolog, Replayed, file_name, job_file};

    #[test]
    fn actions_have_their_times_and_places() {
        let mut bytes = Vec::new();
        let mut log = Iolog::begin(&mut bytes, "vda").unwrap();
        let (read, write) = (Kind::of(Operation::Read), Kind::of(Operation::Write));
        log.arrives(5_000_000, read, 4096, 8192).unwrap();
        log.arrives(6_000_000, write.with(Kind::PREFLUSH).with(Kind::FUA), 0, 512).unwrap();
        log.completes();
        log.arrives(6_000_999, Kind::of(Operation::None).with(Kind::PREFLUSH), 0, 0).unwrap();
        log.arrives(7_000_000, Kind::of(Operation::Discard), 1 << 40, 1 << 20).unwrap();
        log.arrives(8_000_000, read.with(Kind::PASSTHROUGH), 0, 96).unwrap();
        let replayed = log.finish().unwrap();
        let expected = Replayed {
            reads: 1,
            writes: 1,
            discards: 1,
            flushes: 2,
            left_out: 1,
            end_bytes: (1 << 40) + (1 << 20),
            depth: 4,
        };
        assert_eq!(replayed, expected);
        let lines = "fio version 3 iolog\n1 vda add\n1 vda open\n1 vda read 4096 8192\n1001 vda sync 0 0\n1001 vda \
                     write 0 512\n\
                     1001 vda sync 0 0\n2001 vda trim 1099511627776 1048576\n";
        assert_eq!(String::from_utf8(bytes).unwrap(), lines);
        let job = job_file("a\nb", &[(file_name("cciss!c0d0"), replayed)]);
        assert!(
            job.starts_with("; Block requests of ab\n") && job.contains("\nreplay_redirect=${TARGET_cciss_c0d0}\n"),
            "{job}"
        );
    }
}
