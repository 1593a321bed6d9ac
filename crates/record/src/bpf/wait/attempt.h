/* Attempts that fail until another task acts, and after which programs sleep and try again: at a name that only one
 * task can create (a lock file, a lock folder), and at an address where nobody listens yet. The kernel keeps no owner
 * of a name: its creator is noted. */
#pragma once

#include "bpf.h"
#include "channel/connection.h"
#include "event.h"
#include "file/descriptor.h"
#include "model.h"
#include "registers.h"
#include "ring.h"
#include "settings.h"
#include "task/task.h"
#include "wait/lock.h"

/* Names whose creators are remembered, and names that somebody was refused. */
#define TAKERS 4096
#define REFUSALS 1024
#define NAME_TEXT 256
/* What the calls return. */
#define EXISTS (-17)
#define NOT_EMPTY (-39)
#define NO_ENTRY (-2)
#define CONNECTION_REFUSED_ERROR (-111)
#define O_CREAT_EXCL 0300
/* States of <net/tcp_states.h>. */
#define TCP_SYN_SENT 2
#define TCP_CLOSE 7
#define TCP_LISTEN 10
/* Keys that are no address of the kernel, and no semaphore of System V. */
#define NAME_KEY (1ull << 62)
#define PORT_KEY (3ull << 61)
/* FNV-1a (draft-eastlake-fnv). */
#define HASH_BASIS 0xcbf29ce484222325ull
#define HASH_PRIME 0x100000001b3ull
/* Generations of parents that are asked. */
#define PARENTS 4

struct taker {
	u32 tid;
	u32 pid;
	char comm[NAME_BYTES];
};

/* By key of a name: whose it is. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, TAKERS);
	__type(key, u64);
	__type(value, struct taker);
} takers SEC(".maps");

/* By key: since when tasks are refused. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, REFUSALS);
	__type(key, u64);
	__type(value, u64);
} refusals SEC(".maps");

/* Whether anybody was refused anything. */
u32 any_refused SEC(".data") = 0;

/* A path, and where its last component begins. */
struct name_text {
	char text[NAME_TEXT];
	u32 last;
	u32 unused;
};

/* Too large for a stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct name_text);
} attempted SEC(".maps");

/* The key of a path's last component: the folder before it may have several names, as it does for a task with another
 * working directory. 0: there is none. Verified once. */
__noinline u64 key_of_text(struct name_text *name)
{
	u64 hash = HASH_BASIS;
	u32 at;

	if (!name)
		return 0;
	name->last = 0;
	for (at = 0; at < NAME_TEXT; at++) {
		if (!name->text[at])
			break;
		hash = (hash ^ (u8)name->text[at]) * HASH_PRIME;
		if (name->text[at] == '/') {
			hash = HASH_BASIS;
			name->last = at + 1;
		}
	}
	return hash == HASH_BASIS ? 0 : NAME_KEY | hash >> 3;
}

/* The same of a path that the program passed. One that is too long has no key. */
static __noinline u64 key_of_path(u64 path)
{
	u32 zero = 0;
	struct name_text *name = bpf_map_lookup_elem(&attempted, &zero);
	long bytes;

	if (!name)
		return 0;
	bytes = bpf_probe_read_user_str(name->text, NAME_TEXT, (void *)path);
	return bytes <= 1 || bytes >= NAME_TEXT ? 0 : key_of_text(name);
}

/* The same of the address of a socket of this machine: an abstract one begins with a NUL. */
static __noinline u64 key_of_address(u64 address, u32 is_of_user)
{
	u32 zero = 0;
	struct name_text *name = bpf_map_lookup_elem(&attempted, &zero);
	u16 family = 0;
	char first = 0;
	long bytes;

	if (!name || !address)
		return 0;
	if (is_of_user) {
		bpf_probe_read_user(&family, sizeof(family), (void *)address);
		bpf_probe_read_user(&first, 1, (void *)(address + 2));
		bytes = bpf_probe_read_user_str(name->text, NAME_TEXT, (void *)(address + (first ? 2 : 3)));
	} else {
		bpf_probe_read_kernel(&family, sizeof(family), (void *)address);
		bpf_probe_read_kernel(&first, 1, (void *)(address + 2));
		bytes = bpf_probe_read_kernel_str(name->text, NAME_TEXT, (void *)(address + (first ? 2 : 3)));
	}
	return family != AF_UNIX || bytes <= 1 ? 0 : key_of_text(name);
}

/* A port of this network namespace. */
static __always_inline u64 key_of_port(struct sock *sock, u16 port)
{
	u64 space = 0;

	if (bpf_core_field_exists(sock->__sk_common.skc_net)) {
		CHECKED();
		space = BPF_CORE_READ(sock, __sk_common.skc_net.net, ns.inum);
	}
	return PORT_KEY | space << 16 | port;
}

/* The current task has created what has that name. */
static __noinline int take_name(struct task_note *note, u64 key)
{
	u64 id = bpf_get_current_pid_tgid();
	struct taker taker = { .tid = id, .pid = id >> 32 };

	if (!note || !key)
		return 0;
	bpf_get_current_comm(taker.comm, NAME_BYTES);
	bpf_map_update_elem(&takers, &key, &taker, BPF_ANY);
	note->lock.name = key;
	return 0;
}

static __always_inline void describe_taker(struct taker *taker, struct task_struct *task)
{
	taker->tid = taker->pid = BPF_CORE_READ(task, tgid);
	bpf_probe_read_kernel_str(taker->comm, NAME_BYTES, &task->comm);
}

/* For whom the current task acts on a name that others were refused since then: for itself, or for the parent that lets
 * others do each of its steps, as scripts do. It may be younger than the refusals. */
static __noinline int find_taker(struct taker *taker, u64 since_ns)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 generation;

	if (!taker)
		return 0;
	for (generation = 0; generation < PARENTS; generation++) {
		if (BPF_CORE_READ(task, start_time) <= since_ns)
			break;
		if (BPF_CORE_READ(task, real_parent, tgid) <= 1)
			break;
		task = BPF_CORE_READ(task, real_parent);
	}
	describe_taker(taker, task);
	return 0;
}

/* From now on the next attempt succeeds. */
static __noinline int emit_release(struct task_note *note, u64 key, struct taker *taker)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 now = bpf_ktime_get_ns();
	struct event *event;

	if (!note || !taker)
		return 0;
	event = begin_event(ON_CPU, BARE);
	if (!event)
		return 0;
	describe(event, task, note, now - 1, now);
	event->lock = key;
	if (taker->pid == event->pid) {
		event->cpu_ns = task->se.sum_exec_runtime;
		event->run_delay_ns = run_delay_of(task);
	} else {
		event->tid = taker->tid;
		event->pid = taker->pid;
		__builtin_memcpy(event->comm, taker->comm, NAME_BYTES);
	}
	end_event(event);
	return 0;
}

/* The current task has removed what had that name, or is the first to listen there. */
static __noinline int free_name(struct task_note *note, u64 key)
{
	struct taker found = {}, *taker;
	u64 *since;

	if (!note || !key)
		return 0;
	if (note->lock.name == key)
		note->lock.name = 0;
	taker = bpf_map_lookup_elem(&takers, &key);
	since = any_refused ? bpf_map_lookup_elem(&refusals, &key) : 0;
	if (since) {
		if (taker)
			found = *taker;
		else
			find_taker(&found, *since);
		emit_release(note, key, &found);
		bpf_map_delete_elem(&refusals, &key);
	}
	if (taker)
		bpf_map_delete_elem(&takers, &key);
	return 0;
}

/* Whether a task, or a parent of its, is of that process. */
static __noinline int is_within(u32 pid)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 generation;

	for (generation = 0; generation <= PARENTS; generation++) {
		if (BPF_CORE_READ(task, tgid) == pid)
			return 1;
		task = BPF_CORE_READ(task, real_parent);
	}
	return 0;
}

/* The current task was refused: it may sleep, and try again. No task waits for a name that it has itself, as where a
 * script makes a folder in each of its turns. */
static __noinline int refuse(struct task_note *note, u64 key, u32 mark)
{
	u64 now = bpf_ktime_get_ns();
	struct name_text *name;
	struct taker *taker;
	u32 zero = 0;

	if (!note || !key)
		return 0;
	taker = bpf_map_lookup_elem(&takers, &key);
	if (taker && is_within(taker->pid))
		return 0;
	any_refused = 1;
	bpf_map_update_elem(&refusals, &key, &now, BPF_NOEXIST);
	note->signal.mark = mark;
	note->signal.mark_ns = now;
	note_holder_of_file(note, key, 0);
	note->lock.holder.was_tried = 1;
	if (taker) {
		note->lock.holder.tid = taker->tid;
		note->lock.holder.pid = taker->pid;
		__builtin_memcpy(note->lock.holder.comm, taker->comm, NAME_BYTES);
	}
	name = bpf_map_lookup_elem(&attempted, &zero);
	if (name && key < PORT_KEY)
		bpf_probe_read_kernel_str(note->signal.detail.word, sizeof(note->signal.detail.word),
					  name->text + (name->last & (NAME_TEXT - 1)));
	return 0;
}

/* Whether others are refused the name that the current task has. */
static __noinline int is_wanted(u64 key)
{
	return key && any_refused && bpf_map_lookup_elem(&refusals, &key) != 0;
}

/* --- System calls. --- */

static __always_inline u64 argument_of(struct pt_regs *regs, u32 number)
{
	switch (number) {
	case 1:
		return FIRST_ARGUMENT(regs);
	case 2:
		return SECOND_ARGUMENT(regs);
	case 3:
		return THIRD_ARGUMENT(regs);
	case 4:
		return FOURTH_ARGUMENT(regs);
	default:
		return FIFTH_ARGUMENT(regs);
	}
}

static __always_inline int is_refusal(long result)
{
	return result == EXISTS || result == NOT_EMPTY;
}

/* Whether a call that ended has created or removed a name, or failed to. Most opens have not. */
static __always_inline int changes_names(u32 how, struct pt_regs *regs, long result)
{
	if (!how || (result < 0 && !is_refusal(result)))
		return 0;
	return !(how & IF_EXCLUSIVE) || (argument_of(regs, (how & TAKES) + 1) & O_CREAT_EXCL) == O_CREAT_EXCL;
}

static __noinline int note_names(struct task_note *note, struct pt_regs *regs, u32 how, long result)
{
	u32 taken = how & TAKES, freed = how >> FREES_AT & TAKES;

	if (!note || !regs)
		return 0;
	if (result < 0)
		return taken ? refuse(note, key_of_path(argument_of(regs, taken)),
				how & TAKES_FOLDER ? FOLDER_TAKEN : NAME_TAKEN) : 0;
	if (freed)
		free_name(note, key_of_path(argument_of(regs, freed)));
	if (taken)
		take_name(note, key_of_path(argument_of(regs, taken)));
	return 0;
}

/* A socket file may be absent as long as its server is. */
static __always_inline int is_unanswered(long result)
{
	return result == CONNECTION_REFUSED_ERROR || result == NO_ENTRY;
}

static __noinline int note_unconnected(struct task_note *note, struct pt_regs *regs)
{
	return regs ? refuse(note, key_of_address(SECOND_ARGUMENT(regs), 1), CONNECTION_REFUSED) : 0;
}

static __noinline int note_listening(struct task_note *note, struct pt_regs *regs)
{
	struct file *file;
	u64 sock, address;

	if (!regs || !any_refused)
		return 0;
	file = file_of(bpf_get_current_task_btf(), FIRST_ARGUMENT(regs));
	sock = file ? channel_of(file) : 0;
	if (!sock || BPF_CORE_READ((struct sock *)sock, __sk_common.skc_family) != AF_UNIX)
		return 0;
	address = (u64)BPF_CORE_READ((struct unix_sock *)sock, addr);
	if (!address)
		return 0;
	return free_name(note, key_of_address(address + bpf_core_field_offset(struct unix_address, name), 0));
}

/* --- Connections by TCP. --- */

static __always_inline void note_refused_port(struct sock *sock)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u16 port = host_order(BPF_CORE_READ(sock, __sk_common.skc_dport));
	struct task_note *note;

	/* What comes from another machine interrupts any task. */
	if (BPF_CORE_READ(sock, sk_err) != -CONNECTION_REFUSED_ERROR || call_in_registers(task) != settings.connect)
		return;
	note = current_note(task);
	if (!note)
		return;
	refuse(note, key_of_port(sock, port), CONNECTION_REFUSED);
	if (note->signal.mark == CONNECTION_REFUSED)
		note->signal.detail.word[1] = port;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(inet_sock_set_state, struct sock *sock, int before, int now)
{
	if (now == TCP_LISTEN && any_refused)
		free_name(current_note(bpf_get_current_task_btf()),
			  key_of_port(sock, BPF_CORE_READ(sock, __sk_common.skc_num)));
	else if (before == TCP_SYN_SENT && now == TCP_CLOSE)
		note_refused_port(sock);
	return 0;
}

/* --- Tasks that end. --- */

/* What a task that ends had, and was refused, its parent goes on with: a script has other programs do each step. */
static __noinline int leave_to_parent(struct task_note *note)
{
	struct task_struct *task = bpf_get_current_task_btf(), *parent = task->real_parent;
	struct task_note *of_parent;
	struct taker *taker;
	u64 key;

	if (!note || task->pid != task->tgid || !parent || BPF_CORE_READ(parent, tgid) <= 1)
		return 0;
	if (!note->lock.name && !was_refused(note))
		return 0;
	of_parent = note_of(parent);
	if (!of_parent)
		return 0;
	if (was_refused(note)) {
		of_parent->signal.mark = note->signal.mark;
		of_parent->signal.mark_ns = note->signal.mark_ns;
		of_parent->signal.detail = note->signal.detail;
		of_parent->lock.holder = note->lock.holder;
	}
	key = note->lock.name;
	taker = key ? bpf_map_lookup_elem(&takers, &key) : 0;
	if (!taker || taker->pid != task->tgid)
		return 0;
	describe_taker(taker, parent);
	of_parent->lock.name = key;
	return 0;
}
