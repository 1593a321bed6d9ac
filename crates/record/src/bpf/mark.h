/* Tracepoints that announce a wait: the task's next time off the CPU is that one. */
#pragma once

/* LCB_F_SPIN of <trace/events/lock.h> */
#define LOCK_SPINS 1

static __always_inline struct task_note *announce(u32 mark)
{
	struct task_note *note = current_note(bpf_get_current_task_btf());

	if (note) {
		note->mark = mark;
		note->mark_ns = bpf_ktime_get_ns();
		__builtin_memset(&note->detail, 0, sizeof(note->detail));
	}
	return note;
}

static __always_inline int announce_on(u32 mark, struct super_block *super)
{
	struct task_note *note = announce(mark);

	if (note)
		note->detail.word[0] = super->s_dev;
	return 0;
}

/* It stays until the lock is had, over any number of sleeps. */
SEC("tp_btf/contention_begin")
int BPF_PROG(contention_begin, void *lock, unsigned int flags)
{
	struct task_note *note;

	if (flags & LOCK_SPINS)
		return 0;
	note = current_note(bpf_get_current_task_btf());
	if (!note)
		return 0;
	if (!note->lock)
		__sync_fetch_and_add(&waiting_locks, 1);
	note->lock = flags | LOCKED;
	return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(contention_end)
{
	struct task_note *note;

	/* Spinning locks end like this, too, with the lock held. */
	if (!waiting_locks)
		return 0;
	note = note_of(bpf_get_current_task_btf());
	if (note && note->lock)
		forget_lock(note);
	return 0;
}

static __always_inline void name_bdi(struct task_note *note, struct bdi_writeback *wb)
{
	bpf_probe_read_kernel_str(note->detail.name, NAME_BYTES, &wb->bdi->dev_name);
}

SEC("tp_btf/balance_dirty_pages")
int BPF_PROG(balance_dirty_pages, struct bdi_writeback *wb, struct dirty_throttle_control *control,
	     unsigned long dirty_ratelimit, unsigned long task_ratelimit, unsigned long dirtied, unsigned long period,
	     long pause)
{
	struct task_note *note;

	if (pause <= 0)
		return 0;
	note = announce(BALANCE_DIRTY_PAGES);
	if (!note)
		return 0;
	note->detail.word[0] = control->dirty;
	note->detail.word[1] = control->thresh;
	note->detail.word[2] = control->wb_dirty;
	note->detail.word[3] = control->wb_thresh;
	note->detail.word[4] = task_ratelimit;
	name_bdi(note, wb);
	return 0;
}

/* As it was before 6.15 or so: the numbers themselves. */
SEC("tp_btf/balance_dirty_pages")
int BPF_PROG(balance_dirty_pages_12, struct bdi_writeback *wb, unsigned long thresh, unsigned long bg_thresh,
	     unsigned long dirty, unsigned long wb_thresh, unsigned long wb_dirty, unsigned long dirty_ratelimit,
	     unsigned long task_ratelimit, unsigned long dirtied, unsigned long period, long pause)
{
	struct task_note *note;

	if (pause <= 0)
		return 0;
	note = announce(BALANCE_DIRTY_PAGES);
	if (!note)
		return 0;
	note->detail.word[0] = dirty;
	note->detail.word[1] = thresh;
	note->detail.word[2] = wb_dirty;
	note->detail.word[3] = wb_thresh;
	note->detail.word[4] = task_ratelimit;
	name_bdi(note, wb);
	return 0;
}

SEC("tp_btf/folio_wait_writeback")
int BPF_PROG(folio_wait_writeback, void *folio, struct address_space *mapping)
{
	struct task_note *note = announce(FOLIO_WAIT_WRITEBACK);

	if (!note || !mapping)
		return 0;
	note->detail.word[0] = mapping->host->i_sb->s_dev;
	note->detail.word[1] = mapping->host->i_ino;
	return 0;
}

SEC("tp_btf/xfs_log_grant_sleep")
int BPF_PROG(xfs_log_grant_sleep, struct xlog *log)
{
	return announce_on(XFS_LOG_GRANT_SLEEP, log->l_mp->m_super);
}

SEC("tp_btf/xlog_iclog_wait_on")
int BPF_PROG(xlog_iclog_wait_on, struct xlog_in_core *iclog)
{
	return announce_on(XLOG_ICLOG_WAIT_ON, iclog->ic_log->l_mp->m_super);
}

SEC("tp_btf/xfs_log_cil_wait")
int BPF_PROG(xfs_log_cil_wait, struct xlog *log)
{
	return announce_on(XFS_LOG_CIL_WAIT, log->l_mp->m_super);
}

SEC("tp_btf/xfs_buf_iowait")
int BPF_PROG(xfs_buf_iowait, struct xfs_buf *buffer)
{
	return announce_on(XFS_BUF_IOWAIT, buffer->b_mount->m_super);
}

SEC("tp_btf/xfs_buf_lock")
int BPF_PROG(xfs_buf_lock, struct xfs_buf *buffer)
{
	return announce_on(XFS_BUF_LOCK, buffer->b_mount->m_super);
}

/* Nobody else had it. */
SEC("tp_btf/xfs_buf_lock_done")
int BPF_PROG(xfs_buf_lock_done)
{
	struct task_note *note = note_of(bpf_get_current_task_btf());

	if (note && note->mark == XFS_BUF_LOCK)
		note->mark = NO_MARK;
	return 0;
}

SEC("tp_btf/xfs_inodegc_throttle")
int BPF_PROG(xfs_inodegc_throttle, struct xfs_mount *mount)
{
	return mount ? announce_on(XFS_INODEGC_THROTTLE, mount->m_super) : 0;
}

SEC("tp_btf/xfs_log_force")
int BPF_PROG(xfs_log_force, struct xfs_mount *mount)
{
	return announce_on(XFS_LOG_FORCE, mount->m_super);
}

SEC("tp_btf/jbd2_checkpoint")
int BPF_PROG(jbd2_checkpoint, struct journal_s *journal)
{
	struct task_note *note = announce(JBD2_CHECKPOINT);

	if (note)
		note->detail.word[0] = journal->j_fs_dev->bd_dev;
	return 0;
}
