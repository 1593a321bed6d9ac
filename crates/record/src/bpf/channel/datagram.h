/* Requests by datagrams (UDP), and their answers. A datagram does not say whether it wants an answer: a task waits for
 * one if the server sends something to the port that the task's datagram came from. */
#pragma once

#include "bpf.h"
#include "channel/side.h"

#define SOCK_DGRAM 2
/* SOCK_BINDPORT_LOCK: a program asked for this port. */
#define CHOSE_PORT 8
/* In place of the server's address and port: the client's port alone is known from either side. */
#define BY_DATAGRAM (0xffffffffull << 32)
/* What was sent so long ago wants no answer any more. */
#define GIVEN_UP_NS 30000000000ull

static __always_inline int is_datagram(u64 connection)
{
	return connection >> 32 == 0xffffffffull;
}

static __always_inline u32 host_order(u16 port)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return __builtin_bswap16(port);
#else
	return port;
#endif
}

/* A client connects its socket, or takes whatever port it gets; others know the port of a server. */
static __always_inline u32 side_of_datagrams(struct sock *sock)
{
	u16 theirs = BPF_CORE_READ(sock, __sk_common.skc_dport);

	/* A program that sends to itself. */
	if (theirs && host_order(theirs) == BPF_CORE_READ(sock, __sk_common.skc_num))
		return NO_SIDE;
	if (theirs || !(BPF_CORE_READ_BITFIELD_PROBED(sock, sk_userlocks) & CHOSE_PORT))
		return CLIENT | OF_DATAGRAMS;
	return SERVER | OF_DATAGRAMS;
}

/* The port that the current task's call sends to; 0: unknown. Of several datagrams, that of the first. */
static __always_inline u32 port_sent_to(struct sock *sock)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	u16 port = BPF_CORE_READ(sock, __sk_common.skc_dport);
	u64 address = 0, call;

	if (port || !regs || IS_COMPAT(task))
		return host_order(port);
	call = CALL_NUMBER(regs);
	if (call == CALL_SENDTO)
		address = FIFTH_ARGUMENT(regs);
	else if (call == CALL_SENDMSG || call == CALL_SENDMMSG)
		bpf_probe_read_user(&address, sizeof(address), (void *)SECOND_ARGUMENT(regs));
	/* After the family, of IPv4 and of IPv6. */
	if (address)
		bpf_probe_read_user(&port, sizeof(port), (void *)(address + sizeof(u16)));
	return host_order(port);
}

/* The same number from either side. */
static __always_inline u64 datagrams_of(struct sock *sock, u32 side)
{
	u32 port = side & SERVER ? port_sent_to(sock) : BPF_CORE_READ(sock, __sk_common.skc_num);

	return port ? BY_DATAGRAM | port : 0;
}
