/* Asynchronous operations: how they are emitted, and the block requests that they waited for. */
#pragma once

#include "bpf.h"
#include "event.h"
#include "file/event_path.h"
#include "operation/direct.h"
#include "operation/table.h"
#include "ring.h"
#include "settings.h"

__noinline int emit_operation(struct operation *operation, u32 code, u64 file, s64 result, u64 now)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct event *event;

	if (!operation)
		return 0;
	event = begin_event(ASYNCHRONOUS, WITH_STACK);
	if (!event)
		return 0;
	event->tid = operation->tid;
	event->pid = operation->pid;
	/* The reader looks up the name of another task. */
	if (current->pid == operation->tid)
		bpf_probe_read_kernel_str(event->comm, NAME_BYTES, &current->comm);
	event->start_ns = operation->start_ns;
	event->end_ns = now;
	event->busy_ns = now - operation->start_ns;
	event->result = result;
	event->source = code;
	event->waker_tid = operation->worker_tid;
	event->waker_pid = operation->worker_pid;
	if (operation->request.key)
		event->request = operation->request;
	event->path[0] = 0;
	if (file)
		add_path(event, (struct file *)file);
	end_event(event);
	return 0;
}

/* A direct read or write of libaio whose last bio completes. Its end is not traced; the wait for its completion is. */
static __always_inline void aio_requests_end(struct operation *operation, struct kiocb *iocb, u32 flags, u64 now)
{
	operation->ended_ns = now;
	if (now - operation->start_ns >= settings.slow_ns)
		emit_operation(operation, AIO_CODE + (flags & 1), (u64)BPF_CORE_READ(iocb, ki_filp), 0, now);
}

/* This and other functions that are not static are verified separately and once, not for each path of each caller. */
__noinline int link_bio(u64 bio, struct request_note *note)
{
	struct operation *operation;
	struct direct direct;
	u64 key;

	if (!note)
		return 0;
	find_direct((struct bio *)bio, &direct);
	key = direct.iocb ? key_of(direct.iocb) : 0;
	operation = key ? operation_of(key) : 0;
	if (!operation)
		return 0;
	operation->request = *note;
	if ((key & 1) && direct.left <= 1)
		aio_requests_end(operation, direct.iocb, note->flags, note->completed_ns);
	return 0;
}

/* Remembers a slow request with the operations whose bios it completes. */
__noinline int link_operations(struct request_note *note)
{
	struct request *request;
	struct bio *bio, *last;
	int at;

	if (!note)
		return 0;
	request = (struct request *)note->key;
	bio = BPF_CORE_READ(request, bio);
	last = BPF_CORE_READ(request, biotail);
	for (at = 0; at < MOST_BIOS && bio; at++) {
		link_bio((u64)bio, note);
		if (bio == last)
			break;
		bio = BPF_CORE_READ(bio, bi_next);
	}
	return 0;
}
