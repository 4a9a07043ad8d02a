# SPDX-License-Identifier: GPL-2.0-only
"""processes: who ends waits for a process: its memory map's lock, its requests."""

from __future__ import annotations

from writestall.classify.rules.locks import MMAP_LOCK
from writestall.log.holders.form import Holder, names, of_row, perhaps
from writestall_base import wait_classes as c

_MMAP_LOCK = names(" ".join(MMAP_LOCK))
_HOLDS_MMAP_LOCK = names(
    "handle_mm_fault __handle_mm_fault do_mmap mmap_region do_munmap do_vmi_munmap "
    "do_vmi_align_munmap __get_user_pages unmap_vmas unmap_region zap_page_range* "
    "mprotect_fixup madvise_*"
)
_MOVES = names(
    "__cgroup_procs_write cgroup_attach_lock cgroup_attach_task_all "
    "cgroup_migrate_execute cgroup_procs_write_start"
)
_CPUSETS = (
    "rebuild_sched_domains_locked update_cpumask* update_nodemask update_flag "
    "cpuset_attach cpuset_hotplug_workfn"
)
_STARTS_OR_ENDS = names(
    "exit_signals copy_process cgroup_threadgroup_change_begin cgroup_css_set_fork "
    "cgroup_can_fork"
)
_REQUESTS = names(
    "io_wq_put_and_exit io_wq_exit_workers io_ring_exit_work io_uring_cancel_generic"
)
_WORKER = names("io_worker_handle_work io_wq_submit_work io_wqe_worker io_wq_worker")
_KERNFS = names("__kernfs_remove kernfs_drain kernfs_remove*")
_IN_KERNFS = names(
    "kernfs_fop_write* kernfs_fop_read* kernfs_seq_show kernfs_fop_llseek sysfs_kf_*"
)

HOLDERS: dict[str, tuple[Holder, ...]] = {
    c.OTHER: (
        perhaps(
            "it holds the lock of its process's memory map",
            "mm/memory.c handle_mm_fault(), mm/mmap.c do_mmap(): they run under "
            "mmap_lock, a page fault's I/O included",
            _HOLDS_MMAP_LOCK,
            lock="mmap_lock of a process",
            caller=_MMAP_LOCK,
            not_called=_MMAP_LOCK,
            same_program=True,
        ),
        perhaps(
            "it waits for the lock of its process's memory map to write, and readers "
            "queue behind it",
            "kernel/locking/rwsem.c rwsem_down_read_slowpath(): a reader does not pass "
            "a writer that waits",
            names("*down_write* mmap_write_lock*"),
            lock="mmap_lock of a process",
            also=_MMAP_LOCK,
            of=names("*down_read* mmap_read_lock* lock_mm_and_find_vma"),
            caller=_MMAP_LOCK,
            same_program=True,
        ),
        perhaps(
            "it handles a request of generic netlink",
            "drivers/block/nbd.c nbd_genl_disconnect() and its like: genl_rcv_msg() "
            "calls them under genl_mutex, but for families with parallel_ops",
            names("genl_family_rcv_msg_doit genl_family_rcv_msg"),
            lock="the lock of generic netlink (genl_mutex)",
            caller=names("genl_lock genl_op_lock genl_rcv_msg"),
            stacked=True,
        ),
        Holder(
            "it moves tasks between cgroups",
            "kernel/cgroup/cgroup.c cgroup_attach_lock(): cgroup_threadgroup_rwsem for "
            "writing keeps fork() and exit() out",
            _MOVES,
            lock="the lock of a cgroup's tasks (cgroup_threadgroup_rwsem)",
            not_shows=_STARTS_OR_ENDS,
            caller=_STARTS_OR_ENDS,
        ),
        perhaps(
            "it is a process of the namespace, and has not ended",
            "kernel/pid_namespace.c zap_pid_ns_processes(): kills all processes of the "
            "namespace and waits for them",
            names("do_exit"),
            lock="the processes of a pid namespace",
            of=names("zap_pid_ns_processes"),
            not_shows=names("zap_pid_ns_processes"),
            stacked=True,
        ),
        of_row(
            "the lock of all cpusets (cpuset_mutex)",
            f"cpuset_can_attach cpuset_cancel_attach cpuset_write_* {_CPUSETS}",
            _CPUSETS,
            "it changes cpusets, under the lock of all",
            "kernel/cgroup/cpuset.c cpuset_write_resmask(), cpuset_hotplug_workfn(): "
            "cpuset_mutex, the wait for cpus_read_lock() included (up to 5.3)",
            stacked=True,
        ),
        perhaps(
            "it takes a CPU up or down, and keeps the set of CPUs from others",
            "kernel/cpu.c _cpu_up(), _cpu_down(): cpu_hotplug_lock for writing",
            names("_cpu_up _cpu_down cpuhp_kick_ap_work takedown_cpu bringup_cpu"),
            lock="the lock of the set of CPUs (cpu_hotplug_lock)",
            caller=names("cpus_read_lock get_online_cpus cpus_read_trylock"),
            stacked=True,
        ),
        perhaps(
            "it is inside execve(), and waits for the process's other threads",
            "fs/exec.c prepare_bprm_creds() takes cred_guard_mutex, held until "
            "install_exec_creds(); begin_new_exec() calls de_thread() meanwhile",
            names(
                "flush_old_exec begin_new_exec de_thread load_elf_binary "
                "search_binary_handler exec_binprm"
            ),
            lock="cred_guard_mutex of a process",
            caller=names("mm_access ptrace_attach proc_pid_attr_write lock_trace"),
            stacked=True,
        ),
        perhaps(
            "it uses a file of sysfs that is to go",
            "fs/kernfs/dir.c kernfs_drain(): a file is removed when nobody is inside "
            "its operations",
            _IN_KERNFS,
            lock="active references of a kernfs node",
            caller=_KERNFS,
        ),
        Holder(
            "it takes the CPU down or up, as its hotplug thread",
            "kernel/cpu.c __cpuhp_kick_ap() waits until cpuhp_thread_fun() of the CPU "
            "has called what is registered; one CPU at a time",
            names("cpuhp_thread_fun cpufreq_offline cpufreq_online"),
            lock="a step of CPU hotplug",
            caller=names("cpuhp_kick_ap* __cpuhp_kick_ap*"),
            stacked=True,
        ),
        Holder(
            "it probes devices",
            "drivers/base/dd.c wait_for_device_probe() flushes deferred_probe_work",
            names("deferred_probe_work_func"),
            lock="deferred_probe_work",
            of=names("wait_for_device_probe"),
        ),
        perhaps(
            "it loads a module, as the helper that is waited for may do",
            "kernel/umh.c call_usermodehelper_exec() below kernel/module/kmod.c "
            "__request_module(): until modprobe has ended",
            names("load_module init_module_from_file do_init_module"),
            lock="the end of modprobe",
            of=names("__request_module"),
            caller=names("call_usermodehelper_exec"),
            past=True,
            stacked=True,
        ),
        Holder(
            "it makes and removes the nodes in /dev",
            "drivers/base/devtmpfs.c devtmpfs_submit_req() waits for kdevtmpfs",
            names("devtmpfs_work_loop devtmpfsd"),
            lock="a request to devtmpfs",
            caller=names("devtmpfs_submit_req"),
        ),
        perhaps(
            "it starts or ends a task",
            "include/linux/cgroup-defs.h cgroup_threadgroup_change_begin(): fork() and "
            "exit() hold cgroup_threadgroup_rwsem for reading",
            _STARTS_OR_ENDS,
            lock="the lock of a cgroup's tasks (cgroup_threadgroup_rwsem)",
            not_in=(c.OTHER,),
            caller=_MOVES,
        ),
        Holder(
            "it scans the quota groups again",
            "fs/btrfs/qgroup.c btrfs_qgroup_wait_for_completion(), "
            "btrfs_quota_disable()",
            names("btrfs_qgroup_rescan_worker"),
            lock="a rescan of btrfs quotas (qgroup_rescan_completion)",
            caller=names("btrfs_qgroup_wait_for_completion btrfs_quota_disable"),
        ),
        Holder(
            "it does a request of the waiter's io_uring",
            "io_uring/io-wq.c io_wq_worker(): its name tells whose worker it is",
            _WORKER,
            lock="a request of an io_uring",
            of=_REQUESTS,
            worker_of=True,
        ),
        perhaps(
            "it makes the workers of the waiter's io_uring, and ends after them",
            "fs/io-wq.c io_wq_manager() of 5.12, named iou-mgr-PID; "
            "io_wq_destroy_manager() waits for its end",
            names("io_wq_manager"),
            lock="the manager of an io_uring's workers",
            caller=names("io_wq_destroy_manager io_wq_put_and_exit"),
        ),
        perhaps(
            "it does a request of an io_uring",
            "io_uring/io_uring.c io_ring_exit_work() waits until all are over",
            _WORKER,
            lock="a request of an io_uring",
            of=names("io_ring_exit_work"),
        ),
    ),
}
