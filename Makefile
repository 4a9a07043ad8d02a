# SPDX-License-Identifier: GPL-2.0-only
# Makefile: call ./writestall; a variable becomes the option of its name
#
# Each target's row says which variables it takes; others are refused. V=1 is --verbose.
# ./writestall COMMAND --help says what they take. Variables of ENVIRONMENT are read as
# they are.

export PYTHONDONTWRITEBYTECODE = 1
quoted = '$(subst ','\'',$1)'
# Of each variable that is given: V is --verbose, SCENARIO a word, READY_LINE
# --ready-line and its value.
named = $(if $(filter SCENARIO,$1),,--$(shell echo $1 | tr A-Z_ a-z-))
option = $(if $($1),$(if $(filter V,$1),--verbose,$(named) $(call quoted,$($1))))
options = $(foreach v,$1,$(call option,$v))

# The variables of the command line that a target takes: $(call only,A B) refuses others.
ENVIRONMENT = PATH SNAKEMAKE_PROFILE WRITESTALL_%
OF_MACHINE = KERNEL ACCEL OUT V
OF_RUN = SCENARIO ENGINE INJECTOR MODE $(OF_MACHINE)
OF_RULE = BASELINE OBJECTIVE MARGIN BY EFFECT BUDGET
OF_COMPARE = PROFILE WORKLOAD ROUNDS LOAD SLO AGED SEED NAME JOBS EXECUTOR CUT FS DURATION ENGINE FROM FROM_DEVICE $(OF_RULE) $(OF_MACHINE)
OF_LAB = $(OF_RUN) FS DURATION COMMAND PREPARE STOP READY_LINE READY_PORT PROFILE PACKAGES MEMORY SHARE CALL FROM FROM_DEVICE
given = $(foreach v,$(filter-out -% MAKE%,$(.VARIABLES)),$(if $(filter command line,$(origin $v)),$v))
only = $(foreach v,$(filter-out $1 $(ENVIRONMENT),$(given)),$(error $v: make $@ has no such variable; it takes $(or $1,none)))
needs = $(if $($1),,$(error $1: make $@ needs it, $2))

# What runs on a kernel that checks itself: not what has a bound of time or memory that it
# is too slow or too large for, or needs BTF (docs/reliability.md).
UNMET = rmmod-while-delaying or works-by-breakpoint or survives-cycles or shares-the-probe
DEBUGGED = kmod and not ($(UNMET)) or test_its_chain_appears and (page-lock or fsync-storm or xfs-ilock)

.DEFAULT_GOAL := help
.PHONY: help core lab variants compare crash test test-all test-scenarios test-apps test-waits test-course test-kernel soak check gold bench-analysis bench-tracers soak-tracers bench-injector setup doctor drilldown shell scenarios explain clean deb oci box release test-packages docs soak-watch fuzz debug-kernel test-debug

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 26

lab: ## make write(2) stall in a throwaway VM and say why (SCENARIO=, KERNEL=, ENGINE=, INJECTOR=)
	$(call only,$(OF_LAB))
	@./writestall lab $(call options,$(OF_LAB))

variants: ## the same for a scenario and all its variants, to one table (SCENARIO=gc-log, ROUNDS=)
	$(call only,$(OF_RUN) ROUNDS)
	@./writestall variants $(call options,$(OF_RUN) ROUNDS)

compare: ## which file system stalls least on such a disk (PROFILE=, WORKLOAD=, FS=)
	$(call only,$(OF_COMPARE))
	@./writestall compare $(call options,$(OF_COMPARE))

crash: ## cut the machine during its writes: what does each file system keep (FS=, DURATION=)
	$(call only,FS DURATION $(OF_MACHINE))
	@./writestall crash $(call options,FS DURATION $(OF_MACHINE))

test: ## set up, run every test this machine can run
	$(call only)
	@./writestall test

test-all: ## all tests of all targets, on every kernel, for hours; then their table
	$(call only)
	@./writestall test --every-kernel --side-by-side

test-scenarios: ## every scenario on every kernel with both engines, to its chain
	$(call only)
	@./writestall test --every-kernel --side-by-side -- tests/lab/test_scenarios.py

test-apps: ## Kafka, a JVM, SQLite, PostgreSQL, etcd, Redis: what they complain of, to the calls
	$(call only)
	@./writestall test --on-demand --side-by-side -- tests/lab/test_apps.py

test-waits: ## programs that say how long each request really waited for the disk
	$(call only)
	@./writestall test --on-demand --side-by-side -- tests/lab/test_waits.py

test-course: ## the labs of docs/course and their mysteries in machines, right and wrong answers
	$(call only)
	@./writestall test --on-demand --side-by-side -- tests/lab/test_mysteries.py

test-kernel: ## a kernel of your own: module, scripts, scenarios, and its row of the table (KERNEL=, CONFIGURATION=)
	$(call only,KERNEL CONFIGURATION)
	$(call needs,KERNEL,the tree that yours was built in or /boot/vmlinuz-RELEASE)
	@rm -rf out/test-kernel; \
	./writestall test $(call option,KERNEL) --junit out/test-kernel -- --verbose tests/guest tests/lab/test_scenarios.py; \
	status=$$?; [ ! -e out/test-kernel ] || \
	./writestall dev kernel-support $(call option,CONFIGURATION) out/test-kernel && exit $$status

deb: ## build the Debian packages, to out/deb
	$(call only)
	@./writestall dev deb

oci: ## build an OCI image of the packages, to out/oci
	$(call only)
	@./writestall dev oci

box: ## build a local Vagrant box of the VM's image, to out/box
	$(call only)
	@./writestall dev box

release: ## check, then every package with checksums, to out/release (KEY= signs them)
	$(call only,KEY)
	@./writestall dev release $(call option,KEY)

test-packages: ## install, use, upgrade and purge the packages in Debian 12, 13 and 14; image and box
	$(call only)
	@./writestall test -- tests/packages
debug-kernel: ## build a kernel that checks itself, from Debian's source (FLAVOUR=debug, kcsan, lockdep)
	$(call only,FLAVOUR)
	@./writestall dev debug-kernel $(call options,FLAVOUR)

test-debug: ## the module, its stress and three scenarios on that kernel (FLAVOUR=)
	$(call only,FLAVOUR)
	@./writestall dev debug-kernel $(call options,FLAVOUR) && ./writestall test --kernel "$$(./writestall dev debug-kernel $(call options,FLAVOUR))" --junit out/test-debug -- tests/guest tests/lab/test_scenarios.py -k '$(DEBUGGED)'

soak: ## 500 cycles of loading and unloading biodelay under load, on every kernel
	$(call only)
	@WRITESTALL_SOAK=1 ./writestall test --on-demand -- tests/guest -k survives-cycles-under-load

check: ## linters and the fast tests, no VM
	$(call only)
	@./writestall test --quick

gold: ## record the golden answers of tests/data anew (RUN= keeps runs there first)
	$(call only,RUN)
	@$(if $(RUN),tests/analysis/golden/keep_run.py $(RUN))
	@GOLD=1 ./writestall test --quick -- tests/analysis/golden

fuzz: ## parsers and readers on drawn input, ten minutes each (FUZZ_S=600)
	$(call only,FUZZ_S)
	@WRITESTALL_FUZZ_S=$(call quoted,$(or $(FUZZ_S),600)) ./writestall test --quick -- -rP tests/fuzz

bench-analysis: ## what explain, report and check cost at 10^4 to 10^7 events (SIZES=)
	$(call only,SIZES)
	@./writestall dev bench-analysis $(SIZES)

bench-tracers: ## what each tracer leaves of the throughput of writes (ROUNDS=, KERNEL=)
	$(call only,ROUNDS $(OF_MACHINE))
	@./writestall dev bench-tracers $(call options,ROUNDS $(OF_MACHINE))

soak-tracers: ## what tracers hold and lose over many stalls (ENGINE=, DURATION=, STALLS=)
	$(call only,ENGINE STALLS DURATION $(OF_MACHINE))
	@./writestall dev soak-tracers $(call options,ENGINE STALLS DURATION $(OF_MACHINE))

soak-watch: ## watch an hour of 1,000 stalls a minute, a day of one a second, and a machine for minutes
	$(call only)
	@WRITESTALL_SOAK=1 ./writestall test -- -s tests/watcher/test_watch_soak.py tests/lab/test_watch.py

bench-injector: ## compare biodelay with dm-delay and scsi_debug: accuracy, cost (KERNEL=)
	$(call only,ROUNDS $(OF_MACHINE))
	@./writestall dev bench-injector $(call options,ROUNDS $(OF_MACHINE))

core: ## build the tracer that needs no compiler where it runs: build/stalled-writes
	$(call only)
	@$(MAKE) -sC bpf/core BUILD='$(CURDIR)/build' && echo build/stalled-writes

setup: ## install what the lab and its tests need on this host
	$(call only)
	@./writestall setup --tests

doctor: ## say what this machine can do and what is missing; change nothing
	$(call only)
	@./writestall doctor

# There is a folder of that name.
docs: ## build docs/ as a site, its links checked (OUT=out/site)
	$(call only,OUT)
	@./writestall dev docs $(call option,OUT)

drilldown: ## find the function and the lock in which write(2) sleeps (SCENARIO=, KERNEL=)
	$(call only,$(OF_RUN))
	@./writestall drilldown $(call options,$(OF_RUN))

shell: ## an interactive shell in the VM (KERNEL=)
	$(call only,KERNEL ACCEL)
	@./writestall vm $(call options,KERNEL ACCEL)

scenarios: ## list the scenarios with one sentence each
	$(call only)
	@./writestall scenarios

explain: ## explain a run again (RUN=out/latest)
	$(call only,RUN)
	@./writestall explain '$(or $(RUN),out/latest)'

clean: ## delete compiled parts and the image; the next build fetches newer packages
	$(call only)
	@./writestall dev clean
