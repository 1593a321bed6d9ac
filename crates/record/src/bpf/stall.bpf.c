// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Finds what tasks wait for. Pairing and filtering happen here; only what lasts goes through the ring, and short waits
 * of one task are summed up over a tenth of a second. */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "event.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define CALLS 512
/* Short waits are told in sums over at least this long, where they come to a 64th of it. */
#define GATHER_NS 100000000ull
/* A completion wakes the waiting task at once: what the same context wakes later has another reason. */
#define WAKE_WINDOW_NS 100000ull

/* How a system call names its file. */
enum names_file { NO_CALL = 0, BY_NOTHING = 1, BY_FD = 2, BY_FIRST = 3, BY_SECOND = 4 };

struct settings {
	u64 slow_ns;		/* system calls and requests from here on */
	u64 interval_ns;	/* waits from here on are told one by one */
	u64 throttle_function;	/* address of blk_throtl_dispatch_work_fn; 0: unknown */
	u32 recorder;		/* our own process: not traced; its children are watched closely */
	u32 pad;
	u8 calls[CALLS];	/* enum names_file by number of system call */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct settings);
} settings SEC(".maps");

/* Events that did not fit the ring, by kind. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KINDS);
	__type(key, u32);
	__type(value, u64);
} lost SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} ring SEC(".maps");

struct gathered {
	u64 since_ns;
	u64 until_ns;
	u64 sum_ns;
	u64 count;
};

/* What is known of a task. */
struct task_note {
	u64 entered_ns;
	u64 first, second;
	s32 call;		/* number + 1; 0: in none that is traced */
	u32 watched;
	u64 out_ns;
	u64 woken_ns;
	u32 out_state;
	u32 waker_tid;
	char waker[NAME_BYTES];
	struct request_note request;
	u64 reclaim_ns;
	struct gathered gathered[4];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_note);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct request_note);
} requests SEC(".maps");

/* The request that this CPU completed last, and in the context of which task. */
struct completing {
	u64 tid;
	struct request_note request;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct completing);
} completing SEC(".maps");

static __always_inline struct settings *get_settings(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&settings, &zero);
}

/* An event with `bytes` of room, or 0 after the loss was counted. */
static __always_inline struct event *begin_event(u32 kind, const u64 bytes)
{
	struct event *event = bpf_ringbuf_reserve(&ring, bytes, 0);
	u64 *count;

	if (event) {
		__builtin_memset(event, 0, __builtin_offsetof(struct event, stack));
		event->kind = kind;
		event->call = -1;
		return event;
	}
	count = bpf_map_lookup_elem(&lost, &kind);
	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

#define WHOLE sizeof(struct event)
#define BARE __builtin_offsetof(struct event, stack)

static __always_inline void name_task(struct event *event, struct task_struct *task)
{
	event->tid = BPF_CORE_READ(task, pid);
	event->pid = BPF_CORE_READ(task, tgid);
	bpf_probe_read_kernel_str(event->comm, NAME_BYTES, &task->comm);
}

static __always_inline u32 state_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return BPF_CORE_READ(task, __state);
	return BPF_CORE_READ((struct task_struct___old *)task, state);
}

static __always_inline struct file *file_of(struct task_struct *task, u64 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd);
	struct file *file = 0;

	if (fd < BPF_CORE_READ(table, max_fds))
		bpf_probe_read_kernel(&file, sizeof(file), files + fd);
	return file;
}

/* Regular files, directories and block devices: what can stall on storage. */
static __always_inline int is_storage(struct file *file)
{
	u16 type = BPF_CORE_READ(file, f_inode, i_mode) & 0170000;

	return type == 0100000 || type == 0040000 || type == 0060000;
}

/* --- Short waits, summed up. `kind`: SHORT_SLEEPS ... SHORT_REQUEST_WAITS. --- */

static __always_inline void tell_gathered(struct task_struct *task, struct task_note *note, u32 kind, int with_stack)
{
	struct gathered *gathered = &note->gathered[kind - SHORT_SLEEPS];
	struct event *event;

	if (gathered->sum_ns && gathered->sum_ns >= (gathered->until_ns - gathered->since_ns) >> 6) {
		event = begin_event(kind, WHOLE);
		if (event) {
			name_task(event, task);
			event->start_ns = gathered->since_ns;
			event->end_ns = gathered->until_ns;
			event->busy_ns = gathered->sum_ns;
			event->count = gathered->count;
			event->call = note->call - 1;
			if (with_stack) {
				long bytes = bpf_get_task_stack(task, event->stack, sizeof(event->stack), 0);

				event->frames = bytes > 0 ? (u64)bytes / 8 : 0;
			}
			if (kind == SHORT_REQUEST_WAITS)
				event->request = note->request;
			bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
		}
	}
	gathered->sum_ns = 0;
	gathered->count = 0;
}

static __always_inline void gather(struct task_struct *task, struct task_note *note, u32 kind, u64 from_ns, u64 ns,
				   u64 now, int with_stack)
{
	struct gathered *gathered = &note->gathered[kind - SHORT_SLEEPS];

	if (!ns)
		return;
	if (gathered->count && from_ns - gathered->since_ns > GATHER_NS)
		tell_gathered(task, note, kind, with_stack);
	if (!gathered->count)
		gathered->since_ns = from_ns;
	gathered->until_ns = now;
	gathered->sum_ns += ns;
	gathered->count++;
}

static __always_inline void tell_all_gathered(struct task_struct *task, struct task_note *note)
{
	tell_gathered(task, note, SHORT_SLEEPS, 0);
	tell_gathered(task, note, SHORT_CPU_WAITS, 0);
	tell_gathered(task, note, SHORT_RECLAIMS, 0);
	tell_gathered(task, note, SHORT_REQUEST_WAITS, 0);
}

/* --- Off the CPU --- */

static __always_inline int is_of_interest(struct task_struct *task, struct task_note *note)
{
	if (note->watched)
		return 1;
	if ((note->out_state & TASK_UNINTERRUPTIBLE) && !(note->out_state & TASK_NOLOAD))
		return 1;
	return note->call != 0;
}

static __always_inline void left_cpu(struct task_struct *task, struct settings *set, u32 preempted, u64 now)
{
	struct task_note *note;

	if (!BPF_CORE_READ(task, pid) || BPF_CORE_READ(task, tgid) == set->recorder)
		return;
	note = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!note)
		return;
	note->watched = BPF_CORE_READ(task, real_parent, tgid) == set->recorder;
	note->out_ns = now;
	note->out_state = preempted ? 0 : state_of(task);
	note->woken_ns = 0;
	note->waker_tid = 0;
	note->waker[0] = 0;
	note->request.key = 0;
}

static __always_inline void tell_off_cpu(struct task_struct *task, struct task_note *note, u64 now)
{
	struct event *event = begin_event(OFF_CPU, WHOLE);
	long bytes;

	if (!event)
		return;
	name_task(event, task);
	event->state = note->out_state;
	event->start_ns = note->out_ns;
	event->end_ns = now;
	event->busy_ns = now - note->out_ns;
	event->woken_ns = note->woken_ns;
	event->count = 1;
	event->call = note->call - 1;
	event->argument = note->first;
	event->waker_tid = note->waker_tid;
	__builtin_memcpy(event->waker, note->waker, NAME_BYTES);
	if (note->request.key)
		event->request = note->request;
	bytes = bpf_get_task_stack(task, event->stack, sizeof(event->stack), 0);
	event->frames = bytes > 0 ? (u64)bytes / 8 : 0;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

static __always_inline void came_to_cpu(struct task_struct *task, struct settings *set, u64 now)
{
	struct task_note *note = bpf_task_storage_get(&tasks, task, 0, 0);
	u64 runnable_ns = now, out_ns;

	if (!note || !note->out_ns)
		return;
	out_ns = note->out_ns;
	note->out_ns = 0;
	if (!is_of_interest(task, note))
		return;
	if (now - out_ns >= set->interval_ns) {
		note->out_ns = out_ns;
		tell_off_cpu(task, note, now);
		note->out_ns = 0;
		return;
	}
	/* Inside of reclaim the reclaim is what is told. */
	if (note->reclaim_ns)
		return;
	if (!note->out_state)
		runnable_ns = out_ns;
	else if (note->woken_ns > out_ns)
		runnable_ns = note->woken_ns;
	gather(task, note, SHORT_CPU_WAITS, runnable_ns, now - runnable_ns, now, 0);
	if (note->request.key)
		gather(task, note, SHORT_REQUEST_WAITS, out_ns, runnable_ns - out_ns, now, 0);
	else
		gather(task, note, SHORT_SLEEPS, out_ns, runnable_ns - out_ns, now, 1);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct settings *set = get_settings();
	u64 now = bpf_ktime_get_ns();

	if (!set)
		return 0;
	left_cpu(prev, set, preempt, now);
	came_to_cpu(next, set, now);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(sched_waking, struct task_struct *task)
{
	struct task_note *note = bpf_task_storage_get(&tasks, task, 0, 0);
	struct completing *done;
	u32 zero = 0, tid;
	u64 now;

	if (!note || !note->out_ns || note->woken_ns)
		return 0;
	now = bpf_ktime_get_ns();
	tid = bpf_get_current_pid_tgid();
	note->woken_ns = now;
	note->waker_tid = tid;
	bpf_get_current_comm(note->waker, NAME_BYTES);
	done = bpf_map_lookup_elem(&completing, &zero);
	if (done && done->tid == tid && now - done->request.completed_ns < WAKE_WINDOW_NS)
		note->request = done->request;
	return 0;
}

/* --- System calls --- */

SEC("tp_btf/sys_enter")
int BPF_PROG(sys_enter, struct pt_regs *regs, long id)
{
	struct settings *set = get_settings();
	struct task_struct *task;
	struct task_note *note;

	if (!set || (u64)id >= CALLS || !set->calls[id])
		return 0;
	task = bpf_get_current_task_btf();
	note = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!note)
		return 0;
	note->entered_ns = bpf_ktime_get_ns();
	note->call = id + 1;
	note->first = FIRST_ARGUMENT(regs);
	note->second = SECOND_ARGUMENT(regs);
	return 0;
}

static __always_inline void tell_call(struct task_struct *task, struct task_note *note, u32 names, long result,
				      u64 now)
{
	struct file *file = names == BY_FD ? file_of(task, note->first) : 0;
	const unsigned char *name;
	struct event *event;

	if (names == BY_FD && (!file || !is_storage(file)))
		return;
	event = begin_event(SYSTEM_CALL, WHOLE);
	if (!event)
		return;
	name_task(event, task);
	event->start_ns = note->entered_ns;
	event->end_ns = now;
	event->busy_ns = now - note->entered_ns;
	event->count = 1;
	event->call = note->call - 1;
	event->result = result;
	event->argument = note->first;
	event->path[0] = 0;
	if (file) {
		name = BPF_CORE_READ(file, f_path.dentry, d_name.name);
		bpf_probe_read_kernel_str(event->path, sizeof(event->path), name);
	} else if (names == BY_FIRST) {
		bpf_probe_read_user_str(event->path, sizeof(event->path), (void *)note->first);
	} else if (names == BY_SECOND) {
		bpf_probe_read_user_str(event->path, sizeof(event->path), (void *)note->second);
	}
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sys_exit, struct pt_regs *regs, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_note *note = bpf_task_storage_get(&tasks, task, 0, 0);
	struct settings *set;
	u32 call;
	u64 now;

	if (!note || !note->call)
		return 0;
	set = get_settings();
	now = bpf_ktime_get_ns();
	call = note->call - 1;
	if (set && now - note->entered_ns >= set->slow_ns) {
		tell_all_gathered(task, note);
		/* The mask is for the verifier: sys_enter let no larger number in. */
		tell_call(task, note, set->calls[call & (CALLS - 1)], result, now);
	}
	note->call = 0;
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(sched_process_exit, struct task_struct *task)
{
	struct task_note *note = bpf_task_storage_get(&tasks, task, 0, 0);

	if (note)
		tell_all_gathered(task, note);
	return 0;
}

/* --- Reclaim --- */

static __always_inline int reclaim_begins(void)
{
	struct task_note *note =
		bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (note)
		note->reclaim_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int reclaim_ends(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_note *note = bpf_task_storage_get(&tasks, task, 0, 0);
	struct settings *set = get_settings();
	struct event *event;
	u64 now, since;

	if (!note || !set || !note->reclaim_ns)
		return 0;
	now = bpf_ktime_get_ns();
	since = note->reclaim_ns;
	note->reclaim_ns = 0;
	if (now - since < set->interval_ns) {
		gather(task, note, SHORT_RECLAIMS, since, now - since, now, 0);
		return 0;
	}
	event = begin_event(RECLAIM, BARE);
	if (!event)
		return 0;
	name_task(event, task);
	event->start_ns = since;
	event->end_ns = now;
	event->busy_ns = now - since;
	event->count = 1;
	event->call = note->call - 1;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(direct_reclaim_begin)
{
	return reclaim_begins();
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(direct_reclaim_end)
{
	return reclaim_ends();
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(memcg_reclaim_begin)
{
	return reclaim_begins();
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(memcg_reclaim_end)
{
	return reclaim_ends();
}

SEC("tp_btf/mm_vmscan_throttled")
int BPF_PROG(vmscan_throttled, int node, int planned_us, int delayed_us, int reason)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct settings *set = get_settings();
	struct event *event;
	u64 now = bpf_ktime_get_ns(), ns = (u64)(u32)delayed_us * 1000;

	/* kswapd's own waits stall nobody by themselves. */
	if (!set || ns < set->interval_ns || (BPF_CORE_READ(task, flags) & PF_KTHREAD))
		return 0;
	event = begin_event(RECLAIM_THROTTLE, BARE);
	if (!event)
		return 0;
	name_task(event, task);
	event->start_ns = now - ns;
	event->end_ns = now;
	event->busy_ns = ns;
	event->count = 1;
	event->argument = reason;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 0;
}

/* --- Block requests --- */

/* Whether this is the worker that lets go of what a blkio or io controller limit held back. */
static __always_inline int is_throttle_worker(struct settings *set)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct kthread *thread;
	struct worker *worker;

	if (!set->throttle_function || !(task->flags & PF_WQ_WORKER))
		return 0;
	thread = BPF_CORE_READ(task, worker_private);
	worker = BPF_CORE_READ(thread, data);
	return (u64)BPF_CORE_READ(worker, current_func) == set->throttle_function;
}

static __always_inline int enters_queue(struct request *request, int issued)
{
	struct request_note fresh = {}, *note;
	u64 key = (u64)request, now = bpf_ktime_get_ns();
	struct settings *set = get_settings();

	note = bpf_map_lookup_elem(&requests, &key);
	if (note && issued) {
		note->issued_ns = now;
		return 0;
	}
	fresh.key = key;
	fresh.tid = bpf_get_current_pid_tgid();
	fresh.throttled = set && is_throttle_worker(set);
	if (issued)
		fresh.issued_ns = now;
	else
		fresh.inserted_ns = now;
	bpf_map_update_elem(&requests, &key, &fresh, BPF_ANY);
	return 0;
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(block_insert, struct request *request)
{
	return enters_queue(request, 0);
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(block_issue, struct request *request)
{
	return enters_queue(request, 1);
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(block_complete, struct request *request, int status, unsigned int bytes)
{
	struct request_note *note;
	struct completing *done;
	struct settings *set;
	struct event *event;
	struct gendisk *disk;
	u64 key = (u64)request, now, began;
	u32 zero = 0;

	note = bpf_map_lookup_elem(&requests, &key);
	if (!note)
		return 0;
	done = bpf_map_lookup_elem(&completing, &zero);
	set = get_settings();
	if (!done || !set)
		return 0;
	now = bpf_ktime_get_ns();
	note->completed_ns = now;
	note->sector = BPF_CORE_READ(request, __sector);
	note->bytes = bytes;
	note->flags = BPF_CORE_READ(request, cmd_flags);
	disk = BPF_CORE_READ(request, q, disk);
	note->device = disk ? BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor) : 0;
	done->tid = (u32)bpf_get_current_pid_tgid();
	done->request = *note;
	began = note->inserted_ns ? note->inserted_ns : note->issued_ns;
	if (began && now - began >= set->slow_ns) {
		event = begin_event(REQUEST, BARE);
		if (event) {
			event->tid = note->tid;
			event->start_ns = began;
			event->end_ns = now;
			event->busy_ns = now - began;
			event->count = 1;
			event->request = *note;
			bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
		}
	}
	bpf_map_delete_elem(&requests, &key);
	return 0;
}
