#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# plain-cache.sh: fill a SystemTap cache with the commands in the scripts' headers
#
# usage: plain-cache.sh RELEASE ARCHIVE, in a folder with stap/ and trace/
# stap compiles a script for more than ten minutes on an emulated CPU. Where it finds
# this cache it does not. Its key has the sizes of folders (SystemTap's hash.cxx), which
# differ between file systems: cache, build tree and runtime lie in /tmp, in memory
# here as in a guest.
set -eu
release=$1 archive=$2
export SYSTEMTAP_DIR=/tmp/systemtap SYSTEMTAP_RUNTIME=/tmp/runtime
cp --archive /usr/share/systemtap/runtime /tmp
SYSTEMTAP_RELEASE=$(trace/build-tree "$release")
export SYSTEMTAP_RELEASE
# A lesson names functions. stap looks whether its table of symbols has the names.
table=/usr/lib/debug/boot/System.map-$release
mkdir --parents "${table%/*}"
grep --only-matching --no-filename --perl-regexp 'kprobe\.function\("\K\w+' \
	stap/lessons/*.stp | sort --unique | sed 's/^/ffffffff81000000 T /' >"$table"
for script in stap/*.stp stap/lessons/*.stp; do
	line=$(python3 tests/scripts/plain.py "$script" "$release")
	read -ra words <<<"$line"
	# a script that does not compile fails where it is run, not here
	stap -p4 "${words[@]}" || echo "plain-cache.sh: not cached: $script" >&2
done
tar --create --file "$archive" --directory / tmp/systemtap tmp/runtime
