/* System calls on files that take long. */
#pragma once

static __always_inline struct file *file_of(struct task_struct *task, u64 fd)
{
	struct fdtable *table = task->files->fdt;
	struct file *file = 0;

	if (fd < table->max_fds)
		bpf_probe_read_kernel(&file, sizeof(file), table->fd + fd);
	return file;
}

/* Regular files, directories and block devices: what can stall on storage. */
static __always_inline int is_storage(struct file *file)
{
	u16 type = BPF_CORE_READ(file, f_inode, i_mode) & 0170000;

	return type == 0100000 || type == 0040000 || type == 0060000;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(sys_enter, struct pt_regs *regs, long id)
{
	struct task_struct *task;
	struct task_note *note;
	u32 names;

	if ((u64)id >= CALLS)
		return 0;
	names = settings.calls[id];
	if (names == NO_CALL || names == BY_WAITS)
		return 0;
	task = bpf_get_current_task_btf();
	if (IS_COMPAT(task))
		return 0;
	note = current_note(task);
	if (!note)
		return 0;
	note->entered_ns = bpf_ktime_get_ns();
	note->call = id + 1;
	note->first = FIRST_ARGUMENT(regs);
	note->second = SECOND_ARGUMENT(regs);
	return 0;
}

static __always_inline void add_name(struct event *event, struct task_note *note, struct file *file, u32 names)
{
	const unsigned char *name;

	event->path[0] = 0;
	if (file) {
		name = BPF_CORE_READ(file, f_path.dentry, d_name.name);
		bpf_probe_read_kernel_str(event->path, sizeof(event->path), name);
	} else if (names == BY_FIRST) {
		bpf_probe_read_user_str(event->path, sizeof(event->path), (void *)note->first);
	} else if (names == BY_SECOND || names == BY_RESULT) {
		bpf_probe_read_user_str(event->path, sizeof(event->path), (void *)note->second);
	}
}

static __always_inline void tell_call(struct task_struct *task, struct task_note *note, u32 names, long result,
				      u64 now)
{
	struct file *file = 0;
	struct event *event;

	if (names == BY_FD)
		file = file_of(task, note->first);
	else if (names == BY_RESULT && result >= 0)
		file = file_of(task, result);
	if (file ? !is_storage(file) : names == BY_FD)
		return;
	event = begin_event(SYSTEM_CALL, WITH_STACK);
	if (!event)
		return;
	describe(event, task, note, note->entered_ns, now);
	event->result = result;
	event->argument = names == BY_RESULT ? result : note->first;
	add_name(event, note, file, names);
	end_event(event);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sys_exit, struct pt_regs *regs, long result)
{
	u64 id = CALL_NUMBER(regs), now;
	struct task_struct *task;
	struct task_note *note;
	u32 names;

	if (id >= CALLS)
		return 0;
	names = settings.calls[id];
	if (names == NO_CALL || names == BY_WAITS)
		return 0;
	task = bpf_get_current_task_btf();
	note = note_of(task);
	if (!note || note->call != (s32)id + 1)
		return 0;
	now = bpf_ktime_get_ns();
	if (now - note->entered_ns >= settings.slow_ns) {
		tell_all_gathered(task, note);
		tell_call(task, note, names, result, now);
	}
	note->call = 0;
	return 0;
}
