# SPDX-License-Identifier: GPL-2.0-only
"""holders: the tables of who can end a wait, by the class of the wait."""

from __future__ import annotations

from collections.abc import Mapping

from writestall.log.holders import (
    any_lock,
    arrays,
    btrfs,
    buses,
    caches,
    device_locks,
    devices,
    drains,
    file_systems,
    inodes,
    journals,
    module_works,
    pages,
    processes,
    queues,
    sections,
    servers,
    smb,
    superblocks,
    threads,
    transactions,
    works,
    xfs,
)
from writestall.log.holders.form import Holder
from writestall_base.wait_classes import WAIT_CLASSES

_TABLES = (
    *(journals, transactions, pages, superblocks, inodes, xfs, btrfs, file_systems),
    *(works, servers),
    *(threads, queues, caches, smb, drains),
    *(
        arrays,
        devices,
        device_locks,
        buses,
        processes,
        sections,
        module_works,
        any_lock,
    ),
)
HOLDERS: Mapping[str, tuple[Holder, ...]] = {
    name: tuple(rule for table in _TABLES for rule in table.HOLDERS.get(name, ()))
    for name in WAIT_CLASSES
}
