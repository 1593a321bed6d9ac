/* Whether a wakeup is part of the completion of a block request. */
#pragma once

#include "bpf.h"
#include "event.h"
#include "settings.h"
#include "this_cpu.h"

/* A completion wakes the waiting task at once. Later wakeups from the same context have another reason, unless the
 * stack shows the completion; after the second time it is not looked at. */
#define WAKE_WINDOW_NS 100000ull
#define COMPLETION_NS 4000000ull
/* The same of what is seldom: the queueing of a work, and the end of a wait for storage that is recorded individually.
 * A virtual machine's CPU may be taken away for that long. */
#define LATE_COMPLETION_NS 250000000ull

struct frames {
	u64 frame[WAKER_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct frames);
} stacks SEC(".maps");

/* Whether the running task's stack shows a completion. */
static __always_inline int shows_completion(void *ctx)
{
	u32 zero = 0, at, count;
	struct frames *stack = bpf_map_lookup_elem(&stacks, &zero);
	long bytes;

	if (!stack)
		return 0;
	bytes = bpf_get_stack(ctx, stack->frame, sizeof(stack->frame), 0);
	count = bytes > 0 ? (u64)bytes / 8 : 0;
	for (at = 0; at < WAKER_FRAMES && at < count; at++)
		if (stack->frame[at] - settings.complete_function < settings.complete_bytes ||
		    stack->frame[at] - settings.batch_function < settings.batch_bytes)
			return 1;
	return 0;
}

/* Whether the task is in the completion of the last request that was completed on this CPU. The completion of a large
 * one takes longer, as it ends writeback page by page: up to a nanosecond for each byte. It may be interrupted, and the
 * CPU of a virtual machine taken away. */
static __always_inline int is_completing(void *ctx, struct on_cpu *cpu, u32 tid, u64 now, u64 longest_ns)
{
	u64 since = now - cpu->done.completed_ns;

	if (cpu->tid != tid || since >= longest_ns + cpu->done.bytes || !cpu->done.key)
		return 0;
	return since < WAKE_WINDOW_NS || shows_completion(ctx);
}

/* For how long after a completion a wakeup that ends a wait may be part of it. */
static __always_inline u64 longest_completion(u32 state, u64 waited_ns)
{
	return state & TASK_UNINTERRUPTIBLE && waited_ns >= settings.interval_ns ? LATE_COMPLETION_NS : COMPLETION_NS;
}
