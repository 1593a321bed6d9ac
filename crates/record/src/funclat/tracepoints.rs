//! Tracepoints by name, and pairs of them.

use std::fmt;
use std::fs::File;
use std::io::ErrorKind;
use std::path::PathBuf;

use super::error::FunclatError;
use super::functions;
use crate::bytes::read_text;
use crate::roots::Roots;

/// Last words of names that mark the two ends of an operation.
const ENDS: [(&str, &str); 9] = [
    ("begin", "end"),
    ("start", "end"),
    ("start", "done"),
    ("start", "finish"),
    ("start", "stop"),
    ("enter", "exit"),
    ("entry", "exit"),
    ("entry", "return"),
    ("lock", "unlock"),
];

/// Functions that contain a pair under another name.
const KNOWN: [(&str, &str); 10] = [
    ("shrink_slab", "vmscan:mm_shrink_slab_start..end"),
    ("try_to_free_pages", "vmscan:mm_vmscan_direct_reclaim_begin..end"),
    ("do_try_to_free_pages", "vmscan:mm_vmscan_direct_reclaim_begin..end"),
    ("try_to_free_mem_cgroup_pages", "vmscan:mm_vmscan_memcg_reclaim_begin..end"),
    ("compact_zone", "compaction:mm_compaction_begin..end"),
    ("vfs_fsync_range", "syscalls:sys_enter_fsync..sys_exit_fsync"),
    ("vfs_fsync_range", "ext4:ext4_sync_file_enter..exit"),
    ("ext4_sync_file", "ext4:ext4_sync_file_enter..exit"),
    ("vfs_read", "syscalls:sys_enter_read..sys_exit_read"),
    ("vfs_write", "syscalls:sys_enter_write..sys_exit_write"),
];

/// How many pairs are offered.
const OFFERED: usize = 3;

/// A tracepoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tracepoint {
    /// What it belongs to: `vmscan`.
    pub subsystem: String,
    /// Its name: `mm_shrink_slab_start`.
    pub name: String,
}

/// Two tracepoints whose interval is timed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The first.
    pub begin: Tracepoint,
    /// The second.
    pub end: Tracepoint,
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}..", self.begin.subsystem, self.begin.name)?;
        if self.end.subsystem != self.begin.subsystem {
            write!(f, "{}:", self.end.subsystem)?;
        }
        f.write_str(&self.end.name)
    }
}

/// All tracepoints of this kernel.
pub(super) struct Tracepoints {
    list: Vec<Tracepoint>,
    /// tracefs, held open: another program that mounted it temporarily cannot unmount it.
    tracefs: Option<(PathBuf, File)>,
}

impl Tracepoints {
    /// Reads the list of tracefs.
    pub(super) fn read(roots: &Roots) -> Result<Tracepoints, FunclatError> {
        let places = [roots.tracing.clone(), roots.debug.join("tracing")];
        let mut refused = None;
        for place in places {
            let events = place.join("events");
            let found = File::open(&events).and_then(|held| {
                let text = read_text(place.join("available_events"))?;
                Ok(Tracepoints { tracefs: Some((events.clone(), held)), ..Tracepoints::parse(&text) })
            });
            match found {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => refused = Some(format!("{}: {error}", place.display())),
                found => return Ok(found.expect("the errors are handled above")),
            }
        }
        if refused.is_none() && !rustix::process::geteuid().is_root() {
            // A program run by root mounts it.
            refused = Some("tracefs is not mounted".to_owned());
        }
        Err(refused.map_or(FunclatError::NoTracefs, |what| FunclatError::NotAllowed { what }))
    }

    /// One tracepoint a line, `subsystem:name`.
    fn parse(text: &str) -> Tracepoints {
        let split = text.lines().filter_map(|line| line.trim().split_once(':'));
        let list = split.map(|(subsystem, name)| Tracepoint { subsystem: subsystem.into(), name: name.into() });
        Tracepoints { list: list.collect(), tracefs: None }
    }

    /// The id of a tracepoint for perf_event_open(2).
    pub(super) fn id(&self, tracepoint: &Tracepoint) -> Option<u64> {
        let (events, _) = self.tracefs.as_ref()?;
        let path = events.join(&tracepoint.subsystem).join(&tracepoint.name).join("id");
        read_text(path).ok()?.trim().parse().ok()
    }

    /// The pair that a user writes. The end may be a whole name, with or without its subsystem, or only the word that
    /// replaces the last word of the begin.
    pub(super) fn pair(&self, text: &str) -> Result<Pair, FunclatError> {
        let malformed = || FunclatError::NotAPair { text: text.to_owned() };
        let (begin, end) = text.split_once("..").ok_or_else(malformed)?;
        let (subsystem, begin) = begin.split_once(':').ok_or_else(malformed)?;
        if subsystem.is_empty() || begin.is_empty() || end.is_empty() {
            return Err(malformed());
        }
        let begin = self.find(subsystem, begin)?;
        let end = match end.split_once(':') {
            Some((subsystem, name)) => self.find(subsystem, name)?,
            None => self.end_of(&begin, end)?,
        };
        Ok(Pair { begin, end })
    }

    fn end_of(&self, begin: &Tracepoint, end: &str) -> Result<Tracepoint, FunclatError> {
        let whole = self.find(&begin.subsystem, end);
        if whole.is_ok() {
            return whole;
        }
        let stem = begin.name.rsplit_once('_').map_or("", |(stem, _)| stem);
        let name = if stem.is_empty() { end.to_owned() } else { format!("{stem}_{end}") };
        self.find(&begin.subsystem, &name)
    }

    fn find(&self, subsystem: &str, name: &str) -> Result<Tracepoint, FunclatError> {
        let wanted = Tracepoint { subsystem: subsystem.to_owned(), name: name.to_owned() };
        if self.list.contains(&wanted) {
            return Ok(wanted);
        }
        let wanted = format!("{subsystem}:{name}");
        let similar =
            functions::similar(&wanted, self.list.iter().map(|known| format!("{}:{}", known.subsystem, known.name)));
        Err(FunclatError::UnknownTracepoint { name: wanted, similar })
    }

    /// Pairs that may time what a function does, in the form of `--pair`; the best match first.
    pub(super) fn for_function(&self, function: &str) -> Vec<String> {
        let known = KNOWN.iter().filter(|(name, pair)| *name == function && self.pair(pair).is_ok());
        let mut pairs: Vec<String> = known.map(|(_, pair)| (*pair).to_owned()).collect();
        let wanted = words(function);
        let mut scored: Vec<(usize, String)> = Vec::new();
        for begin in &self.list {
            for (pair, stem) in self.pairs_of(begin) {
                let stem = words(&stem);
                let shared = stem.iter().filter(|word| wanted.contains(word)).count();
                let rest = stem.len() + wanted.len() - 2 * shared;
                // At least half of all words, and more than one if there are more.
                if shared >= wanted.len().min(2) && shared > 0 && rest <= shared {
                    scored.push((rest, pair));
                }
            }
        }
        scored.sort();
        for (_, pair) in scored {
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
        pairs.truncate(OFFERED);
        pairs
    }

    /// The pairs that a tracepoint begins, in the form of `--pair`, each with its stem.
    fn pairs_of(&self, begin: &Tracepoint) -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        if let Some(call) = begin.name.strip_prefix("sys_enter_") {
            let pair = format!("{}:{}..sys_exit_{call}", begin.subsystem, begin.name);
            pairs.push((pair, call.to_owned()));
        }
        let Some((stem, word)) = begin.name.rsplit_once('_') else { return pairs };
        for (first, second) in ENDS {
            let end = Tracepoint { subsystem: begin.subsystem.clone(), name: format!("{stem}_{second}") };
            if word == first && self.list.contains(&end) {
                pairs.push((format!("{}:{}..{second}", begin.subsystem, begin.name), stem.to_owned()));
            }
        }
        pairs
    }
}

/// The significant words of a name, without the prefixes that half of the kernel's names have.
fn words(name: &str) -> Vec<&str> {
    let split = name.split('_').filter(|word| !word.is_empty());
    split.filter(|word| !["mm", "x64", "arm64", "se", "sys", "ksys", "do", "vmscan"].contains(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::{FunclatError, Tracepoints};

    const LIST: &str = "vmscan:mm_shrink_slab_start\nvmscan:mm_shrink_slab_end\nvmscan:mm_vmscan_direct_reclaim_begin\n\
        vmscan:mm_vmscan_direct_reclaim_end\nraw_syscalls:sys_enter\nraw_syscalls:sys_exit\n\
        syscalls:sys_enter_fsync\nsyscalls:sys_exit_fsync\next4:ext4_sync_file_enter\next4:ext4_sync_file_exit\n\
        block:block_rq_issue\nsched:sched_switch\n";

    fn pair(text: &str) -> Result<String, String> {
        Tracepoints::parse(LIST).pair(text).map(|pair| pair.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_end_is_a_last_word_or_a_name() {
        let slab = Ok("vmscan:mm_shrink_slab_start..mm_shrink_slab_end".to_owned());
        assert_eq!(pair("vmscan:mm_shrink_slab_start..end"), slab);
        assert_eq!(pair("vmscan:mm_shrink_slab_start..mm_shrink_slab_end"), slab);
        assert_eq!(pair("vmscan:mm_shrink_slab_start..vmscan:mm_shrink_slab_end"), slab);
        assert_eq!(pair("raw_syscalls:sys_enter..exit"), Ok("raw_syscalls:sys_enter..sys_exit".to_owned()));
        assert_eq!(
            pair("syscalls:sys_enter_fsync..sys_exit_fsync"),
            Ok("syscalls:sys_enter_fsync..sys_exit_fsync".to_owned())
        );
        assert_eq!(
            pair("block:block_rq_issue..sched:sched_switch"),
            Ok("block:block_rq_issue..sched:sched_switch".to_owned())
        );
    }

    #[test]
    fn what_is_no_pair_is_named() {
        for text in ["", "..", "mm_shrink_slab_start..end", "vmscan:mm_shrink_slab_start", "vmscan:..end", "a:b.."] {
            assert!(pair(text).unwrap_err().contains("is not a pair"), "{text}");
        }
        let error = pair("vmscan:mm_shrink_slab_start..done").unwrap_err();
        assert!(error.contains("vmscan:mm_shrink_slab_done") && error.contains("slab_start"), "{error}");
        let error = pair("vmscan:mm_shrink_slap_start..end").unwrap_err();
        assert!(error.contains("did you mean vmscan:mm_shrink_slab_start"), "{error}");
    }

    #[test]
    fn a_function_is_offered_the_pairs_that_are_named_like_it() {
        let offered = |function: &str| Tracepoints::parse(LIST).for_function(function);
        assert_eq!(offered("do_shrink_slab"), ["vmscan:mm_shrink_slab_start..end"]);
        assert_eq!(offered("shrink_slab"), ["vmscan:mm_shrink_slab_start..end"]);
        assert_eq!(offered("__x64_sys_fsync"), ["syscalls:sys_enter_fsync..sys_exit_fsync"]);
        assert_eq!(offered("ext4_sync_file"), ["ext4:ext4_sync_file_enter..exit"]);
        assert_eq!(offered("do_try_to_free_pages"), ["vmscan:mm_vmscan_direct_reclaim_begin..end"]);
        assert_eq!(offered("kmalloc"), Vec::<String>::new());
    }

    #[test]
    fn a_missing_tracefs_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let found = Tracepoints::read(&crate::roots::Roots::below(folder.path()));
        assert!(matches!(found, Err(FunclatError::NoTracefs | FunclatError::NotAllowed { .. })));
    }
}
