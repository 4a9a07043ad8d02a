#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# build-deb.sh: build the packages of /mnt/host/sources, in a tree that has debhelper
#
# usage: build-deb.sh VERSION SOURCE_DATE_EPOCH [lintian]
# ./writestall dev deb starts it there; the packages go to /mnt/host/out.
set -eu

export SOURCE_DATE_EPOCH=$2
# The path is in what is built: the same for every build.
folder=/tmp/writestall-$1
cp --archive /mnt/host/sources "$folder"
cd "$folder"
export VERSION=$1
# The tree has what debian/control asks for, but build-essential, which is implied, not
# as a whole. One thread of xz: the same bytes on any host.
DEB_BUILD_OPTIONS="nocheck parallel=1" \
	dpkg-buildpackage --build=binary --no-sign --no-check-builddeps
if [[ ${3-} == lintian ]]; then
	lintian --allow-root --fail-on error,warning --tag-display-limit 0 ../*.changes
fi
cp ../*.deb ../*.changes ../*.buildinfo /mnt/host/out
