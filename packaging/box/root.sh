#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# root.sh: make the image's tree a Debian that Vagrant can log in to; its file system
#
# usage: root.sh KERNEL SIZE, the name of a kernel of the image, and mke2fs's size
# ./writestall dev box starts it in a copy of the tree; /mnt/host/vagrant.pub is the key of
# Vagrant, which puts another in its place. The file system is /mnt/host/root.ext4.
set -eu

kernel=$1 size=$2 label=writestall
# A person logs in by ssh; Vagrant copies the checkout with rsync.
packages=(systemd-sysv systemd-resolved udev dbus openssh-server sudo rsync)
packages+=(initramfs-tools)
export DEBIAN_FRONTEND=noninteractive

install_packages() {
	cp /mnt/host/resolv.conf /etc/resolv.conf
	cp /mnt/host/apt.conf /etc/apt/apt.conf.d/90host
	printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d # no service starts here
	chmod 755 /usr/sbin/policy-rc.d
	apt-get update --quiet
	INITRD=No apt-get install --quiet --yes --no-install-recommends \
		--option Dpkg::Use-Pty=0 "${packages[@]}"
	rm /usr/sbin/policy-rc.d /etc/apt/apt.conf.d/90host
	apt-get clean
	rm --recursive --force /var/lib/apt/lists/*
}

add_user() { # what Vagrant expects: a user who may do all, and its key
	useradd --create-home --shell /bin/bash vagrant
	install --directory --mode 700 --owner vagrant --group vagrant /home/vagrant/.ssh
	install --mode 600 --owner vagrant --group vagrant \
		/mnt/host/vagrant.pub /home/vagrant/.ssh/authorized_keys
	echo 'vagrant ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/vagrant
	chmod 440 /etc/sudoers.d/vagrant
}

configure() {
	echo writestall >/etc/hostname
	printf '%s\n' '127.0.0.1 localhost' '127.0.1.1 writestall' >/etc/hosts
	echo "LABEL=$label / ext4 defaults 0 1" >/etc/fstab
	printf '[Match]\nName=e*\n[Network]\nDHCP=yes\n' >/etc/systemd/network/50-dhcp.network
	systemctl enable systemd-networkd ssh
	# Each machine has an identity of its own, and makes its keys when it starts.
	# sshd-keygen.service would not: an empty machine-id is no first boot for systemd.
	rm --force /etc/ssh/ssh_host_*
	: >/etc/machine-id
	mkdir --parents /etc/systemd/system/ssh.service.d
	printf '%s\n' '[Service]' 'ExecStartPre=' 'ExecStartPre=/usr/bin/ssh-keygen -A' \
		'ExecStartPre=/usr/sbin/sshd -t' >/etc/systemd/system/ssh.service.d/keys.conf
	ln --symbolic --force /run/systemd/resolve/resolv.conf /etc/resolv.conf
}

# A busy host gives an emulated machine no timer interrupt in time, and the kernel's check
# of the timer then panics (arch/x86/kernel/apic/io_apic.c, check_timer()).
entry() { # RELEASE
	printf 'menuentry "Linux %s" {\n\tlinux /boot/vmlinuz-%s %s\n' "$1" "$1" \
		"root=LABEL=$label ro net.ifnames=0 no_timer_check console=tty0 console=ttyS0"
	printf '\tinitrd /boot/initrd.img-%s\n}\n' "$1"
}

boot() { # the kernel that was asked for first
	local first release
	first=$(sed --quiet "s/^$kernel //p" /etc/writestall/kernels)
	mkdir --parents /boot/grub
	printf 'set timeout=1\nserial\nterminal_output serial console\n' >/boot/grub/grub.cfg
	update-initramfs -c -k "$first"
	entry "$first" >>/boot/grub/grub.cfg
	while read -r _ release; do
		[[ $release != "$first" ]] || continue
		update-initramfs -c -k "$release"
		entry "$release" >>/boot/grub/grub.cfg
	done </etc/writestall/kernels
}

to_disk() {
	mkdir /tmp/root
	mount --bind / /tmp/root # without what is mounted below it
	mke2fs -q -t ext4 -L "$label" -m 1 -d /tmp/root /mnt/host/root.ext4 "$size"
}

install_packages
add_user
configure
boot
to_disk
