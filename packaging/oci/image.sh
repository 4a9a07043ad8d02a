#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# image.sh: pack /mnt/host/root.tar as an OCI image, in a tree that has umoci
#
# usage: image.sh VERSION CREATED, a time as RFC 3339 has it
# ./writestall dev oci starts it there; the archive is /mnt/host/image.tar.
set -eu

version=$1 created=$2
# Not in the tree itself, an overlay: umoci knows hard links by the number of the inode
# alone, and files of different layers may have the same.
work=/mnt/host/work
layout=$work/layout image=$work/layout:$1
mkdir "$work"
umoci init --layout "$layout"
umoci new --image "$image"
umoci unpack --image "$image" "$work/bundle"
tar --extract --numeric-owner --file /mnt/host/root.tar --directory "$work/bundle/rootfs"
umoci repack --image "$image" --history.created "$created" \
	--history.created_by "writestall dev oci" "$work/bundle"
umoci config --image "$image" --created "$created" --history.created "$created" \
	--config.entrypoint writestall --config.cmd=--help --config.workingdir /runs \
	--manifest.annotation "org.opencontainers.image.version=$version" \
	--manifest.annotation "org.opencontainers.image.licenses=GPL-2.0-only"
umoci gc --layout "$layout"
tar --create --sort name --owner 0 --group 0 --numeric-owner --mtime "$created" \
	--file /mnt/host/image.tar --directory "$layout" .
