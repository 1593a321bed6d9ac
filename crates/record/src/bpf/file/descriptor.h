/* The open file of a descriptor. */
#pragma once

#include "bpf.h"

static __always_inline struct file *file_of(struct task_struct *task, u64 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file *file = 0;

	if (fd < BPF_CORE_READ(table, max_fds))
		bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(table, fd) + fd);
	return file;
}

/* The address of the current task's file, for the programs that run most often: what the kernel's types lead to is read
 * as fast as a program's own memory. For each such pointer the verifier searches the types, here once in a program. */
__noinline u64 current_file(u64 fd)
{
	struct fdtable *table = bpf_get_current_task_btf()->files->fdt;
	u64 file = 0;

	if (fd < table->max_fds)
		bpf_probe_read_kernel(&file, sizeof(file), (void *)((u64)table->fd + fd * sizeof(file)));
	return file;
}
