#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# module-by-dkms.sh: have DKMS build and sign biodelay for the release's own kernel
#
# usage: module-by-dkms.sh VERSION; the package is in /mnt/host/new
set -eu

export DEBIAN_FRONTEND=noninteractive
cp /mnt/host/resolv.conf /etc/resolv.conf
cp /mnt/host/apt.conf /etc/apt/apt.conf.d/90host
apt-get update --quiet
apt-get install --quiet --yes --no-install-recommends --option Dpkg::Use-Pty=0 \
	linux-headers-amd64 openssl /mnt/host/new/biodelay-dkms_*.deb
# DKMS builds for the running kernel by itself; this tree has another.
release=$(basename "$(dirname /lib/modules/*/build)")
dkms install biodelay/"$1" -k "$release" || {
	cat /var/lib/dkms/biodelay/"$1"/build/make.log >&2
	exit 1
}
dkms status
module=$(find "/lib/modules/$release/updates" -name 'biodelay.ko*')
[[ $(modinfo --field=version "$module") == "$1" ]]
modinfo --field=signer "$module" | grep --quiet .
apt-get purge --quiet --yes --option Dpkg::Use-Pty=0 biodelay-dkms
[[ ! -e $module && ! -e /usr/src/biodelay-$1 ]]
echo "module-by-dkms.sh: biodelay $1 was built for $release and removed" | tee /mnt/host/done
