/* Block requests before Linux 5.17, kept by address in a hash map. */
#pragma once

#include "bpf.h"
#include "event.h"
#include "request/failed.h"
#include "ring.h"
#include "settings.h"
#include "this_cpu.h"

#define REQUESTS_IN_FLIGHT 8192
/* blk_status_t: as `errno_of` of `trace/requests.rs` reads them. */
#define STATUS_TIMEOUT 2
#define STATUS_NO_SPACE 3
#define STATUS_TARGET 5
#define STATUS_MEDIUM 7
#define STATUS_ERROR 10

struct in_flight {
	u64 made_ns;		/* request->start_time_ns, which distinguishes one use of the request from the next */
	u64 inserted_ns;
	u64 issued_ns;
	u32 tid;
	u32 throttled;
	struct failed failed;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REQUESTS_IN_FLIGHT);
	__type(key, u64);
	__type(value, struct in_flight);
} requests SEC(".maps");

/* Whether the running task is the worker that dispatches I/O throttled by a limit of a cgroup. */
static __always_inline u32 is_throttle_worker(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct kthread *thread;
	struct worker *worker;

	if (!settings.throttle_function || !(BPF_CORE_READ(task, flags) & PF_WQ_WORKER))
		return 0;
	thread = (struct kthread *)BPF_CORE_READ((struct task_struct___early *)task, set_child_tid);
	worker = BPF_CORE_READ(thread, data);
	return (u64)BPF_CORE_READ(worker, current_func) == settings.throttle_function;
}

static __always_inline void arrive(struct request *request, u32 is_issue)
{
	u64 key = (u64)request, now = bpf_ktime_get_ns(), made = request->start_time_ns;
	struct in_flight *known = bpf_map_lookup_elem(&requests, &key), fresh = {};

	if (!known || known->made_ns != made) {
		fresh.made_ns = made;
		fresh.tid = bpf_get_current_pid_tgid();
		fresh.throttled = is_throttle_worker();
		if (bpf_map_update_elem(&requests, &key, &fresh, BPF_ANY)) {
			count_loss(REQUEST_NOTES);
			return;
		}
		known = bpf_map_lookup_elem(&requests, &key);
		if (!known)
			return;
	}
	if (is_issue)
		known->issued_ns = now;
	else if (!known->inserted_ns)
		known->inserted_ns = now;
}

/* The tracepoint's error, a negative errno, as the kernel's status. */
static __always_inline u8 status_of(int error)
{
	switch (error) {
	case 0:
		return 0;
	case -28:
		return STATUS_NO_SPACE;
	case -61:
		return STATUS_MEDIUM;
	case -95:
		return NOT_SUPPORTED;
	case -110:
		return STATUS_TIMEOUT;
	case -121:
		return STATUS_TARGET;
	default:
		return STATUS_ERROR;
	}
}

static __always_inline void emit_request(struct request_note *note)
{
	struct event *event = begin_event(REQUEST, BARE);

	if (!event)
		return;
	event->tid = note->tid;
	event->end_ns = note->completed_ns;
	event->request = *note;
	end_event(event);
}

static __always_inline u32 device_of(struct request *request)
{
	struct gendisk *disk = BPF_CORE_READ((struct request___early *)request, rq_disk);

	return disk ? BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor) : 0;
}

/* A request that the driver gives back, to be issued again. One that has no room for it does so at once: nothing
 * failed. */
static __always_inline void give_back(struct request *request)
{
	u64 key = (u64)request;
	struct in_flight *known = bpf_map_lookup_elem(&requests, &key);
	int late = is_timed_out(request->rq_flags);

	if (!known || known->made_ns != request->start_time_ns || (request->state != MQ_RQ_COMPLETE && !late))
		return;
	if (!known->failed.first_issued_ns)
		known->failed.first_issued_ns = known->issued_ns;
	known->failed.failures = add_failure(known->failed.failures, late, 1);
	add_scsi(&known->failed, key, device_of(request));
	/* Its last issue is the one that counts. */
	known->issued_ns = 0;
}

/* The failures of a request that completes. */
static __always_inline void note_failures(struct request_note *note, struct in_flight *known, struct request *request)
{
	if (is_timed_out(request->rq_flags))
		known->failed.failures = add_failure(known->failed.failures, 1, 0);
	if (is_failure(note->status, note->flags)) {
		add_scsi(&known->failed, note->key, note->device);
		known->failed.failures |= FAILED;
	}
	note->first_issued_ns = known->failed.first_issued_ns;
	note->failures = known->failed.failures;
	note->scsi_result = known->failed.scsi_result;
	note->scsi_sense = known->failed.scsi_sense;
}

static __always_inline void complete(struct request *request, int error, u32 bytes)
{
	u64 key = (u64)request, now = bpf_ktime_get_ns(), began;
	struct in_flight *known = bpf_map_lookup_elem(&requests, &key);
	struct on_cpu *cpu = this_cpu();
	struct request_note *note;

	if (!known || !cpu)
		return;
	note = &cpu->done;
	note->key = key;
	note->sector = request->__sector;
	note->queued_ns = known->made_ns;
	note->got_ns = known->made_ns;
	note->inserted_ns = known->inserted_ns;
	note->issued_ns = known->issued_ns;
	note->completed_ns = now;
	note->device = device_of(request);
	note->bytes = bytes;
	note->flags = request->cmd_flags;
	note->tid = known->tid;
	note->throttled = known->throttled;
	note->status = status_of(error);
	note_failures(note, known, request);
	cpu->tid = bpf_get_current_pid_tgid();
	began = known->made_ns ? known->made_ns : known->inserted_ns ? known->inserted_ns : known->issued_ns;
	if (settings.all_requests || now - began >= settings.slow_ns)
		emit_request(note);
	bpf_map_delete_elem(&requests, &key);
}

/* Before 5.11 the queue is the first argument. */
#define OF_REQUEST(tracepoint, what) \
	SEC("tp_btf/" #tracepoint) \
	int BPF_PROG(tracepoint, struct request *request) \
	{ \
		what; \
		return 0; \
	} \
	SEC("tp_btf/" #tracepoint) \
	int BPF_PROG(tracepoint##_2, struct request_queue *queue, struct request *request) \
	{ \
		what; \
		return 0; \
	}

OF_REQUEST(block_rq_insert, arrive(request, 0))
OF_REQUEST(block_rq_issue, arrive(request, 1))
OF_REQUEST(block_rq_requeue, give_back(request))

SEC("tp_btf/block_rq_complete")
int BPF_PROG(block_rq_complete, struct request *request, int error, unsigned int bytes)
{
	/* A partial completion: the rest follows. */
	if (bytes >= request->__data_len || error)
		complete(request, error, bytes);
	return 0;
}
