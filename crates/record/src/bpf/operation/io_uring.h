/* Asynchronous operations of io_uring. */
#pragma once

#include "address_hash.h"
#include "bpf.h"
#include "clock.h"
#include "file/path.h"
#include "operation/link.h"
#include "operation/table.h"
#include "settings.h"
#include "task/task.h"

/* Where a kernel thread polls the ring and submits, the submitter is the process that the thread belongs to. */
static __always_inline void io_uring_begins(struct io_kiocb *request, struct task_struct *task)
{
	struct submission submission = {.key = address_of(request, OF_SUBMIT), .now_ns = begun_at()};
	struct io_sq_data *poller = request->ctx->sq_data;

	submission.tid = poller ? poller->task_tgid : task->pid;
	submission.pid = poller ? poller->task_tgid : task->tgid;
	submission.worker = poller ? task->pid : 0;
	operation_begins(&submission);
}

SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(io_uring_submit_req, struct io_kiocb *request)
{
	struct task_struct *task;
	u32 code = request->opcode;

	if (code >= CODES || !settings.codes[code])
		return 0;
	task = bpf_get_current_task_btf();
	if (task->tgid != settings.recorder)
		io_uring_begins(request, task);
	return 0;
}

/* A request without a name of its own for the file, that the task's sleep for a page ended with. */
static __always_inline void add_awaited_request(struct operation *operation, struct task_struct *task)
{
	struct task_note *note;

	if (operation->request.key || task->pid != operation->tid)
		return;
	note = note_of(task);
	if (note && note->request.key && note->request.completed_ns >= operation->start_ns)
		operation->request = note->request;
}

static __always_inline void io_uring_ends(struct operation *operation, struct io_kiocb *request, s64 result, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 code = BPF_CORE_READ(request, opcode);
	struct file *file = 0;

	if (code >= CODES)
		return;
	if (settings.codes[code] == BY_FD) {
		file = BPF_CORE_READ(request, file);
		if (!file || !is_storage(file))
			return;
	}
	if ((task->flags & PF_IO_WORKER) && !operation->worker_tid) {
		operation->worker_tid = task->pid;
		operation->worker_pid = task->tgid;
	}
	add_awaited_request(operation, task);
	emit_operation(operation, code, (u64)file, result, now);
}

SEC("tp_btf/io_uring_complete")
int BPF_PROG(io_uring_complete, void *ring, void *request, struct io_uring_cqe *entry)
{
	struct operation *operation = request ? operation_of((u64)request) : 0;
	u64 now = operation && may_be_slow(operation->start_tick) ? bpf_ktime_get_ns() : 0;

	if (!operation)
		return 0;
	if (now && now - operation->start_ns >= settings.slow_ns)
		io_uring_ends(operation, request, BPF_CORE_READ(entry, res), now);
	operation->key = 0;
	return 0;
}
