#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# kernel-tree.sh: Debian's kernel source to a built tree with some configuration
#
# usage: kernel-tree.sh TREE VERSION JOBS FRAGMENT...
# Runs in a root that has linux-source and what it is built with. VERSION, such as
# -debug, ends the release.
set -eu
tree=$1
version=$2
jobs=$3
shift 3
export KBUILD_BUILD_USER=writestall KBUILD_BUILD_HOST=writestall

sources=(/usr/src/linux-source-*.tar.xz)
tar --extract --file "${sources[0]}" --directory "$tree" --strip-components 1
cd "$tree"
# A module is compiled by the same compiler, also where that is not the default one.
compiler=gcc-$(gcc -dumpversion)
sed --in-place "s/^\(CC\s*=\) \$(CROSS_COMPILE)gcc$/\1 $compiler/" Makefile
grep --quiet "^CC.*= $compiler\$" Makefile

{
	cat "$@"
	echo "CONFIG_LOCALVERSION=\"$version\""
} >"$tree/fragment.config"
make KCONFIG_ALLCONFIG=fragment.config allnoconfig
make --jobs "$jobs" bzImage modules

# Modules are compiled against headers and scripts; what was linked is linked.
find . \( -path ./scripts -o -path ./tools \) -prune -o \
	-type f \( -name '*.o' -o -name '*.a' -o -name '.*.cmd' \) -exec rm {} +
