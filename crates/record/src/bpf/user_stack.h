/* Where programs are in their own code when they wait, or when they release a lock. The kernel reads the memory of the
 * running task alone, so the stack of a wait is taken when its system call returns: where it began. */
#pragma once

#include "bpf.h"
#include "event.h"
#include "registers.h"
#include "ring.h"
#include "settings.h"
#include "task/task.h"

#define BPF_F_USER_STACK (1ull << 8)

/* Tasks whose stack is still to be taken: without any, the end of a system call that is not followed looks up no task.
 */
s32 owed_user_stacks SEC(".data") = 0;

/* The task waited in a system call: its stack is taken at the call's end. */
static __always_inline void owe_user_stack(struct task_struct *task, struct task_note *note, u64 out_ns)
{
	if (!settings.user_stacks || note->call.user_ns || call_in_registers(task) < 0)
		return;
	note->call.user_ns = out_ns;
	__sync_fetch_and_add(&owed_user_stacks, 1);
}

static __always_inline void forget_user_stack(struct task_note *note)
{
	if (!note->call.user_ns)
		return;
	note->call.user_ns = 0;
	__sync_fetch_and_add(&owed_user_stacks, -1);
}

static __always_inline struct user_stack *begin_user_stack(struct task_struct *task, struct pt_regs *regs, u64 from,
		u64 until)
{
	struct user_stack *event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);

	if (!event) {
		count_loss(USER_STACK);
		return 0;
	}
	event->kind = USER_STACK;
	event->tid = task->pid;
	event->pid = task->tgid;
	event->frames = 0;
	event->start_ns = from;
	event->end_ns = until;
	event->memory = (u64)task->mm;
	event->instruction = INSTRUCTION(regs);
	event->stack_pointer = STACK_POINTER(regs);
	event->frame_pointer = FRAME_POINTER(regs);
	event->words = 0;
	event->is_asleep = 0;
	return event;
}

/* Reads as much as there is below the stack's end. */
static __always_inline u32 read_words(struct user_stack *event)
{
	void *from = (void *)event->stack_pointer;

	if (!bpf_probe_read_user(event->word, USER_WORDS * 8, from))
		return USER_WORDS;
	if (!bpf_probe_read_user(event->word, USER_WORDS * 2, from))
		return USER_WORDS / 4;
	return bpf_probe_read_user(event->word, USER_WORDS / 2, from) ? 0 : USER_WORDS / 16;
}

/* The stack of the running task. Not static, and thus verified once. */
__noinline int emit_user_stack(u64 from, u64 until)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct user_stack *event;
	struct pt_regs *regs;
	long bytes;

	if (!settings.user_stacks || task->tgid == settings.recorder || call_in_registers(task) < 0)
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	event = regs ? begin_user_stack(task, regs, from, until) : 0;
	if (!event)
		return 0;
	bytes = bpf_get_task_stack(task, event->frame, sizeof(event->frame), BPF_F_USER_STACK);
	event->frames = bytes > 0 ? (u64)bytes / 8 : 0;
	event->words = read_words(event);
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 0;
}

/* A system call ends. The program that execve has begun did not wait. */
static __always_inline void end_call_of_user(struct task_note *note, u32 how, long result)
{
	if (!settings.user_stacks || !note->call.user_ns)
		return;
	if ((how & NAMES) != BY_PROGRAM || result)
		emit_user_stack(note->call.user_ns, bpf_ktime_get_ns());
	forget_user_stack(note);
}

/* The registers of a task that sleeps, with which the recorder reads its stack. */
static __always_inline void emit_sleeping_user(struct task_struct *task, u64 from, u64 until)
{
	struct user_stack *event;
	struct pt_regs *regs;

	if (!settings.user_stacks || task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER) || IS_COMPAT(task))
		return;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	event = regs ? begin_user_stack(task, regs, from, until) : 0;
	if (!event)
		return;
	event->is_asleep = 1;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}
