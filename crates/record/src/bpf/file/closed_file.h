/* The file of close(2): gone from the descriptors when the call ends, it is named at the call's first sleep. */
#pragma once

#include "bpf.h"
#include "event.h"
#include "file/event_path.h"
#include "file/path.h"
#include "task/task.h"

#define CLOSINGS 1024

struct closing {
	u64 entered_ns;		/* which call of the task it is */
	u64 found;		/* what `write_folders` returns */
	struct path_text path;
};

/* By thread. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CLOSINGS);
	__type(key, u32);
	__type(value, struct closing);
} closings SEC(".maps");

/* Too large for a stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct closing);
} next_closing SEC(".maps");

/* The current task goes to sleep in a close, which still holds the file. */
__noinline int save_closing(struct task_note *note)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct closing *closing;
	struct dentry *dentry;
	struct file *file;
	u32 zero = 0, tid = task->pid, at = 0;
	long bytes;

	if (!note)
		return 0;
	file = (struct file *)note->call.second;
	note->call.second = 0;
	closing = bpf_map_lookup_elem(&next_closing, &zero);
	if (!closing || !file || !is_storage(file))
		return 0;
	dentry = BPF_CORE_READ(file, f_path.dentry);
	bytes = bpf_probe_read_kernel_str(closing->path.text, FILE_NAME, BPF_CORE_READ(dentry, d_name.name));
	if (bytes > 0 && bytes <= FILE_NAME)
		at = bytes;
	closing->entered_ns = note->call.entered_ns;
	closing->found = write_folders(&closing->path, (u64)BPF_CORE_READ(dentry, d_parent), at);
	bpf_map_update_elem(&closings, &tid, closing, BPF_ANY);
	return 0;
}

static __always_inline void add_closed(struct event *event, struct task_struct *task, struct task_note *note)
{
	u32 tid = task->pid;
	struct closing *closing = bpf_map_lookup_elem(&closings, &tid);

	if (!closing || closing->entered_ns != note->call.entered_ns)
		return;
	__builtin_memcpy(event->path, closing->path.text, sizeof(event->path));
	event->state = closing->found >> 32;
	event->flags |= (u32)closing->found;
}
