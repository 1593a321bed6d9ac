/* The few kernel structures that the tracer reads. Only the fields named here are looked up in the running kernel's BTF
 * (CO-RE), so that a structure may be laid out differently there; the existence of an optional field is checked first.
 */
#pragma once

/* Follows the check that an optional field exists: no use of the field moves before it. The kernel refuses a program
 * that may reach the relocation of a field that it lacks, and clang computes addresses ahead of branches as it likes.
 */
#define CHECKED() asm volatile("" ::: "memory")

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;
typedef _Bool bool;

/* What <linux/bpf.h> and libbpf's helpers need, without kernel headers. */
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s32 __s32;
typedef s64 __s64;
typedef short __s16;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum {
	BPF_F_NO_PREALLOC = 1,
	BPF_F_MMAPABLE = 1 << 10,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
	BPF_RB_NO_WAKEUP = 1,
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct file_system_type {
	const char *name;
};

/* Since 3.6 or so; those who write to a file system hold a part of it. */
struct percpu_rw_semaphore {
	int unused;
};

struct sb_writers {
	unsigned short frozen;
	struct percpu_rw_semaphore rw_sem[3];
};

struct super_block {
	u32 s_dev;
	struct sb_writers s_writers;
	struct block_device *s_bdev;
	unsigned long s_magic;
	struct file_system_type *s_type;
	char s_id[32];
};

struct inode {
	u16 i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	long long i_size;
	unsigned long dirtied_when;
	struct file_lock_context *i_flctx;
};

struct address_space {
	struct inode *host;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct super_block *d_sb;
};

struct path {
	struct dentry *dentry;
};

struct kiocb {
	struct file *ki_filp;
	void *ki_complete;
};

struct file {
	struct inode *f_inode;
	unsigned int f_mode;
	struct path f_path;
	void *private_data;
};

/* Locks. */
typedef struct {
	long counter;
} atomic_long_t;

struct mutex {
	atomic_long_t owner;
};

struct rw_semaphore {
	atomic_long_t owner;
};

struct rt_mutex_base {
	struct task_struct *owner;
};

/* Locks of files. */
struct list_head {
	struct list_head *next;
};

struct file_lock_core {
	struct file_lock_core *flc_blocker;
	struct list_head flc_list;
	void *flc_owner;
	u8 flc_type;
	int flc_pid;
};

struct file_lock {
	struct file_lock_core c;
	s64 fl_start;
	s64 fl_end;
};

/* Before 6.9. */
struct file_lock___old {
	struct file_lock___old *fl_blocker;
	struct list_head fl_list;
	void *fl_owner;
	u8 fl_type;
	unsigned int fl_pid;
	s64 fl_start;
	s64 fl_end;
};

struct file_lock_context {
	struct list_head flc_flock;
	struct list_head flc_posix;
};

/* What fsopen(2) makes, and fsconfig(2) and fsmount(2) work on. */
struct fs_context {
	const char *source;
	struct dentry *root;
};

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	unsigned short skc_family;
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport;	/* in the order of the network */
	u16 skc_num;
	possible_net_t skc_net;
};

struct hlist_node {
	struct hlist_node *next;
	struct hlist_node **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};

struct upid {
	int nr;
};

struct pid {
	struct hlist_head tasks[4];
	struct upid numbers[1];
};

struct sock {
	struct sock_common __sk_common;
	u16 sk_type;
	u8 sk_userlocks:4;
	int sk_err;
	struct pid *sk_peer_pid;
};

struct socket {
	struct sock *sk;
};

struct refcount_struct {
	struct {
		int counter;
	} refs;
};

struct sockaddr_un {
	u16 sun_family;
	char sun_path[108];
};

struct unix_address {
	struct refcount_struct refcnt;
	struct sockaddr_un name[0];
};

struct unix_sock {
	struct sock sk;
	struct unix_address *addr;
	struct sock *peer;
};

struct ipv6_pinfo {
	int mcast_oif;
};

struct inet_sock {
	struct sock sk;
	struct ipv6_pinfo *pinet6;
	int mc_index;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct fs_struct {
	struct path pwd;
};

struct cfs_rq {
	int throttle_count;
};

/* Page cache. A bio's first page. */
struct page {
	unsigned long compound_head;
	struct address_space *mapping;
};

/* Since 7.0 or so. */
struct page___information {
	unsigned long compound_info;
};

struct bio_vec {
	struct page *bv_page;
};

struct percpu_counter {
	s64 count;
};

struct task_io_accounting {
	u64 read_bytes;
	u64 write_bytes;
};

/* A cgroup, from its part that controls block I/O. */
struct kernfs_node {
	u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

/* The cgroups of a task, by controller; that of v2. */
struct css_set {
	struct cgroup_subsys_state *subsys[16];
	struct cgroup *dfl_cgrp;
};

struct blkcg {
	struct cgroup_subsys_state css;
};

struct blkcg_gq {
	struct blkcg *blkcg;
};

struct sched_entity {
	u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq;
};

struct mm_struct {
	struct file *exe_file;
	void *ioctx_table;
	struct percpu_counter rss_stat[4];
};

/* Before 6.2. */
struct mm_rss_stat___atomic {
	struct {
		s64 counter;
	} count[4];
};

struct mm_struct___atomic {
	struct mm_rss_stat___atomic rss_stat;
};

/* An area of memory, and the page fault within it. */
struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	struct mm_struct *vm_mm;
	struct file *vm_file;
};

/* The exact address: since 5.18. */
struct vm_fault {
	struct vm_area_struct *vma;
	unsigned long address;
	unsigned long real_address;
};

struct thread_info {
	unsigned long flags;
	u32 status;
};

struct signal_struct {
	int nr_threads;
};

struct nsproxy {
	void *ipc_ns;
};

/* Without CONFIG_SCHED_INFO it is empty. */
struct sched_info {
	unsigned long long run_delay;
};

struct task_struct {
	struct thread_info thread_info;
	int pid;
	int tgid;
	unsigned int flags;
	unsigned int __state;
	unsigned int on_cpu;	/* since 7.0 or so a byte: libbpf narrows only what has no sign */
	struct task_struct *real_parent;
	struct task_struct *parent;	/* another one: a debugger */
	struct css_set *cgroups;
	unsigned frozen:1;
	void *bio_list;
	void *worker_private;
	struct mm_struct *mm;
	struct files_struct *files;
	struct fs_struct *fs;
	struct nsproxy *nsproxy;
	struct signal_struct *signal;
	struct hlist_node pid_links[4];
	struct sched_entity se;
	struct sched_info sched_info;
	_Bool throttled;	/* since 6.18 */
	u64 start_time;
	struct task_io_accounting ioac;
	char comm[16];
};

/* Before 5.14. */
struct task_struct___old {
	long state;
};

/* Before 5.17: where a kernel thread's own structure is. */
struct task_struct___early {
	int *set_child_tid;
};

struct kthread {
	void *data;
};

struct workqueue_struct {
	char name[32];
};

struct pool_workqueue {
	struct workqueue_struct *wq;
};

struct worker {
	void *current_func;
	void *current_work;
	struct pool_workqueue *current_pwq;
};

struct gendisk {
	int major;
	int first_minor;
	void *private_data;
};

struct request_queue {
	struct gendisk *disk;
	void *elevator;		/* its scheduler; 0: none */
	int id;
};

typedef struct {
	int counter;
} atomic_t;

struct bio {
	struct bio *bi_next;
	unsigned int bi_opf;
	void *bi_end_io;
	void *bi_private;
	struct blkcg_gq *bi_blkg;
	struct bio_vec *bi_io_vec;
	atomic_t __bi_remaining;
};

/* Direct I/O: of file systems, and of block devices. */
struct iomap_dio {
	struct kiocb *iocb;
	atomic_t ref;
	struct {
		struct task_struct *waiter;
	} submit;
};

struct blkdev_dio {
	struct kiocb *iocb;
	atomic_t ref;
	struct bio bio;
};

struct io_sq_data {
	int task_tgid;
};

struct io_ring_ctx {
	struct io_sq_data *sq_data;
};

struct io_wq_work {
	int cancel_seq;
};

struct io_kiocb {
	struct file *file;
	u8 opcode;
	struct io_ring_ctx *ctx;
	struct io_wq_work work;
};

struct io_worker {
	struct io_wq_work *cur_work;
};

struct io_uring_cqe {
	s32 res;
};

struct io_event {
	u64 obj;
	s64 res;
};

struct kioctx {
	unsigned long user_id;
};

struct aio_kiocb {
	struct kiocb rw;
	struct kioctx *ki_ctx;
	struct io_event ki_res;
};

struct kioctx_table {
	unsigned int nr;
	struct kioctx *table[];
};

enum mq_rq_state {
	MQ_RQ_IDLE = 0,
	MQ_RQ_IN_FLIGHT = 1,
	MQ_RQ_COMPLETE = 2,
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int rq_flags;
	unsigned int __data_len;
	u64 __sector;
	struct bio *bio;
	struct bio *biotail;
	u64 start_time_ns;
	u64 io_start_time_ns;
	void *end_io;
	enum mq_rq_state state;
};

/* Before 5.17. */
struct request___early {
	struct gendisk *rq_disk;
};

struct shrinker {
	void *scan_objects;
	void *private_data;
};

/* Before 6.7 a file system's shrinker was part of its super block. */
struct super_block___old {
	struct shrinker s_shrink;
};

struct backing_dev_info {
	char dev_name[64];
};

struct bdi_writeback {
	struct backing_dev_info *bdi;
};

struct dirty_throttle_control {
	unsigned long dirty;
	unsigned long thresh;
	unsigned long wb_dirty;
	unsigned long wb_thresh;
};

struct block_device {
	u32 bd_dev;
	struct gendisk *bd_disk;
};

struct journal_s {
	struct block_device *j_fs_dev;
};

struct transaction_run_stats_s {
	unsigned long rs_request_delay;
	unsigned long rs_locked;
	unsigned long rs_flushing;
	unsigned long rs_logging;
	u32 rs_handle_count;
	u32 rs_blocks_logged;
};

struct xfs_mount {
	struct super_block *m_super;
};

struct xlog {
	struct xfs_mount *l_mp;
};

struct xlog_ticket {
	int t_curr_res;
	int t_unit_res;
};

struct xlog_in_core {
	struct xlog *ic_log;
};

struct xfs_buf {
	struct xfs_mount *b_mount;
};

struct btrfs_commit_stats {
	u64 last_commit_dur;
};

struct btrfs_fs_info {
	struct super_block *sb;
	struct btrfs_commit_stats commit_stats;
};

struct btrfs_trans_handle {
	struct btrfs_fs_info *fs_info;
};

struct extent_buffer {
	struct btrfs_fs_info *fs_info;
};

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct pt_regs {
#if defined(__TARGET_ARCH_x86)
	unsigned long bp, r10, r8, dx, si, di, orig_ax, ip, sp;
#else
	u64 regs[31], sp, pc;
	s32 syscallno;
#endif
};

#pragma clang attribute pop

enum cgroup_subsys_id {
	io_cgrp_id = 3,
};

#if defined(__TARGET_ARCH_x86)
#define FIRST_ARGUMENT(regs) ((regs)->di)
#define SECOND_ARGUMENT(regs) ((regs)->si)
#define THIRD_ARGUMENT(regs) ((regs)->dx)
#define FOURTH_ARGUMENT(regs) ((regs)->r10)
#define FIFTH_ARGUMENT(regs) ((regs)->r8)
#define CALL_NUMBER(regs) ((regs)->orig_ax)
#define CALL_SENDTO 44
#define CALL_MSGSND 69
#define CALL_MSGRCV 70
#define CALL_SENDMSG 46
#define CALL_RECVMMSG 299
#define CALL_SENDMMSG 307
#define INSTRUCTION(regs) ((regs)->ip)
#define STACK_POINTER(regs) ((regs)->sp)
#define FRAME_POINTER(regs) ((regs)->bp)
/* TS_COMPAT: a 32-bit system call, which has another number. */
#define IS_COMPAT(task) ((task)->thread_info.status & 2)
#define IS_COMPAT_UNTYPED(task) (BPF_CORE_READ((struct task_struct *)(task), thread_info.status) & 2)
#else
#define FIRST_ARGUMENT(regs) ((regs)->regs[0])
#define SECOND_ARGUMENT(regs) ((regs)->regs[1])
#define THIRD_ARGUMENT(regs) ((regs)->regs[2])
#define FOURTH_ARGUMENT(regs) ((regs)->regs[3])
#define FIFTH_ARGUMENT(regs) ((regs)->regs[4])
#define CALL_NUMBER(regs) ((u64)(s64)(regs)->syscallno)
#define CALL_MSGRCV 188
#define CALL_MSGSND 189
#define CALL_SENDTO 206
#define CALL_SENDMSG 211
#define CALL_RECVMMSG 243
#define CALL_SENDMMSG 269
#define INSTRUCTION(regs) ((regs)->pc)
#define STACK_POINTER(regs) ((regs)->sp)
#define FRAME_POINTER(regs) ((regs)->regs[29])
/* TIF_32BIT */
#define IS_COMPAT(task) ((task)->thread_info.flags & 1ul << 22)
#define IS_COMPAT_UNTYPED(task) (BPF_CORE_READ((struct task_struct *)(task), thread_info.flags) & 1ul << 22)
#endif

#define TASK_INTERRUPTIBLE 1
#define TASK_UNINTERRUPTIBLE 2
#define TASK_STOPPED_OR_TRACED 0xc
#define TASK_DEAD 0x80
#define TASK_NOLOAD 0x400
/* Since 6.1; 0x8000 meant nothing before. */
#define TASK_FROZEN 0x8000
#define PF_EXITING 0x4
#define PF_IO_WORKER 0x10
#define PF_WQ_WORKER 0x20
#define PF_USER_WORKER 0x4000
#define PF_KTHREAD 0x200000
#define AT_FDCWD (-100)
/* PID_MAX_LIMIT. */
#define MOST_TIDS (4u << 20)
/* REQ_OP_MASK, REQ_OP_WRITE and REQ_OP_FLUSH. */
#define OPERATION 0xff
#define WRITE 1
#define FLUSH 2
