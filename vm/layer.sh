#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# layer.sh: packages to a disk of the files that they add to or change in an image tree
#
# usage: layer.sh TREE DISK SCRATCH KEYRING SOURCES APT_OPTIONS -- PACKAGE...
# SCRATCH keeps the archive's lists and the packages for the next layer; SOURCES and
# APT_OPTIONS are files for APT. Runs in a mount and PID namespace of its own; DISK
# is all that it leaves.
set -eu

if [[ ${WRITESTALL_IN_NAMESPACE:-} != yes ]]; then
	export WRITESTALL_IN_NAMESPACE=yes
	exec unshare --mount --pid --fork --kill-child "$0" "$@"
fi
tree=$1 disk=$2 scratch=$3 keyring=$4 sources=$5 options=$6
shift 7
slack_bytes=$((16 << 20)) # mke2fs: inode tables of a disk of few files

bind() { # SOURCE TARGET: a file or folder of the host in the root, which has it
	mount --bind "$1" "$tree$2"
}

in_root() { # COMMAND...
	env --ignore-environment PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp \
		LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive APT_CONFIG=/run/apt.conf \
		chroot "$tree" "$@"
}

stack() { # the tree, with a layer in memory above it
	mkdir --parents "$scratch/layer" "$scratch/lists" "$scratch/packages"
	mount --types tmpfs --options mode=755 tmpfs "$scratch/layer"
	mkdir --mode 755 "$scratch/layer/upper" "$scratch/layer/work"
	mount --types overlay --options \
		"lowerdir=$tree,upperdir=$scratch/layer/upper,workdir=$scratch/layer/work" \
		overlay "$tree"
	mount --types proc proc "$tree/proc"
	mount --rbind /dev "$tree/dev"
	mount --types tmpfs --options mode=755 tmpfs "$tree/run"
	mount --types tmpfs --options mode=1777 tmpfs "$tree/tmp"
	touch "$tree"/run/{keyring,sources.list,apt.conf}
	bind "$keyring" /run/keyring
	bind "$sources" /run/sources.list
	bind "$options" /run/apt.conf
	bind /etc/resolv.conf /etc/resolv.conf
	bind "$scratch/lists" /var/lib/apt/lists
	bind "$scratch/packages" /var/cache/apt/archives
}

install() { # PACKAGE...
	# The image leaves manual pages out, folders and all, and the alternatives of a
	# JRE link pages in them: update-alternatives fails without the folder.
	mkdir --parents "$tree"/usr/share/man/man{1..9}
	# No service starts: the machine that gets the layer starts what it wants.
	printf '#!/bin/sh\nexit 101\n' >"$tree/usr/sbin/policy-rc.d"
	chmod 755 "$tree/usr/sbin/policy-rc.d"
	in_root apt-get update --quiet
	in_root apt-get install --quiet --yes --no-install-recommends \
		--option Dpkg::Use-Pty=0 "$@"
	rm "$tree/usr/sbin/policy-rc.d"
}

to_disk() { # what is in the layer
	local upper=$scratch/layer/upper used
	rm --recursive --force "$upper"/var/{cache/apt,log,lib/apt/lists} "$upper/tmp"
	used=$(du --summarize --bytes --apparent-size "$upper" | cut --fields 1)
	mke2fs -q -t ext4 -O ^has_journal -m 0 -d "$upper" "$disk" \
		"$(((used * 5 / 4 + slack_bytes) >> 10))k"
}

stack
install "$@"
to_disk
