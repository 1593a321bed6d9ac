/* Works of kernel workers before Linux 5.17, and the requests whose completion leads to them: `request/completion.h`.
 */
#pragma once

#include "bpf.h"
#include "early/task.h"
#include "event.h"
#include "request/completing.h"
#include "request/queued_work.h"
#include "this_cpu.h"

/* The request that the work of the running worker leads back to; 0: none. */
static __always_inline struct request_note *request_of_work(struct task_struct *task)
{
	struct kthread *thread;
	struct worker *worker;

	if (!(BPF_CORE_READ(task, flags) & PF_WQ_WORKER))
		return 0;
	thread = (struct kthread *)BPF_CORE_READ((struct task_struct___early *)task, set_child_tid);
	worker = BPF_CORE_READ(thread, data);
	return request_behind((u64)BPF_CORE_READ(worker, current_work));
}

/* The request whose completion the running kernel thread acts on. */
static __always_inline struct request_note *request_acted_on(u32 tid)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct request_note *served;
	struct thread *mine;

	if (!tid || !(BPF_CORE_READ(task, flags) & PF_KTHREAD))
		return 0;
	served = request_of_work(task);
	mine = thread_of(tid);
	if (!mine || !mine->request.key || (served && served->completed_ns > mine->request.completed_ns))
		return served;
	return &mine->request;
}

SEC("tp_btf/workqueue_queue_work")
int BPF_PROG(workqueue_queue_work, unsigned int requested_cpu, void *pool, void *work)
{
	struct on_cpu *cpu = this_cpu();
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct request_note *behind;
	u64 key = (u64)work;

	if (cpu && is_completing(ctx, cpu, tid, bpf_ktime_get_ns(), LATE_COMPLETION_NS)) {
		bpf_map_update_elem(&works, &key, &cpu->done, BPF_ANY);
		return 0;
	}
	behind = request_acted_on(tid);
	if (behind)
		bpf_map_update_elem(&works, &key, behind, BPF_ANY);
	return 0;
}
