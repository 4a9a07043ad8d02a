#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# root.sh: install the packages in a fresh Debian tree; the image's root as a tar
#
# ./writestall dev oci starts it in the tree; the packages are in /mnt/host/packages.
set -eu

export DEBIAN_FRONTEND=noninteractive
cp /mnt/host/resolv.conf /etc/resolv.conf
cp /mnt/host/apt.conf /etc/apt/apt.conf.d/90host
apt-get update --quiet
# The compiled tracer is the engine of a container: SystemTap would need a compiler,
# the kernel's headers and CAP_SYS_MODULE.
apt-get install --quiet --yes --no-install-recommends --option Dpkg::Use-Pty=0 \
	/mnt/host/packages/writestall{,-libraries,-tracers}_*.deb
apt-get clean
rm --recursive --force /var/lib/apt/lists/* /var/log/* /var/cache/debconf/* \
	/etc/apt/apt.conf.d/90host
: >/etc/resolv.conf
mkdir /runs # where a container's recordings go: a volume
tar --create --one-file-system --numeric-owner --sort name \
	--exclude './mnt/*' --exclude './proc/*' --exclude './dev/*' --exclude './tmp/*' \
	--file /mnt/host/root.tar --directory / .
