#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# install-kernels.sh: SUITE=NAME pairs to kernels and headers in the tree $1
#
# A metapackage can be installed in one version only, so each suite's is asked
# for the packages it stands for. INITRD=No: the machine has its own initramfs
# (honoured by dracut's and initramfs-tools' kernel hooks).
set -eu

root=$1
shift
arch=$(chroot "$root" dpkg --print-architecture)
export INITRD=No DEBIAN_FRONTEND=noninteractive
mkdir --parents "$root/etc/writestall"

packages_of() { # SUITE: the real image and headers packages of that suite
	chroot "$root" apt-cache show \
		"linux-image-$arch/$1" "linux-headers-$arch/$1" |
		grep '^Depends:' |
		grep --only-matching --extended-regexp 'linux-(image|headers)-[0-9][^ ,]*'
}

for pair in "$@"; do
	name=${pair%%=*}
	packages=$(packages_of "${pair#*=}")
	image=$(grep --max-count=1 '^linux-image-' <<<"$packages")
	# shellcheck disable=SC2086 # one word per package
	chroot "$root" apt-get install --yes --no-install-recommends $packages
	printf '%s %s\n' "$name" "${image#linux-image-}" >>"$root/etc/writestall/kernels"
done
