/* The state of each thread before Linux 5.17: by thread id, since programs like these cannot store it with the task. */
#pragma once

#include "bpf.h"
#include "event.h"
#include "ring.h"

/* Short waits are emitted as sums over at least this time, if they come to a 64th of it. */
#define GATHER_NS 100000000ull
#define THREADS 16384

enum short_wait {
	SLEEP = 0,
	CPU_WAIT = 1,
	REQUEST_WAIT = 2,
	SHORT_WAITS = 3,
};

struct gathered {
	u64 since_ns;
	u64 until_ns;
	u64 sum_ns;
	u64 count;
};

struct thread {
	u64 out_ns;
	u64 woken_ns;
	u32 out_state;
	s32 call;		/* number + 1; 0: in no timed call */
	u32 watched;
	u32 waited;		/* in this call, for storage */
	u64 entered_ns, first, second;
	u64 stopped_ns;		/* in this call */
	u32 waker_tid;
	u32 waker_pid;
	u32 waker_frames;
	u32 held;		/* by the CPU quota of its cgroup, since it is runnable */
	struct gathered gathered[SHORT_WAITS];
	struct request_note request;	/* whose completion woke it */
	char waker[NAME_BYTES];
	u64 waker_stack[WAKER_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, THREADS);
	__type(key, u32);
	__type(value, struct thread);
} threads SEC(".maps");

/* What a new thread begins with: too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct thread);
} fresh SEC(".maps");

/* Waits and calls that had begun before the recording are taken to begin then. */
u64 began_ns SEC(".data.began") = 0;

static __always_inline struct thread *thread_of(u32 tid)
{
	return bpf_map_lookup_elem(&threads, &tid);
}

static __always_inline struct thread *new_thread_of(u32 tid)
{
	struct thread *thread = thread_of(tid), *empty;
	u32 zero = 0;

	if (thread)
		return thread;
	empty = bpf_map_lookup_elem(&fresh, &zero);
	if (empty)
		bpf_map_update_elem(&threads, &tid, empty, BPF_ANY);
	thread = thread_of(tid);
	if (!thread)
		count_loss(TASK_NOTES);
	return thread;
}

static __always_inline void describe(struct event *event, struct thread *thread, u64 from, u64 until)
{
	event->start_ns = from;
	event->end_ns = until;
	event->busy_ns = until - from;
	event->call = thread->call - 1;
	if (thread->watched)
		event->flags |= WATCHED;
	if (thread->call && thread->entered_ns == began_ns)
		event->flags |= CALL_CUT;
}

static __always_inline void describe_task(struct event *event, struct task_struct *task)
{
	event->tid = task->pid;
	event->pid = task->tgid;
	bpf_probe_read_kernel_str(event->comm, NAME_BYTES, &task->comm);
}

static __always_inline void describe_current(struct event *event)
{
	u64 id = bpf_get_current_pid_tgid();

	event->tid = id;
	event->pid = id >> 32;
	bpf_get_current_comm(event->comm, NAME_BYTES);
}

/* `task`: 0 for the running one, whose sum has no stack. */
static __always_inline void emit_gathered(struct thread *thread, u32 wait, struct task_struct *task)
{
	struct gathered *gathered = &thread->gathered[wait];
	struct event *event;
	long bytes;

	if (gathered->sum_ns && gathered->sum_ns >= (gathered->until_ns - gathered->since_ns) >> 6) {
		event = begin_event(SHORT_SLEEPS + wait, WITH_STACK);
		if (event) {
			describe(event, thread, gathered->since_ns, gathered->until_ns);
			event->busy_ns = gathered->sum_ns;
			event->count = gathered->count;
			if (wait == REQUEST_WAIT)
				event->request = thread->request;
			if (task) {
				describe_task(event, task);
				bytes = bpf_get_task_stack(task, event->stack, sizeof(event->stack), 0);
				event->frames = bytes > 0 ? (u64)bytes / 8 : 0;
			} else {
				describe_current(event);
			}
			end_event(event);
		}
	}
	gathered->sum_ns = 0;
	gathered->count = 0;
}

static __always_inline void gather(struct thread *thread, u32 wait, struct task_struct *task, u64 from_ns, u64 ns,
		u64 now)
{
	struct gathered *gathered = &thread->gathered[wait];

	if (!ns)
		return;
	if (gathered->count && from_ns - gathered->since_ns > GATHER_NS)
		emit_gathered(thread, wait, task);
	if (!gathered->count)
		gathered->since_ns = from_ns;
	gathered->until_ns = now;
	gathered->sum_ns += ns;
	gathered->count++;
}
