/* The state of each task, and sums of short waits. */
#pragma once

#include "bpf.h"
#include "call/note.h"
#include "channel/message_note.h"
#include "event.h"
#include "model.h"
#include "ring.h"
#include "settings.h"
#include "task/state.h"
#include "wait/lock_note.h"
#include "wait/note.h"
#include "wait/signal_note.h"

/* Short waits are emitted as sums over at least this time, if they come to a 64th of it. */
#define GATHER_NS 100000000ull
#define SUMS (SHORT_REQUEST_WAITS - SHORT_SLEEPS + 1)

struct gathered {
	u64 since_ns;
	u64 until_ns;
	u64 sum_ns;
	u64 count;
};

/* Fields that each context switch reads come first, and last before the request. */
struct task_note {
	struct wait_note wait;
	u32 watched;
	u32 serves;		/* a FUSE server */
	struct signal_note signal;
	struct call_note call;
	struct lock_note lock;
	struct request_note request;	/* whose completion woke it */
	struct waker_note waker;
	struct sleep_note slept;
	struct message_note messages;
	struct gathered gathered[SUMS + SPANS];
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
	note->wait.out_state = state_of(task);
	note->wait.woken_ns = 0;
	note->wait.out_ns = began_ns;
}

static __always_inline void forget_bio(struct task_note *note)
{
	note->wait.queued_ns = 0;
	__sync_fetch_and_add(&waiting_bios, -1);
}

static __always_inline void forget_lock(struct task_note *note)
{
	note->lock.flags = 0;
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
	event->call = note->call.number - 1;
	if (note->watched)
		event->flags |= WATCHED;
	if (note->call.number && note->call.entered_ns == began_ns)
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
