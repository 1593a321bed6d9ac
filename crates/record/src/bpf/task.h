/* The state of each task, losses, and sums of short waits. */
#pragma once

#define CALLS 512
/* Short waits are emitted as sums over at least this time, if they come to a 64th of it. */
#define GATHER_NS 100000000ull
#define SUMS (SHORT_REQUEST_WAITS - SHORT_SLEEPS + 1)

/* How a system call names its file: `Names` of `trace/system_calls.rs`. */
enum names_file {
	NO_CALL = 0,
	BY_NOTHING = 1,
	BY_FD = 2,
	BY_FIRST = 3,
	BY_SECOND = 4,
	BY_RESULT = 5,		/* the path is the second argument, the descriptor the result */
	BY_WAITS = 6,		/* by nothing; only its waits for storage count */
	BY_PROGRAM = 7,		/* it executes another program: on success, by the program's file */
};

struct settings {
	u64 slow_ns;		/* threshold of system calls and requests */
	u64 interval_ns;	/* waits from this length on are recorded individually */
	u64 throttle_function;	/* address of blk_throtl_dispatch_work_fn; 0: unknown */
	u64 shrink_function;	/* address of super_cache_scan; 0: unknown */
	u64 epoch_ns;		/* interval between sums of a device's counts */
	u32 recorder;		/* the recorder's process: not traced; its descendants are watched closely */
	u8 all_requests;
	u8 has_prev_state;	/* sched_switch's fourth argument */
	u16 cpus;
	u8 calls[CALLS];	/* enum names_file by number of system call */
};

/* Set before loading: the verifier removes code that the settings disable. */
const volatile struct settings settings SEC(".rodata.settings") = {};

/* Losses, by enum kind. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LOSSES);
	__type(key, u32);
	__type(value, u64);
} lost SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} ring SEC(".maps");

struct gathered {
	u64 since_ns;
	u64 until_ns;
	u64 sum_ns;
	u64 count;
};

/* Fields that each context switch reads come first. */
struct task_note {
	u64 out_ns;
	u64 woken_ns;
	u32 out_state;
	s32 call;		/* number + 1; 0: in no followed call */
	u32 watched;
	u32 spans;		/* bits of the spans that the task is in */
	u32 mark;		/* announces the next wait, */
	u32 lock;		/* flags of contention_begin + LOCKED; 0: waits for no lock */
	u32 out_mark;
	u32 waker_frames;
	u64 queued_ns;		/* when it left the CPU with a submitted bio that had no request yet; 0: no such bio */
	struct request_note request;	/* whose completion woke it */
	u64 entered_ns;
	u64 first, second;
	u32 waker_tid;
	u32 waker_pid;
	struct gathered gathered[SUMS + SPANS];
	u64 mark_ns;		/* if the wait begins soon after */
	struct detail detail;	/* of mark or out_mark */
	u64 span_ns[PAIRED];
	char waker[NAME_BYTES];
	u64 waker_stack[WAKER_FRAMES];
};

#define LOCKED 0x80000000u

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_note);
} tasks SEC(".maps");

/* Tasks with a waiting bio, and tasks that wait for a lock. Mostly 0, which saves a lookup of the task. */
s32 waiting_bios SEC(".data") = 0;
s32 waiting_locks SEC(".data") = 0;

static __always_inline void count_loss(u32 kind)
{
	u64 *count = bpf_map_lookup_elem(&lost, &kind);

	if (count)
		__sync_fetch_and_add(count, 1);
}

static __always_inline struct task_note *note_of(struct task_struct *task)
{
	return bpf_task_storage_get(&tasks, task, 0, 0);
}

static __always_inline struct task_note *new_note_of(struct task_struct *task)
{
	struct task_note *note = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!note)
		count_loss(TASK_NOTES);
	return note;
}

/* The note of the running task; the recorder has none. */
static __always_inline struct task_note *current_note(struct task_struct *task)
{
	return task->tgid == settings.recorder ? 0 : new_note_of(task);
}

static __always_inline void forget_bio(struct task_note *note)
{
	note->queued_ns = 0;
	__sync_fetch_and_add(&waiting_bios, -1);
}

static __always_inline void forget_lock(struct task_note *note)
{
	note->lock = 0;
	__sync_fetch_and_add(&waiting_locks, -1);
}

/* Size of an event: without stacks, without the waker's stack, or whole. */
#define BARE __builtin_offsetof(struct event, stack)
#define WITH_STACK __builtin_offsetof(struct event, waker_stack)
#define WHOLE sizeof(struct event)

/* An event of `bytes`; 0 if the ring is full, after counting the loss. */
static __always_inline struct event *begin_event(u32 kind, const u64 bytes)
{
	struct event *event = bpf_ringbuf_reserve(&ring, bytes, 0);

	if (!event) {
		count_loss(kind);
		return 0;
	}
	__builtin_memset(event, 0, BARE);
	event->kind = kind;
	event->call = -1;
	event->count = 1;
	return event;
}

static __always_inline void end_event(struct event *event)
{
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

static __always_inline void describe(struct event *event, struct task_struct *task, struct task_note *note, u64 from,
				     u64 until)
{
	event->tid = task->pid;
	event->pid = task->tgid;
	bpf_probe_read_kernel_str(event->comm, NAME_BYTES, &task->comm);
	event->start_ns = from;
	event->end_ns = until;
	event->busy_ns = until - from;
	event->call = note->call - 1;
}

static __always_inline void add_stack(struct event *event, struct task_struct *task)
{
	long bytes = bpf_get_task_stack(task, event->stack, sizeof(event->stack), 0);

	event->frames = bytes > 0 ? (u64)bytes / 8 : 0;
}

/* --- Sums. `sum`: SHORT_SLEEPS ... SHORT_REQUEST_WAITS, or SHORT_SPANS + enum span. --- */

static __noinline int emit_gathered(struct task_struct *task, struct task_note *note, u32 sum, u32 with_stack)
{
	u32 at = sum - SHORT_SLEEPS;
	struct gathered *gathered;
	struct event *event;
	u32 kind = sum < SHORT_SPANS ? sum : SHORT_SPANS;

	if (!note || !task || at >= SUMS + SPANS)
		return 0;
	gathered = &note->gathered[at];
	if (gathered->sum_ns && gathered->sum_ns >= (gathered->until_ns - gathered->since_ns) >> 6) {
		event = begin_event(kind, WITH_STACK);
		if (event) {
			describe(event, task, note, gathered->since_ns, gathered->until_ns);
			event->busy_ns = gathered->sum_ns;
			event->count = gathered->count;
			if (kind == SHORT_SPANS)
				event->source = sum - SHORT_SPANS;
			if (with_stack)
				add_stack(event, task);
			if (kind == SHORT_REQUEST_WAITS)
				event->request = note->request;
			end_event(event);
		}
	}
	gathered->sum_ns = 0;
	gathered->count = 0;
	return 0;
}

static __always_inline void gather(struct task_struct *task, struct task_note *note, u32 sum, u64 from_ns, u64 ns,
				   u64 now, u32 with_stack)
{
	struct gathered *gathered;
	u32 at = sum - SHORT_SLEEPS;

	if (!ns || at >= SUMS + SPANS)
		return;
	gathered = &note->gathered[at];
	if (gathered->count && from_ns - gathered->since_ns > GATHER_NS)
		emit_gathered(task, note, sum, with_stack);
	if (!gathered->count)
		gathered->since_ns = from_ns;
	gathered->until_ns = now;
	gathered->sum_ns += ns;
	gathered->count++;
}

static __noinline int emit_all_gathered(struct task_struct *task, struct task_note *note)
{
	u32 sum;

	if (!note || !task)
		return 0;
	for (sum = SHORT_SLEEPS; sum < SHORT_SLEEPS + SUMS + SPANS; sum++)
		emit_gathered(task, note, sum, 0);
	return 0;
}
