# SPDX-License-Identifier: GPL-2.0-only
"""partitions: add COUNT partitions of 1 MiB to DISK (not on it), or delete them.

Arguments: add|delete DISK COUNT.
"""

import ctypes
import fcntl
import os
import struct
import sys

ACTION, DISK, COUNT = sys.argv[1], sys.argv[2], int(sys.argv[3])
BLKPG = 0x1269
OPERATION = {"add": 1, "delete": 2}[ACTION]
MIB = 1 << 20


def main() -> None:
    descriptor = os.open(DISK, os.O_RDONLY)
    for number in range(1, COUNT + 1):
        # struct blkpg_partition and struct blkpg_ioctl_arg of linux/blkpg.h
        partition = struct.pack("qqi64s64s4x", number * MIB, MIB, number, b"", b"")
        data = ctypes.create_string_buffer(partition)
        pointer = ctypes.addressof(data)
        argument = struct.pack("iiiP", OPERATION, 0, len(partition), pointer)
        fcntl.ioctl(descriptor, BLKPG, argument)


main()
