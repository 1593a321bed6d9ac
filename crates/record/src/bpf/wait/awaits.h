/* Whom a task waits for in a system call that ends when another task acts: the answer of its server, a thread. */
#pragma once

#include "bpf.h"
#include "channel/connection.h"
#include "channel/datagram_request.h"
#include "channel/queue_note.h"
#include "channel/sender.h"
#include "channel/side.h"
#include "event.h"
#include "file/descriptor.h"
#include "file/path.h"
#include "registers.h"
#include "ring.h"
#include "settings.h"
#include "task/state.h"
#include "task/task.h"
#include "wait/semaphore.h"

/* Generations of descendants that are searched. */
#define GENERATIONS 4

static __always_inline int is_below(struct task_struct *task, struct task_struct *ancestor)
{
	u32 generation;

	for (generation = 0; generation < GENERATIONS; generation++) {
		task = BPF_CORE_READ(task, real_parent);
		if (!task)
			return 0;
		if (BPF_CORE_READ(task, tgid) == ancestor->tgid)
			return 1;
	}
	return 0;
}

/* Whether the current task itself wakes another: not a timer, or a message from another machine, that interrupted it.
 * While a program runs in user mode, it is in no call. */
static __always_inline int is_by_task(struct task_struct *waker)
{
	s32 call = call_in_registers(waker);

	return call >= 0 && call < CALLS &&
	       (settings.others[call] & (SENDS | RECEIVES | CLOSES | WAITS_FOR_THREAD | SIGNALS | SEMAPHORE | QUEUES |
				      DEQUEUES));
}

/* Whether the call works on a file, which a FUSE server may serve. */
static __always_inline int is_on_file(struct task_struct *task, u32 what)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct file *file;

	if (!(what & (SENDS | RECEIVES)) || !regs)
		return 0;
	file = file_of(task, FIRST_ARGUMENT(regs));
	return file && is_storage(file);
}

/* Commands of futex(2). */
#define FUTEX_COMMANDS 0x7f
#define FUTEX_WAIT 0
#define FUTEX_LOCK_PI 6
#define FUTEX_WAIT_BITSET 9
#define FUTEX_LOCK_PI2 13
#define FUTEX_PRIVATE 0x80
/* FUTEX_WAITERS: the rest of the word is the holder's thread id (robust and PI mutexes, those of musl). */
#define FUTEX_HELD 0x80000000u
#define FUTEX_HOLDER 0x3fffffffu
/* A contended mutex of glibc, bionic, Rust, Go. */
#define MUTEX_CONTENDED 2

/* Whether the futex that the current task wakes another one by is free, or taken again: a counter goes on counting. */
static __always_inline int is_mutex(struct task_struct *waker)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(waker);
	u32 value = 0;

	if (!regs)
		return 0;
	bpf_probe_read_user(&value, sizeof(value), (void *)FIRST_ARGUMENT(regs));
	return value <= MUTEX_CONTENDED;
}

/* A thread of Rust that is parked has a word of all bits. */
static __always_inline int names_holder(u32 value)
{
	u32 holder = value & FUTEX_HOLDER;

	return value & FUTEX_HELD && holder && holder < MOST_TIDS;
}

/* Whether a sleeping task waits for a lock, by the value that the futex had: what else a thread waits for has counters,
 * or 0. */
static __always_inline u32 awaited_by_futex(struct task_struct *task, struct task_struct *waker)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	u32 how, command, value;

	if (!regs)
		return THREAD;
	how = SECOND_ARGUMENT(regs);
	value = THIRD_ARGUMENT(regs);
	command = how & FUTEX_COMMANDS;
	if (command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2)
		return LOCK;
	if (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET)
		return THREAD;
	if (names_holder(value) || (value == MUTEX_CONTENDED && is_mutex(waker)))
		return LOCK;
	return how & FUTEX_PRIVATE ? WORK : THREAD;
}

/* A semaphore that the current task gives back is a lock that it held. One that another task took is a counter of work.
 */
static __noinline u32 awaited_by_semaphore(void)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(waker);
	struct task_note *mine = note_of(waker);
	struct semaphore_change change = {};

	if (!mine || !mine->lock.semaphore || !regs || first_change(regs, &change))
		return THREAD;
	return mine->lock.semaphore == semaphore_of(FIRST_ARGUMENT(regs), change.number) ? LOCK : THREAD;
}

/* --- Waits of a task that works on a client's request. --- */

/* Descriptors that are searched for a client: a process for each client has few. */
#define CLIENT_AT 32

/* Whether that descriptor of the current task is a connection that it accepted. Verified once. */
__noinline int is_accepted(u64 fd)
{
	struct file *file = file_of(bpf_get_current_task_btf(), fd);

	return file && side_of(file) == SERVER;
}

/* Whether a process of one thread has a client, which may have asked it before the recording. Verified once. */
__noinline int has_client(struct task_note *note)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 fd;

	if (!note)
		return 0;
	if (note->messages.channels.owed || note->messages.is_left)
		return 1;
	if (BPF_CORE_READ(task, signal, nr_threads) != 1)
		return 0;
	for (fd = 0; fd < CLIENT_AT; fd++) {
		if (is_accepted(fd))
			return 1;
	}
	return 0;
}

/* Whether the current task acts as a client: it connects, asks, receives an answer, or ends a connection. */
static __noinline int acts_as_client(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	s32 call = call_in_registers(task);
	struct file *file;

	if (!regs || call < 0 || call >= CALLS || !(settings.others[call] & (SENDS | RECEIVES | CLOSES)))
		return 0;
	file = file_of(task, FIRST_ARGUMENT(regs));
	return file && (side_of(file) & ~OF_DATAGRAMS) == CLIENT;
}

/* What it waits for, by what the current task does. That may be the client, which sends the rest of its request, or
 * ends: then the server has nothing to do. What the server has started itself may end when its work for the client is
 * done. A signal comes from a process that works for a client, too: it gives back what both need, such as a row of a
 * database. */
static __always_inline u32 awaited_for_client(struct task_struct *server)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	s32 call = call_in_registers(waker);
	struct task_note *mine;

	if (call >= 0 && call < CALLS && settings.others[call] & SIGNALS) {
		mine = note_of(waker);
		return mine && has_client(mine) ? LOCK : FOR_CLIENT;
	}
	if (waker->flags & PF_EXITING)
		return is_below(waker, server) || waker->tgid == server->tgid ? FOR_CLIENT : MESSAGE;
	return acts_as_client() ? MESSAGE : FOR_CLIENT;
}

/* Whether what the current task does answers nothing that a task has asked a server. It may be a client of that task,
 * or a descendant that ends: all programs of a supervisor are. A task that waits for several at once sleeps on for the
 * answer. */
static __always_inline int answers_nothing(struct task_struct *asking)
{
	struct task_struct *waker = bpf_get_current_task_btf();

	return waker->flags & PF_EXITING ? is_below(waker, asking) : acts_as_client();
}

/* Descriptors that are searched for the other end of a pipe: a program that is asked by one has it among the first. */
#define PAIR_AT 32
#define FMODE_READ 1

/* Whether that descriptor of the current task can receive what a task has sent. Verified once. */
__noinline int is_asked_by(struct task_note *note, u64 fd)
{
	struct file *file = file_of(bpf_get_current_task_btf(), fd);
	struct socket *socket;
	u64 end = 0;
	u32 kind, at;

	if (!note || !file)
		return 0;
	kind = BPF_CORE_READ(file, f_inode, i_mode) & FILE_KIND;
	if (kind == FIFO && BPF_CORE_READ(file, f_mode) & FMODE_READ) {
		end = (u64)BPF_CORE_READ(file, f_inode);
	} else if (kind == SOCKET) {
		socket = BPF_CORE_READ(file, private_data);
		end = (u64)BPF_CORE_READ(socket, sk);
	}
	for (at = 0; at < ASKED_PAIRS; at++) {
		if (end && at < note->messages.asked_pairs && note->messages.pairs[at] == end)
			return 1;
	}
	return 0;
}

/* Whether the current task may answer what the noted task asked by a pipe or a socket pair: it has the other end open.
 * All programs of a supervisor descend from it; a message or an exit of one of them is no answer. Verified once. */
__noinline int may_answer_by_pair(struct task_note *note)
{
	u64 fd;

	if (!note || !note->messages.asked_pairs)
		return 0;
	for (fd = 0; fd < PAIR_AT; fd++) {
		if (is_asked_by(note, fd))
			return 1;
	}
	return 0;
}

/* Whether the current task is a child of this task, and ends. */
static __always_inline int is_ending_child(struct task_struct *task)
{
	struct task_struct *waker = bpf_get_current_task_btf();

	return waker->flags & PF_EXITING && BPF_CORE_READ(waker, real_parent, tgid) == task->tgid;
}

/* Whether the current task is a child of this task, and goes on after a stop, of which a signal tells its parent. */
static __always_inline int is_continued_child(struct task_struct *task)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct task_note *mine;

	if (BPF_CORE_READ(waker, real_parent, tgid) != task->tgid)
		return 0;
	mine = note_of(waker);
	return mine && is_stopped(mine->wait.out_state);
}

/* Whether the current task is another thread of its process, and ends: pthread_join. */
static __always_inline int is_ending_thread(struct task_struct *task)
{
	struct task_struct *waker = bpf_get_current_task_btf();

	return waker->flags & PF_EXITING && waker->tgid == task->tgid;
}

/* A thread that works for a client waits for one that works for another: for what the other has and both need, such as
 * a row of InnoDB. Other threads work for the client, or for themselves. */
static __always_inline u32 awaited_by_server(struct task_struct *waker)
{
	struct task_note *mine = note_of(waker);

	return mine && (mine->messages.channels.owed || mine->messages.is_left) ? LOCK : FOR_CLIENT;
}

/* Whether the task may wait for somebody though a timer or an interrupt ends its sleep: it will sleep again. */
static __always_inline int is_asking(struct task_note *note, u32 what)
{
	if (what & WAITS)
		return note->messages.channels.asked || note->messages.channels.owed || note->messages.channels.met;
	return what & WAITS_FOR_THREAD && note->messages.channels.owed;
}

/* The server that a task has connected to ends its wait with the first thing that it sends. What the task connected for
 * may come much later, but nobody else's message is it. Verified once. */
__noinline int awaited_of_met(struct task_note *note, u32 by_task)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(waker);
	struct sender *sender;
	struct file *file;
	u64 connection;

	if (!note || !note->messages.channels.met)
		return NOBODY;
	connection = note->messages.met_by;
	if (by_task) {
		file = regs ? file_of(waker, FIRST_ARGUMENT(regs)) : 0;
		if (!file || side_of(file) != SERVER || connection_of(sock_of(file), SERVER) != connection)
			return NOBODY;
	} else {
		sender = bpf_map_lookup_elem(&senders, &connection);
		if (!sender || sender->sent_ns < note->messages.met_ns)
			return NOBODY;
		note->waker.tid = sender->tid;
		note->waker.pid = sender->pid;
		__builtin_memcpy(note->waker.comm, sender->comm, NAME_BYTES);
	}
	note->messages.asked_ns = note->messages.met_ns;
	return ANSWER;
}

/* Whether a task sleeps because it wants to. */
static __always_inline int rests(struct task_struct *task)
{
	s32 call = call_in_registers(task);

	return call >= 0 && (call == settings.nanosleep || call == settings.clock_nanosleep);
}

/* The letter of userfaultfd's ioctls: UFFDIO_COPY and others. */
#define USERFAULTFD 0xaa

/* Whether the current task, a pager, hands out a page that another one has faulted on. */
static __always_inline int gives_page(struct task_struct *pager)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(pager);

	return regs && call_in_registers(pager) == settings.ioctl && (SECOND_ARGUMENT(regs) >> 8 & 0xff) == USERFAULTFD;
}

/* A task waits for a message in a queue, and the current task sends one there. */
static __always_inline u32 awaited_by_queue(struct task_note *note)
{
	struct task_note *mine = note_of(bpf_get_current_task_btf());

	if (!mine || !answers_by_queue(&note->messages.queues, &mine->messages.queues))
		return NOBODY;
	note->messages.asked_ns = note->messages.queues.asked_ns;
	return ANSWER;
}

/* Call this for the task that is about to be woken by the current one. */
static __always_inline u32 awaited_by(struct task_struct *task, struct task_note *note)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	u32 what, by_task, awaits;
	s32 call;

	if (!note->wait.out_state)
		return NOBODY;
	if (gives_page(waker))
		return THREAD;
	if (note->wait.out_state & TASK_UNINTERRUPTIBLE)
		return NOBODY;
	call = call_in_registers(task);
	if (call < 0 || call >= CALLS)
		return NOBODY;
	what = settings.others[call];
	if (what & WAITS_FOR_CHILD)
		return is_ending_child(task) || is_continued_child(task) ? CHILD : NOBODY;
	if (what & DEQUEUES)
		return awaited_by_queue(note);
	if (!(what & (WAITS | WAITS_FOR_THREAD | SENDS | SEMAPHORE | QUEUES)))
		return NOBODY;
	by_task = is_by_task(waker);
	if (!by_task && what & WAITS && may_ask_again(note)) {
		note->waker.tid = 0;
		return INTERRUPT;
	}
	if (!by_task && !is_asking(note, what))
		return NOBODY;
	/* A client connects. */
	if (what & ACCEPTS)
		return by_task ? MESSAGE : NOBODY;
	if (is_on_file(task, what))
		return NOBODY;
	if (!by_task && what & WAITS_FOR_THREAD) {
		note->waker.tid = 0;
		return FOR_CLIENT;
	}
	if (!by_task && !note->messages.channels.asked && !note->messages.channels.owed)
		return awaited_of_met(note, by_task);
	/* A server could not answer without its child. */
	if (!by_task && (note->messages.channels.asked || !is_continued_child(task)))
		find_sender(note);
	if (what & SEMAPHORE)
		return awaited_by_semaphore();
	if (what & WAITS_FOR_THREAD) {
		awaits = awaited_by_futex(task, waker);
		if (awaits == THREAD && is_ending_thread(task))
			return CHILD;
		return awaits == WORK && note->messages.channels.owed ? awaited_by_server(waker) : awaits;
	}
	if (what & (SENDS | QUEUES))
		return ROOM;
	if (by_task && answers_datagram(note)) {
		note->messages.asked_ns = note->messages.datagram_ns;
		return ANSWER;
	}
	if (note->messages.channels.asked) {
		if (by_task && answers_nothing(task))
			note->waker.tid = 0;
		return ANSWER;
	}
	if (note->messages.channels.answered)
		return PART;
	if (by_task && note->messages.channels.met && awaited_of_met(note, by_task))
		return ANSWER;
	if (note->messages.channels.owed)
		return by_task ? awaited_for_client(task) : FOR_CLIENT;
	return is_below(waker, task) && may_answer_by_pair(note) ? ANSWER_OF_CHILD : MESSAGE;
}

/* What a task waits for that nobody has woken yet: what it has asked for, room for what it sends, a lock. Who may end
 * that is not known. */
static __always_inline u32 awaited_so_far(struct task_struct *task, struct task_note *note)
{
	s32 call = call_in_registers(task);
	struct pt_regs *regs;
	u32 what;

	if (!note->wait.out_state || note->wait.out_state & TASK_UNINTERRUPTIBLE || call < 0 || call >= CALLS)
		return NOBODY;
	what = settings.others[call];
	if (what & ACCEPTS || is_on_file(task, what))
		return NOBODY;
	if (what & WAITS_FOR_THREAD) {
		regs = (struct pt_regs *)bpf_task_pt_regs(task);
		return regs && names_holder(THIRD_ARGUMENT(regs)) ? LOCK : NOBODY;
	}
	if (what & SENDS)
		return ROOM;
	return what & WAITS && note->messages.channels.asked ? ANSWER : NOBODY;
}

/* Whether a task that owes its client an answer may wait for that answer's sake: not for a message, a timer or a child.
 */
static __always_inline int is_for_client(u32 awaits)
{
	return awaits == NOBODY || awaits == FOR_CLIENT || awaits == LOCK || awaits == THREAD;
}

static __always_inline void add_awaited(struct event *event, struct task_note *note, u32 awaits)
{
	event->awaits = awaits;
	if (awaits == ANSWER || awaits == PART || awaits == ANSWER_OF_CHILD)
		event->asked_ns = note->messages.asked_ns;
	else if (awaits == ROOM)
		event->asked_ns = note->messages.sent_ns ? note->messages.sent_ns : began_ns;
	else if (awaits == INTERRUPT)
		event->asked_ns = note->messages.datagram_ns;
	else if (note->messages.channels.owed && is_for_client(awaits))
		event->asked_ns = note->messages.owed_ns;
}

/* A sleep that nobody may have to know of: a timer ended it. */
static __always_inline void remember_sleep(struct task_struct *task, struct task_note *note, u64 out_ns, u64 now)
{
	note->slept.from_ns = out_ns;
	note->slept.until_ns = now;
	note->slept.call = call_in_registers(task);
	note->slept.state = note->wait.out_state;
	note->slept.cpu_ns = task->se.sum_exec_runtime;
	note->slept.run_delay_ns = run_delay_of(task);
}

/* The last sleep of the current task that was not emitted, if it was so long. */
static __noinline int emit_slept(u64 least_ns)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_note *note = current_note(task);
	struct event *event;
	u64 until_ns;

	if (!note || !note->slept.until_ns || note->slept.until_ns - note->slept.from_ns < least_ns)
		return 0;
	until_ns = note->slept.until_ns;
	note->slept.until_ns = 0;
	event = begin_event(OFF_CPU, BARE);
	if (!event)
		return 0;
	describe(event, task, note, note->slept.from_ns, until_ns);
	event->state = note->slept.state;
	event->call = note->slept.call;
	event->cpu_ns = note->slept.cpu_ns;
	event->run_delay_ns = note->slept.run_delay_ns;
	event->awaits = INTERRUPT;
	end_event(event);
	return 0;
}

/* The current task wakes one that waited for it. Since its own last sleep it was awake. For how much of that time it
 * ran, the CPU time shows that it had used until now. */
static __noinline int emit_waker(u64 now)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct task_note *note = current_note(waker);
	struct event *event;

	if (!note)
		return 0;
	emit_slept(0);
	event = begin_event(ON_CPU, BARE);
	if (!event)
		return 0;
	describe(event, waker, note, now - 1, now);
	event->cpu_ns = waker->se.sum_exec_runtime;
	event->run_delay_ns = run_delay_of(waker);
	if (note->messages.channels.owed) {
		event->awaits = INTERRUPT;
		event->asked_ns = note->messages.owed_ns;
	}
	end_event(event);
	return 0;
}
