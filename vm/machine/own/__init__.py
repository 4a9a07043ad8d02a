# SPDX-License-Identifier: GPL-2.0-only
"""own: kernels that the image does not have, named by a path."""
