/* Time off the CPU before Linux 5.17: from the switch away from a task to the switch back, and the task's waker. */
#pragma once

#include "bpf.h"
#include "early/task.h"
#include "early/work.h"
#include "event.h"
#include "request/completing.h"
#include "ring.h"
#include "settings.h"
#include "task/state.h"
#include "this_cpu.h"

static __always_inline int is_of_interest(struct thread *thread)
{
	if (thread->call || is_blocked(thread->out_state) || thread->watched || is_stopped(thread->out_state))
		return 1;
	/* Tasks that waited for a request, except idle workers. */
	return thread->request.key && !(thread->out_state & TASK_NOLOAD);
}

static __always_inline void left_cpu(struct task_struct *task, u32 state, u64 now)
{
	struct thread *thread;

	if (!task->pid || task->tgid == settings.recorder)
		return;
	thread = new_thread_of(task->pid);
	if (!thread)
		return;
	thread->out_ns = now;
	thread->out_state = state;
	thread->woken_ns = 0;
	thread->waker_frames = 0;
	thread->request.key = 0;
	thread->held = state ? 0 : is_held(task);
}

/* When the task became runnable. */
static __always_inline u64 runnable_at(struct thread *thread, u64 out_ns, u64 now)
{
	if (!thread->out_state)
		return out_ns;
	return thread->woken_ns > out_ns ? thread->woken_ns : now;
}

static __always_inline void describe_wait(struct event *event, struct task_struct *task, struct thread *thread,
		u64 out_ns,
					  u64 now)
{
	long bytes;

	describe(event, thread, out_ns, now);
	describe_task(event, task);
	if (thread->call)
		event->call_start_ns = thread->entered_ns;
	event->cpu_ns = task->se.sum_exec_runtime;
	event->run_delay_ns = run_delay_of(task);
	event->state = thread->out_state;
	event->argument = thread->first;
	if (out_ns == began_ns)
		event->flags |= CUT;
	if (thread->held)
		event->flags |= HELD;
	bytes = bpf_get_task_stack(task, event->stack, sizeof(event->stack), 0);
	event->frames = bytes > 0 ? (u64)bytes / 8 : 0;
}

static __always_inline void emit_off_cpu(struct task_struct *task, struct thread *thread, struct task_struct *before,
					 u64 out_ns, u64 now)
{
	struct event *event = begin_event(OFF_CPU, WHOLE);

	if (!event)
		return;
	describe_wait(event, task, thread, out_ns, now);
	if (thread->woken_ns) {
		event->woken_ns = thread->woken_ns;
		event->waker_tid = thread->waker_tid;
		event->waker_pid = thread->waker_pid;
		__builtin_memcpy(event->waker, thread->waker, NAME_BYTES);
		event->waker_frames = thread->waker_frames;
		__builtin_memcpy(event->waker_stack, thread->waker_stack, sizeof(event->waker_stack));
	}
	if (thread->request.key)
		event->request = thread->request;
	if (now - runnable_at(thread, out_ns, now) >= settings.interval_ns) {
		event->behind_tid = before->pid;
		event->behind_pid = before->tgid;
		bpf_probe_read_kernel_str(event->behind, NAME_BYTES, &before->comm);
	}
	end_event(event);
}

/* A wait within a call ends. */
static __always_inline void add_to_call(struct thread *thread, u64 out_ns, u64 now)
{
	if (is_stopped(thread->out_state))
		thread->stopped_ns += now - out_ns;
	else if (is_blocked(thread->out_state) || thread->request.key)
		thread->waited = 1;
}

static __always_inline void came_to_cpu(struct task_struct *task, struct task_struct *before, u64 now)
{
	struct thread *thread = task->pid ? thread_of(task->pid) : 0;
	u64 runnable_ns, out_ns;

	if (!thread || !thread->out_ns)
		return;
	out_ns = thread->out_ns;
	thread->out_ns = 0;
	runnable_ns = runnable_at(thread, out_ns, now);
	if (thread->call && thread->out_state)
		add_to_call(thread, out_ns, now);
	if (!is_of_interest(thread)) {
		/* Other tasks may wait for the work of a kernel thread. */
		if ((task->flags & PF_KTHREAD) && now - runnable_ns >= settings.interval_ns)
			emit_off_cpu(task, thread, before, out_ns, now);
		return;
	}
	if (now - out_ns >= settings.interval_ns) {
		emit_off_cpu(task, thread, before, out_ns, now);
		return;
	}
	/* Short stops are a debugger's. */
	if (is_stopped(thread->out_state))
		return;
	gather(thread, CPU_WAIT, 0, runnable_ns, now - runnable_ns, now);
	if (thread->request.key)
		gather(thread, REQUEST_WAIT, task, out_ns, runnable_ns - out_ns, now);
	else
		gather(thread, SLEEP, task, out_ns, runnable_ns - out_ns, now);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	u64 now = bpf_ktime_get_ns();

	left_cpu(prev, preempt ? 0 : state_of(prev), now);
	came_to_cpu(next, prev, now);
	return 0;
}

/* The request whose completion wakes the task: the last one completed on this CPU, or the one that the kernel thread
 * acts on that runs now. */
static __always_inline void link_request(void *ctx, struct thread *thread, u32 waker, u64 now)
{
	struct on_cpu *cpu = this_cpu();
	struct request_note *acted_on;

	if (cpu && is_completing(ctx, cpu, waker, now, longest_completion(thread->out_state, now - thread->out_ns))) {
		thread->request = cpu->done;
		return;
	}
	acted_on = is_of_interest(thread) ? request_acted_on(waker) : 0;
	if (acted_on && acted_on->completed_ns >= thread->out_ns)
		thread->request = *acted_on;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(sched_waking, struct task_struct *task)
{
	struct thread *thread = thread_of(task->pid);
	u64 now, id;
	long bytes;

	if (!thread || !thread->out_ns || thread->woken_ns)
		return 0;
	now = bpf_ktime_get_ns();
	id = bpf_get_current_pid_tgid();
	thread->held = is_held(task);
	thread->woken_ns = now;
	thread->waker_tid = id;
	thread->waker_pid = id >> 32;
	/* Do not report the name of an earlier waker. */
	thread->waker[0] = 0;
	link_request(ctx, thread, id, now);
	if (now - thread->out_ns < settings.interval_ns || !is_of_interest(thread))
		return 0;
	bpf_get_current_comm(thread->waker, NAME_BYTES);
	bytes = bpf_get_stack(ctx, thread->waker_stack, sizeof(thread->waker_stack), 0);
	thread->waker_frames = bytes > 0 ? (u64)bytes / 8 : 0;
	return 0;
}

/* Children of a watched task are watched, too. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(sched_process_fork, struct task_struct *parent, struct task_struct *child)
{
	struct thread *thread = thread_of(parent->pid);

	if (parent->tgid != settings.recorder && !(thread && thread->watched))
		return 0;
	thread = new_thread_of(child->pid);
	if (thread)
		thread->watched = 1;
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(sched_process_exit, struct task_struct *task)
{
	u32 tid = task->pid;
	struct thread *thread = thread_of(tid);

	if (!thread)
		return 0;
	emit_gathered(thread, SLEEP, 0);
	emit_gathered(thread, CPU_WAIT, 0);
	emit_gathered(thread, REQUEST_WAIT, 0);
	bpf_map_delete_elem(&threads, &tid);
	return 0;
}

/* A task that is blocked or stopped is taken to have fallen asleep now. */
SEC("iter/task")
int tasks_at_start(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct thread *thread;

	if (!task || !is_asleep(task))
		return 0;
	if (!began_ns)
		began_ns = bpf_ktime_get_ns();
	if (!is_blocked(state_of(task)) && !is_stopped(state_of(task)))
		return 0;
	thread = new_thread_of(task->pid);
	if (!thread || thread->out_ns || thread->call)
		return 0;
	thread->out_state = state_of(task);
	thread->woken_ns = 0;
	thread->out_ns = began_ns;
	return 0;
}

SEC("iter/task")
int tasks_at_end(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct thread *thread;
	struct event *event;
	u64 now;

	if (!task || !is_asleep(task))
		return 0;
	thread = thread_of(task->pid);
	now = bpf_ktime_get_ns();
	if (!thread || !thread->out_ns || now - thread->out_ns < settings.interval_ns)
		return 0;
	if (!is_blocked(thread->out_state) && !is_stopped(thread->out_state))
		return 0;
	event = begin_event(STILL_OFF_CPU, WITH_STACK);
	if (!event)
		return 0;
	describe_wait(event, task, thread, thread->out_ns, now);
	end_event(event);
	return 0;
}
