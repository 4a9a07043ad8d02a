# SPDX-License-Identifier: GPL-2.0-only
"""not_stuck: find tasks that are not stuck: they run, or wait for nothing."""

from __future__ import annotations

import re

from writestall.classify.stack import first_caller
from writestall.log.logged import LoggedTask

# States in which a task is not stuck: kernel/sched/core.c, task_state_to_char().
_NOT_STUCK = frozenset("RSIZXTtPWN")
# Where tasks sleep that want nothing: the loops of kernel threads (kernel/workqueue.c,
# kernel/kthread.c, fs/jbd2/journal.c, drivers/md/md.c) and calls that wait for time,
# input or another process.
_IDLE = re.compile(
    r"worker_thread|kthread(_worker_fn)?|rescuer_thread|kthreadd|kjournald2?|xfsaild"
    r"|md_thread|smpboot_thread_fn|kswapd\w*|kcompactd|khugepaged|transaction_kthread"
    r"|cleaner_kthread|loop_thread|bdi_forker_\w+|kauditd_thread|khungtaskd|watchdog"
    r"|(do|hrtimer)_nanosleep|\w*poll_schedule_timeout|ep_poll|futex_wait\w*|do_wait"
    r"|do_sys_poll|do_select|pipe_(read|wait\w*)|n_tty_read|sigsuspend|do_sigtimedwait"
    r"|inet_csk_accept|skb_wait_for_more_packets|sk_wait_data|unix_stream_\w+"
    r"|do_syslog|signalfd_read\w*|eventfd_read|inotify_read|io_cqring_wait"
    r"|ext4_lazyinit_thread|gc_thread_func|issue_(discard|flush|checkpoint)_thread"
    r"|xfssyncd|xfsbufd|gfs2_(logd|quotad)|jfs_(lazycommit|sync)|jfsIOWait|dmcrypt_write"
    r"|nilfs_(segctor|log_write)_thread|bdi_(writeback_(thread|task)|sync_supers)"
    r"|__pdflush|svc_recv|nfsd|lockd|scsi_error_handler|oom_reaper|rcu_gp_kthread"
    r"|io_wqe?_worker|txg_thread_wait"
)


# kernel/pid_namespace.c zap_pid_ns_processes(): waits for all processes of its own.
_ENDS_NAMESPACE = "zap_pid_ns_processes"
# Functions on the stacks of CPUs that are made to show what they do, and of those that
# do nothing (lib/nmi_backtrace.c, kernel/hung_task.c, kernel/sched/idle.c).
_RUNS = re.compile(
    r"nmi_cpu_backtrace|nmi_trigger_\w+|arch_trigger_\w+|check_hung_\w+|watchdog_timer_fn"
    r"|cpu_startup_entry|do_idle|cpu_idle|start_secondary"
)


def is_not_stuck(task: LoggedTask) -> bool:
    """True for a task in no state of waiting, and for one without a state whose stack
    shows that it runs, or waits for work."""
    if task.state is not None or not task.frames:
        return task.state in _NOT_STUCK
    if any(_RUNS.fullmatch(frame.symbol) for frame in task.frames):
        return True
    if any(frame.symbol == _ENDS_NAMESPACE for frame in task.frames):
        return False
    return bool(_IDLE.fullmatch(first_caller(task.frames)))
