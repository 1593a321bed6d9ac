/* Slow system calls on files. */
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

/* Parent directories that are recorded of a file; bytes of the file's name, and of each parent's. */
#define DEPTH 24
#define FILE_NAME 256
#define FOLDER_NAME 64

/* The names from the file up to its file system's root, without the root, as far as they fit. */
static __always_inline void add_path(struct event *event, struct file *file)
{
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry), *parent;
	u32 at = 0, depth;
	long bytes;

	event->state = BPF_CORE_READ(file, f_inode, i_sb, s_dev);
	event->flags |= PATH_UPWARDS;
	bytes = bpf_probe_read_kernel_str(event->path, FILE_NAME, BPF_CORE_READ(dentry, d_name.name));
	if (bytes > 0 && bytes <= FILE_NAME)
		at = bytes;
	for (depth = 0; depth < DEPTH; depth++) {
		parent = BPF_CORE_READ(dentry, d_parent);
		if (parent == dentry || BPF_CORE_READ(parent, d_parent) == parent) {
			event->flags |= PATH_WHOLE;
			break;
		}
		dentry = parent;
		if (at > sizeof(event->path) - FOLDER_NAME)
			break;
		bytes = bpf_probe_read_kernel_str(event->path + at, FOLDER_NAME, BPF_CORE_READ(dentry, d_name.name));
		if (bytes <= 0 || bytes > FOLDER_NAME)
			break;
		at += bytes;
	}
	if (at < sizeof(event->path))
		event->path[at] = 0;
}

static __always_inline void add_name(struct event *event, struct task_note *note, struct file *file, u32 names)
{
	event->path[0] = 0;
	if (file) {
		add_path(event, file);
	} else if (names == BY_FIRST || names == BY_PROGRAM) {
		bpf_probe_read_user_str(event->path, sizeof(event->path), (void *)note->first);
	} else if (names == BY_SECOND || names == BY_RESULT) {
		bpf_probe_read_user_str(event->path, sizeof(event->path), (void *)note->second);
	}
}

static __always_inline void emit_call(struct task_struct *task, struct task_note *note, u32 names, long result,
				      u64 now)
{
	struct file *file = 0;
	struct event *event;

	if (names == BY_FD)
		file = file_of(task, note->first);
	else if (names == BY_RESULT && result >= 0)
		file = file_of(task, result);
	else if (names == BY_PROGRAM && !result)
		file = BPF_CORE_READ(task, mm, exe_file);
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
		emit_all_gathered(task, note);
		emit_call(task, note, names, result, now);
	}
	note->call = 0;
	return 0;
}
