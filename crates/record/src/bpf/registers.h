/* What the registers say that a task left user space with. */
#pragma once

#include "bpf.h"
#include "settings.h"

/* The number of the system call that a task is in, or on its way back from; -1: none. An exception leaves none there.
 */
static __always_inline s32 call_in_registers(struct task_struct *task)
{
	struct pt_regs *regs;
	u64 id;

	if (task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER) || IS_COMPAT(task))
		return -1;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	if (!regs)
		return -1;
	id = CALL_NUMBER(regs);
	return id < CALLS ? (s32)id : -1;
}
