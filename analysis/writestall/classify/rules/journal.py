# SPDX-License-Identifier: GPL-2.0-only
"""journal: rules for waits of jbd2, and of jbd before it."""

from __future__ import annotations

from writestall.classify.rules.form import BUFFER, IO, LOCK, Rule, names
from writestall_base import wait_classes as c

_COMMIT = ("jbd2_journal_commit_transaction", "journal_commit_transaction")

RULES: tuple[Rule, ...] = (
    Rule(
        c.JOURNAL_BUFFER,
        names("do_get_write_access jbd2_journal_get_*_access journal_get_*_access"),
        "fs/jbd2/transaction.c do_get_write_access(): sleeps while the buffer is "
        "locked, or shadowed (BH_Shadow) by the commit that writes it to the log",
    ),
    Rule(
        c.JOURNAL_COMMIT_WAIT,
        names(
            "jbd2_log_wait_commit log_wait_commit jbd2_complete_transaction "
            "jbd2_journal_force_commit* __jbd2_journal_force_commit* "
            "journal_force_commit* jbd2_fc_begin_commit jbd2_fc_wait_bufs "
            "ext4_fc_commit ext4_fc_perform_commit jbd2_journal_destroy "
            "journal_destroy"
        ),
        "fs/jbd2/journal.c jbd2_log_wait_commit(): sleeps on j_wait_done_commit until "
        "the transaction is on disk, jbd2_journal_destroy() until the thread is gone; "
        "fs/ext4/fast_commit.c waits so for a fast commit",
    ),
    Rule(
        c.JOURNAL_SPACE,
        names(
            "__jbd2_log_wait_for_space __log_wait_for_space log_wait_for_space "
            "jbd2_log_do_checkpoint log_do_checkpoint jbd2_journal_flush journal_flush "
            "jbd2_cleanup_journal_tail cleanup_journal_tail jbd2_update_log_tail "
            "__jbd2_update_log_tail"
        ),
        "fs/jbd2/checkpoint.c __jbd2_log_wait_for_space(): the log is full; whoever "
        "finds it so writes back the oldest transaction itself, its I/O included",
    ),
    Rule(
        c.JOURNAL_TRANSACTION,
        names(
            "wait_transaction_locked wait_transaction_switching "
            "add_transaction_credits start_this_handle jbd2__journal_start "
            "jbd2_journal_start* journal_start jbd2__journal_restart "
            "jbd2_journal_restart journal_restart jbd2_journal_lock_updates "
            "journal_lock_updates jbd2_journal_wait_updates jbd2_journal_stop "
            "journal_stop ext4_fc_start_* ext4_fc_track_inode ext4_fc_wait_* "
            "ext4_fc_del"
        ),
        "fs/jbd2/transaction.c start_this_handle(): sleeps while the running "
        "transaction is locked for its commit or has no credits left; "
        "fs/ext4/fast_commit.c: an update waits for the fast commit under way",
    ),
    Rule(
        c.JOURNAL_SPACE,
        _COMMIT,
        "fs/jbd2/commit.c takes j_checkpoint_mutex to move the log's tail",
        wait=(LOCK,),
        first=True,
    ),
    Rule(
        c.DEVICE_IO,
        _COMMIT,
        "fs/jbd2/commit.c: wait_on_buffer() for the log's blocks and commit record",
        wait=(BUFFER, IO),
    ),
    Rule(
        c.JOURNAL_TRANSACTION,
        _COMMIT,
        "fs/jbd2/commit.c: with no function of waiting further in, the commit sleeps "
        "on j_wait_updates until the running handles have stopped (a function of its "
        "own, jbd2_journal_wait_updates(), since 5.17)",
        first=True,
    ),
)
