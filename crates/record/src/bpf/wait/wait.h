/* Time off the CPU: from the switch away from a task to the switch back, and the task's waker. */
#pragma once

#include "bpf.h"
#include "call/call.h"
#include "event.h"
#include "file/closed_file.h"
#include "file/descriptor.h"
#include "file/fault.h"
#include "model.h"
#include "operation/table.h"
#include "registers.h"
#include "request/completing.h"
#include "request/completion.h"
#include "request/nfs.h"
#include "request/owner.h"
#include "ring.h"
#include "settings.h"
#include "task/run.h"
#include "task/state.h"
#include "task/task.h"
#include "task/usage.h"
#include "this_cpu.h"
#include "user_stack.h"
#include "wait/attempt.h"
#include "wait/awaits.h"
#include "wait/lock.h"
#include "wait/stopper.h"

/* An announced wait begins at once, or not at all. */
#define MARK_WINDOW_NS 1000000ull
/* A program that was refused a lock has something to do before it sleeps and tries again, such as to start a program
 * that sleeps for it. */
#define TRY_WINDOW_NS 20000000ull

/* A preempted kernel thread keeps the request that it acts on, and did not wait for it. */
static __always_inline int waited_for_request(struct task_note *note)
{
	return note->request.key && note->wait.out_state;
}

static __always_inline int is_of_interest(struct task_note *note)
{
	if (note->call.number || is_blocked(note->wait.out_state) || note->watched || note->serves || note->wait.served ||
	    note->wait.out_mark || note->signal.spans)
		return 1;
	if (is_stopped(note->wait.out_state))
		return 1;
	/* Tasks that waited for a request, except idle workers. */
	return waited_for_request(note) && !(note->wait.out_state & TASK_NOLOAD);
}

/* A task within submit_bio has submitted a bio. The bio has no request yet, except with the few drivers that sleep on
 * the way to the device. */
static __always_inline void note_bio(struct task_note *note, u64 submits, u64 now)
{
	if (!submits) {
		if (note->wait.queued_ns)
			forget_bio(note);
	} else if (!note->wait.queued_ns) {
		note->wait.queued_ns = now;
		__sync_fetch_and_add(&waiting_bios, 1);
	}
}

/* Whether the sleep that begins is the one that a mark announced. */
static __always_inline int is_announced(struct task_struct *task, struct task_note *note, u32 state, u64 now)
{
	s32 call;

	if (!note->signal.mark)
		return 0;
	if (was_refused(note)) {
		call = call_in_registers(task);
		return now - note->signal.mark_ns < TRY_WINDOW_NS && call >= 0 &&
		       (call == settings.nanosleep || call == settings.clock_nanosleep ||
			(call < CALLS && settings.others[call] & (WAITS | WAITS_FOR_CHILD)));
	}
	return now - note->signal.mark_ns < MARK_WINDOW_NS && (is_blocked(state) || is_file_lock(note->signal.mark));
}

/* A task waits in a call on a file: a worker that dispatches requests for that file works for it. */
static __always_inline void note_user_of_file(struct task_struct *task, struct task_note *note)
{
	struct file *file;
	u64 inode;

	if ((how_followed(note->call.number) & NAMES) != BY_FD)
		return;
	file = file_of(task, note->call.first);
	inode = file ? (u64)BPF_CORE_READ(file, f_inode) : 0;
	if (inode)
		note_use(inode, task);
}

/* The current task does so. Verified once. */
__noinline int note_reader(struct task_note *note)
{
	if (note)
		note_user_of_file(bpf_get_current_task_btf(), note);
	return 0;
}

static __always_inline void left_cpu(struct task_struct *task, u32 state, u64 now)
{
	u64 submits = (u64)task->bio_list;
	struct task_note *note;
	int announced;

	/* The verifier looks up the type of each pointer read from a task, in 0.4 ms: here once, not on each path. */
	barrier_var(submits);
	if (!task->pid || task->tgid == settings.recorder)
		return;
	note = new_note_of(task);
	if (!note)
		return;
	note->wait.out_ns = now;
	note->wait.out_state = state;
	note->wait.out_cpu = bpf_get_smp_processor_id();
	note->wait.woken_ns = 0;
	note->waker.frames = 0;
	note->wait.awaits = NOBODY;
	note->wait.served = 0;
	if (state || !(task->flags & PF_KTHREAD))
		note->request.key = 0;
	note->wait.out_mark = 0;
	note_bio(note, submits, now);
	note->wait.held = state ? 0 : is_held(task);
	if (!state) {
		/* A call whose return to user space is late: its quota is used up, or another task runs first. */
		if (note->call.number ? note->call.adopted : note->wait.held || note->call.last)
			follow_call(note, state, now);
		return;
	}
	if (note->messages.owed_on && state & TASK_INTERRUPTIBLE)
		forget_request(note);
	if (note->call.number ? note->call.adopted || state & TASK_DEAD : is_blocked(state) || is_stopped(state))
		follow_call(note, state, now);
	if (any_throttled && note->call.number && is_blocked(state))
		note_reader(note);
	if (note->call.number && note->call.second && (how_followed(note->call.number) & NAMES) == BY_CLOSED)
		save_closing(note);
	announced = is_announced(task, note, state, now);
	if (announced) {
		note->wait.out_mark = note->signal.mark;
	} else if (note->lock.flags) {
		note->wait.out_mark = CONTENTION_BEGIN;
		note->signal.detail.word[0] = note->lock.flags & ~LOCKED;
		note_owner(note);
	}
	/* What starts a program that sleeps for it sleeps before that: until it runs. */
	if (announced || !was_refused(note))
		note->signal.mark = NO_MARK;
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
	if (!note->wait.out_state)
		return out_ns;
	return note->wait.woken_ns > out_ns ? note->wait.woken_ns : now;
}

/* The workqueue whose work a worker does. */
static __always_inline void add_work(struct event *event, struct task_struct *task)
{
	struct kthread *thread = BPF_CORE_READ(task, worker_private);
	struct worker *worker = BPF_CORE_READ(thread, data);
	struct workqueue_struct *queue = BPF_CORE_READ(worker, current_pwq, wq);

	if (queue)
		bpf_probe_read_kernel_str(event->work, NAME_BYTES, &queue->name);
}

static __always_inline void describe_wait(struct event *event, struct task_struct *task, struct task_note *note,
					  u32 awaits, u64 out_ns, u64 now)
{
	describe(event, task, note, out_ns, now);
	if (note->call.number)
		event->call_start_ns = note->call.entered_ns;
	else
		event->call = call_in_registers(task);
	event->cpu_ns = task->se.sum_exec_runtime;
	event->run_delay_ns = run_delay_of(task);
	add_awaited(event, note, awaits);
	event->state = note->wait.out_state;
	event->argument = note->call.first;
	event->cpu = note->wait.out_cpu;
	event->source = note->wait.out_mark;
	if (note->wait.out_mark)
		event->detail = note->signal.detail;
	if (is_lock(note->wait.out_mark))
		add_holder(event, note);
	else
		add_stopper(event, task, note);
	if (out_ns == began_ns)
		event->flags |= CUT;
	if (note->wait.held)
		event->flags |= HELD;
}

static __always_inline void emit_off_cpu(struct task_struct *task, struct task_note *note, struct task_struct *before,
					 u64 out_ns, u64 now)
{
	struct event *event = begin_event(OFF_CPU, WHOLE);
	u32 number = bpf_get_smp_processor_id();
	u64 runnable;

	if (!event)
		return;
	describe_wait(event, task, note, note->wait.awaits, out_ns, now);
	if (note->wait.woken_ns) {
		event->woken_ns = note->wait.woken_ns;
		event->waker_tid = note->waker.tid;
		event->waker_pid = note->waker.pid;
		__builtin_memcpy(event->waker, note->waker.comm, NAME_BYTES);
		event->waker_frames = note->waker.frames;
		if (note->waker.frames && note->waker.is_newer) {
			event->flags |= WAKER_IS_NEWER;
			event->result = note->waker.starter;
		}
		if (note->waker.frames)
			__builtin_memcpy(event->waker_stack, note->waker.stack, sizeof(event->waker_stack));
	}
	if (waited_for_request(note))
		event->request = note->request;
	runnable = runnable_at(note, out_ns, now);
	if (now - runnable >= settings.interval_ns) {
		add_behind(event, before);
		add_longest_run(event, number, runnable, now);
		if (note->wait.out_cpu != number) {
			add_longest_run(event, note->wait.out_cpu, runnable, now);
			/* It may have been moved when it got the CPU: it waited for the one that was taken. */
			if (taken_since(note->wait.out_cpu, runnable) > taken_since(number, runnable))
				number = note->wait.out_cpu;
		}
		add_runs_behind(task->tgid, number, runnable);
	}
	if ((task->flags & PF_WQ_WORKER) && !(note->wait.out_state & TASK_NOLOAD))
		add_work(event, task);
	add_stack(event, task);
	end_event(event);
	if (note->wait.out_state)
		owe_user_stack(task, note, out_ns);
}

/* The operation that a worker of io_uring is executing, if any; from now on the worker is known. */
static __always_inline struct operation *executed_by(struct task_struct *task)
{
	struct io_worker *worker = BPF_CORE_READ(task, worker_private);
	struct io_wq_work *work = worker ? BPF_CORE_READ(worker, cur_work) : 0;
	struct operation *operation = 0;

	if (work)
		operation = operation_of((u64)work - bpf_core_field_offset(struct io_kiocb, work));
	if (operation) {
		operation->worker_tid = task->pid;
		operation->worker_pid = task->tgid;
	}
	return operation;
}

/* What becomes of a wait that ends. */
enum { FORGOTTEN, SUMMED, REMEMBERED, EMITTED };

/* Whether a task takes up connections, or has served a client: the next one may be there already. */
static __always_inline int is_server(struct task_struct *task, struct task_note *note)
{
	s32 call;

	if (note->messages.owed_ns)
		return 1;
	call = call_in_registers(task);
	return call >= 0 && call < CALLS && settings.others[call] & ACCEPTS;
}

/* Other tasks may wait for the work of a kernel thread, a server, the holder of a lock, and for a server that is held,
 * or has a client's request and sleeps all the same. */
static __always_inline int delays_others(struct task_struct *task, struct task_note *note)
{
	return task->flags & PF_KTHREAD || note->wait.held || note->messages.answers || note->lock.file ||
			note->lock.semaphore || is_server(task, note);
}

static __always_inline u32 fate_of_other(struct task_struct *task, struct task_note *note, u64 asleep_ns,
		u64 runnable_ns)
{
	if (note->wait.awaits)
		return EMITTED;
	/* For what else somebody may wait for a task is not always known: only what is slow is worth a row. */
	if (runnable_ns >= settings.interval_ns && (runnable_ns >= settings.slow_ns || delays_others(task, note)))
		return EMITTED;
	if (!note->wait.out_state || asleep_ns < settings.interval_ns)
		return FORGOTTEN;
	/* A worker that sleeps within its work, and not for storage, waits for a server: that of a disk of the network
	 * (NBD). */
	if ((task->flags & PF_WQ_WORKER) && !(note->wait.out_state & TASK_NOLOAD))
		return EMITTED;
	/* As for a sleep that is emitted later, nobody is known that ended it. */
	if (note->lock.name && is_wanted(note->lock.name)) {
		note->wait.awaits = INTERRUPT;
		return EMITTED;
	}
	return note->messages.channels.owed && rests(task) ? EMITTED : REMEMBERED;
}

static __always_inline u32 fate_of_wait(struct task_struct *task, struct task_note *note, u64 asleep_ns,
		u64 runnable_ns)
{
	if ((task->flags & PF_IO_WORKER) && asleep_ns >= settings.interval_ns && executed_by(task))
		return EMITTED;
	if (!is_of_interest(note))
		return fate_of_other(task, note, asleep_ns, runnable_ns);
	if (asleep_ns >= settings.interval_ns || note->wait.awaits)
		return EMITTED;
	/* Within a span, the span is emitted. Short stops are a debugger's. */
	return note->signal.spans || is_stopped(note->wait.out_state) ? FORGOTTEN : SUMMED;
}

static __always_inline void sum_up_wait(struct task_struct *task, struct task_note *note, u64 out_ns, u64 runnable_ns,
		u64 now)
{
	gather(task, note, SHORT_CPU_WAITS, runnable_ns, now - runnable_ns, now, 0);
	if (waited_for_request(note))
		gather(task, note, SHORT_REQUEST_WAITS, out_ns, runnable_ns - out_ns, now, 0);
	else
		gather(task, note, SHORT_SLEEPS, out_ns, runnable_ns - out_ns, now, 1);
}

static __always_inline void came_to_cpu(struct task_struct *task, struct task_struct *before, u64 now)
{
	struct task_note *note;
	u64 runnable_ns, out_ns;
	u32 fate;

	if (!task->pid)
		return;
	note = note_of(task);
	if (!note || !note->wait.out_ns)
		return;
	out_ns = note->wait.out_ns;
	note->wait.out_ns = 0;
	runnable_ns = runnable_at(note, out_ns, now);
	if (note->call.number && (note->wait.out_state || note->wait.held || note->call.adopted == AFTER_EXIT))
		add_to_call(note, out_ns, now);
	if (note->call.adopted == AFTER_EXIT && !note->wait.out_state && !note->wait.held &&
	    !is_slow(note, how_followed(note->call.number), now))
		abandon_call(note);
	/* One place for each: the verifier follows each path that leads there. */
	fate = fate_of_wait(task, note, now - out_ns, now - runnable_ns);
	if (fate == EMITTED) {
		name_fault(task, note);
		emit_off_cpu(task, note, before, out_ns, now);
	} else if (fate == REMEMBERED) {
		remember_sleep(task, note, out_ns, now);
	} else if (fate == SUMMED) {
		sum_up_wait(task, note, out_ns, runnable_ns, now);
	}
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	u64 now = bpf_ktime_get_ns();
	u32 state = 0;

	if (!preempt)
		state = with_freezer(prev, settings.has_prev_state ? prev_state : state_of(prev));
	switch_run(prev, next, now);
	left_cpu(prev, state, now);
	came_to_cpu(next, prev, now);
	return 0;
}

/* The request whose completion wakes the task: the last one completed on this CPU, or the one whose completion woke the
 * worker that is running now, or gave it its work. */
static __always_inline void link_request(void *ctx, struct task_note *note, u32 waker, u64 now)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct on_cpu *cpu = this_cpu();
	struct request_note *served;
	struct task_note *mine;
	u64 since = note->wait.out_ns;

	if (cpu && is_completing(ctx, cpu, waker, now, longest_completion(note->wait.out_state, now - since))) {
		note->request = cpu->done;
		return;
	}
	if (!(current->flags & PF_KTHREAD) || !is_of_interest(note))
		return;
	/* A worker does one work after the other: the request that woke it may be that of an earlier one. The later of the
	 * two counts. */
	served = request_of_work(current);
	if (served && served->completed_ns >= since) {
		note->request = *served;
		since = served->completed_ns;
	}
	mine = note_of(current);
	if (mine && mine->request.key && mine->request.completed_ns >= since)
		note->request = mine->request;
}

/* Whether the current task is the server of a FUSE file system that a task waits for in a sleep that a signal may end:
 * outside of system calls, for a page, or in a call that seldom waits for storage, such as close. */
static __always_inline u32 is_served(struct task_struct *task, struct task_note *note)
{
	struct task_note *server;
	s32 call;

	if (!(note->wait.out_state & TASK_INTERRUPTIBLE))
		return 0;
	call = call_in_registers(task);
	if (call >= 0 && !(how_followed(call + 1) & IF_WAITED))
		return 0;
	server = note_of(bpf_get_current_task_btf());
	return server && server->serves;
}

/* The thread of the NFS server whose answer the worker takes up stands for it. */
static __always_inline void wake_for_server(struct task_note *note)
{
	struct reply *reply = reply_of_work(bpf_get_current_task_btf());

	if (!reply)
		return;
	note->waker.tid = reply->tid;
	note->waker.pid = reply->pid;
	__builtin_memcpy(note->waker.comm, "nfsd", sizeof("nfsd"));
}

/* Whether a wait that is too short for a row may end a client's request that is slow already: an event loop that timers
 * wake sleeps for a short time before it answers, and who wakes it then is what the client waited for. One in each
 * interval is enough. */
static __always_inline int may_end_request(struct task_struct *task, struct task_note *note, u32 waker_pid, u64 now)
{
	if (!note->messages.channels.owed || now - note->messages.owed_ns < settings.slow_ns ||
	    waker_pid == (u32)task->tgid || now - note->wait.short_ns < settings.interval_ns)
		return 0;
	note->wait.short_ns = now;
	return 1;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(sched_waking, struct task_struct *task)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct task_note *note = note_of(task);
	u64 now, id;
	long bytes;

	if (!note || !note->wait.out_ns || note->wait.woken_ns)
		return 0;
	now = bpf_ktime_get_ns();
	id = bpf_get_current_pid_tgid();
	note->wait.held = is_held(task);
	/* Frozen in its sleep, which was over before the thaw. */
	if (state_of(task) & TASK_FROZEN)
		note->wait.out_state |= TASK_FROZEN;
	note->wait.woken_ns = now;
	note->waker.tid = id;
	note->waker.pid = id >> 32;
	/* Do not report the name of an earlier waker. */
	note->waker.comm[0] = 0;
	link_request(ctx, note, id, now);
	if (now - note->wait.out_ns < settings.interval_ns && !may_end_request(task, note, id >> 32, now))
		return 0;
	wake_for_server(note);
	note->wait.served = is_served(task, note);
	if (is_of_interest(note))
		note->wait.awaits = awaited_by(task, note);
	else if ((now - note->wait.out_ns < settings.await_ns && note->wait.short_ns != now) ||
		 !(note->wait.awaits = awaited_by(task, note)))
		return 0;
	/* An idle server need not know how busy its clients are. The holder of a lock may have slept. A timer has not. */
	if (note->wait.awaits == INTERRUPT)
		return 0;
	if (note->wait.awaits ? note->wait.awaits != MESSAGE : is_lock(note->wait.out_mark) && !note->lock.holder.was_tried)
		emit_waker(now);
	/* It may have a lock for its client, which did nothing. */
	else if (note->wait.awaits == MESSAGE && now - note->wait.out_ns >= settings.slow_ns)
		emit_slept(settings.slow_ns);
	if (is_lock(note->wait.out_mark) || note->wait.awaits == LOCK)
		emit_user_stack(now, now);
	/* The sender of an answer may stand for the waker. */
	if (note->waker.tid == (u32)id)
		bpf_get_current_comm(note->waker.comm, NAME_BYTES);
	note->waker.is_newer = note->waker.tid == (u32)id && current->start_time > note->wait.out_ns;
	if (note->waker.is_newer)
		note->waker.starter = current->pid == current->tgid ? BPF_CORE_READ(current, real_parent, pid) :
								      current->tgid;
	bytes = bpf_get_stack(ctx, note->waker.stack, sizeof(note->waker.stack), 0);
	note->waker.frames = bytes > 0 ? (u64)bytes / 8 : 0;
	return 0;
}

/* Children of a watched task are watched, too. Every task gets its note here: the kernel makes none where this CPU was
 * within another's when it switched tasks, which would lose the wait that begins. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(sched_process_fork, struct task_struct *parent, struct task_struct *child)
{
	struct task_note *note = note_of(parent);

	u64 locked = note ? note->lock.file : 0;
	u32 is_watched = parent->tgid == settings.recorder || (note && note->watched);

	note = bpf_task_storage_get(&tasks, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!note) {
		if (is_watched)
			count_loss(TASK_NOTES);
		return 0;
	}
	if (is_watched)
		note->watched = 1;
	/* It has its parent's files: `flock FILE COMMAND`. */
	if (locked)
		note->lock.file = locked;
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(sched_process_exit, struct task_struct *task)
{
	struct task_note *note = note_of(task);

	remember_exited(task);
	if (!note)
		return 0;
	leave_to_parent(note);
	if (note->wait.queued_ns)
		forget_bio(note);
	if (note->lock.flags)
		forget_lock(note);
	forget_user_stack(note);
	emit_all_gathered(note);
	return 0;
}
