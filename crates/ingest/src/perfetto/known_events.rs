//! The events that Perfetto has messages for, by their field in its `FtraceEvent`: names and fields as in
//! protos/perfetto/trace/ftrace of Perfetto 56. Fields are numbered from one.

/// An event.
#[derive(Debug)]
pub(super) struct KnownEvent {
    pub(super) system: &'static str,
    pub(super) name: &'static str,
    /// Those that may be negative begin with `-`. Empty: the event is not read.
    pub(super) fields: &'static [&'static str],
}

/// The event of a field.
pub(super) fn known_event(field: u32) -> Option<&'static KnownEvent> {
    let at = READ.binary_search_by_key(&field, |(number, _)| *number).ok()?;
    Some(&READ[at].1)
}

/// The name of an event that is not read.
pub(super) fn other_name(field: u32) -> Option<&'static str> {
    let mut words = include_str!("other_events.txt").split_whitespace();
    while let (Some(number), Some(name)) = (words.next(), words.next()) {
        if number.parse() == Ok(field) {
            return Some(name);
        }
    }
    None
}

const fn event(system: &'static str, name: &'static str, fields: &'static [&'static str]) -> KnownEvent {
    KnownEvent { system, name, fields }
}

// tidy: table
const READ: &[(u32, KnownEvent)] = &[
    (
        4,
        event(
            "sched",
            "sched_switch",
            &["prev_comm", "-prev_pid", "-prev_prio", "-prev_state", "next_comm", "-next_pid", "-next_prio"],
        ),
    ),
    (17, event("sched", "sched_wakeup", &["comm", "-pid", "-prio", "-success", "-target_cpu"])),
    (18, event("sched", "sched_blocked_reason", &["-pid", "caller", "io_wait"])),
    (20, event("sched", "sched_waking", &["comm", "-pid", "-prio", "-success", "-target_cpu"])),
    (45, event("block", "block_rq_issue", &["dev", "sector", "nr_sector", "bytes", "rwbs", "comm", "cmd"])),
    (46, event("vmscan", "mm_vmscan_direct_reclaim_begin", &["-order", "-may_writepage", "gfp_flags"])),
    (47, event("vmscan", "mm_vmscan_direct_reclaim_end", &["nr_reclaimed"])),
    (99, event("compaction", "mm_compaction_begin", &["zone_start", "migrate_pfn", "free_pfn", "zone_end", "sync"])),
    (
        103,
        event(
            "compaction",
            "mm_compaction_end",
            &["zone_start", "migrate_pfn", "free_pfn", "zone_end", "sync", "-status"],
        ),
    ),
    (114, event("sched", "sched_wakeup_new", &["comm", "-pid", "-prio", "-success", "-target_cpu"])),
    (115, event("block", "block_bio_backmerge", &["dev", "sector", "nr_sector", "rwbs", "comm"])),
    (116, event("block", "block_bio_bounce", &["dev", "sector", "nr_sector", "rwbs", "comm"])),
    (117, event("block", "block_bio_complete", &["dev", "sector", "nr_sector", "-error", "rwbs"])),
    (118, event("block", "block_bio_frontmerge", &["dev", "sector", "nr_sector", "rwbs", "comm"])),
    (119, event("block", "block_bio_queue", &["dev", "sector", "nr_sector", "rwbs", "comm"])),
    (120, event("block", "block_bio_remap", &["dev", "sector", "nr_sector", "old_dev", "old_sector", "rwbs"])),
    (122, event("block", "block_getrq", &["dev", "sector", "nr_sector", "rwbs", "comm"])),
    (123, event("block", "block_plug", &["comm"])),
    (124, event("block", "block_rq_abort", &["dev", "sector", "nr_sector", "-errors", "rwbs", "cmd"])),
    (125, event("block", "block_rq_complete", &["dev", "sector", "nr_sector", "-errors", "rwbs", "cmd", "-error"])),
    (126, event("block", "block_rq_insert", &["dev", "sector", "nr_sector", "bytes", "rwbs", "comm", "cmd"])),
    (
        128,
        event("block", "block_rq_remap", &["dev", "sector", "nr_sector", "old_dev", "old_sector", "nr_bios", "rwbs"]),
    ),
    (129, event("block", "block_rq_requeue", &["dev", "sector", "nr_sector", "-errors", "rwbs", "cmd"])),
    (130, event("block", "block_sleeprq", &["dev", "sector", "nr_sector", "rwbs", "comm"])),
    (131, event("block", "block_split", &["dev", "sector", "new_sector", "rwbs", "comm"])),
    (133, event("block", "block_unplug", &["-nr_rq", "comm"])),
    (235, event("task", "task_newtask", &["-pid", "comm", "clone_flags", "-oom_score_adj"])),
    (236, event("task", "task_rename", &["-pid", "oldcomm", "newcomm", "-oom_score_adj"])),
    (238, event("sched", "sched_process_exit", &["comm", "-pid", "-tgid", "-prio"])),
    (329, event("raw_syscalls", "sys_enter", &["-id", "args"])),
    (330, event("raw_syscalls", "sys_exit", &["-id", "-ret"])),
    (
        443,
        event(
            "vmscan",
            "mm_shrink_slab_start",
            &[
                "cache_items",
                "delta",
                "gfp_flags",
                "lru_pgs",
                "-nr_objects_to_shrink",
                "pgs_scanned",
                "shr",
                "shrink",
                "total_scan",
                "-nid",
                "-priority",
            ],
        ),
    ),
    (
        444,
        event(
            "vmscan",
            "mm_shrink_slab_end",
            &["-new_scan", "-retval", "shr", "shrink", "-total_scan", "-unused_scan", "-nid"],
        ),
    ),
    (546, event("block", "block_io_start", &["dev", "sector", "nr_sector", "bytes", "ioprio", "rwbs", "comm", "cmd"])),
    (547, event("block", "block_io_done", &["dev", "sector", "nr_sector", "bytes", "ioprio", "rwbs", "comm", "cmd"])),
    (607, event("vmscan", "mm_vmscan_memcg_reclaim_begin", &["-order", "-may_writepage", "gfp_flags"])),
    (608, event("vmscan", "mm_vmscan_memcg_reclaim_end", &["nr_reclaimed"])),
];

#[cfg(test)]
mod tests {
    use super::{READ, known_event, other_name};

    #[test]
    fn each_event_is_in_one_table() {
        assert!(READ.is_sorted_by_key(|(number, _)| *number));
        assert!(READ.iter().all(|(number, event)| {
            known_event(*number).is_some_and(|known| known.name == event.name) && other_name(*number).is_none()
        }));
        assert_eq!((other_name(43), other_name(1)), (Some("ext4_sync_file_enter"), None));
    }
}
