/* Servers in user space that the kernel calls: their own waits explain those of their clients. */
#pragma once

#include "bpf.h"
#include "task/task.h"

/* It runs in the server's task. The first answer shows that the task is one. */
static __always_inline int note_server(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_note *note;

	if (task->flags & PF_KTHREAD)
		return 0;
	note = current_note(task);
	if (note)
		note->serves = 1;
	return 0;
}

SEC("tp_btf/fuse_request_end")
int BPF_PROG(fuse_request_end)
{
	return note_server();
}

/* Before Linux 6.11, which has no such tracepoint: at the begin of the function. */
SEC("fentry/fuse_request_end")
int BPF_PROG(fuse_answered)
{
	return note_server();
}
