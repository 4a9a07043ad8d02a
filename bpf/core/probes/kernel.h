/* SPDX-License-Identifier: GPL-2.0-only */
/* kernel.h: the parts of the kernel's types that the probes read */
#ifndef KERNEL_H
#define KERNEL_H

/*
 * Names and types of members count, their places do not: libbpf finds them in the BTF of
 * the running kernel. A struct NAME___OLD is another version of NAME.
 */
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed int __s32;
typedef signed long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;

#define false 0
#define true 1

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum { BPF_F_NO_PREALLOC = 1, BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };
enum { BPF_F_USER_STACK = 256 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_AVAIL_DATA = 0 };

/* The kernel's enumerators are found by name as well. */
enum cgroup_subsys_id { io_cgrp_id = 3 };
enum req_flag_bits { __REQ_META = 12, __REQ_FUA = 17, __REQ_PREFLUSH = 18 };
enum pid_type { PIDTYPE_SID = 3 };
enum pageflags { PG_locked = 0, PG_writeback = 1, PG_head = 6 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct { int counter; } atomic_t;
typedef struct { long counter; } atomic_long_t;
typedef struct { atomic_long_t refcnt; } file_ref_t;

struct qstr {
	const unsigned char *name;
};

struct inode;

struct address_space {
	struct inode *host;
	atomic_t i_mmap_writable;
};

struct file_system_type {
	int fs_flags;
};

struct super_block {
	__u32 s_dev;
	struct file_system_type *s_type;
	unsigned long s_flags;
	unsigned long s_magic;
};

struct inode {
	unsigned short i_mode;
	unsigned int i_flags;
	__u32 i_rdev;
	struct super_block *i_sb;
	unsigned long i_ino;
	long long i_size;
	__u64 i_blocks;
	unsigned short i_bytes;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	struct super_block *d_sb;
};

struct vfsmount {
	struct dentry *mnt_root;
	struct super_block *mnt_sb;
};

struct mount {
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct nameidata {
	struct path path;
};

struct file {
	file_ref_t f_ref;
	atomic_long_t f_count;
	struct path f_path;
	struct inode *f_inode;
	struct address_space *f_mapping;
	unsigned int f_flags;
	unsigned int f_mode;
	long long f_pos;
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

struct mm_struct;

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	struct mm_struct *vm_mm;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

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

struct task_io_accounting {
	__u64 rchar;
	__u64 wchar;
	__u64 syscr;
	__u64 syscw;
};

struct thread_info {
	__u64 preempt_count;	/* arm64 */
};

struct upid {
	int nr;
};

struct pid {
	struct upid numbers[1];
};

struct signal_struct {
	struct pid *pids[4];
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	void *stack;
	unsigned int flags;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	struct mm_struct *mm;
	void *worker_private;
	char comm[16];
	struct nameidata *nameidata;
	struct fs_struct *fs;
	struct files_struct *files;
	struct task_io_accounting ioac;
	struct css_set *cgroups;
	unsigned long blocker;
};

/* Before 2f064a59a11f ("sched: Change task_struct::state"), Linux 5.14. */
struct task_struct___5_13 {
	long state;
};

/*
 * Before e32cf5dfbe22 ("kthread: Generalize pf_io_worker so it can point to struct
 * kthread"), Linux 5.17: of a kernel thread, its struct kthread.
 */
struct task_struct___5_16 {
	int *set_child_tid;
};

/* Linux 6.2 to 6.14; before and after, __preempt_count is a variable of its own. */
struct pcpu_hot {
	int preempt_count;
};

struct mutex {
	atomic_long_t owner;
};

struct rw_semaphore {
	atomic_long_t owner;
};

struct semaphore {
	unsigned long last_holder;
};

struct io_wq_work;

struct io_worker {
	struct io_wq_work *cur_work;
};

struct io_wq_work {
	unsigned int flags;
};

struct io_cqe {
	__s32 res;
	int fd;
};

struct io_kiocb {
	struct file *file;
	__u8 opcode;
	__u64 flags;
	struct io_cqe cqe;
	struct io_wq_work work;
};

struct kiocb {
	struct file *ki_filp;
	long long ki_pos;
	int ki_flags;
};

struct io_sync {
	int flags;
};

struct io_rw {
	struct kiocb kiocb;
	__u32 len;
};

struct io_event {
	__u64 obj;
};

struct aio_kiocb {
	struct io_event ki_res;
};

struct kthread {
	void *data;
};

struct work_struct {
	atomic_long_t data;
};

struct worker {
	struct work_struct *current_work;
	void *current_func;
};

struct fsync_iocb {
	struct file *file;
	struct work_struct work;
	bool datasync;
};

struct wait_queue_entry {
	unsigned int flags;
	void *private;
};

struct page {
	unsigned long flags;
};

struct folio {
	struct address_space *mapping;
	unsigned long index;
	unsigned char _folio_order;	/* Linux 5.18 to 6.5 */
	unsigned long _flags_1;
};

struct wait_page_queue {
	struct folio *folio;
	int bit_nr;
	struct wait_queue_entry wait;
};

struct wait_page_key {
	struct folio *folio;
	int bit_nr;
};

/* Before 7b230db3b8d3 ("mm: Introduce struct folio"), Linux 5.16: of a head page. */
struct page___5_15 {
	struct address_space *mapping;
	unsigned long index;
	unsigned char compound_order;
};

struct wait_page_queue___5_15 {
	struct page___5_15 *page;
};

struct wait_page_key___5_15 {
	struct page___5_15 *page;
};

struct bvec_iter {
	__u64 bi_sector;
	unsigned int bi_size;
};

struct block_device {
	__u32 bd_dev;
};

struct bio {
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	unsigned short bi_flags;
	atomic_t __bi_remaining;
	struct bvec_iter bi_iter;
	void *bi_private;
	struct blkcg_gq *bi_blkg;
};

/* Before 309dca309fc3 ("block: store a block_device pointer in struct bio"), 5.12. */
struct device___5_11 {
	__u32 devt;
};

struct hd_struct___5_11 {
	struct device___5_11 __dev;
};

struct disk_part_tbl___5_11 {
	struct hd_struct___5_11 *part[0];
};

struct gendisk___5_11 {
	struct disk_part_tbl___5_11 *part_tbl;
};

struct bio___5_11 {
	struct gendisk___5_11 *bi_disk;
	__u8 bi_partno;
};

struct trace_event_raw_sys_enter {
	long id;
	unsigned long args[6];
};

struct trace_event_raw_sys_exit {
	long id;
	long ret;
};

struct trace_event_raw_io_uring_submit_req {
	void *req;
};

struct trace_event_raw_io_uring_complete {
	void *req;
};

#pragma clang attribute pop

/* What a raw tracepoint is given: linux/bpf.h. */
struct bpf_raw_tracepoint_args {
	__u64 args[4];
};

/* Of user space, and so the same everywhere: linux/aio_abi.h, linux/uio.h. */
struct iocb {
	__u64 aio_data;
	__u32 aio_key;
	__u32 aio_rw_flags;
	__u16 aio_lio_opcode;
	__u16 aio_reqprio;
	__u32 aio_fildes;
	__u64 aio_buf;
	__u64 aio_nbytes;
	__s64 aio_offset;
};

struct iovec {
	__u64 iov_base;
	__u64 iov_len;
};

#endif
