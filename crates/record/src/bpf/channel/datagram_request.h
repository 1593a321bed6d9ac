/* What the datagrams that a task sends and receives say of its requests. */
#pragma once

#include "bpf.h"
#include "channel/connection.h"
#include "channel/datagram.h"
#include "channel/exchange.h"
#include "channel/note.h"
#include "channel/sender.h"
#include "channel/side.h"
#include "channel/table.h"
#include "file/descriptor.h"
#include "settings.h"
#include "task/task.h"

/* How many datagrams a call sent or received. */
static __always_inline u32 datagrams(long result)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	u64 call = regs ? CALL_NUMBER(regs) : 0;

	return call == CALL_SENDMMSG || call == CALL_RECVMMSG ? result : 1;
}

/* A client. Several requests may be on their way at once, such as those for the addresses of both kinds; what it sends
 * to the same port while it has no answer is the same again, also from another socket. */
static __always_inline void note_datagrams_asked(struct task_note *note, u32 from, u32 to, u32 count, u64 now)
{
	if (to != note->messages.asked_to || !note->messages.unanswered || now - note->messages.datagram_ns > GIVEN_UP_NS) {
		note->messages.unanswered = 0;
		note->messages.datagram_ns = now;
	}
	note->messages.asked_port = from;
	note->messages.asked_to = to;
	note->messages.unanswered += count;
}

static __always_inline void note_datagrams_answered(struct task_note *note, u32 port, u32 count, u64 now)
{
	if (port != note->messages.asked_port)
		return;
	note->messages.unanswered -= count < note->messages.unanswered ? count : note->messages.unanswered;
	note->messages.datagram_ns = now;
}

/* The current task sent something by a socket of datagrams, or received something. Verified once. */
__noinline int note_datagrams(struct task_note *note, u64 address, u32 what, long result)
{
	struct file *file = (struct file *)address;
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sock = BPF_CORE_READ(socket, sk);
	u32 side = side_of_datagrams(sock), sends = !!(what & SENDS);
	u64 connection, now = bpf_ktime_get_ns();

	if (!note)
		return 0;
	if (side & SERVER) {
		use_channel(note, (u64)sock, sends ? ANSWER_SENT : REQUEST_RECEIVED, 0);
		if (sends) {
			note->messages.sent_ns = now;
			note->messages.answers = 1;
			note_sender(datagrams_of(sock, SERVER), now);
		} else {
			note->messages.owed_ns = now;
			note->messages.owed_on = 0;
		}
		return 0;
	}
	connection = datagrams_of(sock, CLIENT);
	if (!connection)
		return 0;
	note_exchange(0, address, 0, connection, sends);
	if (sends)
		note_datagrams_asked(note, connection, port_sent_to(sock), datagrams(result), now);
	else
		note_datagrams_answered(note, connection, datagrams(result), now);
	return 0;
}

/* Whether a task may go on waiting for the answer to a datagram, though a timer of its own ended this long sleep: then
 * it asks again. */
static __always_inline int may_ask_again(struct task_note *note)
{
	return note->messages.unanswered && note->wait.woken_ns - note->wait.out_ns >= settings.slow_ns &&
	       note->wait.woken_ns - note->messages.datagram_ns < GIVEN_UP_NS;
}

/* Whether the current task sends an answer to what that one asked by a datagram. Then it is known as its sender before
 * its call returns. */
static __always_inline int answers_datagram(struct task_note *note)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	struct socket *socket;
	struct file *file;
	struct sock *sock;
	u64 connection = BY_DATAGRAM | note->messages.asked_port;

	if (!note->messages.unanswered || !regs)
		return 0;
	file = (struct file *)current_file(FIRST_ARGUMENT(regs));
	if (!file || !(side_of(file) & OF_DATAGRAMS))
		return 0;
	socket = BPF_CORE_READ(file, private_data);
	sock = BPF_CORE_READ(socket, sk);
	if (datagrams_of(sock, SERVER) != connection)
		return 0;
	note_sender(connection, bpf_ktime_get_ns());
	return 1;
}
