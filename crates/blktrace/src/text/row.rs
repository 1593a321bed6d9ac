//! Rows of published traces, as comma- or space-separated values. The number of fields and what is in them says which
//! layout a row has:
//!
//! ```text
//! 128166372003061629,hm,1,Write,2096128,1024,123456         MSR Cambridge: 100 ns, host, disk, bytes, bytes, 100 ns
//! 1456149600.012345,0.000123,R,0,123456,4096                SYSTOR '17: s, response time s, LUN, bytes, bytes
//! 419,W,8792731648,16384,1577808144360767                   Alibaba: device, bytes, bytes, us
//! 1538323200,12910952,128,0,1063                            Tencent: s, sectors, sectors, 0 read or 1 write, volume
//! 0,20941264,8192,W,0.551706                                SPC (UMass): unit, sector, bytes, s
//! 89966335990 4892 syslogd 904265560 8 W 6 0 531e779        FIU: ns, process, sector, sectors, major, minor, checksum
//! ```
//!
//! Where a row has a response time, it is an issue and a completion; else it is when the bio was queued.

use model::block::{Action, BlockEvent, DeviceNumber, Kind};

/// Seconds from 1601, where the clock of Windows begins, to 1970.
const WINDOWS_EPOCH_S: u64 = 11_644_473_600;

/// One row: an event, and its completion where the time is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Row<'a> {
    pub(crate) first: BlockEvent,
    pub(crate) completed_ns: Option<u64>,
    pub(crate) name: Option<&'a [u8]>,
}

pub(crate) fn parse(line: &[u8]) -> Option<Row<'_>> {
    let line = std::str::from_utf8(line).ok()?.trim();
    let fields: Vec<&str> = line.split(',').map(str::trim).take(9).collect();
    match fields[..] {
        [time, _, disk, kind, offset, size, response] => {
            let at_ns = time.parse::<u64>().ok()?.checked_sub(WINDOWS_EPOCH_S * 10_000_000)?.checked_mul(100)?;
            let took_ns = response.parse::<u64>().ok()?.checked_mul(100)?;
            bio(at_ns, disk, direction(kind)?, bytes(offset)? / 512, bytes(size)?)?.took(took_ns)
        }
        [time, response, kind, disk, offset, size] => {
            bio(seconds(time)?, disk, direction(kind)?, bytes(offset)? / 512, bytes(size)?)?.took(seconds(response)?)
        }
        [one, two, three, four, five] => of_five(one, two, three, four, five),
        [_] => of_fiu(line),
        _ => None,
    }
}

fn of_five<'a>(one: &str, two: &str, three: &str, four: &str, five: &str) -> Option<Row<'a>> {
    if let Some(kind) = direction(two) {
        let at_ns = five.parse::<u64>().ok()?.checked_mul(1000)?;
        return bio(at_ns, one, kind, bytes(three)? / 512, bytes(four)?);
    }
    if let Some(kind) = direction(four) {
        return bio(seconds(five)?, one, kind, bytes(two)?, bytes(three)?);
    }
    let kind = match four {
        "0" => "R",
        "1" => "W",
        _ => return None,
    };
    bio(seconds(one)?, five, direction(kind)?, bytes(two)?, bytes(three)?.checked_mul(512)?)
}

fn of_fiu(line: &str) -> Option<Row<'_>> {
    let fields: Vec<&str> = line.split_whitespace().take(10).collect();
    let [time, pid, name, sector, sectors, kind, major, minor, checksum] = fields[..] else { return None };
    let is_checksum = checksum.len() >= 16 && checksum.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (major, minor) = (major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?);
    if !is_checksum || major >= 1 << 12 || minor >= 1 << 20 {
        return None;
    }
    let row = bio(time.parse().ok()?, "0", direction(kind)?, bytes(sector)?, bytes(sectors)?.checked_mul(512)?)?;
    let first = BlockEvent { pid: pid.parse().ok()?, device: DeviceNumber::new(major, minor), ..row.first };
    Some(Row { first, name: Some(name.as_bytes()), ..row })
}

fn bio<'a>(at_ns: u64, disk: &str, kind: Kind, sector: u64, bytes: u64) -> Option<Row<'a>> {
    let disk = disk.parse::<u32>().ok().filter(|disk| *disk < 1 << 20)?;
    let template = BlockEvent::new(at_ns, Action::Queue, DeviceNumber::new(0, disk));
    let first = BlockEvent { sector, bytes: u32::try_from(bytes).ok()?, kind, ..template };
    Some(Row { first, completed_ns: None, name: None })
}

impl Row<'_> {
    /// The same, with a response time.
    fn took(self, took_ns: u64) -> Option<Self> {
        let completed_ns = self.first.time_ns.checked_add(took_ns)?;
        Some(Row {
            first: BlockEvent { action: Action::Issue, ..self.first },
            completed_ns: Some(completed_ns),
            ..self
        })
    }
}

fn direction(word: &str) -> Option<Kind> {
    match word {
        "R" | "r" | "Read" | "read" => Kind::from_rwbs(b"R"),
        "W" | "w" | "Write" | "write" => Kind::from_rwbs(b"W"),
        _ => None,
    }
}

fn bytes(word: &str) -> Option<u64> {
    word.parse().ok()
}

/// Seconds with up to nine decimals, in ns.
fn seconds(word: &str) -> Option<u64> {
    let (whole, fraction) = word.split_once('.').unwrap_or((word, ""));
    let scale = 10_u64.checked_pow(9_u32.checked_sub(u32::try_from(fraction.len()).ok()?)?)?;
    let fraction = if fraction.is_empty() { 0 } else { fraction.parse::<u64>().ok()? };
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction * scale)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn rows_of_published_traces() {
        let check = |line: &str, at_ns: u64, device: &str, kind: &str, sector: u64, bytes: u32, took: Option<u64>| {
            let row = parse(line.as_bytes()).unwrap_or_else(|| panic!("{line}"));
            let took_ns = row.completed_ns.map(|completed_ns| completed_ns - row.first.time_ns);
            let found = (row.first.time_ns, row.first.device.to_string(), row.first.kind.to_string(), row.first.sector);
            assert_eq!(
                (found, row.first.bytes, took_ns),
                ((at_ns, device.into(), kind.into(), sector), bytes, took),
                "{line}"
            );
        };
        let msr = "128166372003061629,hm,1,Write,2096128,1024,123456";
        check(msr, 1_172_163_600_306_162_900, "0,1", "W", 4094, 1024, Some(12_345_600));
        let systor = "1456149600.012345,0.000123,R,0,1048576,4096";
        check(systor, 1_456_149_600_012_345_000, "0,0", "R", 2048, 4096, Some(123_000));
        check("419,W,1048576,16384,1577808144360767", 1_577_808_144_360_767_000, "0,419", "W", 2048, 16384, None);
        check("1538323200,12910952,128,0,1063", 1_538_323_200_000_000_000, "0,1063", "R", 12_910_952, 65536, None);
        check("0,20941264,8192,W,0.551706", 551_706_000, "0,0", "W", 20_941_264, 8192, None);
        let fiu = "89966335990 4892 syslogd 904265560 8 W 6 0 531e779aa8b06a2d5dd2e7b1c2d3e4f5";
        check(fiu, 89_966_335_990, "6,0", "W", 904_265_560, 4096, None);
        for line in ["Timestamp,Response,IOType,LUN,Offset,Size", "a,b,c,d,e", "", "1,2,3", "1,2,3,4,5"] {
            assert_eq!(parse(line.as_bytes()), None, "{line}");
        }
    }
}
