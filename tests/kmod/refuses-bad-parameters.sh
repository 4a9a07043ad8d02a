#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will load the module with one mistake at a time, and show that each
# is refused with an errno and one line of its own, and nothing stays loaded.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

root_disk=vda # of vm/'s machines

errno_of() { # PARAMETER...: the errno that loading with them ends in, or 0
	python3 - "$module" "$@" <<'PYTHON'
import ctypes, errno, os, platform, sys
libc = ctypes.CDLL(None, use_errno=True)
finit_module = {"x86_64": 313, "aarch64": 273}[platform.machine()]
fd = os.open(sys.argv[1], os.O_RDONLY)
done = libc.syscall(finit_module, fd, " ".join(sys.argv[2:]).encode(), 0)
print(errno.errorcode[ctypes.get_errno()] if done else 0)
PYTHON
}

refuses() { # ERRNO WORDS PARAMETER...: WORDS in the one new line of the log
	local want=$1 words=$2 got lines
	shift 2
	lines=$(dmesg | wc --lines)
	got=$(errno_of "$@")
	loaded && fail "$*: loaded"
	[[ $got == "$want" ]] || fail "$*: $got, not $want"
	lines=$(dmesg | tail --lines="+$((lines + 1))" |
		grep 'biodelay: ' | grep --invert-match 'taint')
	[[ $(wc --lines <<<"$lines") == 1 && $lines == *"biodelay: "*"$words"* ]] ||
		fail "$*: '$lines' is not one line with '$words'"
	printf '%-16s %s\n' "$got" "$*"
}

good=(device="$disk_name" delay_us=1000)
insmod "$module" "${good[@]}" && rmmod biodelay # leaves the taint behind

refuses ENODEV "no such block device" device=nosuch
refuses ENODEV "no such block device" device=4095:1
refuses ENODEV "no such block device" device=-1:0
refuses ENODEV "no such block device" device=
refuses ENOTBLK "not a block device" device=null
refuses EPERM "root file system's disk" device="$root_disk"
refuses EPERM "root file system's disk" device="$root_disk" force="$disk_name"
refuses EINVAL "not a glob" "${good[@]}" submitter=
refuses EINVAL "not a glob" "${good[@]}" 'submitter=jbd2[/*'
# shellcheck disable=SC1003 # a lone backslash is meant
refuses EINVAL "not a glob" "${good[@]}" 'submitter=jbd2\'
refuses EINVAL "not a glob" "${good[@]}" "submitter=$(printf 'x%.0s' {1..64})*"
refuses ENAMETOOLONG "longer than any comm" "${good[@]}" submitter=sixteen-letters-
refuses EBADRQC "ops: known are" "${good[@]}" ops=write,erase
refuses EBADRQC "ops: known are" "${good[@]}" ops=
refuses EBADRQC "ops: known are" "${good[@]}" ops=read,
refuses ENOTSUP "mode: known are" "${good[@]}" mode=fast
refuses EINVAL "not a whole number" device="$disk_name" delay_us=300ms
refuses EINVAL "not a whole number" device="$disk_name" delay_us=-1
refuses EINVAL "not a whole number" device="$disk_name" delay_us=
refuses ERANGE "must be 1 to 30000000" device="$disk_name" delay_us=0
refuses ERANGE "must be 1 to 30000000" device="$disk_name" delay_us=30000001
refuses ERANGE "must be 1 to 30000000" device="$disk_name" \
	delay_us=99999999999999999999999
refuses ERANGE "records_per_cpu" "${good[@]}" records_per_cpu=1
refuses EDESTADDRREQ "no device" enabled=1 delay_us=1000
refuses EDOM "no delay" enabled=1 device="$disk_name"

mkswap "$disk" >/dev/null
swapon "$disk"
refuses ETXTBSY "has active swap" "${good[@]}"
swapoff "$disk"
insmod "$module" "${good[@]}" || fail "refused after swapoff"
for value in 2 yes-please '' -1; do
	if echo "$value" >"$params/enabled" 2>/dev/null; then
		fail "enabled took '$value'"
	fi
done
[[ $(status armed) == 0 ]] || fail "armed by a mistake"
rmmod biodelay
insmod "$module" device="$root_disk" force="$root_disk" delay_us=1 ||
	fail "refused although forced by name"
quiet_kernel
