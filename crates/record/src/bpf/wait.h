/* Time off the CPU: from the switch away from a task to the switch back, and the task's waker. */
#pragma once

/* An announced wait begins at once, or not at all. */
#define MARK_WINDOW_NS 1000000ull

static __always_inline u32 state_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return BPF_CORE_READ((struct task_struct___old *)task, state);
}

static __always_inline int is_blocked(u32 state)
{
	return (state & TASK_UNINTERRUPTIBLE) && !(state & TASK_NOLOAD);
}

static __always_inline int is_of_interest(struct task_note *note)
{
	if (note->call || is_blocked(note->out_state) || note->watched || note->out_mark || note->spans)
		return 1;
	/* Tasks that waited for a request, except idle workers. */
	return note->request.key && !(note->out_state & TASK_NOLOAD);
}

/* A task within submit_bio has submitted a bio. The bio has no request yet, except with the few drivers that sleep on the
 * way to the device. */
static __always_inline void note_bio(struct task_struct *task, struct task_note *note, u64 now)
{
	if (!task->bio_list) {
		if (note->queued_ns)
			forget_bio(note);
	} else if (!note->queued_ns) {
		note->queued_ns = now;
		__sync_fetch_and_add(&waiting_bios, 1);
	}
}

static __always_inline void left_cpu(struct task_struct *task, u32 state, u64 now)
{
	struct task_note *note;

	if (!task->pid || task->tgid == settings.recorder)
		return;
	note = new_note_of(task);
	if (!note)
		return;
	note->out_ns = now;
	note->out_state = state;
	note->woken_ns = 0;
	note->waker_frames = 0;
	note->request.key = 0;
	note->out_mark = 0;
	note_bio(task, note, now);
	if (!state)
		return;
	if (note->mark && is_blocked(state) && now - note->mark_ns < MARK_WINDOW_NS) {
		note->out_mark = note->mark;
	} else if (note->lock) {
		note->out_mark = CONTENTION_BEGIN;
		note->detail.word[0] = note->lock & ~LOCKED;
	}
	note->mark = NO_MARK;
}

/* The current call if only its waits are followed, because it is very frequent: its number, or -1. */
static __always_inline s32 waiting_call(struct task_struct *task)
{
	struct pt_regs *regs;
	u64 id;

	if ((task->flags & PF_KTHREAD) || IS_COMPAT(task))
		return -1;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	if (!regs)
		return -1;
	id = CALL_NUMBER(regs);
	return id < CALLS && settings.calls[id] == BY_WAITS ? id : -1;
}

/* The task that was running before. The idle task has tid 0: none. */
static __always_inline void add_behind(struct event *event, struct task_struct *before)
{
	event->behind_tid = before->pid;
	event->behind_pid = before->tgid;
	bpf_probe_read_kernel_str(event->behind, NAME_BYTES, &before->comm);
}

/* When the task became runnable. */
static __always_inline u64 runnable_at(struct task_note *note, u64 out_ns, u64 now)
{
	if (!note->out_state)
		return out_ns;
	return note->woken_ns > out_ns ? note->woken_ns : now;
}

static __always_inline void emit_off_cpu(struct task_struct *task, struct task_note *note, struct task_struct *before,
					 u64 out_ns, u64 now)
{
	s32 call = note->call ? -1 : waiting_call(task);
	struct event *event = begin_event(OFF_CPU, WHOLE);

	if (!event)
		return;
	describe(event, task, note, out_ns, now);
	if (call >= 0)
		event->call = call;
	event->state = note->out_state;
	event->argument = note->first;
	event->source = note->out_mark;
	if (note->out_mark)
		event->detail = note->detail;
	if (note->woken_ns) {
		event->woken_ns = note->woken_ns;
		event->waker_tid = note->waker_tid;
		event->waker_pid = note->waker_pid;
		__builtin_memcpy(event->waker, note->waker, NAME_BYTES);
		event->waker_frames = note->waker_frames;
		if (note->waker_frames)
			__builtin_memcpy(event->waker_stack, note->waker_stack, sizeof(event->waker_stack));
	}
	if (note->request.key)
		event->request = note->request;
	if (now - runnable_at(note, out_ns, now) >= settings.interval_ns)
		add_behind(event, before);
	add_stack(event, task);
	end_event(event);
	if (call < 0 || now - out_ns < settings.slow_ns || (!note->request.key && !is_blocked(note->out_state)))
		return;
	event = begin_event(SYSTEM_CALL, BARE);
	if (!event)
		return;
	describe(event, task, note, out_ns, now);
	event->call = call;
	end_event(event);
}

static __always_inline void came_to_cpu(struct task_struct *task, struct task_struct *before, u64 now)
{
	struct task_note *note;
	u64 runnable_ns, out_ns;

	if (!task->pid)
		return;
	note = note_of(task);
	if (!note || !note->out_ns)
		return;
	out_ns = note->out_ns;
	note->out_ns = 0;
	runnable_ns = runnable_at(note, out_ns, now);
	if (!is_of_interest(note)) {
		/* Other tasks may wait for the work of a kernel thread. */
		if ((task->flags & PF_KTHREAD) && now - runnable_ns >= settings.interval_ns)
			emit_off_cpu(task, note, before, out_ns, now);
		return;
	}
	if (now - out_ns >= settings.interval_ns) {
		emit_off_cpu(task, note, before, out_ns, now);
		return;
	}
	/* Within a span, the span is emitted. */
	if (note->spans)
		return;
	gather(task, note, SHORT_CPU_WAITS, runnable_ns, now - runnable_ns, now, 0);
	if (note->request.key)
		gather(task, note, SHORT_REQUEST_WAITS, out_ns, runnable_ns - out_ns, now, 0);
	else
		gather(task, note, SHORT_SLEEPS, out_ns, runnable_ns - out_ns, now, 1);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	u64 now = bpf_ktime_get_ns();
	u32 state = 0;

	if (!preempt)
		state = settings.has_prev_state ? prev_state : state_of(prev);
	left_cpu(prev, state, now);
	came_to_cpu(next, prev, now);
	return 0;
}

/* The request whose completion wakes the task: the last one completed on this CPU, or the one whose completion woke the
 * worker that is running now. */
static __always_inline void link_request(struct task_note *note, u32 waker, u64 now)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct on_cpu *cpu = this_cpu();
	struct task_note *mine;

	if (cpu && cpu->tid == waker && now - cpu->done.completed_ns < WAKE_WINDOW_NS && cpu->done.key) {
		note->request = cpu->done;
		return;
	}
	if (!(current->flags & PF_KTHREAD) || !is_of_interest(note))
		return;
	mine = note_of(current);
	if (mine && mine->request.key && mine->request.completed_ns >= note->out_ns)
		note->request = mine->request;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(sched_waking, struct task_struct *task)
{
	struct task_note *note = note_of(task);
	u64 now, id;
	long bytes;

	if (!note || !note->out_ns || note->woken_ns)
		return 0;
	now = bpf_ktime_get_ns();
	id = bpf_get_current_pid_tgid();
	note->woken_ns = now;
	note->waker_tid = id;
	note->waker_pid = id >> 32;
	/* Do not report the name of an earlier waker. */
	note->waker[0] = 0;
	link_request(note, id, now);
	if (now - note->out_ns < settings.interval_ns || !is_of_interest(note))
		return 0;
	bpf_get_current_comm(note->waker, NAME_BYTES);
	bytes = bpf_get_stack(ctx, note->waker_stack, sizeof(note->waker_stack), 0);
	note->waker_frames = bytes > 0 ? (u64)bytes / 8 : 0;
	return 0;
}

/* Children of a watched task are watched, too. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(sched_process_fork, struct task_struct *parent, struct task_struct *child)
{
	struct task_note *note = note_of(parent);

	if (parent->tgid != settings.recorder && !(note && note->watched))
		return 0;
	note = new_note_of(child);
	if (note)
		note->watched = 1;
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(sched_process_exit, struct task_struct *task)
{
	struct task_note *note = note_of(task);

	if (!note)
		return 0;
	if (note->queued_ns)
		forget_bio(note);
	if (note->lock)
		forget_lock(note);
	emit_all_gathered(task, note);
	return 0;
}
