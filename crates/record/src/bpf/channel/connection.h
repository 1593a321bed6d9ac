/* Connections: sockets, pipes and socket pairs by which tasks of this machine exchange messages. */
#pragma once

#include "bpf.h"
#include "channel/datagram.h"
#include "channel/side.h"

#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define SOCK_STREAM 1
#define SOCK_SEQPACKET 5
/* S_IFMT, S_IFIFO and S_IFSOCK of i_mode. */
#define FILE_KIND 0170000
#define FIFO 0010000
#define SOCKET 0140000

/* Whether a socket shares its address with another one. */
static __always_inline int shares_address(struct unix_address *address)
{
	return address && BPF_CORE_READ(address, refcnt.refs.counter) > 1;
}

/* An accepted socket shares the address of the one that listened. That of the client mostly has none, or one that it
 * was bound to. */
static __always_inline u32 unix_side(struct unix_sock *socket)
{
	struct unix_sock *peer = (struct unix_sock *)BPF_CORE_READ(socket, peer);
	struct unix_address *own = BPF_CORE_READ(socket, addr), *theirs;
	int is_own_shared, is_theirs_shared;

	if (!peer)
		return NO_SIDE;
	theirs = BPF_CORE_READ(peer, addr);
	if (!own != !theirs)
		return own ? SERVER : CLIENT;
	is_own_shared = shares_address(own);
	is_theirs_shared = shares_address(theirs);
	if (is_own_shared == is_theirs_shared)
		return EITHER;
	return is_own_shared ? SERVER : CLIENT;
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

/* The socket of a file that is one: its address is the channel's. */
static __always_inline u64 sock_of(struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);

	return (u64)BPF_CORE_READ(socket, sk);
}

/* The same of any file; 0: it is no socket. */
static __always_inline u64 channel_of(struct file *file)
{
	return (BPF_CORE_READ(file, f_inode, i_mode) & FILE_KIND) == SOCKET ? sock_of(file) : 0;
}

static __always_inline u32 side_of(struct file *file)
{
	u16 type = BPF_CORE_READ(file, f_inode, i_mode) & FILE_KIND;

	if (type == FIFO)
		return EITHER;
	return type == SOCKET ? side_of_socket((struct sock *)sock_of(file)) : NO_SIDE;
}

/* A connection within this machine, the same number from either side; 0: of another kind. By the address of a socket:
 * verified once, not for each caller. */
__noinline u64 connection_of(u64 channel, u32 side)
{
	struct sock *sock = (struct sock *)channel;
	u16 family = BPF_CORE_READ(sock, __sk_common.skc_family), theirs;
	u64 own, address;

	if (family == AF_UNIX)
		return side == SERVER ? (u64)BPF_CORE_READ((struct unix_sock *)sock, peer) : channel;
	if (family != AF_INET && family != AF_INET6)
		return 0;
	own = BPF_CORE_READ(sock, __sk_common.skc_num);
	theirs = host_order(BPF_CORE_READ(sock, __sk_common.skc_dport));
	/* That of the server; none of IPv6. */
	address = side == SERVER ? BPF_CORE_READ(sock, __sk_common.skc_rcv_saddr) : BPF_CORE_READ(sock,
			__sk_common.skc_daddr);
	return address << 32 | (side == SERVER ? (u64)theirs << 16 | own : own << 16 | theirs);
}

/* The other end of a pipe, which has the same inode, or of a socket pair. */
static __always_inline u64 other_end_of(struct file *file)
{
	struct unix_sock *sock;

	if ((BPF_CORE_READ(file, f_inode, i_mode) & FILE_KIND) == FIFO)
		return (u64)BPF_CORE_READ(file, f_inode);
	sock = (struct unix_sock *)sock_of(file);
	return (u64)BPF_CORE_READ(sock, peer);
}
