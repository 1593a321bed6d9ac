/* The programs of block requests: matched here, emitted where they are slow or a task waited for them, always summed
 * up. */
#pragma once

#include "address_hash.h"
#include "bpf.h"
#include "event.h"
#include "operation/link.h"
#include "operation/table.h"
#include "request/completed.h"
#include "request/failed.h"
#include "request/failure.h"
#include "request/flush.h"
#include "request/histogram.h"
#include "request/lower.h"
#include "request/owner.h"
#include "request/table.h"
#include "request/traffic.h"
#include "settings.h"
#include "task/task.h"
#include "task/usage.h"
#include "this_cpu.h"

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
static __always_inline int want_issue_of(struct view *view)
{
	u32 zero = 0;
	struct issues *known = bpf_map_lookup_elem(&issues, &zero);

	if (!known || !known->since_ns || view->made_ns < known->since_ns)
		return 0;
	if (!bypasses_scheduler(view))
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

/* When the request's bio was submitted to the block layer. If its task has not left the CPU since, that is when it got
 * its request, to the microsecond. */
static __always_inline u64 queued_at(struct task_struct *task, u64 got)
{
	struct task_note *note;
	u64 queued;

	if (!waiting_bios)
		return got;
	note = note_of(task);
	/* A request allocated earlier is not the one that the task waited for. */
	if (!note || !note->wait.queued_ns || note->wait.queued_ns > got)
		return got;
	queued = note->wait.queued_ns;
	forget_bio(note);
	return queued;
}

/* The request's times before the I/O scheduler. */
static __always_inline void note_start(struct slot *slot, u64 got)
{
	struct task_struct *task = bpf_get_current_task_btf();

	slot->tid = task->pid;
	slot->throttled = is_throttle_worker(task);
	slot->by_worker = (task->flags & PF_KTHREAD) != 0;
	slot->is_retried = 0;
	slot->queued_ns = queued_at(task, got);
	slot->got_ns = got;
}

static __always_inline void start(struct slot *slot, struct view *view)
{
	u64 made = view->made_ns, now = view->now_ns;

	slot->inserted_ns = 0;
	slot->issued_ns = 0;
	slot->made_ns = made;
	note_start(slot, settings.all_requests ? now : made <= now ? made : 0);
	if (slot->throttled && !any_throttled)
		any_throttled = 1;
	count_arrival(slot, view);
}

/* The slot of a new use of a request. If it has one, the completion of its previous use was missed: the kernel skips a
 * program that interrupts itself. */
static __always_inline struct slot *slot_of_new_use(struct slot *slot, struct view *view)
{
	if (!slot)
		return claim(view->key);
	count_done(view->queue, slot->class);
	return slot;
}

static __always_inline struct slot *begin(struct slot *slot, struct view *view)
{
	slot = slot_of_new_use(slot, view);
	if (slot)
		start(slot, view);
	return slot;
}

/* A request that is allocated. The kernel has not set its allocation time yet. */
__noinline int arrive_plugged(struct view *view)
{
	if (!view)
		return 0;
	view->made_ns = 0;
	begin(find(view->key), view);
	return 0;
}

/* Only with all requests recorded: the request before it is plugged. */
SEC("tp_btf/block_io_start")
int BPF_PROG(block_io_start, struct request *request)
{
	struct view view;

	view_of_arrival(&view, request, OF_START);
	arrive_plugged(&view);
	return 0;
}

/* A request that is inserted or issued. */
static __always_inline void arrive(struct view *view, u32 is_issue)
{
	struct slot *slot = find(view->key);
	u64 made = view->made_ns;

	if (slot && !slot->made_ns && !slot->issued_ns)
		slot->made_ns = made;
	/* This is the request's first event, unless all requests are recorded. A request that another was merged into takes
	 * the earlier of their times. */
	else if (!slot || made > slot->made_ns || !made)
		slot = begin(slot, view);
	if (!slot)
		return;
	if (is_issue)
		slot->issued_ns = view->now_ns;
	else if (!slot->inserted_ns)
		slot->inserted_ns = view->now_ns;
	if (is_before_data(view))
		note_preflush(slot, view);
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(block_rq_insert, struct request *request)
{
	struct view view;

	view_of_arrival(&view, request, OF_INSERT);
	arrive(&view, 0);
	return 0;
}

/* Whether the request was inserted into a scheduler, and its completion has the time at which it was issued. */
static __always_inline int is_timed(struct request *request)
{
	struct request_queue *queue = request->q;
	struct device *device = counters_of(queue->id);

	return device && device->is_timed && queue->elevator && !is_bypassing(request->cmd_flags, (u64)request->end_io);
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(block_rq_issue, struct request *request)
{
	struct view view;

	if (is_timed(request))
		return 0;
	view_of_arrival(&view, request, OF_ISSUE);
	arrive(&view, 1);
	return 0;
}

/* A request that was merged into another one has no further events. */
__noinline int leave(struct view *view)
{
	struct slot *slot = view ? find(view->key) : 0;

	if (!slot)
		return 0;
	count_done(view->queue, class_of(view->flags));
	slot->key = 0;
	return 0;
}

SEC("tp_btf/block_rq_merge")
int BPF_PROG(block_rq_merge, struct request *request)
{
	struct view view;

	view_of(&view, request, request->q, OF_MERGE);
	leave(&view);
	return 0;
}

/* Gives a request whose arrival was not seen a slot. Verified once. */
__noinline int begin_unseen(struct view *view)
{
	struct slot *slot = view ? slot_of_new_use(find(view->key), view) : 0;
	u64 made;

	if (!slot || !view)
		return 0;
	made = view->made_ns;
	slot->made_ns = made;
	slot->queued_ns = made;
	slot->got_ns = made;
	slot->inserted_ns = 0;
	slot->issued_ns = 0;
	slot->tid = 0;
	slot->throttled = 0;
	slot->by_worker = 0;
	slot->is_retried = 0;
	view->device = device_of(view->key);
	count_arrival(slot, view);
	if (made && view->now_ns - made >= settings.slow_ns)
		slot->epoch = epoch_at(view->queue, made);
	return 1;
}

/* Whether the slot is that of this use of the request. A command has no allocation time: a slot with one is that of a
 * use whose completion was missed. */
static __always_inline int is_of_this_use(struct slot *slot, struct view *view)
{
	return !slot->made_ns || (view->made_ns && view->made_ns <= slot->made_ns);
}

/* Gives a completed request a slot whose arrival was not seen, if it is to have one. Where issues are not traced, this
 * is the first event of a request that was not inserted: a flush, or any request of a device without a scheduler. Its
 * submitter is then unknown. */
__noinline int arrive_late(struct view *view)
{
	if (!view)
		return 0;
	/* A durable write completed earlier, and a bare flush completes by the request of the flush. */
	if (!view->bytes && (view->flags & OPERATION) != FLUSH)
		return 0;
	if (view->made_ns && !want_issue_of(view))
		return 0;
	return begin_unseen(view);
}

/* The slot of a completed request. */
static __always_inline struct slot *slot_of_done(struct view *view)
{
	struct slot *slot = find(view->key);

	if (slot && is_of_this_use(slot, view))
		return slot;
	return arrive_late(view) ? find(view->key) : 0;
}

/* Where issues are not traced: the kernel's timestamp, if it takes one. The kernel may have read its clock at the start
 * of the request's batch, but it issues a request after inserting it. */
static __always_inline u64 issued_at(struct slot *slot, struct view *view)
{
	u64 issued = view->issued_ns;

	if (!issued) {
		want_issue_of(view);
		return 0;
	}
	if (issued < slot->got_ns)
		issued = slot->got_ns;
	return issued < slot->inserted_ns ? slot->inserted_ns : issued;
}

/* Whether the request is emitted as a slow one. One with too much for the compact form is, too. */
static __always_inline int is_slow_request(struct request_note *note, u64 began)
{
	u64 lasted = note->completed_ns - began;

	if ((began && lasted >= settings.slow_ns) || note->failures)
		return 1;
	return settings.all_requests && (note->data_ns || note->lower_key || (began && lasted >= UNSEEN));
}

static __always_inline void note_timing(struct device *device, struct view *view)
{
	u32 is_timed = view->issued_ns != 0;

	if (device->is_timed != is_timed && !bypasses_scheduler(view))
		device->is_timed = is_timed;
}

/* What only some requests have: flushes around them, a disk below, others that were merged into them. */
static __always_inline void add_details(struct request_note *note, struct device *device, struct view *view, u32 slow)
{
	if (is_after_data(view))
		add_sequence(note, view);
	else if (device && (note->flags & OPERATION) == FLUSH)
		note_flush(device, note->issued_ns, view->now_ns);
	note->merges = settings.all_requests || slow ? merges_of(view) : 0;
}

/* Whether it takes long enough for the request below to matter. */
static __always_inline int lasts(struct view *view, u64 began)
{
	return began && view->now_ns - began >= settings.interval_ns;
}

/* Fills the CPU's note of its last request. */
static __always_inline void describe_done(struct on_cpu *cpu, struct slot *slot, struct view *view)
{
	u64 began = began_at(slot);
	struct lower lower = {};

	if (has_lower(slot) && lasts(view, began))
		find_lower(&lower, slot, view);
	fill_note(&cpu->done, slot, view, &lower);
	cpu->done.number = settings.all_requests ? next_number(cpu) : 0;
}

/* Links the request with what waited for it, and emits it. */
static __always_inline void emit_done(struct request_note *note, struct slot *slot, struct view *view, u64 began)
{
	u32 slow = is_slow_request(note, began);

	if (any_operation && (slow || note->throttled || note->completed_ns - began >= settings.slow_ns / 4))
		link_operations(note);
	if (may_be_below_loop(note->device) && (is_direct(view->bio_end_io) || view->is_merged))
		serve_upper(note, view, slow || settings.all_requests);
	if (slow)
		emit_slow_request(note, slot, view->queue);
	else if (settings.all_requests)
		emit_each_request(note);
}

/* The counters of the device, unless another disk has its queue id now. */
static __always_inline struct device *device_of_done(struct request_note *note, u32 queue)
{
	struct device *device = counters_of(queue);

	return device && device->number == note->device ? device : 0;
}

/* Calls of functions are few here, as each costs more than what most of them do. */
static __always_inline void complete(struct view *view)
{
	struct slot *slot = slot_of_done(view);
	struct on_cpu *cpu = this_cpu();
	struct device *device;
	u64 began;

	if (!slot && is_after_data(view))
		complete_bare_flush(view);
	/* What it wakes did not wait for the request before it. */
	else if (!slot && cpu && view->bytes)
		*(volatile u64 *)&cpu->done.key = 0;
	if (!slot || !cpu)
		return;
	if (!slot->issued_ns)
		slot->issued_ns = issued_at(slot, view);
	began = began_at(slot);
	if (is_before_data(view)) {
		note_data(view);
		/* Of a loop device the last one below counts, that of a flush after the data as well. */
		if (is_mapped(slot) && lasts(view, began))
			find_lower_of_data(slot, view);
		return;
	}
	describe_done(cpu, slot, view);
	if (slot->is_retried || view->status || is_timed_out(view->rq_flags))
		describe_failures(&cpu->done, view, slot->is_retried);
	device = device_of_done(&cpu->done, view->queue);
	add_details(&cpu->done, device, view, is_slow_request(&cpu->done, began));
	cpu->tid = bpf_get_current_task_btf()->pid;
	*(volatile u64 *)&cpu->done.key = view->key;
	use_of(slot, &cpu->done, device, view);
	emit_done(&cpu->done, slot, view, began);
	count_done(view->queue, class_of(view->flags));
	if (device) {
		note_timing(device, view);
		add_to_histogram(device, &cpu->done);
	}
	slot->key = 0;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(block_rq_complete, struct request *request, u8 status, unsigned int bytes)
{
	struct view view;

	/* A partial completion: the rest follows. */
	if (bytes < request->__data_len && !status)
		return 0;
	view_of_completion(&view, request);
	view.bytes = bytes;
	view.status = status;
	complete(&view);
	return 0;
}

/* A request that the driver gives back, to be issued again. */
__noinline int requeue(struct view *view, u32 state)
{
	struct slot *slot = view ? find(view->key) : 0;

	/* A driver that has no room for it gives it back at once: nothing failed. */
	if (!view || (state != MQ_RQ_COMPLETE && !is_timed_out(view->rq_flags)))
		return 0;
	if (!slot || !is_of_this_use(slot, view))
		slot = begin_unseen(view) ? find(view->key) : 0;
	note_failure(slot, view);
	return 0;
}

SEC("tp_btf/block_rq_requeue")
int BPF_PROG(block_rq_requeue, struct request *request)
{
	struct view view;

	view_of(&view, request, request->q, OF_REQUEUE);
	requeue(&view, request->state);
	return 0;
}
