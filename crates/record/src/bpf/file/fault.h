/* The file of a page fault that slept. A sleeping task's fault is a `struct vm_fault` on its stack, right below the
 * registers of the exception: searched only where the wait is recorded, so that a fault that does not wait costs
 * nothing. */
#pragma once

#include "address_hash.h"
#include "bpf.h"
#include "event.h"
#include "file/event_path.h"
#include "registers.h"
#include "ring.h"
#include "task/state.h"
#include "task/task.h"

/* Words of the stack that are looked at: from the exception to the file system. */
#define FAULT_WORDS 256
#define LEAST_PAGE 4096ull
/* The largest page of any processor. */
#define MOST_PAGE 65536ull

/* The area of the fault that begins there, if it is one of that memory, within the area that it names. Verified once,
 * not for each word. */
__noinline u64 area_of_fault(u64 at, u64 memory)
{
	struct vm_fault *fault = (struct vm_fault *)at;
	u64 address = BPF_CORE_READ(fault, address), exact = BPF_CORE_READ(fault, real_address);
	struct vm_area_struct *area;

	if (!address || address & (LEAST_PAGE - 1) || exact < address || exact - address >= MOST_PAGE)
		return 0;
	area = BPF_CORE_READ(fault, vma);
	if ((u64)BPF_CORE_READ(area, vm_mm) != memory || address < BPF_CORE_READ(area, vm_start) ||
	    address >= BPF_CORE_READ(area, vm_end))
		return 0;
	return (u64)area;
}

/* The file that is mapped where a sleeping task's page fault is; 0: none. Verified once. */
__noinline u64 file_of_fault(u64 registers, u64 memory)
{
	u64 area;
	u32 word;

	if (!registers || !memory || !bpf_core_field_exists(struct vm_fault, real_address))
		return 0;
	CHECKED();
	for (word = 1; word <= FAULT_WORDS; word++) {
		area = area_of_fault(registers - word * 8, memory);
		if (area)
			return (u64)BPF_CORE_READ((struct vm_area_struct *)area, vm_file);
	}
	return 0;
}

/* The wait of a task that is in no system call ends: before its own event comes one with the file of its page fault. */
__noinline int emit_fault(u64 file, u32 tid)
{
	struct event *event;

	if (!file)
		return 0;
	event = begin_event(FAULT_FILE, WITH_STACK);
	if (!event)
		return 0;
	event->tid = tid;
	add_path(event, (struct file *)file);
	end_event(event);
	return 0;
}

static __always_inline void name_fault(struct task_struct *task, struct task_note *note)
{
	u64 registers;

	if (!is_blocked(note->wait.out_state) || note->call.number || task->flags & PF_KTHREAD ||
			call_in_registers(task) >= 0)
		return;
	registers = address_of((void *)bpf_task_pt_regs(task), OF_FAULT);
	emit_fault(file_of_fault(registers, (u64)BPF_CORE_READ(task, mm)), task->pid);
}
