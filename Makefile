# Sluice: build, boot, test. `make help` lists the goals, `bin/sluice --help` all other commands.
#
# - Sources are found by wildcard: adding a kernel file, a policy, a user program or a test edits no
#   list. tools/rules/ has the rules for each part of the tree.
# - A second make, which holds a lock meanwhile, does all building: two makes, or a make and a
#   snapshot (sluice/host/snapshot.py), wait for each other.
# - Every object depends on the headers that it includes (-MMD) and on a file that holds its
#   command, so other flags (CFLAGS_EXTRA=-g3) rebuild it.
# - The debug kernel (DEBUG=1) lives in build/debug, next to the other.
# - tools/setup.sh runs first. It installs what is missing of what the goal needs.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
JOBS ?= $(shell nproc)# compilers and machines at a time
# The n of `make -n`. It is looked for before the flags below, which have an n too.
DRY_RUN := $(findstring n,$(firstword -$(MAKEFLAGS)))
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/sh

# Tests use the programs of the system, and nothing that a person installed.
export PATH := $(if $(filter test check,$(MAKECMDGOALS)),/usr/sbin:/usr/bin:/sbin:/bin,$(PATH):/usr/sbin:/sbin)

# ---- text ----

define newline


endef
comma := ,
# The text $(1) as one word of the shell, whatever it contains.
word_of = '$(subst ','\'',$(1))'
# The value of the variable named $(1), as it was given, as one word: for people's names and paths.
quoted = $(call word_of,$(value $(1)))
# Print a word and the file made, or with V=1 the whole command, and run it.
run = $(if $(filter 1,$(V)),$(2),@echo '  $(1) $@' && $(2))

# ---- the programs that are used ----

ifeq ($(value TOOLPREFIX),)
TOOLPREFIX := $(shell sh tools/find_tool.sh prefix 2>/dev/null)
endif
# GDB=1 makes a graded machine wait for gdb. Any other value is the gdb to be used.
# GDB= hides the 1: since version 4.4, make gives $(shell) the variables that it exports.
WAITS_FOR_GDB := $(filter 1,$(value GDB))
ifneq ($(WAITS_FOR_GDB)$(if $(value GDB),,none),)
override GDB := $(shell GDB= sh tools/find_tool.sh gdb 2>/dev/null)
endif
export TOOLPREFIX GDB
export QEMU ?= qemu-system-riscv64
export HOSTCC ?= cc
PYTHON := .venv/bin/python
# Our files are UTF-8 in every locale (sluice/host/printing.py).
export PYTHONUTF8 := 1
# The twin runs on processors for which there is a sluice/twin/switch_PROCESSOR.S. The compiler
# names the processor that it compiles for.
HOST := $(or $(firstword $(subst -, ,$(shell $(HOSTCC) -dumpmachine 2>/dev/null))),$(shell uname -m))
TWIN_HOSTS := $(patsubst sluice/twin/switch_%.S,%,$(wildcard sluice/twin/switch_*.S))
TWIN := $(if $(filter $(HOST),$(TWIN_HOSTS)),twin)
$(if $(TWIN),,$(if $(filter twin,$(MAKECMDGOALS)),$(error \
    the twin runs on $(TWIN_HOSTS) only, and this host is $(HOST); QEMU makes the runs instead)))
# What the tests of the live page need, where the compiler for it is installed. It takes as long to
# make as all else, so it is kept up to date only where it has been made, and FULL=1 makes it.
LIVE := $(if $(filter 3,$(shell for p in clang wasm-ld wasm-opt; do command -v $$p; done | grep -c .)),$(if \
    $(wildcard /usr/lib/wasm32-wasi/libc.a),build/live/wasm/complete))

# ---- variables ----

CPUS ?= 2#     harts of `make qemu`, 1 to 8
MEM ?= 128M#   its memory, 32M to 8G
DISKS ?=#      images of its further disks: disk1, disk2, ...
ARGS ?=#       its boot arguments, as ARGS='sched=fcfs nbuf=1000'
DEBUG ?=#      1: assertions, lock order, UBSan
FS_MB ?= 64#   size of the root disk in MiB
V ?=#          1: print whole commands
K := $(if $(filter 1,$(DEBUG)),build/debug,build)
KERNEL := $(K)/kernel/kernel.elf
# A release builds with any GCC, also with one that warns about more. Our CI sets WERROR=1. Which
# warnings count in a student's file, its lab says (grade/definition/lab.py).
WARNINGS := -Wall -Wextra $(if $(filter 1,$(WERROR)),-Werror)

include tools/rules/checks.mk
include tools/rules/commands.mk
ifeq ($(MAKELEVEL)$(filter -j% --jobs%,$(MAKEFLAGS)),0)
MAKEFLAGS += --jobs=$(JOBS)
endif

# ---- tools ----

# The groups of tools/setup.sh that a goal needs. Goals that start bin/sluice need none here, and
# with SETUP=no the tools are taken to be there.
SETUP ?= yes
GROUPS_OF = $(if $(filter qemu qemu-gdb,$(1)),machine,$(if $(filter gdb,$(1)),gdb,$(if $(filter \
    check format,$(1)),format,$(if $(filter test,$(1)),test $(if $(filter 1,$(FULL)),whole),$(if $(filter \
    build/live/%,$(1)),live,build)))))
SET_UP := $(filter-out help version clean setup $(COMMANDS),$(or $(MAKECMDGOALS),all))
ifneq ($(SET_UP),)
ifeq ($(DRY_RUN)$(filter no,$(SETUP)),)
CHOSEN := $(foreach v,TOOLPREFIX GDB QEMU HOSTCC,$(v)=$(call quoted,$(v)))
ifneq ($(shell $(CHOSEN) sh tools/setup.sh $(sort $(foreach \
    goal,$(SET_UP),$(call GROUPS_OF,$(goal)))) >&2 && echo done),done)
$(error the tools are not set up: see above)
endif
endif
endif

# ---- building ----

# Programs that a grading runs.
GRADING := $(addprefix build/native/,drive_times_tool places_tool)

.PHONY: all native twin qemu qemu-gdb gdb check test format setup clean version help FORCE
FORCE:

# The first make builds nothing. It runs a second one, which holds the lock until
# everything is built. LOCK=held marks the second.
ifneq ($(LOCK),held)
.NOTPARALLEL:
locked = +@flock --nonblock Makefile true || \
    echo '  WAIT for another make, or a command that copies what is built'; \
    flock Makefile $(MAKE) --no-print-directory LOCK=held SETUP=no $@

all: ## build everything (the default; DEBUG=1, FS_MB=)
	$(locked)
native: ## build the tests of kernel code on the host
	$(locked)
twin: ## build the twin: the kernel for this computer, and the drives
	$(locked)
compile_commands.json: FORCE ## write for editors how each file is compiled (every make does it)
	$(locked)
build/%: FORCE
	$(locked)
else
include tools/rules/build.mk
endif

# ---- running ----

# $(1) number, $(2) path; QEMU takes two commas for one of a path. A full host
# disk is an error of the write: QEMU's default stops the machine without a word.
disk_options = -drive file=$(call word_of,$(subst $(comma),$(comma)$(comma),$(2))),if=none,format=raw,id=x$(1),cache=writeback,werror=report \
    -device virtio-blk-device,drive=x$(1),bus=virtio-mmio-bus.$(1)
ALL_DISKS := build/fs.img $(value DISKS)
DISK_OPTIONS = $(foreach n,$(shell seq 1 $(words $(ALL_DISKS))),$(call \
    disk_options,$(shell expr $(n) - 1),$(word $(n),$(ALL_DISKS))))
# QEMU's own key is ^] (0x1d): ^A, its default, is the shell's.
QEMU_COMMAND = $(QEMU) -machine virt -cpu rv64,sstc=true -bios none \
    -kernel $(KERNEL) -m $(MEM) -smp $(CPUS) -nographic -echr 0x1d \
    -global virtio-mmio.force-legacy=false $(DISK_OPTIONS) \
    $(if $(strip $(value ARGS)),-append $(call word_of,$(strip $(value ARGS))))

# In a student's tree: which functions of other labs nobody has written in it.
UNSOLVED := $(wildcard grade/labs/UNSOLVED.md)
qemu: $(KERNEL) build/fs.img ## boot to a shell (CPUS= MEM= DISKS= ARGS= DEBUG=); leave with poweroff, or ^] x
	$(if $(UNSOLVED),@echo 'note: in this tree these functions of other labs do less than they should:' \
	    $$(sed -n 's/^- .\([a-z0-9_]*\).*/\1/p' $(UNSOLVED))'; $(UNSOLVED) says what they do')
	$(QEMU_COMMAND)
qemu-gdb: $(KERNEL) build/fs.img ## boot as `make qemu` does, and wait for `make gdb` in another terminal (CPUS= MEM= DISKS= ARGS= DEBUG=)
	@echo '*** now type "make gdb" in another terminal'
	$(QEMU_COMMAND) -S -gdb chardev:gdb -chardev socket,id=gdb,path=build/gdb.sock,server=on,wait=off
gdb: $(KERNEL) ## attach to `make qemu-gdb`, with commands for the kernel's state (DEBUG=)
	$(GDB) -q -x tools/gdb/attach.gdb $(KERNEL)

# ---- tests ----

# One worker more than processors: tests wait for machines and programs a sixth of the time.
PYTEST = $(PYTHON) -m pytest -c pyproject.toml --rootdir=.
TESTERS = -n $(shell expr $(JOBS) + 1)
# A run of all tests ends with the slowest ones, so that a slow newcomer is seen.
SLOWEST := --durations=15 --durations-min=5
# T with .py in it is a file of a folder of tests/, or a test in a file, else words of tests' names.
# LAB chooses one lab's proof; then T chooses among its tests. In full, a file has its tests in the
# best order.
FOUND_TEST = "$$(T=$(call quoted,T); file=$${T%%::*}; echo "$$(ls tests/*/"$$file" 2>/dev/null || \
    echo "tests/$$file")$${T\#"$$file"}")"
TEST_CHOICE = $(if $(value LAB),$(TESTERS) $(if $(value T),-k $(call quoted,T)) \
    tests/grade/test_labs.py,$(if $(value T),$(if $(findstring .py,$(value T)),$(if $(filter 1,$(FULL)),\
    $(TESTERS) --dist loadgroup --no-loadscope-reorder )$(FOUND_TEST),\
    -k $(call quoted,T) tests),$(TESTERS) --dist loadgroup $(SLOWEST) tests))
check: all native $(TWIN) ## check in a minute what has just been changed: linters, types, the kernel's code on the host, a short run
	$(PYTEST) $(TESTERS) -m check tests
test: all $(if $(value LAB),$(GRADING),native $(TWIN) $(if $(filter 1,$(FULL))$(wildcard build/live/wasm/complete),$(LIVE))) ## run the tests; T='name' or T='test_file.py' selects, FULL=1: labs in full; LAB=name: the proof of one lab
	$(if $(value LAB),,@$(MAKE) --no-print-directory DEBUG=1 build/debug/kernel/kernel.elf)
	$(PYTEST) $(TEST_CHOICE)

# ---- the rest ----

format: ## format all sources by the checked-in settings
	.venv/bin/clang-format -i $$(find kernel policies drives user mkfs sluice tools tests -name '*.[ch]')
	.venv/bin/ruff check -q --no-cache --fix sluice grade book tools tests
	.venv/bin/ruff format -q --no-cache sluice grade book tools tests
setup: ## install what is missing (every command does so by itself)
	sh tools/setup.sh
clean: ## remove what was built; tools and .venv stay
	rm -rf build compile_commands.json
version: ## print the version, which CHANGELOG.md has
	@awk '/^## [0-9]/ { print "Sluice " $$2; exit }' CHANGELOG.md
help: ## list the goals
	@if [ -t 1 ]; then exec 3<&1; columns=$$(stty size <&3 2>/dev/null | cut -d ' ' -f 2); fi; \
	    awk -v columns="$${columns:-0}" -f tools/help.awk Makefile tools/rules/commands.mk
