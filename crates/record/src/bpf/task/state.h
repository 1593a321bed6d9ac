/* What a task that leaves the CPU goes on to do. */
#pragma once

#include "bpf.h"
#include "settings.h"

static __always_inline u32 state_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	CHECKED();
	return BPF_CORE_READ((struct task_struct___old *)task, state);
}

/* How long a task has waited on run queues, without the wait that it is in; 0: unknown. */
static __always_inline u64 run_delay_of(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.run_delay) ? task->sched_info.run_delay : 0;
}

static __always_inline int is_blocked(u32 state)
{
	return (state & TASK_UNINTERRUPTIBLE) && !(state & TASK_NOLOAD);
}

/* Stopped by a signal, by a debugger, or frozen with its cgroup. */
static __always_inline int is_stopped(u32 state)
{
	return state & (TASK_STOPPED_OR_TRACED | TASK_FROZEN);
}

/* With its cgroup of v2 a task is frozen in a sleep that only the task's own flag tells from one for a signal. */
static __always_inline u32 with_freezer(struct task_struct *task, u32 state)
{
	if (!(state & TASK_INTERRUPTIBLE) || !bpf_core_field_exists(task->frozen))
		return state;
	CHECKED();
	return BPF_CORE_READ_BITFIELD(task, frozen) ? state | TASK_FROZEN : state;
}

/* Its cgroup has used up its CPU quota. Since 6.18 the kernel holds back the task, on its return to user space; before
 * that, the run queue of its cgroup on this CPU. */
static __always_inline u32 is_held(struct task_struct *task)
{
	if (bpf_core_field_exists(task->throttled))
		return task->throttled;
	if (!bpf_core_field_exists(struct cfs_rq, throttle_count))
		return 0;
	CHECKED();
	return BPF_CORE_READ(task, se.cfs_rq, throttle_count) > 0;
}

/* Whether a task sleeps, and is not one of the recorder. */
static __always_inline int is_asleep(struct task_struct *task)
{
	return task->pid && task->tgid != settings.recorder && !task->on_cpu && state_of(task) &&
	       !(state_of(task) & TASK_DEAD);
}
