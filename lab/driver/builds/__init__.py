# SPDX-License-Identifier: GPL-2.0-only
"""builds: what the host builds: the compiled tracer, checking kernels, the site."""
