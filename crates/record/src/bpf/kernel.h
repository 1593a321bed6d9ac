/* The few kernel structures that the tracer reads. Only the fields named here are looked up in the running kernel's BTF
 * (CO-RE), so that a structure may be laid out differently there; the existence of an optional field is checked first. */
#pragma once

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
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum {
	BPF_F_NO_PREALLOC = 1,
	BPF_F_MMAPABLE = 1 << 10,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
	BPF_RB_NO_WAKEUP = 1,
	BPF_ANY = 0,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct file_system_type {
	const char *name;
};

struct super_block {
	u32 s_dev;
	struct file_system_type *s_type;
	char s_id[32];
};

struct inode {
	u16 i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
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
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct mm_struct {
	struct file *exe_file;
};

struct thread_info {
	unsigned long flags;
	u32 status;
};

struct task_struct {
	struct thread_info thread_info;
	int pid;
	int tgid;
	unsigned int flags;
	unsigned int __state;
	void *bio_list;
	void *worker_private;
	struct mm_struct *mm;
	struct files_struct *files;
	char comm[16];
};

/* Before 5.14. */
struct task_struct___old {
	long state;
};

struct kthread {
	void *data;
};

struct worker {
	void *current_func;
};

struct gendisk {
	int major;
	int first_minor;
};

struct request_queue {
	struct gendisk *disk;
	int id;
};

struct bio {
	struct bio *bi_next;
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	u64 __sector;
	struct bio *bio;
	struct bio *biotail;
	u64 start_time_ns;
	u64 io_start_time_ns;
	void *end_io;
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

struct extent_buffer {
	struct btrfs_fs_info *fs_info;
};

struct pt_regs {
#if defined(__TARGET_ARCH_x86)
	unsigned long di, si, orig_ax;
#else
	u64 regs[31];
	s32 syscallno;
#endif
};

#pragma clang attribute pop

#if defined(__TARGET_ARCH_x86)
#define FIRST_ARGUMENT(regs) ((regs)->di)
#define SECOND_ARGUMENT(regs) ((regs)->si)
#define CALL_NUMBER(regs) ((regs)->orig_ax)
/* TS_COMPAT: a 32-bit system call, which has another number. */
#define IS_COMPAT(task) ((task)->thread_info.status & 2)
#else
#define FIRST_ARGUMENT(regs) ((regs)->regs[0])
#define SECOND_ARGUMENT(regs) ((regs)->regs[1])
#define CALL_NUMBER(regs) ((u64)(s64)(regs)->syscallno)
/* TIF_32BIT */
#define IS_COMPAT(task) ((task)->thread_info.flags & 1ul << 22)
#endif

#define TASK_UNINTERRUPTIBLE 2
#define TASK_NOLOAD 0x400
#define PF_WQ_WORKER 0x20
#define PF_KTHREAD 0x200000
