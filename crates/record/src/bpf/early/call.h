/* Slow system calls before Linux 5.17: those that often work on files, timed from their begin. */
#pragma once

#include "bpf.h"
#include "early/task.h"
#include "event.h"
#include "file/path.h"
#include "ring.h"
#include "settings.h"

static __always_inline struct file *file_of(struct task_struct *task, u64 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd), *file = 0;

	if (fd < BPF_CORE_READ(table, max_fds))
		bpf_probe_read_kernel(&file, sizeof(file), files + fd);
	return file;
}

/* A path is written here first: these kernels forget what they know of an event whose address leaves the registers. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct path_text);
} paths SEC(".maps");

/* Returns the event's flags, and in the upper half its state. */
static __always_inline u64 write_path(struct path_text *path, struct file *file)
{
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);
	u32 at = 0;
	long bytes;

	bytes = bpf_probe_read_kernel_str(path->text, FILE_NAME, BPF_CORE_READ(dentry, d_name.name));
	if (bytes > 0 && bytes <= FILE_NAME)
		at = bytes;
	return folders_of(path, (u64)BPF_CORE_READ(dentry, d_parent), at);
}

/* A path as the program passed it. */
static __always_inline void write_argument(struct path_text *path, u64 text)
{
	if (bpf_probe_read_user_str(path->text, sizeof(path->text), (void *)text) <= 0)
		path->text[0] = 0;
}

static __always_inline u64 write_name(struct path_text *path, struct thread *thread, struct file *file, u32 names)
{
	path->text[0] = 0;
	if (file)
		return write_path(path, file);
	if (names == BY_FIRST || names == BY_PROGRAM)
		write_argument(path, thread->first);
	else if (names == BY_SECOND || names == BY_AT || names == BY_RESULT)
		write_argument(path, thread->second);
	return 0;
}

static __always_inline void emit_call(struct thread *thread, u32 names, s64 result, u64 now)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct path_text *path;
	struct file *file = 0;
	struct event *event;
	u32 zero = 0;
	u64 found;

	if (names == BY_FD)
		file = file_of(task, thread->first);
	else if (names == BY_RESULT && result >= 0)
		file = file_of(task, result);
	path = bpf_map_lookup_elem(&paths, &zero);
	/* A read of another file may wait for storage, too, where its buffer was swapped out. */
	if (!path || (file ? !is_storage(file) && !thread->waited : names == BY_FD))
		return;
	found = write_name(path, thread, file, names);
	event = begin_event(SYSTEM_CALL, WITH_STACK);
	if (!event)
		return;
	describe(event, thread, thread->entered_ns, now);
	describe_current(event);
	event->result = result;
	event->argument = names == BY_RESULT ? result : thread->first;
	event->state = found >> 32;
	event->flags |= (u32)found;
	bpf_probe_read_kernel(event->path, sizeof(event->path), path);
	end_event(event);
}

static __always_inline u32 how_followed(u64 call)
{
	return call < CALLS ? settings.calls[call & (CALLS - 1)] : NOT_TIMED;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(sys_enter, struct pt_regs *regs, long id)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct thread *thread;

	if (!how_followed(id) || pid_tgid >> 32 == settings.recorder || IS_COMPAT_UNTYPED(bpf_get_current_task()))
		return 0;
	thread = new_thread_of(pid_tgid);
	if (!thread)
		return 0;
	thread->entered_ns = bpf_ktime_get_ns();
	thread->call = id + 1;
	thread->first = FIRST_ARGUMENT(regs);
	thread->second = SECOND_ARGUMENT(regs);
	thread->waited = 0;
	thread->stopped_ns = 0;
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sys_exit, struct pt_regs *regs, long result)
{
	u64 id = CALL_NUMBER(regs), now, lasted;
	u32 how = how_followed(id);
	struct thread *thread;

	if (!how)
		return 0;
	thread = thread_of(bpf_get_current_pid_tgid());
	if (!thread || thread->call != (s32)id + 1)
		return 0;
	now = bpf_ktime_get_ns();
	lasted = now - thread->entered_ns;
	if (lasted >= settings.slow_ns && lasted - thread->stopped_ns >= settings.slow_ns &&
	    (thread->waited || !(how & IF_WAITED))) {
		emit_gathered(thread, SLEEP, 0);
		emit_gathered(thread, CPU_WAIT, 0);
		emit_gathered(thread, REQUEST_WAIT, 0);
		emit_call(thread, how & NAMES, result, now);
	}
	thread->call = 0;
	return 0;
}
