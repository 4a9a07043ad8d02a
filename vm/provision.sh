#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# provision.sh: a Debian VM to a lab machine with the image's packages
#
# usage: provision.sh, as root, inside the VM. For a long-lived VM (Vagrant);
# the throwaway one is built from the same packages.txt.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
[[ $(id --user) == 0 ]] || { echo "provision: run me as root" >&2; exit 1; }
command -v apt-get >/dev/null ||
	{ echo "provision: this is not a Debian, and only Debian is known" >&2; exit 1; }

export DEBIAN_FRONTEND=noninteractive
mapfile -t packages < <(grep --invert-match --extended-regexp '^(#|$)' "$here/packages.txt")
arch=$(dpkg --print-architecture)
apt-get update
apt-get install --yes --no-install-recommends \
	"${packages[@]}" "linux-image-$arch" "linux-headers-$arch"

running=$(uname --kernel-release)
if [[ ! -d /lib/modules/$running/build ]]; then
	apt-get install --yes --no-install-recommends "linux-headers-$running" ||
		echo "provision: reboot into the new kernel, its headers are installed" >&2
fi
