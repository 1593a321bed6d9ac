/* What a request's completion starts: wakeups, and the work of kernel workers. */
#pragma once

#include "completing.h"
#include "nfs.h"

#define WORKS 1024

/* Requests whose completion queued a work, by work. The worker that does it need not have been asleep. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, WORKS);
	__type(key, u64);
	__type(value, struct request_note);
} works SEC(".maps");

SEC("tp_btf/workqueue_queue_work")
int BPF_PROG(workqueue_queue_work, unsigned int requested_cpu, void *pool, void *work)
{
	struct on_cpu *cpu = this_cpu();
	u32 tid = (u32)bpf_get_current_pid_tgid();
	u64 key = (u64)work;

	/* Mostly another task: the clock is read only if it is that one. */
	if (cpu && cpu->tid == tid && is_completing(ctx, cpu, tid, bpf_ktime_get_ns(), LATE_COMPLETION_NS))
		bpf_map_update_elem(&works, &key, &cpu->done, BPF_ANY);
	note_reply(bpf_get_current_task_btf(), key);
	return 0;
}

/* The request whose completion queued the work that a worker does; 0: none. */
static __always_inline struct request_note *request_of_work(struct task_struct *task)
{
	u64 key;

	if (!(task->flags & PF_WQ_WORKER))
		return 0;
	key = current_work_of(task);
	return key ? bpf_map_lookup_elem(&works, &key) : 0;
}
