#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# libelf-static-eu-search.sh: link a program with the libelf.a of a Debian
#
# usage: libelf-static-eu-search.sh [SUITE [SOURCE]...]
# A root of the suite (trixie) is made by mmdebstrap, which takes the sources, and removed.
# The program is linked without and with the functions that libelf.a of elfutils 0.192 lacks.
# Status 0: both link, 1: only the second does, 2: neither, or there is no root.
set -eu
[ $# -gt 0 ] || set -- trixie
suite=$1
shift
case $suite in
-*)
	echo "usage: $0 [SUITE [SOURCE]...]: of Debian (trixie), for mmdebstrap"
	[ "$suite" = --help ] && exit 0
	exit 2
	;;
esac
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/../../bpf/core/libelf_search.c" "$work"
cat >"$work/program.c" <<'END'
#include <libelf.h>
int main(void)
{
	elf_version(EV_CURRENT);
	return elf_end(elf_begin(0, ELF_C_READ, 0));
}
END
cat >"$work/inside" <<'INSIDE'
cd /tmp
dpkg-query --show libelf-dev
libelf=$(gcc -print-file-name=libelf.a)
echo "not defined in libelf.a:" $(nm "$libelf" 2>/dev/null | awk '
	$1 == "U" && $2 ~ /^eu_/ { used[$2] }
	$2 == "T" { defined[$3] }
	END { for (name in used) if (!(name in defined)) print name }' | sort)
link() {
	gcc -D_GNU_SOURCE -static -o program "$@" $(pkg-config --static --libs libelf) && ./program </dev/null
}
link program.c && echo "alone: it links" >result && exit
link program.c libelf_search.c && echo "with libelf_search.c: it links" >result
INSIDE
chmod +x "$work/inside"
# shellcheck disable=SC2016 # $1 is the root, in the hook's shell
mmdebstrap --quiet --variant=apt --include=gcc,libc6-dev,libelf-dev,pkgconf \
	--customize-hook="copy-in $work/program.c $work/libelf_search.c $work/inside /tmp" \
	--customize-hook='chroot "$1" sh /tmp/inside' \
	--customize-hook="copy-out /tmp/result $work" \
	"$suite" /dev/null "$@" || exit 2
cat "$work/result"
grep -q alone "$work/result"
