/* Which tasks ran for long on each CPU: those that others waited behind. The task that happened to run last may be any. */
#pragma once

/* Shorter runs are not noted. Runs of one task that are closer than GAP_NS are one. */
#define LONG_RUN_NS 1000000ull
#define GAP_NS 20000000ull
#define RUNS 8

struct long_run {
	u32 tid;
	u32 pid;
	u64 from_ns;
	u64 until_ns;
	char comm[NAME_BYTES];
};

struct runs {
	u64 since_ns;	/* since when this task runs */
	u32 tid;
	u32 pid;
	u32 next;
	u32 unused;
	struct long_run run[RUNS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct runs);
} runs SEC(".maps");

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
