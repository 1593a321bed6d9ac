/* A file by the names of its folders. */
#pragma once

#include "bpf.h"
#include "event.h"

/* Regular files, directories and block devices: what can stall on storage. */
static __always_inline int is_storage(struct file *file)
{
	u16 type = BPF_CORE_READ(file, f_inode, i_mode) & 0170000;

	return type == 0100000 || type == 0040000 || type == 0060000;
}

/* Parent directories that are recorded of a file; bytes of the file's name, and of each parent's. */
#define DEPTH 24
#define FILE_NAME 256
#define FOLDER_NAME 64

struct path_text {
	char text[STACK_FRAMES * 8];
};

/* The names from a folder up to its file system's root, without the root, as far as they fit behind `at`. Returns the
 * event's flags, and in the upper half its state. */
static __always_inline u64 folders_of(struct path_text *path, u64 address, u32 at)
{
	struct dentry *folder = (struct dentry *)address, *parent;
	u64 found = PATH_UPWARDS;
	u32 depth;
	long bytes;

	found |= (u64)BPF_CORE_READ(folder, d_sb, s_dev) << 32;
	for (depth = 0; depth < DEPTH; depth++) {
		parent = BPF_CORE_READ(folder, d_parent);
		if (parent == folder) {
			found |= PATH_WHOLE;
			break;
		}
		if (at > sizeof(path->text) - FOLDER_NAME)
			break;
		bytes = bpf_probe_read_kernel_str(path->text + at, FOLDER_NAME, BPF_CORE_READ(folder, d_name.name));
		if (bytes <= 0 || bytes > FOLDER_NAME)
			break;
		at += bytes;
		folder = parent;
	}
	if (at < sizeof(path->text))
		path->text[at] = 0;
	return found;
}
