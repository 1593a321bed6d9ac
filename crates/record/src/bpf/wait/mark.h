/* Marks: tracepoints that announce a wait. The task's next time off the CPU is that wait. */
#pragma once

#include "bpf.h"
#include "event.h"
#include "model.h"
#include "task/task.h"
#include "wait/lock.h"

static __always_inline struct task_note *announce(u32 mark)
{
	struct task_note *note = current_note(bpf_get_current_task_btf());

	if (note) {
		note->signal.mark = mark;
		note->signal.mark_ns = bpf_ktime_get_ns();
		__builtin_memset(&note->signal.detail, 0, sizeof(note->signal.detail));
	}
	return note;
}

/* The program of a mark whose wait concerns a device, given as a `dev_t` by a path from the tracepoint's first
 * argument. Since 6.13 the verifier takes pointers that a module's tracepoint gives for null until they are checked. */
#define MARK_ON_DEVICE(tracepoint, mark, argument, dev) \
	SEC("tp_btf/" #tracepoint) \
	int BPF_PROG(tracepoint, argument) \
	{ \
		struct task_note *note = announce(mark); \
\
		if (note && from) \
			note->signal.detail.word[0] = from->dev; \
		return 0; \
	}

MARK_ON_DEVICE(xfs_log_grant_sleep, XFS_LOG_GRANT_SLEEP, struct xlog *from, l_mp->m_super->s_dev)
MARK_ON_DEVICE(xlog_iclog_wait_on, XLOG_ICLOG_WAIT_ON, struct xlog_in_core *from, ic_log->l_mp->m_super->s_dev)
MARK_ON_DEVICE(xfs_log_cil_wait, XFS_LOG_CIL_WAIT, struct xlog *from, l_mp->m_super->s_dev)
MARK_ON_DEVICE(xfs_log_force, XFS_LOG_FORCE, struct xfs_mount *from, m_super->s_dev)
MARK_ON_DEVICE(xfs_buf_iowait, XFS_BUF_IOWAIT, struct xfs_buf *from, b_mount->m_super->s_dev)
MARK_ON_DEVICE(xfs_buf_lock, XFS_BUF_LOCK, struct xfs_buf *from, b_mount->m_super->s_dev)
MARK_ON_DEVICE(jbd2_checkpoint, JBD2_CHECKPOINT, struct journal_s *from, j_fs_dev->bd_dev)

/* The lock was free. */
SEC("tp_btf/xfs_buf_lock_done")
int BPF_PROG(xfs_buf_lock_done)
{
	struct task_note *note = note_of(bpf_get_current_task_btf());

	if (note && note->signal.mark == XFS_BUF_LOCK)
		note->signal.mark = NO_MARK;
	return 0;
}

SEC("tp_btf/xfs_inodegc_throttle")
int BPF_PROG(xfs_inodegc_throttle, struct xfs_mount *mount)
{
	struct task_note *note = announce(XFS_INODEGC_THROTTLE);

	if (note && mount)
		note->signal.detail.word[0] = mount->m_super->s_dev;
	return 0;
}

/* The mark stays until the lock is acquired, over any number of sleeps. */
SEC("tp_btf/contention_begin")
int BPF_PROG(contention_begin, void *lock, unsigned int flags)
{
	struct task_note *note;

	if (flags & LOCK_SPINS)
		return 0;
	note = current_note(bpf_get_current_task_btf());
	if (!note)
		return 0;
	if (!note->lock.flags)
		__sync_fetch_and_add(&waiting_locks, 1);
	note->lock.flags = flags | LOCKED;
	note->lock.address = (u64)lock;
	return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(contention_end)
{
	struct task_note *note;

	/* Spinning locks end here too, with the lock held. */
	if (!waiting_locks)
		return 0;
	note = note_of(bpf_get_current_task_btf());
	if (note && note->lock.flags)
		forget_lock(note);
	return 0;
}

static __always_inline int announce_dirty(struct bdi_writeback *wb, long pause, const u64 pages[WORDS])
{
	struct task_note *note;
	u32 at;

	if (pause <= 0)
		return 0;
	note = announce(BALANCE_DIRTY_PAGES);
	if (!note)
		return 0;
	for (at = 0; at < WORDS; at++)
		note->signal.detail.word[at] = pages[at];
	bpf_probe_read_kernel_str(note->signal.detail.name, NAME_BYTES, &wb->bdi->dev_name);
	return 0;
}

SEC("tp_btf/balance_dirty_pages")
int BPF_PROG(balance_dirty_pages, struct bdi_writeback *wb, struct dirty_throttle_control *control,
	     unsigned long dirty_ratelimit, unsigned long task_ratelimit, unsigned long dirtied, unsigned long period,
	     long pause)
{
	const u64 pages[WORDS] = {control->dirty, control->thresh, control->wb_dirty, control->wb_thresh, task_ratelimit};

	return announce_dirty(wb, pause, pages);
}

/* Before 6.15 or so the tracepoint gave the numbers themselves. */
SEC("tp_btf/balance_dirty_pages")
int BPF_PROG(balance_dirty_pages_12, struct bdi_writeback *wb, unsigned long thresh, unsigned long bg_thresh,
	     unsigned long dirty, unsigned long wb_thresh, unsigned long wb_dirty, unsigned long dirty_ratelimit,
	     unsigned long task_ratelimit, unsigned long dirtied, unsigned long period, long pause)
{
	const u64 pages[WORDS] = {dirty, thresh, wb_dirty, wb_thresh, task_ratelimit};

	return announce_dirty(wb, pause, pages);
}

SEC("tp_btf/folio_wait_writeback")
int BPF_PROG(folio_wait_writeback, void *folio, struct address_space *mapping)
{
	struct task_note *note = announce(FOLIO_WAIT_WRITEBACK);

	if (!note || !mapping)
		return 0;
	note->signal.detail.word[0] = mapping->host->i_sb->s_dev;
	note->signal.detail.word[1] = mapping->host->i_ino;
	return 0;
}
