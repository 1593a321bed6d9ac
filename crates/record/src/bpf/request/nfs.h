/* The NFS server of this machine, if it is the client, too. Its thread sends the answer over the loopback interface,
 * which queues the work of a worker of the client (xprtiod) before the send returns; that worker ends the call, or
 * queues more work for it (rpciod). So a work leads to the thread that answered, and the client's wait to the waits of
 * the server. */
#pragma once

#include "bpf.h"

#define REPLIES 1024

struct reply {
	u32 tid;
	u32 pid;
};

/* By work. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, REPLIES);
	__type(key, u64);
	__type(value, struct reply);
} replies SEC(".maps");

u32 any_replies SEC(".data.replies") = 0;

/* Whether the task is a thread of the server (Linux 2.6 to 7.3), of the kernel all the same. */
static __always_inline int is_nfsd(struct task_struct *task)
{
	return task->comm[0] == 'n' && task->comm[1] == 'f' && task->comm[2] == 's' && task->comm[3] == 'd' &&
			!task->comm[4];
}

/* The work that a kernel worker does. */
static __always_inline u64 current_work_of(struct task_struct *task)
{
	struct kthread *thread = BPF_CORE_READ(task, worker_private);
	struct worker *worker = BPF_CORE_READ(thread, data);

	return (u64)BPF_CORE_READ(worker, current_work);
}

static __always_inline struct reply *reply_of_work(struct task_struct *task)
{
	u64 work;

	if (!any_replies || !(task->flags & PF_WQ_WORKER))
		return 0;
	work = current_work_of(task);
	return work ? bpf_map_lookup_elem(&replies, &work) : 0;
}

/* Before Linux 6.4, once the kernel's thread for soft interrupts is awake, it delivers all that the server sends on its
 * CPU. */
static __always_inline int delivers_for_others(struct task_struct *task)
{
	return !task->pid ||
			(task->comm[0] == 'k' && task->comm[1] == 's' && task->comm[2] == 'o' && task->comm[3] == 'f' &&
			      task->comm[4] == 't' && task->comm[5] == 'i' && task->comm[6] == 'r' && task->comm[7] == 'q');
}

/* A work is queued. That of a connection to the server leads to the thread that answered there last, also where another
 * task delivers the answer. */
static __always_inline void note_reply(struct task_struct *task, u64 work)
{
	struct reply reply = {}, *earlier;

	if ((task->flags & PF_KTHREAD) && is_nfsd(task)) {
		reply.tid = task->pid;
		reply.pid = task->tgid;
		any_replies = 1;
		bpf_map_update_elem(&replies, &work, &reply, BPF_ANY);
		return;
	}
	if (!any_replies || ((task->flags & PF_KTHREAD) && delivers_for_others(task)))
		return;
	earlier = reply_of_work(task);
	if (earlier) {
		reply = *earlier;
		bpf_map_update_elem(&replies, &work, &reply, BPF_ANY);
	} else {
		bpf_map_delete_elem(&replies, &work);
	}
}
