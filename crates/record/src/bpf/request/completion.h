/* What a request's completion starts: wakeups, and the work of kernel workers. */
#pragma once

#include "bpf.h"
#include "event.h"
#include "request/completing.h"
#include "request/nfs.h"
#include "request/queued_work.h"
#include "task/task.h"
#include "this_cpu.h"

/* The request whose completion queued the work that a worker does; 0: none. */
static __always_inline struct request_note *request_of_work(struct task_struct *task)
{
	return task->flags & PF_WQ_WORKER ? request_behind(current_work_of(task)) : 0;
}

/* The request whose completion a kernel thread acts on: that which queued its work, or which woke it, such as md's. The
 * later of the two. */
static __always_inline struct request_note *request_acted_on(struct task_struct *task)
{
	struct request_note *served;
	struct task_note *mine;

	if (!(task->flags & PF_KTHREAD) || !task->pid)
		return 0;
	served = request_of_work(task);
	mine = note_of(task);
	if (!mine || !mine->request.key || (served && served->completed_ns > mine->request.completed_ns))
		return served;
	return &mine->request;
}

/* A kernel thread that acts on a completion may hand on to a worker: decryption to a file system's verification, md to
 * the end of its bio. */
SEC("tp_btf/workqueue_queue_work")
int BPF_PROG(workqueue_queue_work, unsigned int requested_cpu, void *pool, void *work)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct request_note *behind = 0;
	struct on_cpu *cpu = this_cpu();
	u32 tid = current->pid;
	u64 key = (u64)work;

	/* Mostly another task: the clock is read only if it is that one. */
	if (cpu && cpu->tid == tid && is_completing(ctx, cpu, tid, bpf_ktime_get_ns(), LATE_COMPLETION_NS))
		behind = &cpu->done;
	else
		behind = request_acted_on(current);
	if (behind)
		bpf_map_update_elem(&works, &key, behind, BPF_ANY);
	note_reply(current, key);
	return 0;
}
