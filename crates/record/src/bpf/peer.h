/* Requests that a task sends to a server, and their answers. A client waits for its server only between the two: a server
 * that has answered, an event loop, a shell wait for nothing that they asked for. */
#pragma once

#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define SOCK_STREAM 1
#define SOCK_SEQPACKET 5
#define EINPROGRESS 115
/* S_IFMT, S_IFIFO and S_IFSOCK of i_mode. */
#define FILE_KIND 0170000
#define FIFO 0010000
#define SOCKET 0140000

/* A task's side of a connection. */
enum side {
	NO_SIDE = 0,
	CLIENT = 1,
	SERVER = 2,
	EITHER = 3,	/* of a pipe or a socket pair */
	OF_DATAGRAMS = 4,	/* flag */
};

#include "datagram.h"

/* An accepted socket inherits the address of the one that listened; that of the client mostly has none. */
static __always_inline u32 unix_side(struct unix_sock *socket)
{
	struct unix_sock *peer = (struct unix_sock *)BPF_CORE_READ(socket, peer);
	void *own = BPF_CORE_READ(socket, addr), *theirs;

	if (!peer)
		return NO_SIDE;
	theirs = BPF_CORE_READ(peer, addr);
	if (!own == !theirs)
		return EITHER;
	return own ? SERVER : CLIENT;
}

static __always_inline u32 side_of_socket(struct sock *sock)
{
	u16 family = BPF_CORE_READ(sock, __sk_common.skc_family), type = BPF_CORE_READ(sock, sk_type);
	struct inet_sock *inet = (struct inet_sock *)sock;

	if (type == SOCK_DGRAM && (family == AF_INET || family == AF_INET6))
		return side_of_datagrams(sock);
	if (type != SOCK_STREAM && type != SOCK_SEQPACKET)
		return NO_SIDE;
	if (family == AF_UNIX)
		return unix_side((struct unix_sock *)sock);
	/* The kernel notes the interface that a connection was accepted on where that of multicasts belongs. */
	if (family == AF_INET)
		return BPF_CORE_READ(inet, mc_index) ? SERVER : CLIENT;
	if (family != AF_INET6 || !bpf_core_field_exists(inet->pinet6))
		return NO_SIDE;
	CHECKED();
	return BPF_CORE_READ(inet, pinet6, mcast_oif) ? SERVER : CLIENT;
}

static __always_inline u32 side_of(struct file *file)
{
	u16 type = BPF_CORE_READ(file, f_inode, i_mode) & FILE_KIND;
	struct socket *socket;

	if (type == FIFO)
		return EITHER;
	if (type != SOCKET)
		return NO_SIDE;
	socket = BPF_CORE_READ(file, private_data);
	return side_of_socket(BPF_CORE_READ(socket, sk));
}

/* --- Who answered: where another task or an interrupt delivers the answer, its sender is not the waker. --- */

struct sender {
	u64 sent_ns;
	u32 tid;
	u32 pid;
	char comm[NAME_BYTES];
};

/* The last one by connection. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct sender);
} senders SEC(".maps");

/* A connection within this machine, the same number from either side; 0: of another kind. By the address of a file: verified
 * once, not for each caller. */
__noinline u64 connection_at(u64 file, u32 side)
{
	struct socket *socket = BPF_CORE_READ((struct file *)file, private_data);
	struct sock *sock = BPF_CORE_READ(socket, sk);
	u16 family = BPF_CORE_READ(sock, __sk_common.skc_family), theirs;
	u64 own, address;

	if (family == AF_UNIX)
		return side == SERVER ? (u64)BPF_CORE_READ((struct unix_sock *)sock, peer) : (u64)sock;
	if (family != AF_INET && family != AF_INET6)
		return 0;
	own = BPF_CORE_READ(sock, __sk_common.skc_num);
	theirs = host_order(BPF_CORE_READ(sock, __sk_common.skc_dport));
	/* That of the server; none of IPv6. */
	address = side == SERVER ? BPF_CORE_READ(sock, __sk_common.skc_rcv_saddr) : BPF_CORE_READ(sock, __sk_common.skc_daddr);
	return address << 32 | (side == SERVER ? (u64)theirs << 16 | own : own << 16 | theirs);
}

/* The current task sends an answer. */
static __always_inline void note_sender(u64 connection, u64 now)
{
	u64 id = bpf_get_current_pid_tgid();
	struct sender sender = {.sent_ns = now, .tid = id, .pid = id >> 32}, *known;

	if (!connection)
		return;
	bpf_get_current_comm(sender.comm, NAME_BYTES);
	/* To replace an entry costs several times as much as to find it. */
	known = bpf_map_lookup_elem(&senders, &connection);
	if (known && known->tid == sender.tid)
		*known = sender;
	else
		bpf_map_update_elem(&senders, &connection, &sender, BPF_ANY);
}

/* Puts the sender of the answer in the waker's place, if it is known. */
static __always_inline void find_sender(struct task_note *note)
{
	u64 connection = note->asked_by;
	struct sender *sender = connection ? bpf_map_lookup_elem(&senders, &connection) : 0;

	note->waker_tid = 0;
	if (!sender || sender->sent_ns < note->asked_ns)
		return;
	note->waker_tid = sender->tid;
	note->waker_pid = sender->pid;
	__builtin_memcpy(note->waker, sender->comm, NAME_BYTES);
}

#include "exchange.h"
#include "answer.h"

/* The current task has answered a request that came before the recording. Verified once. */
__noinline int emit_old_request(u64 answered_ns)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_note *note = note_of(task);
	struct event *event = note ? begin_event(OFF_CPU, BARE) : 0;

	if (!event)
		return 0;
	describe(event, task, note, answered_ns - 1, answered_ns);
	event->call = -1;
	event->flags |= CUT;
	event->awaits = FOR_CLIENT;
	event->asked_ns = began_ns;
	end_event(event);
	return 0;
}

/* A server works on a request from the moment it receives it until it sends something back. If a thread of its own serves a client,
 * what it sends before it receives anything is an answer to what it received before the recording. */
static __always_inline void note_served(struct task_note *note, u32 what, u64 bit, long result, struct file *file, u64 now)
{
	if (!(what & SENDS) && note->unasked & bit)
		emit_old_request(note->sent_ns);
	note->unasked = (what & SENDS) && !note->owed_ns ? note->unasked | bit : 0;
	if (what & SENDS)
		note->sent_ns = now;
	note->answers |= what & SENDS;
	/* Another one of its threads may have received the request. */
	if (what & SENDS)
		note_sender(connection_at((u64)file, SERVER), now);
	note->is_left = !(what & SENDS) && !result;
	if ((what & SENDS) || !result) {
		note->owed &= ~bit;
		return;
	}
	/* What it waited for before was for the rest of the request. */
	note->owed_ns = now;
	note->owed |= bit;
}

/* The other end of a pipe, which has the same inode, or of a socket pair. */
static __always_inline u64 other_end_of(struct file *file)
{
	struct socket *socket;
	struct unix_sock *sock;

	if ((BPF_CORE_READ(file, f_inode, i_mode) & FILE_KIND) == FIFO)
		return (u64)BPF_CORE_READ(file, f_inode);
	socket = BPF_CORE_READ(file, private_data);
	sock = (struct unix_sock *)BPF_CORE_READ(socket, sk);
	return (u64)BPF_CORE_READ(sock, peer);
}

static __always_inline void note_pair(struct task_note *note, u32 what, struct file *file)
{
	if (!(what & SENDS)) {
		note->asked_pairs = 0;
		return;
	}
	note->pairs[note->asked_pairs & (ASKED_PAIRS - 1)] = other_end_of(file);
	note->asked_pairs++;
}

static __always_inline void note_asked(struct task_note *note, u32 what, u64 bit, u32 side, long result, struct file *file,
				       u64 now)
{
	u64 connection = side == CLIENT ? connection_at((u64)file, CLIENT) : 0;

	if (connection && result)
		note_exchange(BPF_CORE_READ(file, f_inode, i_ino), connection, what & SENDS ? HAS_SENT : HAS_RECEIVED);
	note->met &= ~bit;
	if (what & SENDS) {
		note->asked_ns = note->sent_ns = now;
		note->asked_by = connection;
	}
	if (side == EITHER) {
		note_pair(note, what, file);
	} else if (what & SENDS) {
		note->asked |= bit;
		note->answered &= ~bit;
	} else {
		note->answered |= note->asked & bit;
		note->asked &= ~bit;
	}
}

/* The current task has connected to a server, which may not have accepted it yet, or may speak first. Verified once. */
__noinline int note_met(struct task_note *note, u64 fd)
{
	struct file *file = (struct file *)current_file(fd);
	u64 connection = file && side_of(file) == CLIENT ? connection_at((u64)file, CLIENT) : 0;

	if (!note || !connection)
		return 0;
	note->met |= 1ull << (fd & 63);
	note->met_by = connection;
	note->met_ns = note->sent_ns;
	note_exchange(BPF_CORE_READ(file, f_inode, i_ino), connection, HAS_CONNECTED);
	return 0;
}

/* A call that sends, receives or closes has returned. */
static __always_inline void note_message(struct task_note *note, u32 what, u64 fd, long result)
{
	struct file *file;
	u64 bit = 1ull << (fd & 63), now;
	u32 side;

	if (what & CLOSES) {
		/* It was asked to close. */
		if (note->owed & bit)
			note->is_left = 1;
		note->asked &= ~bit;
		note->answered &= ~bit;
		note->owed &= ~bit;
		note->met &= ~bit;
		if (what & SENDS)
			note->sent_ns = bpf_ktime_get_ns();
		if (what & SENDS && (!result || result == -EINPROGRESS))
			note_met(note, fd);
		return;
	}
	/* At the end of what it receives there are no more answers. */
	if ((what & SENDS) ? result <= 0 : result < 0)
		return;
	file = (struct file *)current_file(fd);
	side = file ? side_of(file) : NO_SIDE;
	if (side == NO_SIDE)
		return;
	if (side & OF_DATAGRAMS) {
		note_datagrams(note, (u64)file, what, fd, result);
		return;
	}
	now = bpf_ktime_get_ns();
	if (side == SERVER)
		note_served(note, what, bit, result, file, now);
	else
		note_asked(note, what, bit, side, result, file, now);
}
