#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# finish-foreign.sh: a tree of unpacked packages to one that boots
#
# usage: finish-foreign.sh TREE NAME=RELEASE...
# It does for a machine what the scripts of the packages do: accounts (base-passwd),
# alternatives, the dependencies of modules (linux-image).
set -eu

tree=$1
shift
for table in passwd group; do
	cp "$tree/usr/share/base-passwd/$table.master" "$tree/etc/$table"
done
[[ -e $tree/usr/bin/awk ]] || ln --symbolic mawk "$tree/usr/bin/awk"
[[ -e $tree/usr/bin/sh ]] || ln --symbolic dash "$tree/usr/bin/sh"
mkdir --parents "$tree"/{boot,dev,home,mnt,proc,root,run,sys,tmp,etc/writestall}
chmod 1777 "$tree/tmp"
for pair in "$@"; do
	release=${pair#*=}
	chroot "$tree" depmod "$release"
	printf '%s %s\n' "${pair%%=*}" "$release" >>"$tree/etc/writestall/kernels"
done
