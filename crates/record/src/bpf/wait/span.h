/* Spans: time between two tracepoints of a task, or before a tracepoint that says how long a wait took. */
#pragma once

#include "bpf.h"
#include "event.h"
#include "model.h"
#include "ring.h"
#include "settings.h"
#include "task/task.h"

static __always_inline void span_begins(u32 span)
{
	struct task_note *note = current_note(bpf_get_current_task_btf());

	if (!note || span >= PAIRED)
		return;
	note->signal.span_ns[span] = bpf_ktime_get_ns();
	note->signal.spans |= 1 << span;
}

/* The event of a span that is long enough to be recorded individually; a short one is summed up. */
static __always_inline struct event *span_was(struct task_struct *task, struct task_note *note, u32 span, u64 since,
					      u64 now, const u64 bytes)
{
	struct event *event;

	if (!since || since >= now)
		return 0;
	if (now - since < settings.interval_ns) {
		gather(task, note, SHORT_SPANS + span, since, now - since, now, 0);
		return 0;
	}
	event = begin_event(SPAN, bytes);
	if (!event)
		return 0;
	describe(event, task, note, since, now);
	event->source = span;
	return event;
}

static __always_inline struct event *span_ends(u32 span, const u64 bytes)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_note *note = note_of(task);
	u64 since;

	if (!note || span >= PAIRED)
		return 0;
	since = note->signal.span_ns[span];
	note->signal.span_ns[span] = 0;
	note->signal.spans &= ~(1 << span);
	return span_was(task, note, span, since, bpf_ktime_get_ns(), bytes);
}

/* The program of a span's first tracepoint. */
#define SPAN_BEGINS(program, tracepoint, span) \
	SEC("tp_btf/" #tracepoint) \
	int BPF_PROG(program) \
	{ \
		span_begins(span); \
		return 0; \
	}

static __always_inline int reclaim_ends(u32 span, u64 reclaimed_pages)
{
	struct event *event = span_ends(span, BARE);

	if (event) {
		event->detail.word[0] = reclaimed_pages;
		end_event(event);
	}
	return 0;
}

/* Both programs of a reclaim whose last tracepoint gives the number of pages. */
#define RECLAIM(name, tracepoint, span) \
	SPAN_BEGINS(name##_begin, tracepoint##_begin, span) \
	SEC("tp_btf/" #tracepoint "_end") \
	int BPF_PROG(name##_end, unsigned long reclaimed) \
	{ \
		return reclaim_ends(span, reclaimed); \
	}

RECLAIM(direct_reclaim, mm_vmscan_direct_reclaim, MM_VMSCAN_DIRECT_RECLAIM)
RECLAIM(memcg_reclaim, mm_vmscan_memcg_reclaim, MM_VMSCAN_MEMCG_RECLAIM)

SPAN_BEGINS(compaction_begin, mm_compaction_begin, MM_COMPACTION)

SEC("tp_btf/mm_compaction_end")
int BPF_PROG(compaction_end)
{
	return reclaim_ends(MM_COMPACTION, 0);
}

SPAN_BEGINS(shrink_slab_start, mm_shrink_slab_start, MM_SHRINK_SLAB)

/* The file system that a shrinker of dentries and inodes works on. */
static __always_inline struct super_block *super_block_of(struct shrinker *shrinker)
{
	if ((u64)shrinker->scan_objects != settings.shrink_function)
		return 0;
	if (bpf_core_field_exists(shrinker->private_data)) {
		CHECKED();
		return BPF_CORE_READ(shrinker, private_data);
	}
	if (!bpf_core_field_exists(((struct super_block___old *)0)->s_shrink))
		return 0;
	CHECKED();
	return (void *)shrinker - bpf_core_field_offset(struct super_block___old, s_shrink);
}

SEC("tp_btf/mm_shrink_slab_end")
int BPF_PROG(shrink_slab_end, struct shrinker *shrinker)
{
	struct event *event = span_ends(MM_SHRINK_SLAB, WITH_STACK);
	struct super_block *super;

	if (!event)
		return 0;
	event->names[0][0] = 0;
	event->names[1][0] = 0;
	event->detail.word[0] = (u64)shrinker->scan_objects;
	super = super_block_of(shrinker);
	if (super) {
		bpf_probe_read_kernel_str(event->names[0], 32, BPF_CORE_READ(super, s_type, name));
		bpf_probe_read_kernel_str(event->names[1], 32, &super->s_id);
	}
	end_event(event);
	return 0;
}

/* A span of the running task, whose only tracepoint is its end. */
static __always_inline struct event *span_ended(u32 span, u64 since, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_note *note = current_note(task);

	return note ? span_was(task, note, span, since, now, BARE) : 0;
}

SEC("tp_btf/mm_vmscan_throttled")
int BPF_PROG(vmscan_throttled, int node, int planned_us, int delayed_us, int reason)
{
	u64 now = bpf_ktime_get_ns();
	struct event *event;

	/* kswapd's waits stall no task by themselves. */
	if (bpf_get_current_task_btf()->flags & PF_KTHREAD)
		return 0;
	event = span_ended(MM_VMSCAN_THROTTLED, now - (u64)(u32)delayed_us * 1000, now);
	if (event) {
		/* The text of the tracepoint has the reason as a bit. */
		event->detail.word[0] = 1u << (reason & 31);
		end_event(event);
	}
	return 0;
}

SEC("tp_btf/jbd2_run_stats")
int BPF_PROG(jbd2_run_stats, u32 dev, u32 transaction, struct transaction_run_stats_s *stats)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_note *note = current_note(task);
	struct event *event;

	/* A module's tracepoint: see `MARK_ON_DEVICE`. */
	if (!note || !stats)
		return 0;
	event = begin_event(SPAN, BARE);
	if (!event)
		return 0;
	/* Times in jiffies: the reader knows how long a jiffy is, and when the commit began. */
	describe(event, task, note, bpf_ktime_get_ns(), bpf_ktime_get_ns());
	event->source = JBD2_RUN_STATS;
	event->state = dev;
	event->argument = bpf_jiffies64();
	event->detail.word[0] = stats->rs_locked;
	event->detail.word[1] = stats->rs_flushing;
	event->detail.word[2] = stats->rs_logging;
	event->detail.word[3] = stats->rs_handle_count;
	event->detail.word[4] = stats->rs_blocks_logged;
	end_event(event);
	return 0;
}

SEC("tp_btf/jbd2_lock_buffer_stall")
int BPF_PROG(jbd2_lock_buffer_stall, u32 dev, unsigned long stall_ms)
{
	u64 now = bpf_ktime_get_ns();
	struct event *event = span_ended(JBD2_LOCK_BUFFER_STALL, now - stall_ms * 1000000, now);

	if (event) {
		event->state = dev;
		end_event(event);
	}
	return 0;
}

static __always_inline int btrfs_span(u32 span, struct btrfs_fs_info *info, u64 since, u64 now)
{
	struct event *event = info ? span_ended(span, since, now) : 0;

	if (event) {
		event->state = info->sb->s_dev;
		end_event(event);
	}
	return 0;
}

SEC("tp_btf/btrfs_transaction_commit")
int BPF_PROG(btrfs_transaction_commit, struct btrfs_fs_info *info)
{
	u64 now = bpf_ktime_get_ns();

	if (!info)
		return 0;
	return btrfs_span(BTRFS_TRANSACTION_COMMIT, info, now - info->commit_stats.last_commit_dur, now);
}

/* Since 7.0 or so. */
SEC("tp_btf/btrfs_transaction_commit")
int BPF_PROG(btrfs_transaction_commit_of, struct btrfs_trans_handle *handle)
{
	u64 now = bpf_ktime_get_ns();

	if (!handle)
		return 0;
	return btrfs_span(BTRFS_TRANSACTION_COMMIT, handle->fs_info, now - handle->fs_info->commit_stats.last_commit_dur,
			now);
}

SEC("tp_btf/btrfs_reserve_ticket")
int BPF_PROG(btrfs_reserve_ticket, struct btrfs_fs_info *info, u64 flags, u64 bytes, u64 start_ns)
{
	return btrfs_span(BTRFS_RESERVE_TICKET, info, start_ns, bpf_ktime_get_ns());
}

#define BTRFS_TREE_SPAN(tracepoint, span) \
	SEC("tp_btf/" #tracepoint) \
	int BPF_PROG(tracepoint, struct extent_buffer *buffer, u64 start_ns) \
	{ \
		return buffer ? btrfs_span(span, buffer->fs_info, start_ns, bpf_ktime_get_ns()) : 0; \
	}

BTRFS_TREE_SPAN(btrfs_tree_lock, BTRFS_TREE_LOCK)
BTRFS_TREE_SPAN(btrfs_tree_read_lock, BTRFS_TREE_READ_LOCK)
