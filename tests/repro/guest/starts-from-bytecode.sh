#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will see that a guest's Python compiles nothing of what it imports: it
# finds the bytecode that writestall build made, unchanged since.
set -eu

tree=$(realpath "$(dirname "$0")/../../..")
for import in "$tree/repro:labrun.run.cli" "$tree/trace:launcher.rows" "$tree/trace:launcher.lines"; do
	said=$(PYTHONPATH=${import%:*} python3 -v -c "import ${import#*:}" 2>&1)
	# What was found is quoted, what was compiled is not (importlib's _verbose_message).
	grep --quiet "code object from '$tree.*\.pyc'" <<<"$said"
	if grep "code object from $tree.*\.py$" <<<"$said"; then
		exit 1
	fi
done
