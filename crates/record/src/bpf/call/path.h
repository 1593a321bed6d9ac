/* The file that a system call works on, by its names. */
#pragma once

#include "bpf.h"
#include "event.h"
#include "file/closed_file.h"
#include "file/descriptor.h"
#include "file/event_path.h"
#include "file/path.h"
#include "settings.h"
#include "task/task.h"

/* Before the program goes on. */
static __always_inline void save_argument(struct task_note *note, u32 names)
{
	u64 text = names == BY_FIRST ? note->call.first : note->call.second;
	long bytes = 0;

	if (names == BY_FIRST || names == BY_SECOND || names == BY_AT)
		bytes = bpf_probe_read_user_str(note->call.path, sizeof(note->call.path), (void *)text);
	if (bytes <= 0 || bytes >= SAVED_PATH)
		note->call.path[0] = 0;
}

/* A path that the program passed, followed by the folder that it is relative to. */
static __always_inline void add_argument(struct event *event, struct task_struct *task, struct task_note *note,
		u64 text,
					 s32 folder)
{
	struct file *file;
	long bytes;

	if (note->call.adopted == AFTER_EXIT)
		bytes = bpf_probe_read_kernel_str(event->path, sizeof(note->call.path), note->call.path);
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
		add_argument(event, task, note, note->call.first, AT_FDCWD);
	} else if (names == BY_SECOND) {
		add_argument(event, task, note, note->call.second, AT_FDCWD);
	} else if (names == BY_AT || names == BY_RESULT) {
		add_argument(event, task, note, note->call.second, note->call.first);
	}
}
