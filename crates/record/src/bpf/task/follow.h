/* Tasks of other programs that are watched like the recorded command. */
#pragma once

#include "bpf.h"
#include "task/task.h"

/* Processes at once. */
#define FOLLOWED 1024

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FOLLOWED);
	__type(key, u32);
	__type(value, u8);
} followed SEC(".maps");

/* Their children are watched from their fork on. */
SEC("iter/task")
int follow_tasks(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct task_note *note;
	u32 pid;

	if (!task)
		return 0;
	pid = task->tgid;
	if (!bpf_map_lookup_elem(&followed, &pid))
		return 0;
	note = new_note_of(task);
	if (!note)
		return 0;
	note->watched = 1;
	if (!note->wait.out_ns && is_asleep(task))
		note_asleep(task, note);
	return 0;
}
