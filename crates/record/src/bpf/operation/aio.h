/* Asynchronous operations of libaio. Neither their submission nor their end has a tracepoint. */
#pragma once

#include "bpf.h"
#include "file/descriptor.h"
#include "file/path.h"
#include "operation/direct.h"
#include "operation/link.h"
#include "operation/table.h"
#include "settings.h"
#include "task/task.h"

/* iocbs of one io_submit, and events of one io_getevents, that are seen. */
#define MOST_IOCBS 256

/* Contexts of a process that are searched. */
#define MOST_CONTEXTS 64

static __always_inline u64 context_at(struct kioctx_table *table, u32 number)
{
	u64 context = 0;

	bpf_probe_read_kernel(&context, sizeof(context), &table->table[number]);
	return context;
}

/* Bodies of loops are functions that are not static: the verifier checks them once, not for each turn, nor for each
 * caller. */

/* The context at that place of a table, if user space names it so. */
__noinline u64 context_of_ring(u64 table, u32 number, u64 ring)
{
	u64 context = context_at((struct kioctx_table *)table, number);

	return context && BPF_CORE_READ((struct kioctx *)context, user_id) == ring ? context : 0;
}

/* The context of libaio that user space names by the address of its ring, which begins with its number. A ring that was
 * not touched yet cannot be read here. */
__noinline u64 aio_context(u64 ring)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct kioctx_table *table = BPF_CORE_READ(task, mm, ioctx_table);
	u32 count = BPF_CORE_READ(table, nr), number;
	u64 context = 0;

	if (!bpf_probe_read_user(&number, sizeof(number), (void *)ring))
		return number < count ? context_at(table, number) : 0;
	for (number = 0; !context && number < MOST_CONTEXTS && number < count; number++)
		context = context_of_ring((u64)table, number, ring);
	return context;
}

/* The operation of the iocb whose address is at that pointer. */
__noinline int aio_begins_one(u64 context, u64 pointer, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct submission submission = {.now_ns = now, .tid = task->pid, .pid = task->tgid};
	u64 iocb;

	if (bpf_probe_read_user(&iocb, sizeof(iocb), (void *)pointer))
		return 0;
	submission.key = aio_key(context, iocb);
	operation_begins(&submission);
	return 0;
}

__noinline int aio_begins(u64 ring, u64 count, u64 pointers)
{
	u64 context = aio_context(ring), now = bpf_ktime_get_ns();
	u32 at;

	for (at = 0; context && at < MOST_IOCBS && at < count; at++)
		aio_begins_one(context, pointers + at * sizeof(u64), now);
	return 0;
}

/* Codes of operations that the kernel executes in a work queue. */
#define IOCB_FSYNC 2
#define IOCB_FDSYNC 3

/* What user space wrote into an iocb: `struct iocb` of <linux/aio_abi.h>. */
struct user_iocb {
	u64 data;
	u64 key;
	u16 code;
	u16 priority;
	u32 fd;
};

/* A wait for completions ended. An operation whose requests had completed when it began ended sometime between. */
static __always_inline void aio_ended(struct operation *operation, u64 iocb, s64 result, u64 since, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 known = operation->ended_ns;
	struct user_iocb user = {};
	struct task_note *note;
	struct file *file;

	if (now - operation->start_ns < settings.slow_ns || (known && (known < since ||
			now - known < settings.interval_ns)))
		return;
	bpf_probe_read_user(&user, sizeof(user), (void *)iocb);
	note = note_of(task);
	if ((user.code == IOCB_FSYNC || user.code == IOCB_FDSYNC) && note && note->wait.woken_ns >= since) {
		/* The work queue's worker that executed it woke this task. */
		operation->worker_tid = note->waker.tid;
		operation->worker_pid = note->waker.pid;
	}
	file = file_of(task, user.fd);
	if (file && is_storage(file))
		emit_operation(operation, AIO_CODE + (user.code & 15), (u64)file, result, now);
}

__noinline int aio_reap(u64 key, u64 iocb, s64 result, u64 since)
{
	struct operation *operation = operation_of(key);

	if (operation) {
		aio_ended(operation, iocb, result, since, bpf_ktime_get_ns());
		operation->key = 0;
	}
	return 0;
}

/* As user space reads it: `struct io_event`. */
struct user_event {
	u64 data;
	u64 iocb;
	s64 result;
	s64 other;
};

/* The operation of the event at that address; not 0 if it cannot be read. */
__noinline int aio_reap_one(u64 context, u64 address, u64 since)
{
	struct user_event event;

	if (bpf_probe_read_user(&event, sizeof(event), (void *)address))
		return 1;
	return aio_reap(aio_key(context, event.iocb), event.iocb, event.result, since);
}

__noinline int aio_reaped(u64 ring, s64 count, u64 events, u64 since)
{
	u64 context = aio_context(ring);
	s32 at;

	for (at = 0; context && at < MOST_IOCBS && at < count; at++) {
		if (aio_reap_one(context, events + at * sizeof(struct user_event), since))
			break;
	}
	return 0;
}

/* `struct pt_regs` are those of system call `id`. */
static __always_inline void aio_enters(struct pt_regs *regs, long id)
{
	struct task_struct *task;
	struct task_note *note;

	if (id != settings.io_submit && id != settings.io_getevents && id != settings.io_pgetevents)
		return;
	task = bpf_get_current_task_btf();
	note = IS_COMPAT(task) ? 0 : current_note(task);
	if (!note)
		return;
	note->call.reaps_ns = bpf_ktime_get_ns();
	if (id == settings.io_submit)
		aio_begins(FIRST_ARGUMENT(regs), SECOND_ARGUMENT(regs), THIRD_ARGUMENT(regs));
}

static __always_inline void aio_exits(struct pt_regs *regs, long id, long result)
{
	struct task_struct *task;
	struct task_note *note;

	if (result <= 0 || !any_operation || (id != settings.io_getevents && id != settings.io_pgetevents))
		return;
	task = bpf_get_current_task_btf();
	note = IS_COMPAT(task) ? 0 : note_of(task);
	if (note)
		aio_reaped(FIRST_ARGUMENT(regs), result, FOURTH_ARGUMENT(regs), note->call.reaps_ns);
}
