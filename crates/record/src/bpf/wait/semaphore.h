/* Semaphores of System V: which one a task took last. The kernel says of none who holds it. */
#pragma once

#include "bpf.h"
#include "task/task.h"

struct semaphore_change {
	u16 number;
	short change;
	short flags;
};

/* The first change that the current task's call makes. */
static __always_inline int first_change(struct pt_regs *regs, struct semaphore_change *change)
{
	return bpf_probe_read_user(change, sizeof(*change), (void *)SECOND_ARGUMENT(regs));
}

/* One semaphore of a set; never 0. */
static __always_inline u64 semaphore_of(u64 set, u16 number)
{
	return 1ull << 63 | (set & 0x7fffffff) << 16 | number;
}

/* A call has changed semaphores. */
static __noinline int note_semaphore(struct task_note *note, struct pt_regs *regs)
{
	struct semaphore_change change = {};

	if (!note || !regs || first_change(regs, &change))
		return 0;
	if (change.change < 0)
		note->lock.semaphore = semaphore_of(FIRST_ARGUMENT(regs), change.number);
	else if (change.change > 0)
		note->lock.semaphore = 0;
	return 0;
}
