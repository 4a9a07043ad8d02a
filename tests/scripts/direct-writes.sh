#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# direct-writes.sh SECONDS: write past the page cache in this folder, 100 blocks a second,
# with a flush after each 20th, so that each bio goes down at once and alone
set -eu

exec fio --name=direct --filename=direct.dat --size=64M --rw=randwrite --bs=4k \
	--direct=1 --rate_iops=100 --fdatasync=20 --thread --time_based \
	--runtime="$1" --output=/dev/null
