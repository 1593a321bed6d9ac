/* Who used the devices and CPUs, and how much: sums that the tracer takes twice a second. */
#pragma once

#include "bpf.h"
#include "event.h"
#include "request/owner.h"
#include "request/table.h"
#include "request/traffic.h"
#include "task/task.h"
#include "task/usage_table.h"

#define EXITED 4096
/* Shorter runs on a CPU are not attributed to a process: their sum is small, and there are many. */
#define SHORT_RUN_NS 100000ull

struct exited_task {
	u64 began_ns;
	u64 ended_ns;
	u32 pid;
	u32 parent;
	char comm[NAME_BYTES];
};

/* Tasks that exited, by thread id: /proc has no name of them, and they used nothing before and after. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, EXITED);
	__type(key, u32);
	__type(value, struct exited_task);
} exited SEC(".maps");

static __always_inline void remember_exited(struct task_struct *task)
{
	struct exited_task exiting = {.pid = task->tgid, .began_ns = task->start_time, .ended_ns = bpf_ktime_get_ns()};
	u32 tid = task->pid;

	exiting.parent = BPF_CORE_READ(task, real_parent, tgid);
	bpf_get_current_comm(exiting.comm, NAME_BYTES);
	bpf_map_update_elem(&exited, &tid, &exiting, BPF_ANY);
}

__noinline int use_cpu(u32 cpu, u32 pid, u64 ns)
{
	struct usage_key key = {.target = cpu, .tid = pid, .use = CPU_TIME};
	struct usage more = {.count = 1, .busy_ns = ns};

	add_usage(&key, &more);
	return 0;
}

/* A handle was stopped: the blocks that its task added to the journal. */
SEC("tp_btf/jbd2_handle_stats")
int BPF_PROG(jbd2_handle_stats, u32 device, u32 transaction, u32 type, u32 line, int interval, int sync, int requested,
	     int dirtied)
{
	struct usage_key key = {.target = device, .use = JOURNAL_USE};
	struct usage more = {.count = dirtied};

	if (dirtied <= 0)
		return 0;
	key.tid = bpf_get_current_pid_tgid() >> 32;
	add_usage(&key, &more);
	return 0;
}

#define LOG_UNIT 512

/* A transaction of XFS, or one of several parts of it, ends: what it took of its reservation is in the log, or will be.
 * Kernel threads write into the log what tasks took before. */
static __always_inline int use_log(struct xlog *log, struct xlog_ticket *ticket)
{
	struct usage_key key = {.use = JOURNAL_USE};
	struct usage more = {};
	int used;

	if (!log || !ticket || bpf_get_current_task_btf()->flags & PF_KTHREAD)
		return 0;
	used = ticket->t_unit_res - ticket->t_curr_res;
	if (used <= 0)
		return 0;
	key.target = log->l_mp->m_super->s_dev;
	key.tid = bpf_get_current_pid_tgid() >> 32;
	more.count = (u32)(used + LOG_UNIT - 1) / LOG_UNIT;
	add_usage(&key, &more);
	return 0;
}

SEC("tp_btf/xfs_log_ticket_ungrant")
int BPF_PROG(xfs_log_ticket_ungrant, struct xlog *log, struct xlog_ticket *ticket)
{
	return use_log(log, ticket);
}

SEC("tp_btf/xfs_log_ticket_regrant")
int BPF_PROG(xfs_log_ticket_regrant, struct xlog *log, struct xlog_ticket *ticket)
{
	return use_log(log, ticket);
}

/* A clean inode becomes dirty: rare beside the pages that become dirty. */
SEC("tp_btf/writeback_dirty_inode_enqueue")
int BPF_PROG(dirty_inode, struct inode *inode)
{
	struct usage_key key = {.use = INODE_USE};
	struct usage more = {.count = 1};

	note_dirtier(inode);
	key.tid = bpf_get_current_pid_tgid() >> 32;
	add_usage(&key, &more);
	return 0;
}

/* A file's times or size change: an inode that is written to without a pause is never clean, and may have been dirty
 * before the recording. Pages that become dirty do not get here. */
SEC("tp_btf/writeback_dirty_inode_start")
int BPF_PROG(changed_inode, struct inode *inode)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	u64 key = (u64)inode;
	u32 *known = bpf_map_lookup_elem(&dirtiers, &key);

	if (!known || *known != tid)
		note_dirtier(inode);
	return 0;
}

/* A write from the page cache, perhaps of pages that another task made dirty: that of a sync, or before a direct read
 * or a truncate. */
static __always_inline int writes_pages(struct request_note *note)
{
	return (note->flags & OPERATION) == WRITE && !(note->flags & IDLE);
}

/* A shorter time without a completion is that of the request that ends it. */
#define BATCH_NS 100000ull
/* What a request costs beside its bytes, in KiB. */
#define REQUEST_KIB 16

/* Divides the time before a batch among its requests, in proportion to what each cost. The first one had it until now.
 */
__noinline int settle(struct batch *batch, u32 device)
{
	struct usage_key key = {.target = device};
	struct usage more = {};
	u32 at, count, weight;

	if (!batch)
		return 0;
	count = __sync_lock_test_and_set(&batch->count, 0);
	weight = batch->weight;
	if (count < 2 || !weight)
		return 0;
	for (at = 0; at < MEMBERS && at < count; at++) {
		key.cgroup = batch->members[at].cgroup;
		key.tid = batch->members[at].tid;
		key.use = batch->members[at].use;
		more.busy_ns = batch->busy_ns * batch->members[at].weight / weight;
		if (!at)
			more.busy_ns -= batch->busy_ns;
		add_usage(&key, &more);
	}
	return 0;
}

/* Adds a request to the batch that it ends or belongs to. Those of one task are one member, and what finds no place has
 * no part. */
__noinline int join(struct batch *batch, struct usage_key *key, u32 weight)
{
	u32 at;

	if (!batch || !key)
		return 0;
	for (at = 0; at < MEMBERS && at < batch->count; at++)
		if (batch->members[at].tid == key->tid && batch->members[at].use == key->use &&
		    batch->members[at].cgroup == key->cgroup)
			break;
	if (at >= MEMBERS)
		return 0;
	if (at == batch->count) {
		batch->members[at].cgroup = key->cgroup;
		batch->members[at].tid = key->tid;
		batch->members[at].use = key->use;
		batch->members[at].weight = 0;
		batch->count = at + 1;
	}
	batch->members[at].weight += weight;
	batch->weight += weight;
	return 0;
}

/* Limits, and disks, complete several requests at once. Without this the first one would have the time before, which is
 * mostly one of the same task. */
static __always_inline void share_batch(struct batch *batch, struct usage_key *key, struct usage *more, u64 issued,
		u64 now)
{
	if (more->busy_ns >= BATCH_NS) {
		settle(batch, key->target);
		batch->busy_ns = more->busy_ns;
		batch->done_ns = now;
		batch->weight = 0;
	} else if (!batch->busy_ns || issued + batch->busy_ns > batch->done_ns) {
		/* The device did not work on it for all of that time. */
		return;
	}
	join(batch, key, (more->bytes >> 10) + REQUEST_KIB);
}

/* A completed request. */
static __always_inline void use_device(struct request_note *note, struct device *device, u64 cgroup, u64 busy_ns,
				       u32 by_worker)
{
	struct usage more = {.count = 1, .busy_ns = busy_ns};
	u32 operation = note->flags & OPERATION;
	struct usage_key key = {.cgroup = cgroup};

	key.target = note->device;
	key.use = operation == 0 ? READ_USE : operation == WRITE ? WRITE_USE : OTHER_USE;
	key.tid = by_worker || note->flags & METADATA || writes_pages(note) ? owner_of(note->key) : note->tid;
	if (key.tid == OF_ALL)
		key.use = METADATA_USE;
	if (key.tid == OF_EARLIER && by_worker)
		key.tid = 0;
	else if (!key.tid || key.tid >= OF_EARLIER)
		key.tid = note->tid;
	more.bytes = note->bytes;
	more.throttled = note->throttled;
	if (device)
		share_batch(&device->batch, &key, &more, note->issued_ns, note->completed_ns);
	add_usage_here(&key, &more);
}

/* The time that a device worked on a request: since its issue, or since the device completed another request, if that
 * was later. Over all requests this sums to the time in which the device was busy, however many it had in flight. */
static __always_inline void use_of(struct slot *slot, struct request_note *note, struct device *device,
		struct view *view)
{
	u64 from = note->issued_ns ? note->issued_ns : note->got_ns, now = view->now_ns;

	if (device) {
		if (device->last_done_ns > from)
			from = device->last_done_ns;
		device->last_done_ns = now;
	}
	use_device(note, device, view->cgroup, from && now > from ? now - from : 0, slot->by_worker);
}

/* --- What each process read, made dirty, and has in memory: its own sums; the tracer compares them with the last. ---
 */

struct task_usage {
	u32 pid;
	u32 tid;
	u64 start_ns;
	u64 read_bytes;
	u64 written_bytes;	/* made dirty in the page cache, or written by direct I/O */
	s64 pages;		/* anonymous and shared memory, of the process */
	char comm[NAME_BYTES];
	u32 parent;
	u32 unused;
};

#define ANONYMOUS_PAGES 1
#define SHARED_PAGES 3

static __always_inline s64 pages_of(struct mm_struct *mm)
{
	struct mm_struct___atomic *atomic = (struct mm_struct___atomic *)mm;

	if (bpf_core_field_exists(atomic->rss_stat.count)) {
		CHECKED();
		return BPF_CORE_READ(atomic, rss_stat.count[ANONYMOUS_PAGES].counter) +
		       BPF_CORE_READ(atomic, rss_stat.count[SHARED_PAGES].counter);
	}
	if (bpf_core_field_exists(mm->rss_stat)) {
		CHECKED();
		return BPF_CORE_READ(mm, rss_stat[ANONYMOUS_PAGES].count) + BPF_CORE_READ(mm, rss_stat[SHARED_PAGES].count);
	}
	return 0;
}

SEC("iter/task")
int look_at_usage(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct task_usage usage = {};

	/* Kernel threads act for others. The recorder counts as any other. */
	if (!task || !task->mm)
		return 0;
	usage.pid = task->tgid;
	usage.tid = task->pid;
	usage.start_ns = BPF_CORE_READ(task, start_time);
	usage.parent = BPF_CORE_READ(task, real_parent, tgid);
	if (bpf_core_field_exists(task->ioac.read_bytes)) {
		CHECKED();
		usage.read_bytes = BPF_CORE_READ(task, ioac.read_bytes);
		usage.written_bytes = BPF_CORE_READ(task, ioac.write_bytes);
	}
	if (usage.pid == usage.tid)
		usage.pages = pages_of(task->mm);
	bpf_probe_read_kernel_str(usage.comm, NAME_BYTES, &task->comm);
	bpf_seq_write(context->meta->seq, &usage, sizeof(usage));
	return 0;
}
