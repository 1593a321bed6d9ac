/* Iterators over all tasks: at the start of the recording for waits that began before it, while it lasts for long
 * waits, at its end for waits that have not ended. */
#pragma once

#include "bpf.h"
#include "call/call.h"
#include "event.h"
#include "file/descriptor.h"
#include "file/path.h"
#include "model.h"
#include "registers.h"
#include "ring.h"
#include "settings.h"
#include "task/state.h"
#include "task/task.h"
#include "user_stack.h"
#include "wait/awaits.h"
#include "wait/lock.h"
#include "wait/wait.h"

/* A wait for flock(2) that began before the recording: the file's list has the locks that are in the way. */
static __noinline int note_earlier_flock(struct task_note *note, struct file *file)
{
	u64 inode = (u64)BPF_CORE_READ(file, f_inode), list, entry;
	struct file_lock_context *locks = BPF_CORE_READ(file, f_inode, i_flctx);
	struct file_range held;

	if (!note || !locks)
		return 0;
	list = (u64)locks + bpf_core_field_offset(struct file_lock_context, flc_flock);
	entry = word_at(list);
	if (!entry || entry == list)
		return 0;
	read_file_lock(lock_of_entry(entry), &held);
	note->wait.out_mark = FLOCK_LOCK_INODE;
	note_holder_of_file(note, inode, held.pid <= MOST_TIDS ? held.pid : 0);
	note->lock.holder.is_hint = held.is_shared;
	return 0;
}

/* What has a lock, or what its client waits for, may wait for its child or its own client, or rest, all the while. */
static __always_inline int may_be_awaited(s32 call)
{
	if (call < 0 || call >= CALLS)
		return 0;
	return settings.others[call] || call == settings.nanosleep || call == settings.clock_nanosleep;
}

/* A task that is asleep is taken to have fallen asleep now. One that waits for storage, is stopped, is in a call that
 * sys_enter would have begun, or may be waited for. Others may wait for any kernel thread, from its first work on. */
SEC("iter/task")
int tasks_at_start(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct task_note *note;
	struct pt_regs *regs;
	struct file *file;
	s32 call;
	u32 how;

	if (!task || !is_asleep(task))
		return 0;
	if (!began_ns) {
		began_ns = bpf_ktime_get_ns();
		began_jiffies = bpf_jiffies64();
	}
	call = call_in_registers(task) + 1;
	how = call ? how_followed(call) : 0;
	if (!how && !is_blocked(state_of(task)) && !is_stopped(state_of(task)) && !may_be_awaited(call - 1) &&
	    !(task->flags & PF_KTHREAD))
		return 0;
	note = new_note_of(task);
	if (!note || note->wait.out_ns || note->call.number)
		return 0;
	if (call && (how || is_blocked(state_of(task)))) {
		regs = (struct pt_regs *)bpf_task_pt_regs(task);
		if (!regs)
			return 0;
		begin_call(note, call, regs, began_ns);
		note->call.adopted = how ? FROM_ENTRY : FROM_WAIT;
		if (!how)
			__sync_fetch_and_add(&adopted_calls, 1);
		else if (is_blocked(state_of(task)))
			note_user_of_file(task, note);
	}
	if (call == settings.flock + 1) {
		file = file_of(task, note->call.first);
		if (file)
			note_earlier_flock(note, file);
	}
	note_asleep(task, note);
	return 0;
}

/* Whether a wait that lasts is one for storage, or may be one. */
static __always_inline int may_be_for_storage(struct task_struct *task, struct task_note *note)
{
	struct file *file;
	u32 how;

	if (is_blocked(note->wait.out_state) || is_stopped(note->wait.out_state) || note->wait.out_mark ||
			note->signal.spans)
		return 1;
	if (!note->call.number)
		return 0;
	how = how_followed(note->call.number);
	if ((how & NAMES) != BY_FD)
		return how && !(how & IF_WAITED);
	file = file_of(task, note->call.first);
	return file && is_storage(file);
}

/* Reports a wait that lasts, and what it is for so far. The task that ends it may know better. */
static __always_inline int report_wait(struct task_struct *task, struct task_note *note, u32 awaits, u64 now)
{
	struct event *event = begin_event(STILL_OFF_CPU, WITH_STACK);

	if (!event)
		return 0;
	describe_wait(event, task, note, awaits, note->wait.out_ns, now);
	add_stack(event, task);
	end_event(event);
	emit_sleeping_user(task, note->wait.out_ns, now);
	return 0;
}

/* The note of a task that waits now, or 0. */
static __always_inline struct task_note *note_of_wait(struct task_struct *task)
{
	struct task_note *note = task && is_asleep(task) ? note_of(task) : 0;

	return note && note->wait.out_ns ? note : 0;
}

SEC("iter/task")
int tasks_at_end(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct task_note *note = note_of_wait(task);
	u64 now = bpf_ktime_get_ns();
	u32 awaits;

	if (!note || now - note->wait.out_ns < settings.interval_ns)
		return 0;
	awaits = awaited_so_far(task, note);
	if (!awaits && !may_be_for_storage(task, note)) {
		/* Of a watched task every wait is reported: one that hangs has no other end. It may idle as well. */
		if (!note->watched)
			return 0;
		awaits = MESSAGE;
	}
	return report_wait(task, note, awaits, now);
}

/* A long wait is reported again after a second, and ever less often: `REPEAT_NS` of `trace/blocked.rs`. */
#define REPEAT_NS 1000000000ull
#define LONGEST_REPEAT_NS 30000000000ull

static __always_inline int is_report_due(struct task_note *note, u64 now)
{
	u64 lasted = now - note->wait.out_ns, pause = lasted / 8;

	if (lasted < settings.report_ns || (s64)lasted < 0)
		return 0;
	if (pause < REPEAT_NS)
		pause = REPEAT_NS;
	if (pause > LONGEST_REPEAT_NS)
		pause = LONGEST_REPEAT_NS;
	return note->wait.reported_ns < note->wait.out_ns || now - note->wait.reported_ns >= pause;
}

/* While the recording lasts: from their begin, and with the holders of locks. */
SEC("iter/task")
int long_waits(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct task_note *note = note_of_wait(task);
	u64 now = bpf_ktime_get_ns();
	u32 awaits;

	if (!note || !is_report_due(note, now))
		return 0;
	awaits = awaited_so_far(task, note);
	if (!awaits && !may_be_for_storage(task, note))
		return 0;
	note->wait.reported_ns = now;
	return report_wait(task, note, awaits, now);
}
