#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# in-suite.sh: install, use, upgrade and purge the packages in a fresh Debian tree
#
# usage: in-suite.sh OLD NEW, versions whose packages are in /mnt/host/old and new
# test_deb.py starts it in a tree of each release; what it does there is gone with it.
set -eu

old=$1 new=$2
export DEBIAN_FRONTEND=noninteractive
packages=(writestall writestall-libraries writestall-tracers)

fail() {
	printf 'in-suite.sh: %s\n' "$1" >&2
	exit 1
}

says() { # TEXT COMMAND...: the output has the text, and the status is 0
	local text=$1 out
	shift
	out=$("$@" 2>&1) || fail "$* exited with $?: $out"
	grep --quiet --fixed-strings -e "$text" <<<"$out" ||
		fail "$*: no '$text' in: $out"
}

refuses() { # TEXT COMMAND...: one line with the text, and the status is 2
	local text=$1 out status=0
	shift
	out=$("$@" 2>&1) || status=$?
	[[ $status == 2 ]] || fail "$* exited with $status: $out"
	[[ $out != *$'\n'* && $out == *"$text"* ]] || fail "$*: no '$text' in: $out"
}

network() {
	cp /mnt/host/resolv.conf /etc/resolv.conf
	cp /mnt/host/apt.conf /etc/apt/apt.conf.d/90host
	apt-get update --quiet
}

install() { # FOLDER: with what the packages depend on, and nothing that they recommend
	local files=() name
	for name in "${packages[@]}"; do
		files+=("/mnt/host/$1/$name"_*.deb)
	done
	apt-get install --quiet --yes --no-install-recommends \
		--option Dpkg::Use-Pty=0 "${files[@]}"
}

use() { # VERSION
	local run=/tmp/demo-$1
	[[ $(writestall --version) == "$1" ]] || fail "not version $1"
	says "waiting for vdb through jbd2's commit" writestall demo --no-browser -o "$run"
	[[ -s $run/report.html ]] || fail "demo wrote no page"
	says "held by" writestall explain "$run" --top 3
	says "report.html" writestall report "$run"
	says "precision" writestall check "$run"
	says "call," writestall export "$run" --to csv
	says "inode_lock" writestall hist "$run"
	says "usage: trace" writestall trace stalled_writes --help
	says "usage: writestall record" writestall record --help
	tracer
	refuses "no engine works here" writestall record --for 1s
	refuses "lab: needs a clone of the tree" writestall lab page-lock
}

tracer() { # the compiled one is where `trace` and `record` look for it: there is no /sys
	local lacks="this kernel has no BTF" out
	says "libbpf" stalled-writes --version
	out=$(writestall trace --engine core stalled_writes 2>&1) &&
		fail "stalled-writes ran without BTF"
	[[ $out == "trace: $lacks"* ]] || fail "trace did not ask it: $out"
	refuses "--engine core: $lacks" writestall record --engine core --for 1s
}

completions() { # START: what bash offers after `writestall START`
	# shellcheck source=/dev/null
	. /usr/share/bash-completion/completions/writestall
	# shellcheck disable=SC2034 # bash sets them for a completion
	COMP_WORDS=(writestall "$1") COMP_CWORD=1
	_shtab_writestall "$1" # unset variables are usual there
	printf '%s\n' "${COMPREPLY[@]}"
}

documents() {
	[[ -f /usr/share/man/man1/writestall.1.gz ]] || fail "no manual page"
	[[ -f /usr/share/man/man1/stalled-writes.1.gz ]] || fail "no page of the tracer"
	says "explain" zcat /usr/share/man/man1/writestall.1.gz
	says "record" zcat /usr/share/man/man1/writestall.1.gz
	says "explain" completions exp
	[[ -f /usr/share/zsh/vendor-completions/_writestall ]] || fail "no zsh completion"
}

gone() { # after a purge, nothing but what APT and dpkg keep of any package
	local left
	left=$(find / -xdev -name '*writestall*' -not -path '/proc/*' -not -path '/sys/*' \
		-not -path '/mnt/*' -not -path '/tmp/*' -not -path '/var/cache/*' \
		-not -path '/var/log/*' -not -path '/var/lib/apt/*')
	[[ -z $left ]] || fail "left after the purge: $left"
}

network
install old
use "$old"
install new
use "$new"
documents
apt-get purge --quiet --yes --option Dpkg::Use-Pty=0 "${packages[@]}"
gone
echo "in-suite.sh: installed $old, upgraded to $new, purged" | tee /mnt/host/done
