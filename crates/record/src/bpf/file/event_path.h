/* The path of an event, by the names of a file and its folders. */
#pragma once

#include "bpf.h"
#include "event.h"
#include "file/path.h"

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
