# SPDX-License-Identifier: GPL-2.0-only
"""as_root: write WORD to FILE from a task whose root directory is ROOT.

Arguments: ROOT FILE WORD. Prints the errno's name, or 0.
"""

import errno
import os
import sys

ROOT, FILE, WORD = sys.argv[1:]


def main() -> None:
    descriptor = os.open(FILE, os.O_WRONLY)
    os.chroot(ROOT)
    try:
        os.write(descriptor, WORD.encode())
    except OSError as error:
        print(errno.errorcode[error.errno or 0])
    else:
        print(0)


main()
