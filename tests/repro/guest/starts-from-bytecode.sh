#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will check that Python in a guest compiles none of its imports: it uses the
# bytecode that writestall build made, which is unchanged since.
set -eu

tree=$(realpath "$(dirname "$0")/../../..")
for import in "$tree/repro:labrun.run.cli" "$tree/trace:launcher.lines"; do
	said=$(PYTHONPATH=$tree/base:${import%:*} python3 -v -c "import ${import#*:}" 2>&1)
	# Found bytecode is quoted in the output, compiled modules are not (importlib's
	# _verbose_message).
	grep --quiet "code object from '$tree.*\.pyc'" <<<"$said"
	if grep "code object from $tree.*\.py$" <<<"$said"; then
		exit 1
	fi
done
