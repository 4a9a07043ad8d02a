#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# init.sh: the initramfs' first process to a Debian root with an overlay in memory
# shellcheck shell=dash
set -e
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev

if [ -n "$probe" ]; then # the tiny machine that only shows it can run
	echo "writestall probe alive" >/dev/console
	poweroff -f
fi
if [ -n "$waits" ]; then # here its state is saved, and others go on (snapshot.py)
	echo "init: the kernel has booted" >/dev/console
	read -r _ </dev/console
fi

load() { # GROUP: the modules of that group, in order
	while read -r module; do
		insmod "/modules/$module.ko" || echo "init: $module did not load"
	done <"/modules/$1"
}

read_only() { # DISK FOLDER: once the disk is there
	tries=0
	until [ -b "$1" ]; do
		tries=$((tries + 1))
		[ "$tries" -lt 500 ] || { echo "init: no disk $1"; poweroff -f; }
		sleep 0.01
	done
	mount -t ext4 -o ro "$1" "$2"
}

load bus
load rest &
load root
read_only /dev/vda /lower
lower=/lower
if [ -n "$layer" ]; then # packages besides those of the image (machine/layer.py)
	read_only "$layer" /layer
	lower=/layer:/lower
fi
mount -t tmpfs -o size=50% upper /upper
mkdir /upper/data /upper/work
mount -t overlay -o lowerdir=$lower,upperdir=/upper/data,workdir=/upper/work \
	overlay /root
for place in proc sys dev; do
	mount --move /$place /root/$place
done
mount -t tmpfs -o mode=755 run /root/run
wait # switch_root empties this file system under the modules' feet
job=/root/run/job
mkdir $job
mount -t 9p -o trans=virtio,version=9p2000.L,ro job $job
if [ -n "$waits" ]; then # the state's time and random numbers are those of its boot
	date -s "@$(cat $job/time_s)" >/dev/null
	cat $job/random >/root/dev/urandom
fi
exec switch_root /root /bin/bash /run/job/guest
