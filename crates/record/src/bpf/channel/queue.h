/* Messages by queues of System V and POSIX. */
#pragma once

#include "bpf.h"
#include "channel/queue_note.h"
#include "file/descriptor.h"
#include "settings.h"
#include "task/task.h"

/* The queue that the current task's call names: by its inode, or by its number in the task's namespace. */
static __always_inline u64 queue_of(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 call = CALL_NUMBER(regs), number = FIRST_ARGUMENT(regs);
	struct file *file;

	if (call == CALL_MSGSND || call == CALL_MSGRCV)
		return ((u64)BPF_CORE_READ(task, nsproxy, ipc_ns) * 31 ^ (u32)number) | 1;
	file = (struct file *)current_file(number);
	return file ? (u64)BPF_CORE_READ(file, f_inode) : 0;
}

/* The current task sent something to a queue, or received something from one. Verified once. */
__noinline int note_queue(struct task_note *note, u32 what)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	u64 now = bpf_ktime_get_ns(), queue;

	if (!note || !regs)
		return 0;
	queue = queue_of(regs);
	if (what & DEQUEUES) {
		queue_received(&note->messages.queues, queue, now);
		return 0;
	}
	note->messages.sent_ns = now;
	queue_sent(&note->messages.queues, queue, began_ns && task->start_time >= began_ns, now);
	return 0;
}
