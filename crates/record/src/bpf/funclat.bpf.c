// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Times the interval between two points of the kernel: a function's entry and its return, or two tracepoints.
 *
 * Begins and ends are paired by task. They may come from any context: in an interrupt they nest into the task that was
 * interrupted, and end before it continues. Calls that could not be paired or stored are counted. */

#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "model.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define BPF_MAP_TYPE_PERCPU_HASH 5
#define BPF_NOEXIST 1

/* The path from a task to its memory cgroup. The kernel's names end before the three underscores. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node___group {
	u64 id;
};

struct cgroup___group {
	struct kernfs_node___group *kn;
};

struct cgroup_subsys_state___group {
	struct cgroup___group *cgroup;
};

struct css_set___group {
	struct cgroup_subsys_state___group *subsys[16];
};

struct task_struct___group {
	struct css_set___group *cgroups;
};

#pragma clang attribute pop

enum cgroup_subsys_id___group {
	memory_cgrp_id___group = 4,
};

#define NAME_BYTES 16
/* Depth of nested calls of one task; beyond it, the outermost is forgotten. A power of two. */
#define DEPTH 16
#define TASKS 16384
/* Longer times all fall into the last bucket; scaling must not overflow. */
#define LONGEST_NS (1ull << 45)
/* The group of calls that had no space for a group. */
#define OTHERS (~0ull)

enum group_by { BY_NOTHING = 0, BY_TASK = 1, BY_MEMORY_CGROUP = 2, BY_UNIFIED_CGROUP = 3 };

struct settings {
	u64 above_ns;		/* shorter ones are only counted */
	u64 below_ns;		/* longer ones, too */
	u64 multiplier;		/* scales nanoseconds so that each shown unit is a power of two */
	u64 divisor;
	u32 process;		/* only this one; 0: all */
	u32 recorder;		/* the recorder's process: not timed */
	u32 group_by;
	u32 pad;
};

const volatile struct settings settings;

/* Set when both programs are attached: an earlier end would have an unseen begin. */
u32 started = 0;

/* The fate of begins and ends, in the order of `record::funclat`. */
enum counter { BEGUN, ENDED, FILTERED, END_ALONE, FORGOTTEN, NO_ROOM, NO_GROUP, COUNTERS };

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTERS);
	__type(key, u32);
	__type(value, u64);
} counters SEC(".maps");

/* Open calls of a task: a ring, which drops the oldest when full. */
struct calls {
	u32 top;
	u32 depth;
	u64 begun_ns[DEPTH];
};

/* By address of the task: idle tasks of all CPUs share a thread id. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TASKS);
	__type(key, u64);
	__type(value, struct calls);
} calls SEC(".maps");

struct histogram {
	u64 count;
	u64 sum_ns;
	u64 min_ns;
	u64 max_ns;
	u64 buckets[BUCKETS];
};

/* The recorder sets the size. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 2);
	__type(key, u64);
	__type(value, struct histogram);
} histograms SEC(".maps");

/* A new histogram: too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct histogram);
} empty SEC(".maps");

struct name {
	char name[NAME_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2);
	__type(key, u64);
	__type(value, struct name);
} names SEC(".maps");

static __always_inline void count(u32 counter)
{
	u64 *value = bpf_map_lookup_elem(&counters, &counter);

	if (value)
		__sync_fetch_and_add(value, 1);
}

static __always_inline int is_followed(void)
{
	u32 process = bpf_get_current_pid_tgid() >> 32;

	return started && process != settings.recorder && (!settings.process || process == settings.process);
}

static __always_inline int begin(void)
{
	u64 task = bpf_get_current_task();
	struct calls fresh = {};
	struct calls *known;
	u32 slot;

	if (!is_followed())
		return 0;
	count(BEGUN);
	known = bpf_map_lookup_elem(&calls, &task);
	if (!known) {
		fresh.top = 1;
		fresh.depth = 1;
		fresh.begun_ns[0] = bpf_ktime_get_ns();
		if (bpf_map_update_elem(&calls, &task, &fresh, BPF_NOEXIST))
			count(NO_ROOM);
		return 0;
	}
	/* The slot is claimed before it is filled: an interrupt in between claims the next one, and releases it. */
	slot = known->top++;
	if (known->depth < DEPTH)
		known->depth++;
	else
		count(FORGOTTEN);
	known->begun_ns[slot & (DEPTH - 1)] = bpf_ktime_get_ns();
	return 0;
}

static __always_inline u32 log2_of(u64 value)
{
	u32 log2 = 0;

#pragma unroll
	for (u32 step = 32; step; step >>= 1) {
		if (value >> step) {
			value >>= step;
			log2 += step;
		}
	}
	return log2;
}

static __always_inline u64 bucket_of(u64 ns)
{
	u64 value = (ns < LONGEST_NS ? ns : LONGEST_NS) * settings.multiplier / settings.divisor;
	u64 shift, bucket;

	if (value < 1 << BUCKET_BITS)
		return value;
	shift = log2_of(value) - BUCKET_BITS;
	bucket = (shift << BUCKET_BITS) + (value >> (shift & 63));
	/* Keeps the compiler from checking one copy and using another, which the verifier cannot follow. */
	asm volatile("" : "+r"(bucket));
	return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

static __always_inline u64 group_of_current(void)
{
	struct task_struct___group *task = (struct task_struct___group *)bpf_get_current_task();
	struct cgroup_subsys_state___group *state;
	u32 memory;

	switch (settings.group_by) {
	case BY_TASK:
		return (u32)bpf_get_current_pid_tgid();
	case BY_UNIFIED_CGROUP:
		return bpf_get_current_cgroup_id();
	case BY_MEMORY_CGROUP:
		memory = bpf_core_enum_value(enum cgroup_subsys_id___group, memory_cgrp_id___group);
		bpf_probe_read_kernel(&state, sizeof(state), &BPF_CORE_READ(task, cgroups)->subsys[memory & 15]);
		return BPF_CORE_READ(state, cgroup, kn, id);
	}
	return 0;
}

/* The histogram of the current task's group, or of all others when there are too many groups. */
static __always_inline struct histogram *histogram_of_current(void)
{
	u64 group = group_of_current(), others = OTHERS;
	struct histogram *histogram = bpf_map_lookup_elem(&histograms, &group);
	struct histogram *blank;
	struct name name;
	u32 zero = 0;

	if (histogram)
		return histogram;
	blank = bpf_map_lookup_elem(&empty, &zero);
	if (blank)
		bpf_map_update_elem(&histograms, &group, blank, BPF_NOEXIST);
	histogram = bpf_map_lookup_elem(&histograms, &group);
	if (!histogram) {
		count(NO_GROUP);
		return bpf_map_lookup_elem(&histograms, &others);
	}
	if (settings.group_by == BY_TASK) {
		bpf_get_current_comm(&name, sizeof(name));
		bpf_map_update_elem(&names, &group, &name, BPF_ANY);
	}
	return histogram;
}

static __always_inline void keep(u64 ns)
{
	struct histogram *histogram = histogram_of_current();
	u64 bucket = bucket_of(ns);

	if (!histogram)
		return;
	/* An interrupt may count in between. */
	__sync_fetch_and_add(&histogram->sum_ns, ns);
	if (bucket < BUCKETS)
		__sync_fetch_and_add(&histogram->buckets[bucket], 1);
	if (!histogram->count || ns < histogram->min_ns)
		histogram->min_ns = ns;
	if (ns > histogram->max_ns)
		histogram->max_ns = ns;
	__sync_fetch_and_add(&histogram->count, 1);
}

static __always_inline int end(void)
{
	u64 now = bpf_ktime_get_ns();
	u64 task = bpf_get_current_task();
	struct calls *known;
	u64 ns;

	if (!is_followed())
		return 0;
	known = bpf_map_lookup_elem(&calls, &task);
	if (!known || !known->depth) {
		count(END_ALONE);
		return 0;
	}
	ns = now - known->begun_ns[(known->top - 1) & (DEPTH - 1)];
	known->top--;
	known->depth--;
	if (!known->depth)
		bpf_map_delete_elem(&calls, &task);
	count(ENDED);
	if (ns < settings.above_ns || ns > settings.below_ns)
		count(FILTERED);
	else
		keep(ns);
	return 0;
}

/* The recorder loads the pair of programs that fits, and sets its attach target. */

SEC("fentry")
int function_begin(void *ctx)
{
	return begin();
}

SEC("fexit")
int function_end(void *ctx)
{
	return end();
}

SEC("kprobe")
int probe_begin(void *ctx)
{
	return begin();
}

SEC("kretprobe")
int probe_end(void *ctx)
{
	return end();
}

SEC("raw_tp")
int raw_tracepoint_begin(void *ctx)
{
	return begin();
}

SEC("raw_tp")
int raw_tracepoint_end(void *ctx)
{
	return end();
}

SEC("tp")
int tracepoint_begin(void *ctx)
{
	return begin();
}

SEC("tp")
int tracepoint_end(void *ctx)
{
	return end();
}
