/* The programs of block requests: matched here, emitted where they are slow or a task waited for them, always summed up. */
#pragma once

#include "request_table.h"
#include "request_traffic.h"
#include "request_histogram.h"
#include "request_event.h"

/* Whether issues must be traced: `Issues` of `trace/issues.rs`. */
struct issues {
	u64 since_ns;	/* since when all other programs are attached; 0: not yet */
	u64 wanted;	/* approximate number of requests that showed it */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct issues);
} issues SEC(".maps");

/* Whether the request was allocated while all programs were attached, and thus shows that issues must be traced. */
static __always_inline int want_issue_of(struct request *request)
{
	u32 zero = 0;
	struct issues *known = bpf_map_lookup_elem(&issues, &zero);

	if (!known || !known->since_ns || made_at(request) < known->since_ns)
		return 0;
	if (!bypasses_scheduler(request))
		known->wanted++;
	return 1;
}

/* Whether this is the worker that dispatches I/O throttled by a blkio or io controller limit. */
static __always_inline int is_throttle_worker(struct task_struct *task)
{
	struct kthread *thread;
	struct worker *worker;

	if (!settings.throttle_function || !(task->flags & PF_WQ_WORKER))
		return 0;
	thread = BPF_CORE_READ(task, worker_private);
	worker = BPF_CORE_READ(thread, data);
	return (u64)BPF_CORE_READ(worker, current_func) == settings.throttle_function;
}

/* When the request's bio was submitted to the block layer. If its task has not left the CPU since, that is when it got its
 * request, to the microsecond. */
static __always_inline u64 queued_at(struct task_struct *task, u64 got)
{
	struct task_note *note;
	u64 queued;

	if (!waiting_bios)
		return got;
	note = note_of(task);
	/* A request allocated earlier is not the one that the task waited for. */
	if (!note || !note->queued_ns || note->queued_ns > got)
		return got;
	queued = note->queued_ns;
	forget_bio(note);
	return queued;
}

/* The request's times before the I/O scheduler. */
static __always_inline void note_start(struct slot *slot, struct request *request, u64 got)
{
	struct task_struct *task = bpf_get_current_task_btf();

	slot->tid = task->pid;
	slot->throttled = is_throttle_worker(task);
	slot->queued_ns = queued_at(task, got);
	slot->got_ns = got;
}

/* A program reads `request->q` once and passes it on: for each pointer that a path follows, the verifier searches all of the
 * kernel's types by name. With one read on every path, loading took 2.6 seconds of a CPU instead of 0.2.
 *
 * `made`: the kernel's allocation time, which is not set yet at block_io_start. */
static __always_inline struct slot *start(struct slot *slot, struct request *request, struct request_queue *queue, u64 now,
					   u64 made)
{
	slot->inserted_ns = 0;
	slot->issued_ns = 0;
	slot->made_ns = made;
	note_start(slot, request, settings.all_requests ? now : made <= now ? made : 0);
	count_arrival(slot, request, queue, now);
	return slot;
}

static __always_inline struct slot *new_slot(struct set *set, struct request *request, struct request_queue *queue, u64 now,
					      u64 made)
{
	struct slot *slot = claim(set, (u64)request);

	return slot ? start(slot, request, queue, now, made) : 0;
}

/* The completion of the request's previous use was missed: the kernel skips a program that interrupts itself. */
static __always_inline struct slot *restart(struct slot *slot, struct request *request, struct request_queue *queue, u64 now,
					     u64 made)
{
	count_done(queue, slot->class);
	return start(slot, request, queue, now, made);
}

/* Only with all requests recorded: the request before it is plugged. */
SEC("tp_btf/block_io_start")
int BPF_PROG(block_io_start, struct request *request)
{
	struct request_queue *queue = request->q;
	u64 now = bpf_ktime_get_ns();
	struct set *set = set_of(request);
	struct slot *slot = set ? find(set, (u64)request) : 0;

	if (slot)
		restart(slot, request, queue, now, 0);
	else if (set)
		new_slot(set, request, queue, now, 0);
	return 0;
}

static __always_inline struct slot *slot_at(struct request *request, u64 now)
{
	struct request_queue *queue = request->q;
	struct set *set = set_of(request);
	struct slot *slot;
	u64 made;

	if (!set)
		return 0;
	slot = find(set, (u64)request);
	/* This is the request's first event, unless all requests are recorded. */
	made = made_at(request);
	if (!slot)
		return new_slot(set, request, queue, now, made);
	if (!slot->made_ns && !slot->issued_ns)
		slot->made_ns = made;
	/* A request that another was merged into takes the earlier of their times. */
	else if (made > slot->made_ns || !made)
		return restart(slot, request, queue, now, made);
	return slot;
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(block_rq_insert, struct request *request)
{
	u64 now = bpf_ktime_get_ns();
	struct slot *slot = slot_at(request, now);

	if (slot && !slot->inserted_ns)
		slot->inserted_ns = now;
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(block_rq_issue, struct request *request)
{
	u64 now = bpf_ktime_get_ns();
	struct slot *slot = slot_at(request, now);

	if (slot)
		slot->issued_ns = now;
	return 0;
}

/* The request was merged into another one and has no further events. */
SEC("tp_btf/block_rq_merge")
int BPF_PROG(block_rq_merge, struct request *request)
{
	struct request_queue *queue = request->q;
	struct set *set = set_of(request);
	struct slot *slot = set ? find(set, (u64)request) : 0;

	if (!slot)
		return 0;
	count_done(queue, class_of(request->cmd_flags));
	slot->key = 0;
	return 0;
}

/* The slot of a completed request. Where issues are not traced, this is the first event of a request that was not inserted:
 * a flush, or any request of a device without a scheduler. Its submitter is then unknown. */
static __always_inline struct slot *slot_of_done(struct request *request, struct request_queue *queue, unsigned int bytes,
						  u64 now)
{
	struct set *set = set_of(request);
	u64 made = made_at(request);
	struct slot *slot;

	if (!set)
		return 0;
	slot = find(set, (u64)request);
	if (slot && (!slot->made_ns || made <= slot->made_ns))
		return slot;
	/* A durable write completed earlier, and a bare flush completes by the request of the flush. */
	if (!bytes && (request->cmd_flags & 0xff) != 2)
		return 0;
	if (made && !want_issue_of(request))
		return 0;
	if (slot)
		count_done(queue, slot->class);
	else
		slot = claim(set, (u64)request);
	if (!slot)
		return 0;
	slot->made_ns = made;
	slot->queued_ns = made;
	slot->got_ns = made;
	slot->inserted_ns = 0;
	slot->issued_ns = 0;
	slot->tid = 0;
	slot->throttled = 0;
	count_arrival(slot, request, queue, now);
	if (made && now - made >= settings.slow_ns)
		slot->epoch = epoch_at(queue, made);
	return slot;
}

/* Where issues are not traced: the kernel's timestamp, if it takes one. The kernel may have read its clock at the start of
 * the request's batch, but it issues a request after inserting it. */
static __always_inline u64 issued_at(struct slot *slot, struct request *request)
{
	u64 issued = request->io_start_time_ns;

	if (!issued) {
		want_issue_of(request);
		return 0;
	}
	if (issued < slot->got_ns)
		issued = slot->got_ns;
	return issued < slot->inserted_ns ? slot->inserted_ns : issued;
}

static __always_inline u64 began_at(struct slot *slot)
{
	return slot->queued_ns ? slot->queued_ns : slot->inserted_ns ? slot->inserted_ns : slot->issued_ns;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(block_rq_complete, struct request *request, u8 status, unsigned int bytes)
{
	struct request_queue *queue = request->q;
	struct on_cpu *cpu = this_cpu();
	struct request_note *note;
	struct device *device;
	struct slot *slot;
	u64 began, now;
	u32 class;
	bool slow;

	/* A partial completion: the rest follows. */
	if (!cpu || (bytes < request->__data_len && !status))
		return 0;
	now = bpf_ktime_get_ns();
	slot = slot_of_done(request, queue, bytes, now);
	if (!slot)
		return 0;
	if (!slot->issued_ns)
		slot->issued_ns = issued_at(slot, request);
	note = &cpu->done;
	fill_note(note, slot, request, now);
	note->bytes = bytes;
	note->status = status;
	note->number = settings.all_requests ? next_number(cpu) : 0;
	began = began_at(slot);
	/* A request too long for the compact form is emitted as a slow one. */
	slow = began && (now - began >= settings.slow_ns || (settings.all_requests && now - began >= UNSEEN));
	note->merges = settings.all_requests || slow ? merges_of(request) : 0;
	class = class_of(note->flags);
	device = counters_of(queue);
	if (device && device->number != note->device)
		device = 0;
	cpu->tid = (u32)bpf_get_current_pid_tgid();
	*(volatile u64 *)&note->key = (u64)request;
	if (slow)
		emit_request(note, slot, device, queue);
	else if (settings.all_requests)
		emit_each_request(note);
	count_done(queue, class);
	if (device && class < CLASSES)
		add_to_histogram(device, class, note);
	slot->key = 0;
	return 0;
}
