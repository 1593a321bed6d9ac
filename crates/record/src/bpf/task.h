/* The state of each task, and sums of short waits. */
#pragma once

#include "bpf.h"
#include "event.h"
#include "model.h"
#include "ring.h"
#include "settings.h"
#include "task_state.h"

/* Short waits are emitted as sums over at least this time, if they come to a 64th of it. */
#define GATHER_NS 100000000ull
#define SUMS (SHORT_REQUEST_WAITS - SHORT_SLEEPS + 1)

struct gathered {
	u64 since_ns;
	u64 until_ns;
	u64 sum_ns;
	u64 count;
};

/* Who held a lock when the task went to sleep for it. */
struct holder {
	u64 lock;
	u32 tid;
	u32 pid;
	u32 is_hint;
	u32 was_tried;		/* the task did not wait for the lock: it sleeps before it tries again */
	char comm[NAME_BYTES];
};

/* Pipes and socket pairs of which a task knows that it asked by them. */
#define ASKED_PAIRS 4

/* Fields that each context switch reads come first. */
struct task_note {
	u64 out_ns;
	u64 woken_ns;
	u32 out_state;
	u32 out_cpu;
	s32 call;		/* number + 1; 0: in no followed call */
	u32 adopted;		/* enum adopted: why the call's end is looked for at each system call */
	u32 watched;
	u32 serves;		/* a FUSE server */
	u32 served;		/* by one, outside of system calls: a page fault, a loop device's worker */
	u32 spans;		/* bits of the spans that the task is in */
	u32 mark;		/* announces the next wait, */
	u32 lock;		/* flags of contention_begin + LOCKED; 0: waits for no lock */
	u32 out_mark;
	u32 waker_frames;
	u32 awaits;		/* enum awaits of the wait that ends now */
	u32 held;		/* by the CPU quota of its cgroup, since it is runnable */
	u32 asked_pairs;	/* how often it sent something through a pipe or socket pair, and received nothing since */
	u32 answers;		/* it has answered a client: others may wait for it */
	u32 is_left;		/* its client has gone, and it received nothing since: it gives back what that client had */
	u64 asked;		/* client sockets on which it sent a request and received nothing since: bits, by descriptor */
	u64 answered;		/* those on which it received something since */
	u64 asked_ns;		/* its last request */
	u64 asked_by;		/* the connection of that: `connection_at`; 0: none */
	u64 met;		/* client sockets that it has connected, and through which nothing came or went since: bits, by descriptor */
	u64 met_by;		/* the connection of the last one */
	u64 met_ns;		/* when it was connected */
	u64 sent_ns;		/* the end of its last call that sent something */
	u64 pairs[ASKED_PAIRS];	/* the last of these: `other_end_of` */
	u64 owed;		/* accepted sockets on which it received a request and answered nothing since: bits, by descriptor */
	u64 owed_ns;		/* the last one */
	u64 datagram_ns;	/* its first request by datagrams, or the last answer since */
	u32 asked_port;		/* the port that it sent those from */
	u32 asked_to;		/* the port that it sent them to */
	u32 unanswered;		/* of those */
	u64 unasked;		/* those on which it sent something before it received anything: bits, by descriptor */
	u64 locked;		/* the inode whose lock (flock, fcntl) it got last, or its parent before it; 0: none, or given back */
	u64 took;		/* the semaphore of System V that it decremented last: `semaphore_of`; 0: none, or given back */
	u64 user_ns;		/* its first long wait in this call, whose user stack is taken at the call's end; 0: none */
	u64 reported_ns;		/* when its wait was reported last, while it lasted */
	u64 slept_ns, awoke_ns;	/* its last long sleep that was not emitted */
	u64 slept_cpu_ns, slept_run_delay_ns;
	s32 slept_call;
	u32 slept_state;
	u64 queued_ns;		/* when it left the CPU with a submitted bio that had no request yet; 0: no such bio */
	struct request_note request;	/* whose completion woke it */
	u64 entered_ns;
	u32 entered_tick;
	u32 unused;
	u64 reaps_ns;		/* when it entered io_getevents */
	u64 first, second;	/* arguments; `second` of a close: its file, until its path is saved */
	/* Over the call: what it waited for, time off the CPU by that, and the end of the last such wait. */
	u32 waited;		/* enum waited */
	s32 last_call;		/* the timed call that ended last: its work may go on until the return to user space */
	u64 waited_ns;
	u64 stopped_ns;
	u64 waited_until_ns;
	s64 result;
	u32 waker_tid;
	u32 waker_pid;
	struct gathered gathered[SUMS + SPANS];
	u64 lock_address;
	struct holder holder;	/* if out_mark is that of a lock */
	u64 mark_ns;		/* if the wait begins soon after */
	struct detail detail;	/* of mark or out_mark */
	u64 span_ns[PAIRED];
	char waker[NAME_BYTES];
	char path[SAVED_PATH];	/* argument of a call that is adopted after its exit: the program may overwrite it */
	u64 waker_stack[WAKER_FRAMES];
};

#define LOCKED 0x80000000u

/* Calls that are followed though sys_enter did not begin them. */
enum adopted {
	FROM_ENTRY = 0,
	FROM_WAIT = 1,		/* from its first wait for storage */
	AFTER_EXIT = 2,		/* work after sys_exit, on the way back to user space: umount, fput, signals */
};

enum waited {
	FOR_STORAGE = 1,
	STOPPED = 2,
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_note);
} tasks SEC(".maps");

/* Tasks with a waiting bio, and tasks that wait for a lock. Mostly 0, which saves a lookup of the task. */
s32 waiting_bios SEC(".data") = 0;
s32 waiting_locks SEC(".data") = 0;
/* Waits and calls that had begun before the recording are taken to begin then. */
u64 began_ns SEC(".data.began") = 0;
u64 began_jiffies SEC(".data.began") = 0;
/* Tasks whose call is adopted. */
s32 adopted_calls SEC(".data") = 0;

static __always_inline struct task_note *note_of(struct task_struct *task)
{
	return bpf_task_storage_get(&tasks, task, 0, 0);
}

static __always_inline struct task_note *new_note_of(struct task_struct *task)
{
	struct task_note *note = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!note)
		count_loss(TASK_NOTES);
	return note;
}

/* The note of the running task; the recorder has none. */
static __always_inline struct task_note *current_note(struct task_struct *task)
{
	return task->tgid == settings.recorder ? 0 : new_note_of(task);
}

static __always_inline u32 how_followed(s32 call)
{
	return settings.calls[(u32)(call - 1) & (CALLS - 1)];
}

/* A task that has not left the CPU since the recording began is taken to have fallen asleep then. */
static __always_inline void note_asleep(struct task_struct *task, struct task_note *note)
{
	note->out_state = state_of(task);
	note->woken_ns = 0;
	note->out_ns = began_ns;
}

static __always_inline void forget_bio(struct task_note *note)
{
	note->queued_ns = 0;
	__sync_fetch_and_add(&waiting_bios, -1);
}

static __always_inline void forget_lock(struct task_note *note)
{
	note->lock = 0;
	__sync_fetch_and_add(&waiting_locks, -1);
}

static __always_inline void describe(struct event *event, struct task_struct *task, struct task_note *note, u64 from,
				     u64 until)
{
	event->tid = task->pid;
	event->pid = task->tgid;
	bpf_probe_read_kernel_str(event->comm, NAME_BYTES, &task->comm);
	event->start_ns = from;
	event->end_ns = until;
	event->busy_ns = until - from;
	event->call = note->call - 1;
	if (note->watched)
		event->flags |= WATCHED;
	if (note->call && note->entered_ns == began_ns)
		event->flags |= CALL_CUT;
}

static __always_inline void add_stack(struct event *event, struct task_struct *task)
{
	long bytes = bpf_get_task_stack(task, event->stack, sizeof(event->stack), 0);

	event->frames = bytes > 0 ? (u64)bytes / 8 : 0;
}

/* --- Sums. `sum`: SHORT_SLEEPS ... SHORT_REQUEST_WAITS, or SHORT_SPANS + enum span. --- */

static __noinline int emit_gathered(struct task_struct *task, struct task_note *note, u32 sum, u32 with_stack)
{
	u32 at = sum - SHORT_SLEEPS;
	struct gathered *gathered;
	struct event *event;
	u32 kind = sum < SHORT_SPANS ? sum : SHORT_SPANS;

	if (!note || !task || at >= SUMS + SPANS)
		return 0;
	gathered = &note->gathered[at];
	if (gathered->sum_ns && gathered->sum_ns >= (gathered->until_ns - gathered->since_ns) >> 6) {
		event = begin_event(kind, WITH_STACK);
		if (event) {
			describe(event, task, note, gathered->since_ns, gathered->until_ns);
			event->busy_ns = gathered->sum_ns;
			event->count = gathered->count;
			if (kind == SHORT_SPANS)
				event->source = sum - SHORT_SPANS;
			if (with_stack)
				add_stack(event, task);
			if (kind == SHORT_REQUEST_WAITS)
				event->request = note->request;
			end_event(event);
		}
	}
	gathered->sum_ns = 0;
	gathered->count = 0;
	return 0;
}

static __always_inline void gather(struct task_struct *task, struct task_note *note, u32 sum, u64 from_ns, u64 ns,
				   u64 now, u32 with_stack)
{
	struct gathered *gathered;
	u32 at = sum - SHORT_SLEEPS;

	if (!ns || at >= SUMS + SPANS)
		return;
	gathered = &note->gathered[at];
	if (gathered->count && from_ns - gathered->since_ns > GATHER_NS)
		emit_gathered(task, note, sum, with_stack);
	if (!gathered->count)
		gathered->since_ns = from_ns;
	gathered->until_ns = now;
	gathered->sum_ns += ns;
	gathered->count++;
}

/* Those of the current task: not static, and thus verified once, which passes no typed pointer to it. */
__noinline int emit_own_gathered(struct task_note *note, u32 sum)
{
	return emit_gathered(bpf_get_current_task_btf(), note, sum, 0);
}

__noinline int emit_all_gathered(struct task_note *note)
{
	u32 sum;

	if (!note)
		return 0;
	for (sum = SHORT_SLEEPS; sum < SHORT_SLEEPS + SUMS + SPANS; sum++)
		emit_own_gathered(note, sum);
	return 0;
}
