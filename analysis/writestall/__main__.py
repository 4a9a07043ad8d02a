# SPDX-License-Identifier: GPL-2.0-only
"""__main__: turns `python -m writestall` into the command line."""

import sys

from writestall.cli.main import main

sys.exit(main())
