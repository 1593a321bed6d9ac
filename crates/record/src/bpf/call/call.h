/* Slow system calls. Those that often work on files are timed from their begin. All others are followed from their
 * first wait for storage on. Work after sys_exit, on the way back to user space, belongs to the call. */
#pragma once

#include "bpf.h"
#include "call/path.h"
#include "channel/message.h"
#include "channel/queue.h"
#include "clock.h"
#include "event.h"
#include "file/descriptor.h"
#include "file/path.h"
#include "operation/aio.h"
#include "registers.h"
#include "ring.h"
#include "settings.h"
#include "task/state.h"
#include "task/task.h"
#include "user_stack.h"
#include "wait/attempt.h"
#include "wait/semaphore.h"
#include "wait/stopper.h"

/* Functions that are not static work on the current task, which is the one that leaves the CPU in `sched_switch`. The
 * verifier checks them once, not for each path that leads to them. */
__noinline int emit_call(struct task_note *note, u32 names, u64 until)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct file *file = 0;
	struct event *event;

	if (!note)
		return 0;
	if (names == BY_FD || names == BY_CONTEXT)
		file = file_of(task, note->call.first);
	else if (names == BY_RESULT && note->call.result >= 0)
		file = file_of(task, note->call.result);
	else if (names == BY_PROGRAM && !note->call.result)
		file = BPF_CORE_READ(task, mm, exe_file);
	if (names != BY_CONTEXT && (file ? !is_storage(file) : names == BY_FD))
		return 0;
	event = begin_event(SYSTEM_CALL, WITH_STACK);
	if (!event)
		return 0;
	describe(event, task, note, note->call.entered_ns, until);
	event->result = note->call.result;
	event->argument = names == BY_RESULT ? note->call.result : note->call.first;
	/* 0: unknown. */
	if (file)
		event->detail.word[0] = BPF_CORE_READ(file, f_inode, i_size) + 1;
	add_name(event, task, note, file, names);
	end_event(event);
	return 0;
}

/* Whether a call that lasted until then is an operation. A task that was stopped lost no time to storage. */
static __always_inline int is_slow(struct task_note *note, u32 how, u64 until)
{
	if (until <= note->call.entered_ns || until - note->call.entered_ns - note->call.stopped_ns < settings.slow_ns)
		return 0;
	/* Such a call may idle as well. */
	if (note->call.adopted == FROM_WAIT)
		return note->call.waited_ns >= settings.slow_ns;
	return !(how & IF_WAITED) || note->call.waited & FOR_STORAGE;
}

/* Its return to user space was late, but not so late that it counts. */
static __always_inline void abandon_call(struct task_note *note)
{
	note->call.number = 0;
	note->call.adopted = FROM_ENTRY;
	__sync_fetch_and_add(&adopted_calls, -1);
}

/* The call ends without its sys_exit, or after it. */
__noinline int end_followed(struct task_note *note)
{
	u64 until;
	u32 how;

	if (!note)
		return 0;
	how = how_followed(note->call.number);
	until = note->call.waited_until_ns;
	if (is_slow(note, how, until)) {
		emit_all_gathered(note);
		emit_call(note, how & NAMES, until);
	}
	note->call.number = 0;
	note->call.last = 0;
	if (note->call.adopted)
		__sync_fetch_and_add(&adopted_calls, -1);
	note->call.adopted = FROM_ENTRY;
	return 0;
}

static __always_inline void begin_call(struct task_note *note, s32 call, struct pt_regs *regs, u64 now)
{
	note->call.entered_ns = now;
	note->call.entered_tick = ticks();
	note->call.number = call;
	note->call.first = FIRST_ARGUMENT(regs);
	/* What a program passes is no file. */
	note->call.second = (how_followed(call) & NAMES) == BY_CLOSED ? 0 : SECOND_ARGUMENT(regs);
	note->call.waited = 0;
	note->call.waited_ns = 0;
	note->call.stopped_ns = 0;
	note->call.result = 0;
}

/* A task leaves the CPU, and is in no call that sys_enter began: follow the one that it is in. */
__noinline int follow_call(struct task_note *note, u32 state, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs;
	s32 call;

	if (!note)
		return 0;
	if (state & TASK_DEAD)
		return end_followed(note);
	call = call_in_registers(task) + 1;
	if (note->call.adopted) {
		if (note->call.number == call)
			return 0;
		end_followed(note);
	}
	if (!call)
		return 0;
	if (call == note->call.last) {
		note->call.number = call;
		note->call.adopted = AFTER_EXIT;
		save_argument(note, how_followed(call) & NAMES);
	} else if (is_blocked(state)) {
		regs = (struct pt_regs *)bpf_task_pt_regs(task);
		if (!regs)
			return 0;
		begin_call(note, call, regs, now);
		note->call.adopted = FROM_WAIT;
	} else {
		return 0;
	}
	__sync_fetch_and_add(&adopted_calls, 1);
	return 0;
}

/* A wait within a call ends. */
static __always_inline void add_to_call(struct task_note *note, u64 out_ns, u64 now)
{
	if (is_stopped(note->wait.out_state)) {
		note->call.waited |= STOPPED;
		note->call.stopped_ns += now - out_ns;
	} else if (is_blocked(note->wait.out_state) || note->request.key || note->wait.out_mark || note->signal.spans ||
			note->wait.served) {
		note->call.waited |= FOR_STORAGE;
		note->call.waited_ns += now - out_ns;
	} else if (!note->wait.held && note->call.adopted != AFTER_EXIT) {
		return;
	}
	note->call.waited_until_ns = now;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(sys_enter, struct pt_regs *regs, long id)
{
	struct task_struct *task;
	struct task_note *note;
	u32 how;

	aio_enters(regs, id);
	if ((u64)id >= CALLS)
		return 0;
	if (id == settings.ioctl)
		enters_ioctl(regs);
	how = settings.calls[id];
	if (!how && !adopted_calls)
		return 0;
	task = bpf_get_current_task_btf();
	if (IS_COMPAT(task))
		return 0;
	note = how ? current_note(task) : note_of(task);
	if (!note)
		return 0;
	if (note->call.adopted)
		end_followed(note);
	if (!how)
		return 0;
	begin_call(note, id + 1, regs, bpf_ktime_get_ns());
	if ((how & NAMES) == BY_CLOSED) {
		note->call.second = current_file(note->call.first);
		/* The call's end no longer knows of what. */
		if (is_any_channel(&note->messages.channels))
			note_closed(note, note->call.second);
	}
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sys_exit, struct pt_regs *regs, long result)
{
	u64 id = CALL_NUMBER(regs), now;
	struct task_struct *task;
	struct task_note *note;
	u32 how, what;

	aio_exits(regs, id, result);
	if (id >= CALLS)
		return 0;
	if (id == settings.ioctl)
		exits_ioctl(regs, result);
	what = settings.others[id] & (SENDS | RECEIVES | CLOSES | SEMAPHORE | QUEUES | DEQUEUES);
	/* What it closed is known at its begin. */
	if (what == CLOSES)
		what = 0;
	how = settings.calls[id];
	if (!what && !how && !adopted_calls && !owed_user_stacks && id != settings.listen)
		return 0;
	task = bpf_get_current_task_btf();
	note = what ? current_note(task) : note_of(task);
	if (!note)
		return 0;
	if (changes_names(settings.names[id], regs, result))
		note_names(note, regs, settings.names[id], result);
	else if (id == settings.connect && is_unanswered(result))
		note_unconnected(note, regs);
	else if (id == settings.listen && !result)
		note_listening(note, regs);
	if (what & (SENDS | RECEIVES | CLOSES))
		note_message(note, what, FIRST_ARGUMENT(regs), result);
	else if (what & (QUEUES | DEQUEUES) && result >= 0)
		note_queue(note, what);
	else if (what & SEMAPHORE && !result)
		note_semaphore(note, regs);
	end_call_of_user(note, how, result);
	if (note->call.number != (s32)id + 1)
		return 0;
	note->call.result = result;
	if (note->call.adopted) {
		end_followed(note);
		return 0;
	}
	/* This program runs most often, and the clock costs most of it. */
	now = may_be_slow(note->call.entered_tick) ? bpf_ktime_get_ns() : 0;
	if (now && is_slow(note, how, now)) {
		emit_all_gathered(note);
		emit_call(note, how & NAMES, now);
	}
	note->call.number = 0;
	note->call.last = id + 1;
	return 0;
}
