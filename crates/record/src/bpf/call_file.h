/* The file that a system call works on, by its names. */
#pragma once

#include "path.h"

static __always_inline struct file *file_of(struct task_struct *task, u64 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file *file = 0;

	if (fd < BPF_CORE_READ(table, max_fds))
		bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(table, fd) + fd);
	return file;
}

/* The address of the current task's file, for the programs that run most often: what the kernel's types lead to is read as fast as a
 * program's own memory. For each such pointer the verifier searches the types, here once in a program. */
__noinline u64 current_file(u64 fd)
{
	struct fdtable *table = bpf_get_current_task_btf()->files->fdt;
	u64 file = 0;

	if (fd < table->max_fds)
		bpf_probe_read_kernel(&file, sizeof(file), (void *)((u64)table->fd + fd * sizeof(file)));
	return file;
}

/* The verifier checks it once, not for each caller. */
__noinline u64 write_folders(struct path_text *path, u64 address, u32 at)
{
	return path ? folders_of(path, address, at) : 0;
}

static __always_inline void add_folders(struct event *event, struct dentry *folder, u32 at)
{
	u64 found = write_folders((struct path_text *)event->path, (u64)folder, at);

	event->state = found >> 32;
	event->flags |= (u32)found;
}

static __always_inline void add_path(struct event *event, struct file *file)
{
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);
	u32 at = 0;
	long bytes;

	bytes = bpf_probe_read_kernel_str(event->path, FILE_NAME, BPF_CORE_READ(dentry, d_name.name));
	if (bytes > 0 && bytes <= FILE_NAME)
		at = bytes;
	add_folders(event, BPF_CORE_READ(dentry, d_parent), at);
}

/* Before the program goes on. */
static __always_inline void save_argument(struct task_note *note, u32 names)
{
	u64 text = names == BY_FIRST ? note->first : note->second;
	long bytes = 0;

	if (names == BY_FIRST || names == BY_SECOND || names == BY_AT)
		bytes = bpf_probe_read_user_str(note->path, sizeof(note->path), (void *)text);
	if (bytes <= 0 || bytes >= SAVED_PATH)
		note->path[0] = 0;
}

/* A path that the program passed, followed by the folder that it is relative to. */
static __always_inline void add_argument(struct event *event, struct task_struct *task, struct task_note *note, u64 text,
					 s32 folder)
{
	struct file *file;
	long bytes;

	if (note->adopted == AFTER_EXIT)
		bytes = bpf_probe_read_kernel_str(event->path, sizeof(note->path), note->path);
	else
		bytes = bpf_probe_read_user_str(event->path, sizeof(event->path), (void *)text);
	if (bytes <= 0 || event->path[0] == '/')
		return;
	file = folder == AT_FDCWD ? 0 : file_of(task, folder);
	if (bytes == 1) {
		/* AT_EMPTY_PATH */
		if (file)
			add_path(event, file);
	} else if (bytes <= FILE_NAME) {
		if (file)
			add_folders(event, BPF_CORE_READ(file, f_path.dentry), bytes);
		else if (folder == AT_FDCWD)
			add_folders(event, BPF_CORE_READ(task, fs, pwd.dentry), bytes);
	}
}

#include "call_closed.h"

/* The device, or whatever a file system that is being mounted is made from. */
static __always_inline void add_context(struct event *event, struct file *file)
{
	struct fs_context *context = BPF_CORE_READ(file, private_data);
	const char *source = BPF_CORE_READ(context, source);

	if (source)
		bpf_probe_read_kernel_str(event->path, FILE_NAME, source);
	else if (BPF_CORE_READ(context, root))
		bpf_probe_read_kernel_str(event->path, 32, BPF_CORE_READ(context, root, d_sb, s_id));
}

static __always_inline void add_name(struct event *event, struct task_struct *task, struct task_note *note,
				     struct file *file, u32 names)
{
	event->path[0] = 0;
	if (names == BY_CONTEXT) {
		if (file)
			add_context(event, file);
	} else if (names == BY_CLOSED) {
		add_closed(event, task, note);
	} else if (file) {
		add_path(event, file);
	} else if (names == BY_FIRST || names == BY_PROGRAM) {
		add_argument(event, task, note, note->first, AT_FDCWD);
	} else if (names == BY_SECOND) {
		add_argument(event, task, note, note->second, AT_FDCWD);
	} else if (names == BY_AT || names == BY_RESULT) {
		add_argument(event, task, note, note->second, note->first);
	}
}
