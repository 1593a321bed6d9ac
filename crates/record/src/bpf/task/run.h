/* What ran on each CPU: those that others waited behind. The task that happened to run last may be any. */
#pragma once

#include "bpf.h"
#include "event.h"
#include "ring.h"
#include "task/usage.h"

/* Shorter runs are not noted. Runs of one task that are closer than GAP_NS are one. */
#define LONG_RUN_NS 1000000ull
#define GAP_NS 20000000ull
#define RUNS 8
/* Runs of at least SHORT_RUN_NS that are remembered, and processes that ran while another one waited. */
#define PAST_RUNS 128
#define PAIRS_BEHIND 4096

struct long_run {
	u32 tid;
	u32 pid;
	u64 from_ns;
	u64 until_ns;
	char comm[NAME_BYTES];
};

struct past_run {
	u64 from_ns;
	u64 until_ns;
	u64 pid;
};

struct runs {
	u64 since_ns;	/* since when this task runs */
	u32 tid;
	u32 pid;
	u32 next;
	u32 next_past;
	struct long_run run[RUNS];
	struct past_run past[PAST_RUNS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct runs);
} runs SEC(".maps");

struct behind {
	u32 waiting;
	u32 pid;
};

/* For how long a process ran while another one waited for its CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PAIRS_BEHIND);
	__type(key, struct behind);
	__type(value, u64);
} behind SEC(".maps");

/* The run that was noted `back` runs before the last one of a CPU. */
static __always_inline struct past_run *past_run(struct runs *cpu, u32 back)
{
	return &cpu->past[(cpu->next_past - 1 - back) & (PAST_RUNS - 1)];
}

/* Runs of a process in a row are one. */
static __always_inline void note_past(struct runs *cpu, u32 pid, u64 now)
{
	struct past_run *run = past_run(cpu, 0);

	if (run->pid != pid || cpu->since_ns - run->until_ns >= SHORT_RUN_NS) {
		run = &cpu->past[cpu->next_past++ & (PAST_RUNS - 1)];
		run->pid = pid;
		run->from_ns = cpu->since_ns;
	}
	run->until_ns = now;
}

/* How long a run lasted after a moment. A function of its own, which the verifier checks once and not for each run: so
 * too below. */
__noinline u64 ran_after(u64 from_ns, u64 until_ns, u64 moment)
{
	return until_ns > moment ? until_ns - (from_ns > moment ? from_ns : moment) : 0;
}

/* Whether this run and all before it ended by then. The last one may be written just now. */
static __always_inline int is_over(struct past_run *run, u32 back, u64 moment)
{
	return back && run->until_ns <= moment;
}

/* How much of the time since then a CPU was taken. */
__noinline u64 taken_since(u32 number, u64 from)
{
	struct runs *cpu = bpf_map_lookup_elem(&runs, &number);
	struct past_run *run;
	u64 sum = 0;
	u32 back;

	if (!cpu)
		return 0;
	for (back = 0; back < PAST_RUNS; back++) {
		run = past_run(cpu, back);
		if (is_over(run, back, from))
			break;
		sum += ran_after(run->from_ns, run->until_ns, from);
	}
	return sum;
}

__noinline int add_run_behind(u32 waiting, u32 pid, u64 from_ns, u64 until_ns, u64 moment)
{
	struct behind key = {.waiting = waiting, .pid = pid};
	u64 ns = ran_after(from_ns, until_ns, moment), *sum;

	if (!ns)
		return 0;
	sum = bpf_map_lookup_elem(&behind, &key);
	if (sum)
		__sync_fetch_and_add(sum, ns);
	else if (bpf_map_update_elem(&behind, &key, &ns, BPF_ANY))
		count_loss(USAGE_SUMS);
	return 0;
}

/* A process waited for a CPU since then: on that CPU's run queue. */
__noinline int add_runs_behind(u32 waiting, u32 number, u64 from)
{
	struct runs *cpu = bpf_map_lookup_elem(&runs, &number);
	struct past_run *run;
	u32 back;

	if (!cpu)
		return 0;
	for (back = 0; back < PAST_RUNS; back++) {
		run = past_run(cpu, back);
		if (is_over(run, back, from))
			break;
		add_run_behind(waiting, run->pid, run->from_ns, run->until_ns, from);
	}
	return 0;
}

static __noinline int note_run(struct runs *cpu, struct task_struct *task, u64 now)
{
	struct long_run *run;

	if (!cpu || !task)
		return 0;
	run = &cpu->run[(cpu->next - 1) & (RUNS - 1)];
	if (run->tid == task->pid && cpu->since_ns - run->until_ns < GAP_NS) {
		run->until_ns = now;
		return 0;
	}
	run = &cpu->run[cpu->next & (RUNS - 1)];
	cpu->next++;
	run->tid = task->pid;
	run->pid = task->tgid;
	run->from_ns = cpu->since_ns;
	run->until_ns = now;
	bpf_probe_read_kernel_str(run->comm, NAME_BYTES, &task->comm);
	return 0;
}

static __always_inline void switch_run(struct task_struct *prev, struct task_struct *next, u64 now)
{
	u32 number = bpf_get_smp_processor_id();
	struct runs *cpu = bpf_map_lookup_elem(&runs, &number);

	if (!cpu)
		return;
	if (prev->pid && cpu->since_ns && now - cpu->since_ns >= SHORT_RUN_NS) {
		use_cpu(number, prev->tgid, now - cpu->since_ns);
		note_past(cpu, prev->tgid, now);
		if (now - cpu->since_ns >= LONG_RUN_NS)
			note_run(cpu, prev, now);
	}
	cpu->since_ns = now;
	cpu->tid = next->pid;
	cpu->pid = next->tgid;
}

/* The task that ran longest on that CPU between these moments, if that was half of the time. */
static __noinline int add_longest_run(struct event *event, u32 number, u64 from, u64 now)
{
	struct runs *cpu = bpf_map_lookup_elem(&runs, &number);
	u64 longest = (now - from) / 2, ran;
	struct long_run *run;
	u32 at;

	if (!cpu || !event)
		return 0;
	/* It may run on, and the waiting task have come to another CPU. */
	ran = now - (cpu->since_ns > from ? cpu->since_ns : from);
	if (cpu->tid && cpu->tid != event->tid && ran > longest && ran <= now - from) {
		event->behind_tid = cpu->tid;
		event->behind_pid = cpu->pid;
		event->behind[0] = 0;
		longest = ran;
	}
	for (at = 0; at < RUNS; at++) {
		run = &cpu->run[at];
		if (run->until_ns <= from || run->tid == event->tid)
			continue;
		ran = run->until_ns - (run->from_ns > from ? run->from_ns : from);
		if (ran <= longest)
			continue;
		longest = ran;
		event->behind_tid = run->tid;
		event->behind_pid = run->pid;
		__builtin_memcpy(event->behind, run->comm, NAME_BYTES);
	}
	return 0;
}
