#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# enter.sh: a command to the same command inside an image tree
#
# usage: enter.sh TREE [HOSTDIR:DIR[:ro]]... -- COMMAND...
# Runs in a mount and PID namespace of its own, so nothing stays mounted and
# nothing stays running. What it writes goes to a layer in memory that is gone
# with it, except in the folders that were bound. Root in a container may not
# mount (CAP_SYS_ADMIN), but it may in a user namespace of its own.
set -eu

tree=$1
shift
if [[ ${WRITESTALL_IN_NAMESPACE:-} != yes ]]; then
	export WRITESTALL_IN_NAMESPACE=yes
	user=()
	if ! unshare --mount true 2>/dev/null; then
		user=(--user --map-root-user)
		unshare "${user[@]}" --mount true 2>/dev/null || {
			echo "this container may make no namespace: start Docker's with" \
				"--security-opt seccomp=unconfined --security-opt apparmor=unconfined" >&2
			exit 1
		}
	fi
	exec unshare "${user[@]}" --mount --pid --fork --kill-child "$0" "$tree" "$@"
fi

# The overlay keeps hold of its tmpfs after covering the place it was mounted.
mount --types tmpfs tmpfs "$tree/mnt"
mkdir "$tree/mnt/upper" "$tree/mnt/work"
mount --types overlay --options \
	"lowerdir=$tree,upperdir=$tree/mnt/upper,workdir=$tree/mnt/work" \
	overlay "$tree"
mount --types proc proc "$tree/proc"
mount --rbind /dev "$tree/dev"
while [[ $1 != -- ]]; do
	IFS=: read -r source target mode <<<"$1"
	mkdir --parents "$tree$target"
	mount --rbind "$source" "$tree$target"
	[[ $mode != ro ]] || mount --options remount,bind,ro "$tree$target"
	shift
done
shift
exec env --ignore-environment \
	PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C.UTF-8 \
	chroot "$tree" "$@"
