# SPDX-License-Identifier: GPL-2.0-only
"""__main__: run the command line for `python -m writestall`."""

import sys

from writestall.cli.main import main

sys.exit(main())
