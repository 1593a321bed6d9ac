/* In place of libbpf's, in user space: what a helper would ask the kernel is answered by the test's own tasks. */
#pragma once

#define SEC(name)
#define __uint(name, value) int (*name)[value]
#define __type(name, value) value *name
#define __always_inline inline __attribute__((always_inline))
#define __noinline __attribute__((noinline))
#define barrier_var(value) asm volatile("" : "+r"(value))

/* The running task, its clock, and what the others know of tasks. */
extern struct task_struct *running;
extern u64 now_ns;
void *fake_note(struct task_struct *task);
struct pt_regs *fake_registers(struct task_struct *task);
void *fake_lookup(void *map, const void *key, u32 bytes);
long fake_update(void *map, const void *key, u32 bytes, const void *value, u32 value_bytes);
long fake_delete(void *map, const void *key, u32 bytes);
long fake_read(void *to, u32 bytes, const void *from);

#define bpf_get_current_task_btf() running
#define bpf_task_pt_regs(task) ((long)fake_registers(task))
#define bpf_ktime_get_ns() now_ns
#define bpf_get_current_pid_tgid() ((u64)running->tgid << 32 | (u32)running->pid)
#define bpf_get_current_comm(to, bytes) fake_read(to, bytes, running->comm)
#define bpf_task_storage_get(map, task, value, flags) fake_note(task)
#define bpf_map_lookup_elem(map, key) fake_lookup(map, key, sizeof(*(key)))
#define bpf_map_update_elem(map, key, value, flags) fake_update(map, key, sizeof(*(key)), value, sizeof(*(value)))
#define bpf_map_delete_elem(map, key) fake_delete(map, key, sizeof(*(key)))
#define bpf_probe_read_kernel(to, bytes, from) fake_read(to, bytes, from)
#define bpf_probe_read_user(to, bytes, from) fake_read(to, bytes, from)
#define bpf_probe_read_kernel_str(to, bytes, from) fake_read(to, bytes, from)
#define bpf_probe_read_user_str(to, bytes, from) fake_read(to, bytes, from)
#define bpf_get_task_stack(task, to, bytes, flags) (-1L)
/* No events: the test looks at what was decided. */
#define bpf_ringbuf_reserve(ring, bytes, flags) ((void *)0)
#define bpf_ringbuf_submit(event, flags) ((void)(event))
