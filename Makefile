# Sluice: build, run, test. `make help` lists the commands.
#
# - Sources are found by wildcard: adding a kernel file, a policy, a user
#   program or a test edits no list.
# - A second make, which holds a lock meanwhile, does all building: two makes, or a make
#   and a snapshot (sluice/host/snapshot.py), wait for each other.
# - Every object depends on the headers it includes (-MMD) and on a file that
#   holds its command, so other flags (CFLAGS_EXTRA=-g3) rebuild it.
# - The debug kernel (DEBUG=1) lives in build/debug, beside the other.
# - tools/setup.sh runs first. It installs what is missing of what the goal needs.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
JOBS ?= $(shell nproc)# compilers and machines at a time
# Is this make -n? Asked before the flags below, which have an n too.
DRY_RUN := $(findstring n,$(firstword -$(MAKEFLAGS)))
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/sh

# Tests use the programs of the system, and nothing that a person installed.
export PATH := $(if $(filter test mutants,$(MAKECMDGOALS)),/usr/sbin:/usr/bin:/sbin:/bin,$(PATH):/usr/sbin:/sbin)
# ---- names that were typed ----

define newline


endef
# The text $(1) as one word of the shell, whatever it contains.
word_of = '$(subst ','\'',$(1))'
# Every goal and every variable of the command line is known. A goal takes the variables that its
# line of help names, and these:
TAKEN_BY_ALL := SETUP LOCK V JOBS TOOLPREFIX QEMU HOSTCC GDB CFLAGS_EXTRA WERROR
ifeq ($(MAKELEVEL),0)
TYPED := $(foreach v,$(filter-out -%,$(.VARIABLES)),$(if $(filter command,$(firstword $(origin $(v)))),$(v)))
UNKNOWN := $(shell TYPED_GOALS=$(call word_of,$(MAKECMDGOALS)) TYPED_NAMES=$(call word_of,$(TYPED)) \
    TYPED_ARGS=$(call word_of,$(if $(filter qemu qemu-gdb run,$(MAKECMDGOALS)),$(if $(findstring \
    $(newline),$(value ARGS)),,$(value ARGS)))) \
    TAKEN_BY_ALL='$(TAKEN_BY_ALL)' POLICIES='$(filter-out policies/lib/%,$(wildcard policies/*/*.c))' \
    awk -f tools/typed.awk Makefile drives/*.c book/arguments.toml 2>/dev/null)
$(if $(UNKNOWN),$(error $(UNKNOWN)))
endif

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
# `make events` is given a RUN= of its own: the folder of a graded run.
RUN_FOLDER := $(if $(filter command,$(origin RUN)),$(value RUN))
# Runs a module on a snapshot of what is built now.
override RUN := $(PYTHON) -m sluice.host.snapshot -m
override RUN_WITHOUT_TWIN := $(PYTHON) -m sluice.host.snapshot --without-twin -m

# The goal twin, on processors for which there is a sluice/twin/switch_PROCESSOR.S. The compiler
# names the one that it compiles for; before it is installed, the host's counts.
HOST := $(or $(firstword $(subst -, ,$(shell $(HOSTCC) -dumpmachine 2>/dev/null))),$(shell uname -m))
TWIN_HOSTS := $(patsubst sluice/twin/switch_%.S,%,$(wildcard sluice/twin/switch_*.S))
TWIN := $(if $(filter $(HOST),$(TWIN_HOSTS)),twin)
$(if $(TWIN),,$(if $(filter twin twin-costs sweep trace matrix tune,$(MAKECMDGOALS))$(filter twin,$(value ENGINE)),$(error \
    the twin runs on $(TWIN_HOSTS) only, and this host is $(HOST); the other goals use QEMU)))

# What the tests of `make live` need, where the compiler for it is installed. It takes as long to
# make as all else, so it is kept up to date only where it has been made, and FULL=1 makes it.
LIVE := $(if $(filter 3,$(shell for p in clang wasm-ld wasm-opt; do command -v $$p; done | grep -c .)),$(if \
    $(wildcard /usr/lib/wasm32-wasi/libc.a),build/live/wasm/complete))

# What `make qemu` boots. Any of these may be given on the command line.
CPUS ?= 2#     harts, 1 to 8
MEM ?= 128M#   memory, 32M to 8G
DISKS ?=#      images of further disks: disk1, disk2, ...
ARGS ?=#       boot arguments, as ARGS='sched=fcfs nbuf=1000'
DEBUG ?=#      1: assertions, lock order, UBSan
FS_MB ?= 64#   size of the root disk in MiB
V ?=#          1: print whole commands

comma := ,
# The variable named $(1), as it was given, as one word: for people's names and paths.
quoted = $(call word_of,$(value $(1)))

# A program's option, and its last word, if the variable is set. $(1) option,
# $(2) variable; $(1) variable
option = $(if $(value $(2)),--$(1)=$(call quoted,$(2)))
operand = $(if $(value $(1)),-- $(call quoted,$(1)))

# Print a word and the file made, or with V=1 the whole command, and run it.
run = $(if $(filter 1,$(V)),$(2),@echo '  $(1) $@' && $(2))

# ---- checks of the variables that were given ----

# Was a variable given, with make or in the environment? $(1) its name
given = $(filter environment command,$(firstword $(origin $(1))))
# The end of a message about an unknown name: the nearest one, or all. $(1) the name, $(2) all
nearest = $(shell NEAREST_TO=$(call word_of,$(1)) AMONG='$(2)' awk -f tools/typed.awk)
# Stop unless a variable, if given, is one of these names. $(1) the variable, $(2) the names
must_be_one_of = $(if $(call given,$(1)),$(if $(value $(1)),$(if $(and $(filter $(2),$(value \
    $(1))),$(if $(word 2,$(value $(1))),,one)),,$(error $(1)=$(value $(1)): must be one of $(2); $(call \
    nearest,$(value $(1)),$(2))))))
# Stop unless a variable, if given, looks like this.
# $(1) its name, $(2) a regular expression, $(3) the same in words
must_be = $(if $(call given,$(1)),$(if $(shell printf '%s\n' $(call quoted,$(1)) | \
    grep -Eqx '$(2)' && echo good),,$(error $(1)=$(value $(1)): must be $(3))))
$(foreach v,ARGS DO GDB_OPTIONS DISKS CPUS MEM FS_MB JOBS T E N SIZE WITH SCHEDULER FORMAT OUT LAB \
    SUBMISSION SUBMISSIONS LATE TEST NONCE BASE SOLVED STUDENT STUDENTS FILES MUTANT NAME AT READ \
    QEMU_OTHER OVER METRICS FILE TRACES CACHE POLICIES DRIVE SCALE FIT LOOP \
    CFLAGS_EXTRA INFLIGHT TMPDIR CURDIR,$(if \
    $(findstring $(newline),$(value $(v))),$(error $(v): must be one line)))
$(foreach v,DEBUG V FULL LIST JUDGE LINUX WERROR NEWEST,$(call must_be,$(v),[01]?,1 or nothing))
$(if $(filter fresh,$(MAKECMDGOALS)),$(if $(filter 1,$(FULL)),$(if $(filter 1,$(NEWEST)),$(error \
    fresh: give either FULL=1, the book and all tests on Debian 12 and 13, or NEWEST=1, a build on sid))))
$(call must_be_one_of,ENGINE,machine twin)
$(call must_be_one_of,SETUP,yes no)
$(call must_be,JOBS,[1-9][0-9]?[0-9]?,a number from 1 to 999)
$(call must_be,INFLIGHT,[1-9][0-9]?[0-9]?,a number from 1 to 256)
ifeq ($(MAKELEVEL)$(filter -j% --jobs%,$(MAKEFLAGS)),0)
MAKEFLAGS += --jobs=$(JOBS)
endif
$(call must_be,POINTS,[1-9][0-9]*,a number from 1)
$(call must_be_one_of,HOW,grid random quasi search)
$(call must_be_one_of,FIT,refuse pack fold)
$(call must_be_one_of,LOOP,open closed)
$(call must_be,COUNT,[1-9][0-9]*,a number from 1)
$(call must_be,ROUNDS,[1-9][0-9]*,a number from 1)
$(call must_be,SEED,[0-9]+,a whole number)
$(call must_be,FS_MB,[1-9][0-9]*,a number of MiB from 1)
ifneq ($(filter qemu qemu-gdb run,$(MAKECMDGOALS)),)
$(call must_be,CPUS,[1-8],a number of harts from 1 to 8)
$(call must_be,MEM,[1-9][0-9]?[0-9]?[0-9]?[MG],memory from 32M to 8G)
MEM_MIB := $(shell echo $$(($(subst G,*1024,$(subst M,,$(MEM))))))
$(if $(shell test $(MEM_MIB) -ge 32 && test $(MEM_MIB) -le 8192 && echo good),,$(error \
    MEM=$(MEM): must be memory from 32M to 8G))
$(foreach disk,$(value DISKS),$(if $(shell test -f $(call word_of,$(disk)) && \
    echo good),,$(error DISKS: there is no file $(disk) (a blank ends a path))))
$(if $(word 8,$(value DISKS)),$(error DISKS: the machine has room for 7 further disks))
endif
ifneq ($(filter experiment export replay why theatre animation,$(MAKECMDGOALS)),)
$(call must_be,N,([1-9][0-9]*)?,the number of a run: make experiment E= LIST=1 lists them)
$(call must_be,N2,([1-9][0-9]*)?,the number of a run: make experiment E= LIST=1 lists them)
endif
# Stop if one of the goals $(1) lacks the variable $(2); $(3) says what to give.
needed = $(if $(filter $(1),$(MAKECMDGOALS)),$(if $(value $(2)),,$(error \
    $(filter $(1),$(MAKECMDGOALS)) lacks $(2): give $(3))))
LABS := $(sort $(patsubst grade/labs/%/lab.toml,%,$(wildcard grade/labs/*/lab.toml)))
OF_A_LAB := grade example class skeleton samples solution bundle fair
$(call needed,$(OF_A_LAB),LAB,one of the labs as LAB=$(firstword \
    $(LABS)); they are $(LABS))
# One of the three: all make something again and compare it with the first time.
$(if $(filter replay,$(MAKECMDGOALS)),$(if $(filter 1,$(words $(if $(value E),E) \
    $(if $(value RUN_FOLDER),R) $(if $(value CERTIFICATE),C))),,$(error replay: give either E=, an \
    experiment whose run is made again in gdb, or RUN=, the folder of a graded run, or \
    CERTIFICATE=, the certificate.json of a grade)))
$(if $(filter events,$(MAKECMDGOALS)),$(if $(value RUN_FOLDER),,$(error \
    events lacks RUN: give the folder of a run as in build/grade/elevator/runs/syncs)))
$(call needed,events,EVENT,the number of an event: a failed test's message names one)
$(call must_be,EVENT,[0-9]+,the number of an event)
$(call needed,run,DO,commands of Sluice's shell)
$(call needed,class,SUBMISSIONS,the folder of the submissions)
$(call needed,skeleton samples solution,OUT,the folder to be made)
$(call needed,sweep,E,an experiment as E=mogul-4.1-fast)
$(call needed,tune,E,a file of experiments/tune as E=sluice)
# Labs that are answered by numbers: the student's name determines the machine.
NUMBERS := $(patsubst grade/labs/%/answers.toml,%,$(wildcard grade/labs/*/answers.toml))
$(if $(filter $(NUMBERS),$(value LAB)),$(if $(value STUDENTS),,$(call \
    needed,skeleton,STUDENT,the student's name or (STUDENTS=) a file of names)))
$(call needed,bundle,OUT,the .zip to be made)
# In the environment NAME is something else: under WSL, the computer's name.
ifneq ($(origin NAME),command line)
NAME :=
endif
$(call needed,newlab,NAME,the new lab's name as NAME=my-lab)
$(if $(filter test $(OF_A_LAB),$(MAKECMDGOALS)),$(if $(value LAB),$(if $(filter $(LABS),$(value LAB)),,$(error \
    LAB=$(LAB): there is no such lab; $(call nearest,$(value LAB),$(LABS))))))
# T= with .py in it is a file of tests, or a test in one.
$(if $(filter test,$(MAKECMDGOALS)),$(if $(findstring .py,$(value T)),$(if $(wildcard \
    tests/*/$(firstword $(subst ::, ,$(value T)))),,$(error T=$(value T): there is no such file of tests; \
    $(call nearest,$(value T),$(notdir $(wildcard tests/*/test_*.py)))))))

# ---- tools ----

# The groups of tools/setup.sh that a goal needs. $(1) groups, $(2) goals
needs = $(foreach goal,$(2),$(eval needs-$(goal) := $(1)))
$(call needs,machine,qemu qemu-gdb)
$(call needs,gdb,gdb)
$(call needs,machine python,run)
$(call needs,fresh,fresh)
$(call needs,run,twin twin-costs bench agree repeat export why exercise)
$(call needs,measure,measure-build)
$(call needs,report,experiment report results results-check results-same results-tables findings theatre animation)
$(call needs,sweep,sweep trace matrix tune)
$(call needs,book,book)
$(call needs,live,live $(filter build/live/%,$(MAKECMDGOALS)))
$(call needs,grade,grade example class skeleton samples solution newlab bundle fair events)
$(call needs,grade gdb,replay)
$(call needs,test,test mutants)
$(if $(filter 1,$(FULL)),$(call needs,whole,test))
$(call needs,format,format)

# Some goals need no tools; all others set them up first. With SETUP=no the tools
# are taken to be there.
SETUP ?= yes
SET_UP := $(filter-out help version clean setup,$(or $(MAKECMDGOALS),all))
ifneq ($(SET_UP),)
ifeq ($(DRY_RUN)$(filter no,$(SETUP)),)
CHOSEN := $(foreach v,TOOLPREFIX GDB QEMU HOSTCC,$(v)=$(call quoted,$(v)))
ifneq ($(shell $(CHOSEN) sh tools/setup.sh $(sort $(foreach \
    goal,$(SET_UP),$(or $(needs-$(goal)),build))) >&2 && echo done),done)
$(error the tools are not set up: see above)
endif
endif
endif

# ---- the kernel ----

K := $(if $(filter 1,$(DEBUG)),build/debug,build)
KERNEL := $(K)/kernel/kernel.elf
KCC := $(TOOLPREFIX)gcc
# A release builds with any GCC, also with one that warns about more. Our CI sets WERROR=1. Which
# warnings count in a student's file, its lab says (grade/definition/lab.py).
WARNINGS := -Wall -Wextra $(if $(filter 1,$(WERROR)),-Werror)
KCFLAGS := -std=gnu11 -O2 -g $(WARNINGS) \
    -Wno-missing-field-initializers \
    -march=rv64imac_zicsr_zifencei -mabi=lp64 -mcmodel=medany -mno-relax \
    -ffreestanding -nostdlib -fno-omit-frame-pointer -fno-common -fno-pic \
    -fno-stack-protector -I. $(CFLAGS_EXTRA)
ifeq ($(filter 1,$(DEBUG)),1)
KCFLAGS += -DDEBUG -fsanitize=undefined
endif

# The compiler's own library for this ABI. With -march as above the compiler names the
# library for floating point, which cannot be linked with the rest.
LIBGCC := -L$(dir $(shell $(KCC) -march=rv64imac -mabi=lp64 -print-libgcc-file-name 2>/dev/null))

KSRC := $(sort $(wildcard kernel/*.[cS] kernel/*/*.[cS] policies/*/*.c drives/*.c drives/*/*.c))
KOBJ := $(patsubst %.S,$(K)/%.S.o,$(KSRC:%.c=$(K)/%.o))
KLINK := $(KCC) $(KCFLAGS) -static -Wl,--build-id=none \
    -Wl,--no-warn-rwx-segments -Wl,--orphan-handling=error -fno-use-linker-plugin \
    -T kernel/machine/kernel.ld $(LIBGCC)

# ---- user programs ----

# _LIBC_LIMITS_H_: keeps the limits.h of a compiler for Linux from including its libc's.
UCFLAGS := -std=gnu11 -O2 -g -ffunction-sections -fdata-sections $(WARNINGS) \
    -march=rv64imac_zicsr_zifencei -mabi=lp64 -mcmodel=medany -mno-relax \
    -ffreestanding -nostdlib -fno-omit-frame-pointer -fno-common -fno-pic \
    -fno-stack-protector -D_LIBC_LIMITS_H_ -I. $(CFLAGS_EXTRA)
# A program is a file user/NAME.c, or a folder user/NAME/ with all its sources.
ULIBSRC := $(sort $(wildcard user/lib/*.c user/lib/*.S))
USINGLE := $(sort $(wildcard user/*.c))
UPARTS := $(sort $(filter-out user/lib/%,$(wildcard user/*/*.c)))
UFOLDERS := $(sort $(patsubst %/,%,$(dir $(UPARTS))))
USRC := $(USINGLE) $(UPARTS)
UPROG := $(USINGLE:%.c=build/%) $(UFOLDERS:%=build/%)
$(foreach f,$(filter $(UFOLDERS:%=%.c),$(USINGLE)),$(error $(f) and the folder \
    $(f:.c=) are one program of two: remove one))
ULIB := $(patsubst %.S,build/%.S.o,$(ULIBSRC:%.c=build/%.o))
ULINK := $(KCC) $(UCFLAGS) -static -Wl,--build-id=none \
    -Wl,-z,max-page-size=4096 -Wl,--gc-sections -Wl,-e,_start -Wl,-u,_start $(LIBGCC) \
    $(if $(wildcard user/user.ld),-T user/user.ld,-Wl,-Ttext-segment=0x10000)

# The programs of sluice/programs are on no disk but those that ask for them
# (sluice/experiment/run.py): a file each, built as those of user/.
ASKED := $(patsubst sluice/programs/%.c,%,$(wildcard sluice/programs/*.c))

# Programs of the Linux guest (make bench LINUX=1): an object file of Sluice's, or one of
# tools/bench/guest, with the library's object files and the system calls of calls.c.
GUEST := $(addprefix build/guest/,init bench true)

# ---- programs of the host ----

HCFLAGS := -std=gnu11 -O2 -g $(WARNINGS) -I. $(CFLAGS_EXTRA)
PLAIN_CFLAGS := $(HCFLAGS) -Wno-missing-field-initializers
NATIVE_CFLAGS := $(PLAIN_CFLAGS) -O1 -fno-omit-frame-pointer \
    -fsanitize=address,undefined -fno-sanitize-recover=all
MKFS := build/mkfs/mkfs
HOSTSRC := $(sort $(wildcard mkfs/*.c tests/native/*.c tests/native/*/*.c))
MKFS_OBJ := $(patsubst %.c,build/%.o,$(filter mkfs/%,$(HOSTSRC)))

# ---- goals ----

# Programs that a grading runs.
GRADING := $(addprefix build/native/,drive_times_tool places_tool)

.PHONY: all native twin qemu qemu-gdb gdb run test fresh mutants exercise bench experiment tune trace twin-costs agree repeat matrix measure-build results results-check results-same results-tables findings export report book grade example replay why theatre animation live events skeleton class samples solution newlab bundle format setup clean version help FORCE

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
native:
	$(locked)
twin: ## build what the Python package sluice needs: the kernel for this computer, and the drives
	$(locked)
build/%: FORCE
	$(locked)

else

all: $(KERNEL) $(MKFS) $(UPROG) build/fs.img compile_commands.json $(ASKED:%=build/programs/bin/%)

# A file that holds the command for a kind of object, or the list of a program's
# parts. It is written when that changes, so that a removed source is noticed too.
# $(1) file, $(2) command
define command_file
$(1): FORCE
	@mkdir -p $$(@D)
	@echo $(call word_of,$(2)) | cmp -s - $$@ || echo $(call word_of,$(2)) > $$@
endef
$(eval $(call command_file,$(K)/kernel.command,$(KCC) $(KCFLAGS)))
$(eval $(call command_file,$(K)/link.command,$(KLINK) $(KOBJ)))
$(eval $(call command_file,build/user.command,$(KCC) $(UCFLAGS)))
$(eval $(call command_file,build/lib.command,$(ULINK) $(ULIB)))
$(eval $(call command_file,build/image.command,$(FS_MB) $(UPROG)))
$(eval $(call command_file,build/host.command,$(HOSTCC) $(HCFLAGS)))
$(eval $(call command_file,build/mkfs.command,$(HOSTCC) $(MKFS_OBJ)))
$(eval $(call command_file,build/native.command,$(HOSTCC) $(NATIVE_CFLAGS)))
$(eval $(call command_file,build/plain.command,$(HOSTCC) $(PLAIN_CFLAGS)))

$(KOBJ): $(K)/kernel.command
$(K)/kernel/%.o: kernel/%.c
	@mkdir -p $(@D)
	$(call run,CC,$(KCC) $(KCFLAGS) -MMD -MP -c -o $@ $<)
$(K)/policies/%.o: policies/%.c
	@mkdir -p $(@D)
	$(call run,CC,$(KCC) $(KCFLAGS) -MMD -MP -c -o $@ $<)
$(K)/drives/%.o: drives/%.c
	@mkdir -p $(@D)
	$(call run,CC,$(KCC) $(KCFLAGS) -MMD -MP -c -o $@ $<)
$(K)/kernel/%.S.o: kernel/%.S
	@mkdir -p $(@D)
	$(call run,CC,$(KCC) $(KCFLAGS) -MMD -MP -c -o $@ $<)

# The kernel is linked twice, the second time with a table of the first's symbols,
# which must not have moved. Objects whose sources are gone are removed, because the
# grader links all objects that it finds.
KOBJ_OLD := $(filter-out $(KOBJ),$(wildcard $(K)/kernel/*/*.o $(K)/policies/*/*.o $(K)/drives/*.o $(K)/drives/*/*.o))
$(K)/kernel/kernel1.elf: $(KOBJ) kernel/machine/kernel.ld $(K)/link.command
	$(if $(KOBJ_OLD),@rm -f $(KOBJ_OLD) $(KOBJ_OLD:%.o=%.d))
	$(call run,LD,$(KLINK) -o $@ $(KOBJ) -lgcc)
$(K)/kernel/ksyms.S: $(K)/kernel/kernel1.elf kernel/machine/symbols.awk
	@$(TOOLPREFIX)nm -n $< | awk -f kernel/machine/symbols.awk > $@
$(K)/kernel/ksyms.o: $(K)/kernel/ksyms.S
	$(call run,CC,$(KCC) $(KCFLAGS) -c -o $@ $<)
$(KERNEL): $(K)/kernel/ksyms.o $(K)/kernel/kernel1.elf
	$(call run,LD,$(KLINK) -o $@ $(KOBJ) $< -lgcc)
	@for e in kernel1 kernel; do \
	    $(TOOLPREFIX)nm -n $(@D)/$$e.elf | grep -i ' t ' > $(@D)/$$e.text; \
	done; cmp $(@D)/kernel1.text $(@D)/kernel.text || \
	    { echo 'kernel.ld: the symbol table moves the text' >&2; exit 1; }

$(USINGLE:%.c=build/%.o) $(UPARTS:user/%.c=build/parts/%.o) $(ULIB): build/user.command
build/user/%.o: user/%.c
	@mkdir -p $(@D)
	$(call run,CC,$(KCC) $(UCFLAGS) -MMD -MP -c -o $@ $<)
build/user/%.S.o: user/%.S
	@mkdir -p $(@D)
	$(call run,CC,$(KCC) $(UCFLAGS) -MMD -MP -c -o $@ $<)
build/user/lib.a: $(ULIB) build/lib.command
	@rm -f $@
	$(call run,AR,$(TOOLPREFIX)ar rcs $@ $(ULIB))
$(USINGLE:%.c=build/%): build/user/%: build/user/%.o build/user/lib.a $(wildcard user/user.ld)
	$(call run,LD,$(ULINK) -o $@ $< build/user/lib.a -lgcc)

# The objects of a folder's program. They are not in build/user/NAME, because that is
# the program.
build/parts/%.o: user/%.c
	@mkdir -p $(@D)
	$(call run,CC,$(KCC) $(UCFLAGS) -MMD -MP -c -o $@ $<)
# $(1) the program's name, $(2) its objects
define folder_program
$(call command_file,build/parts/$(1).command,$(2))
build/user/$(1): $(2) build/user/lib.a build/parts/$(1).command $(wildcard user/user.ld)
	$$(call run,LD,$$(ULINK) -o $$@ $(2) build/user/lib.a -lgcc)
endef
$(foreach f,$(UFOLDERS),$(eval $(call folder_program,$(notdir $(f)),$(patsubst \
    user/%.c,build/parts/%.o,$(filter $(f)/%,$(UPARTS))))))

$(ASKED:%=build/sluice/programs/%.o): build/user.command
build/sluice/programs/%.o: sluice/programs/%.c
	@mkdir -p $(@D)
	$(call run,CC,$(KCC) $(UCFLAGS) -MMD -MP -c -o $@ $<)
$(ASKED:%=build/programs/bin/%): build/programs/bin/%: build/sluice/programs/%.o build/user/lib.a $(wildcard user/user.ld)
	@mkdir -p $(@D)
	$(call run,LD,$(ULINK) -s -o $@ $< build/user/lib.a -lgcc)

build/tools/bench/guest/%.o: tools/bench/guest/%.c build/user.command
	@mkdir -p $(@D)
	$(call run,CC,$(KCC) $(UCFLAGS) -MMD -MP -c -o $@ $<)
build/guest/init: build/tools/bench/guest/init.o
build/guest/bench build/guest/true: build/guest/%: build/user/%.o
$(GUEST): build/tools/bench/guest/calls.o build/user/lib.a $(wildcard user/user.ld)
	@mkdir -p $(@D)
	$(call run,LD,$(ULINK) -s -o $@ $(filter %.o,$^) build/user/lib.a -lgcc)

$(MKFS_OBJ): build/host.command
build/mkfs/%.o: mkfs/%.c
	@mkdir -p $(@D)
	$(call run,CC,$(HOSTCC) $(HCFLAGS) -MMD -MP -c -o $@ $<)
$(MKFS): $(MKFS_OBJ) build/mkfs.command
	$(call run,LD,$(HOSTCC) $(HCFLAGS) -o $@ $(MKFS_OBJ))

# Kernel code that runs on the host, in tests under ASan and UBSan. Each program
# tests/native/NAME_test.c or NAME_tool.c names its other sources in a line "link:".
# Those of them that are in tests/native may name more. A folder stands for all
# sources in it.
NATIVE := $(patsubst tests/%.c,build/%,$(filter %_test.c %_tool.c,$(HOSTSRC)))
LINKS := $(shell awk '/^ \* link: /{for (i = 3; i <= NF; i++) print FILENAME ":" $$i}' \
    /dev/null $(filter tests/native/%,$(HOSTSRC)))
links = $(foreach s,$(patsubst $(1):%,%,$(filter $(1):%,$(LINKS))),$(if \
    $(filter %.c,$(s)),$(s),$(wildcard $(s)/*.c $(s)/*/*.c)))
native_sources = $(sort $(foreach s,$(call links,tests/native/$(1).c),$(s) \
    $(if $(filter tests/native/%,$(s)),$(call links,$(s)))))
# Without sanitizers: what commands start, and not tests alone. A sanitizer needs terabytes of
# addresses, which `ulimit -v` refuses.
PLAIN := drive_parts_tool drive_replay_tool $(notdir $(GRADING))
# Built both ways: tests run one, and published speeds are those of the other, in build/plain.
TIMED := replace_hits_tool
# $(1) the program's name, $(2) the folder of its objects, $(3) where its flags are, $(4) its folder
define native_program
build/$(4)/$(1): $(patsubst %.c,build/$(2)/%.o,tests/native/$(1).c \
    $(call native_sources,$(1))) tests/native/$(1).c
	@mkdir -p $$(@D)
	$$(call run,LD,$$(HOSTCC) $$($(3)) -o $$@ $$(filter %.o,$$^))
endef
$(foreach n,$(filter-out $(PLAIN),$(notdir $(NATIVE))),$(eval $(call native_program,$(n),native,NATIVE_CFLAGS,native)))
$(foreach n,$(PLAIN),$(eval $(call native_program,$(n),plain,PLAIN_CFLAGS,native)))
$(foreach n,$(TIMED),$(eval $(call native_program,$(n),plain,PLAIN_CFLAGS,plain)))
native: $(NATIVE) $(TIMED:%=build/plain/%)

build/native/%.o: %.c build/native.command
	@mkdir -p $(@D)
	$(call run,CC,$(HOSTCC) $(NATIVE_CFLAGS) -MMD -MP -c -o $@ $<)

build/plain/%.o: %.c build/plain.command
	@mkdir -p $(@D)
	$(call run,CC,$(HOSTCC) $(PLAIN_CFLAGS) -MMD -MP -c -o $@ $<)

# The twin: the kernel and the programs, compiled for the host (sluice/twin/host.c). Its
# processor's header comes before the kernel's; all other sources are the same but for those
# that speak to the hardware.
# fork moves the addresses on a stack: so they are not signed. No library has atomics' functions.
TWIN_CC_aarch64 := -mbranch-protection=none -mno-outline-atomics
TWIN_CC := $(HOSTCC) -Isluice/twin/shadow $(HCFLAGS) -Wno-missing-field-initializers \
    -funsigned-char -fno-common -ffp-contract=off $(TWIN_CC_$(HOST))
# Hidden: a preloaded library that calls strlen means the C library's.
TWIN_KERNEL_CC := $(TWIN_CC) -no-pie -fno-pie -fno-toplevel-reorder -fvisibility=hidden
TWIN_LINK := $(TWIN_KERNEL_CC) -Wl,--defsym=kernel_end=0x80200000
# What a policy asks about a queue is counted (sluice/twin/cost.c); what the kernel asks is not.
LOOKS := $(addprefix queue_,at_or_after before circular oldest approach)
COUNTED = $(foreach f,$(LOOKS),-D$(f)=__$(if $(filter build/%/policies/,$(dir $(@D))),wrap,real)_$(f))
TWIN_PROGRAM_CC := $(TWIN_CC) -fPIE -ffreestanding -fno-stack-protector \
    -D_LIBC_LIMITS_H_ -Wl,--build-id=none
TWIN_HARDWARE := $(addprefix kernel/,machine/clock.c machine/cpu.c machine/fdt.c machine/irq.c \
    machine/panic.c machine/power.c machine/uart.c machine/ubsan.c driver/virtio_blk.c proc/vm.c)
TWIN_HOST := $(filter-out sluice/twin/call.c,$(wildcard sluice/twin/*.c)) sluice/twin/switch_$(HOST).S
TWIN_SRC := $(filter-out $(TWIN_HARDWARE),$(filter %.c,$(KSRC))) $(TWIN_HOST)
TWIN_OBJ := $(patsubst %,build/twin/%.o,$(basename $(TWIN_SRC)))
TWIN_LIB := $(patsubst %.c,build/twin/%.o,sluice/twin/call.c $(filter-out user/lib/syscall.c \
    user/lib/compute.c,$(filter %.c,$(ULIBSRC))))
TWIN_PARTS := $(patsubst %.c,build/twin/%.o,$(filter-out user/usertests/%,$(USRC)))
TWIN_ASKED := $(ASKED:%=build/twin/sluice/programs/%.o)
TWIN_PROGRAMS := $(patsubst build/user/%,build/twin/bin/%,$(filter-out %/usertests,$(UPROG)))
$(eval $(call command_file,build/twin/kernel.command,$(TWIN_KERNEL_CC) $(COUNTED)))
$(eval $(call command_file,build/twin/program.command,$(TWIN_PROGRAM_CC)))
$(eval $(call command_file,build/twin/link.command,$(TWIN_LINK) $(TWIN_OBJ)))

twin: all build/native/drive_replay_tool build/twin/twin $(TWIN_PROGRAMS) $(ASKED:%=build/twin/bin/%)

$(TWIN_OBJ): build/twin/kernel.command
$(filter-out build/twin/sluice/twin/switch_%,$(TWIN_OBJ)): build/twin/%.o: %.c
	@mkdir -p $(@D)
	$(call run,CC,$(TWIN_KERNEL_CC) $(COUNTED) $(TWIN_RENAMED) -MMD -MP -c -o $@ $<)
build/twin/sluice/twin/switch_$(HOST).o: sluice/twin/switch_$(HOST).S
	@mkdir -p $(@D)
	$(call run,CC,$(TWIN_KERNEL_CC) -MMD -MP -c -o $@ $<)
build/twin/twin: $(TWIN_OBJ) build/twin/link.command
	$(call run,LD,$(TWIN_LINK) -o $@ $(TWIN_OBJ))
# The host's functions move memory: the kernel's loops are made for QEMU.
build/twin/kernel/base/string.o: TWIN_RENAMED := -Dmemcpy=plain_memcpy \
    -Dmemmove=plain_memmove -Dmemset=plain_memset -Dmemcmp=plain_memcmp

$(TWIN_LIB) $(TWIN_PARTS) $(TWIN_ASKED): build/twin/program.command
$(TWIN_LIB) $(TWIN_PARTS) $(TWIN_ASKED): build/twin/%.o: %.c
	@mkdir -p $(@D)
	$(call run,CC,$(TWIN_PROGRAM_CC) -MMD -MP -c -o $@ $<)
# $(1) the program's name
define twin_program
build/twin/bin/$(1): $(filter build/twin/user/$(1).o build/twin/user/$(1)/%.o,$(TWIN_PARTS)) $(TWIN_LIB)
	@mkdir -p $$(@D)
	$$(call run,LD,$$(TWIN_PROGRAM_CC) -nostdlib -static-pie -o $$@ $$^)
endef
$(foreach p,$(notdir $(TWIN_PROGRAMS)),$(eval $(call twin_program,$(p))))
$(ASKED:%=build/twin/bin/%): build/twin/bin/%: build/twin/sluice/programs/%.o $(TWIN_LIB)
	@mkdir -p $(@D)
	$(call run,LD,$(TWIN_PROGRAM_CC) -nostdlib -static-pie -o $@ $^)

# The twin in a page: the same sources for WebAssembly (sluice/wasm/place.h). A Debian's clang
# makes modules with addresses of 64 bits; binaryen makes them 32, and lets calls be left and
# entered again (sluice/wasm/stack.h).
LIVE_CC := clang --target=wasm64 -Isluice/wasm/shadow -Isluice/twin/shadow -I. -std=gnu11 -O2 \
    $(WARNINGS) -Wno-format -Wno-c2x-extensions -Wno-unknown-pragmas \
    -Wno-missing-field-initializers -funsigned-char -fno-common -fno-builtin -mbulk-memory
LIVE_KERNEL_CC := $(LIVE_CC) -ffreestanding -include sluice/wasm/place.h
LIVE_PROGRAM_CC := $(LIVE_CC) -D_LIBC_LIMITS_H_
LIVE_LD := wasm-ld -mwasm64 --no-entry -z stack-size=131072
LIVE_RT = $(eval LIVE_RT := $(shell clang --target=wasm64-wasi -rtlib=compiler-rt -print-libgcc-file-name))$(LIVE_RT)
# From clang 19 on tables have 64 bits too, and a binaryen of that time makes them 32.
LIVE_TABLES := $(if $(LIVE),$(shell wasm-opt --help | grep -o -e '--table64-lowering'))
LIVE_OPT := wasm-opt --enable-bulk-memory --enable-mutable-globals --enable-memory64 \
    --memory64-lowering $(LIVE_TABLES) --asyncify --pass-arg=asyncify-imports@page.gate -O3
LIVE_KERNEL := $(patsubst %,build/live/%.o,$(basename $(filter-out $(TWIN_HARDWARE),$(filter \
    %.c,$(KSRC))) $(addprefix sluice/twin/,clock.c cost.c hart.c machine.c memory.c) \
    $(addprefix sluice/wasm/,host.c space.c switch.c place.S stack.S)))
LIVE_LIB := $(patsubst %,build/live/%.o,$(basename $(filter-out user/lib/syscall.c \
    user/lib/compute.c,$(filter %.c,$(ULIBSRC))) $(addprefix sluice/wasm/,call.c stack.S)))
LIVE_PARTS := $(patsubst %.c,build/live/%.o,$(filter-out user/usertests/%,$(USRC)))
LIVE_PROGRAMS := $(patsubst build/twin/bin/%,build/live/wasm/bin/%.wasm,$(TWIN_PROGRAMS))
LIVE_DRIVES := tests/native/drive_parts_tool.c $(call links,tests/native/drive_parts_tool.c)
$(eval $(call command_file,build/live/kernel.command,$(LIVE_KERNEL_CC) $(COUNTED) $(LIVE_KERNEL)))
$(eval $(call command_file,build/live/program.command,$(LIVE_PROGRAM_CC)))
$(eval $(call command_file,build/live/link.command,$(LIVE_LD) $(LIVE_OPT)))

$(filter build/live/kernel/% build/live/policies/% build/live/drives/% \
    build/live/sluice/twin/%,$(LIVE_KERNEL)): build/live/%.o: %.c build/live/kernel.command
	@mkdir -p $(@D)
	$(call run,CC,$(LIVE_KERNEL_CC) $(COUNTED) -MMD -MP -c -o $@ $<)
build/live/user/%.o: user/%.c build/live/program.command
	@mkdir -p $(@D)
	$(call run,CC,$(LIVE_PROGRAM_CC) -MMD -MP -c -o $@ $<)
build/live/sluice/wasm/%.o: sluice/wasm/%.c build/live/kernel.command
	@mkdir -p $(@D)
	$(call run,CC,$(if $(filter call,$*),$(LIVE_PROGRAM_CC),$(LIVE_KERNEL_CC)) -MMD -MP -c -o $@ $<)
build/live/sluice/wasm/%.o: sluice/wasm/%.S build/live/kernel.command
	@mkdir -p $(@D)
	$(call run,CC,$(LIVE_CC) -MMD -MP -c -o $@ $<)
build/live/wasm/kernel.wasm: $(LIVE_KERNEL) build/live/link.command
	@mkdir -p $(@D)
	$(call run,LD,$(LIVE_LD) --no-gc-sections -o build/live/kernel.wasm $(LIVE_KERNEL) $(LIVE_RT))
	@$(LIVE_OPT) build/live/kernel.wasm -o $@
# $(1) the program's name
define live_program
build/live/wasm/bin/$(1).wasm: $(filter build/live/user/$(1).o build/live/user/$(1)/%.o,$(LIVE_PARTS)) $(LIVE_LIB) build/live/link.command
	@mkdir -p $$(@D)
	$$(call run,LD,$$(LIVE_LD) --stack-first --export=__heap_base -o build/live/$(1).wasm $$(filter %.o,$$^) $$(LIVE_RT))
	@$$(LIVE_OPT) build/live/$(1).wasm -o $$@
endef
$(foreach p,$(notdir $(TWIN_PROGRAMS)),$(eval $(call live_program,$(p))))
# The drives' times, as on the host (sluice/debug/served.py), with Debian's C library.
build/live/wasm/drive_parts.wasm: $(LIVE_DRIVES) $(wildcard drives/*.h drives/*/*.h)
	@mkdir -p $(@D)
	$(call run,LD,clang --target=wasm32-wasi --sysroot=/usr -O2 -Wl$(comma)--no-gc-sections -I. -Wno-missing-field-initializers -o $@ $(LIVE_DRIVES))
build/live/wasm/complete: build/live/wasm/kernel.wasm $(LIVE_PROGRAMS) build/live/wasm/drive_parts.wasm
	@touch $@

# The root disk of `make qemu`. It is made again, and what was written to it is lost,
# only when a program in it or FS_MB has changed.
build/fs.img: $(UPROG) $(MKFS) build/image.command
	@rm -rf build/root && mkdir -p build/root/bin
	@for p in $(UPROG); do \
	    $(TOOLPREFIX)strip -o build/root/bin/$$(basename $$p) $$p; done
	$(call run,MKFS,$(MKFS) -s $(FS_MB)M -T $$(date +%s) -d build/root $@)

-include $(wildcard $(K)/kernel/*.d $(K)/kernel/*/*.d $(K)/policies/*/*.d $(K)/drives/*.d $(K)/drives/*/*.d build/user/*.d build/tools/bench/guest/*.d \
    build/user/lib/*.d build/parts/*/*.d build/mkfs/*.d build/native/*/*.d \
    build/native/*/*/*.d build/native/*/*/*/*.d build/plain/*/*.d build/plain/*/*/*.d \
    build/sluice/programs/*.d build/twin/*/*.d build/twin/*/*/*.d build/twin/*/*/*/*.d \
    build/live/*/*.d build/live/*/*/*.d build/live/*/*/*/*.d)

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
GDB_SOCKET := build/gdb.sock

# In a student's tree: which functions of other labs nobody has written in it.
UNSOLVED := $(wildcard grade/labs/UNSOLVED.md)
qemu: $(KERNEL) build/fs.img ## boot to a shell (CPUS= MEM= DISKS= ARGS= DEBUG=); leave with poweroff, or ^] x
	$(if $(UNSOLVED),@echo 'note: in this tree these functions of other labs do less than they should:' \
	    $$(sed -n 's/^- .\([a-z0-9_]*\).*/\1/p' $(UNSOLVED))'; $(UNSOLVED) says what they do')
	$(QEMU_COMMAND)

qemu-gdb: $(KERNEL) build/fs.img ## boot as `make qemu` does, and wait for `make gdb` in another terminal (CPUS= MEM= DISKS= ARGS= DEBUG=)
	@echo '*** now type "make gdb" in another terminal'
	$(QEMU_COMMAND) -S -gdb chardev:gdb -chardev \
	    socket,id=gdb,path=$(GDB_SOCKET),server=on,wait=off

gdb: $(KERNEL) ## attach to `make qemu-gdb`, with commands for the kernel's state (DEBUG=)
	$(GDB) -q -x tools/gdb/attach.gdb $(KERNEL)

run: all ## boot in virtual time, run the commands DO='iostat ls; sync' and power off: the same figures each time (ARGS= MEM= FS_MB=)
	@$(RUN) sluice.cli.run --do=$(call quoted,DO) --args=$(call quoted,ARGS) \
	    --mem='$(MEM)' --fs-mb='$(FS_MB)'

# One worker more than processors: tests wait for machines and programs a sixth of the time.
TESTERS = $(shell expr $(JOBS) + 1)
# T with .py in it is a file of a folder of tests/, or a test in one, else words of tests' names.
# LAB chooses one lab's proof; then T chooses among its tests. In full, a file has its tests in the
# best order.
FOUND_TEST = "$$(T=$(call quoted,T); file=$${T%%::*}; echo "$$(ls tests/*/"$$file" 2>/dev/null || \
    echo "tests/$$file")$${T\#"$$file"}")"
TEST_CHOICE = $(if $(value LAB),-n $(TESTERS) $(if $(value T),-k $(call quoted,T)) \
    tests/grade/test_labs.py,$(if $(value T),$(if $(findstring .py,$(value T)),$(if $(filter 1,$(FULL)),\
    -n $(TESTERS) --dist loadgroup --no-loadscope-reorder )$(FOUND_TEST),\
    -k $(call quoted,T) tests),-n $(TESTERS) --dist loadgroup tests))
test: all $(if $(value LAB),$(GRADING),native $(TWIN) $(if $(filter 1,$(FULL))$(wildcard build/live/wasm/complete),$(LIVE))) ## run the tests; T='name' or T='test_file.py' selects, FULL=1: labs in full; LAB=name: the proof of one lab
	$(if $(value LAB),,@$(MAKE) --no-print-directory DEBUG=1 build/debug/kernel/kernel.elf)
	$(PYTHON) -m pytest -c pyproject.toml --rootdir=. $(TEST_CHOICE)

mutants: all native $(TWIN) ## change the sources at random and count what the tests notice (COUNT=, SEED=, FILES='policies/*/*.c', MUTANT=one, JOBS=)
	@$(PYTHON) -m tools.mutants.command --jobs $(JOBS) $(call option,count,COUNT) \
	    $(call option,seed,SEED) $(call option,files,FILES) $(call option,mutant,MUTANT)

# The twin makes the runs if no engine is named. The debug kernel is in no snapshot.
exercise: all build/native/drive_replay_tool $(if $(filter machine,$(ENGINE)),,twin) ## change files at random under drawn policies, tunables, drives and disks, and compare them with a model (SEED=first, COUNT=seeds, ENGINE=machine: in QEMU with two harts, slower, JOBS=)
	$(if $(filter machine,$(ENGINE)),@$(MAKE) --no-print-directory DEBUG=1 build/debug/kernel/kernel.elf)
	@$(if $(filter machine,$(ENGINE)),$(PYTHON) -m,$(RUN)) tools.exercise.command --jobs $(JOBS) \
	    $(call option,seed,SEED) $(call option,count,COUNT) $(call option,engine,ENGINE)

fresh: ## try the commands of README on bare systems of Debian 12 and 13, as root, and print what each takes (FULL=1: the book and all tests too; NEWEST=1: build by the newest compilers, those of Debian sid, instead)
	@$(PYTHON) -m tools.fresh.command $(if $(filter 1,$(FULL)),--full) $(if $(filter 1,$(NEWEST)),--newest)

bench: all $(if $(filter 1,$(LINUX)),$(GUEST),build/native/drive_replay_tool $(TWIN)) ## measure speeds, as tables, build/bench.json and build/targets.json (LINUX=1: beside a Linux 6.12 guest, which is fetched, also in build/linux.json, ROUNDS=5)
	@$(if $(filter 1,$(LINUX)),$(RUN_WITHOUT_TWIN) tools.bench.against_linux \
	    $(call option,rounds,ROUNDS),$(RUN) tools.bench.command)

# E is a name, the beginning of names, or all. Without it, the three experiments of
# mogul-4.1 are made.
experiment: all $(if $(filter twin,$(ENGINE)),twin) build/native/drive_replay_tool ## run an experiment (E=name or all, SIZE=quick, ENGINE=twin: without QEMU, much faster, WITH=one more policy, N=one run, JOBS=, SCHEDULER=address of a Dask cluster, LIST=1 lists)
	@$(RUN) sluice.cli.experiment --jobs $(JOBS) $(call option,engine,ENGINE) $(call option,run,N) $(call option,size,SIZE) $(call option,with,WITH) \
	    $(call option,scheduler,SCHEDULER) $(if $(filter 1,$(LIST)),--list) $(call operand,E)

sweep: all twin build/native/drive_replay_tool ## measure an experiment over any numbers that it depends on, by the twin (E=name SIZE= OVER='nbuf=256..4096:5:log, sluice.free=50..95, arm=a|b' HOW=grid, random, quasi or search, POINTS=, METRICS='read.mean_ms, +stat.x', JOBS=, SCHEDULER=)
	@$(RUN) sluice.cli.sweep --jobs $(JOBS) $(call option,size,SIZE) $(call option,over,OVER) \
	    $(call option,how,HOW) $(call option,points,POINTS) $(call option,metrics,METRICS) \
	    $(call option,scheduler,SCHEDULER) $(call operand,E)

trace: all twin build/native/drive_replay_tool ## replay a trace of a real disk under many policies, by the twin, and draw their Pareto front (FILE=trace FORMAT= POLICIES='replace=lru|arc, sched=clook|sluice' CACHE='10, 25' percent of its blocks DRIVE= SCALE=times as fast COUNT=requests FIT=pack or fold LOOP=closed INFLIGHT= METRICS= JOBS= SCHEDULER=)
	@$(RUN) sluice.cli.replay --jobs $(JOBS) --file=$(call quoted,FILE) $(call option,format,FORMAT) \
	    $(call option,policies,POLICIES) $(call option,cache,CACHE) $(call option,drive,DRIVE) $(call option,scale,SCALE) $(call option,count,COUNT) \
	    $(call option,fit,FIT) $(call option,loop,LOOP) $(call option,inflight,INFLIGHT) $(call option,metrics,METRICS) $(call option,scheduler,SCHEDULER)

matrix: all twin build/native/drive_replay_tool ## where does the replacement policy with the fewest misses lose in milliseconds? (TRACES='files' E=experiments CACHE='10, 25, 50' percent of a trace's blocks WITH='prefetch=none|ondemand' DRIVE= COUNT=requests OUT=folder JOBS= SCHEDULER=)
	@$(RUN) sluice.cli.matrix --jobs $(JOBS) $(call option,traces,TRACES) $(call option,cache,CACHE) $(call option,with,WITH) \
	    $(call option,drive,DRIVE) $(call option,count,COUNT) $(call option,out,OUT) $(call option,scheduler,SCHEDULER) $(call operand,E)

twin-costs: all twin ## count in the machine what computing takes, and write it to sluice/twin/costs.txt
	@$(PYTHON) -m sluice.cli.twin_costs

agree: all build/native/drive_replay_tool ## print how well the results of ENGINE=twin agree with those of the machine, where both have been made (E=name, SIZE=quick)
	@$(PYTHON) -m sluice.cli.agree $(call option,size,SIZE) $(call operand,E)

repeat: all build/native/drive_replay_tool ## make experiments under two QEMUs and compare all bytes of the results (QEMU_OTHER=path, E=name, SIZE=quick, JOBS=)
	@$(RUN) sluice.cli.repeat --jobs $(JOBS) $(call option,other,QEMU_OTHER) \
	    $(call option,size,SIZE) $(call operand,E)

tune: all twin ## search a policy's tunables over many loads, drives and seeds (E=name, JOBS=), and judge the result by those held back (JUDGE=1)
	@$(RUN) sluice.cli.tune --jobs $(JOBS) $(if $(filter 1,$(JUDGE)),--judge) $(call operand,E)

measure-build: all ## compile this kernel on the host under strace, and write what it does with files to user/kbuild/measured.c
	@$(RUN) tools.trace_build.command

results: all build/native/drive_replay_tool ## make experiments in full size, store the results in results/ and put them into the documents (E=name, JOBS=, SCHEDULER=; without E=, all that a document quotes)
	@$(RUN) sluice.cli.results --jobs $(JOBS) $(call option,scheduler,SCHEDULER) $(call operand,E)

findings: all build/native/drive_replay_tool ## print how many findings of each paper the stored full results confirm (E=name)
	@$(RUN) sluice.cli.results --findings $(call operand,E)

results-check: all build/native/drive_replay_tool ## make the shortest run of each arm again: are the stored results this kernel's too, to the byte? No stored result changes (E=name, JOBS=, SCHEDULER=)
	@$(RUN) sluice.cli.results --check --jobs $(JOBS) $(call option,scheduler,SCHEDULER) $(call operand,E)

results-same: all build/native/drive_replay_tool ## do what results-check does, and note in results/ which of them are this kernel's too (E=name, JOBS=, SCHEDULER=)
	@$(RUN) sluice.cli.results --same --jobs $(JOBS) $(call option,scheduler,SCHEDULER) $(call operand,E)

results-tables: all build/native/drive_replay_tool ## put the stored results of results/ into the documents (E=name)
	@$(RUN) sluice.cli.results --tables $(call operand,E)

export: all build/native/drive_replay_tool ## write one run's trace as files for other tools (E=name SIZE= N=run FORMAT=all OUT=dir, LIST=1 lists)
	@$(RUN) sluice.cli.export $(call option,run,N) $(call option,size,SIZE) \
	    $(call option,format,FORMAT) $(call option,out,OUT) \
	    $(if $(filter 1,$(LIST)),--list) $(call operand,E)

report: all build/native/drive_replay_tool ## write the report of results that have been made (E=name, SIZE=)
	@$(RUN) sluice.cli.report $(call option,size,SIZE) $(call operand,E)

book: all build/native/drive_replay_tool ## build the book as a site that opens offline, build/book/index.html (FULL=1 first measures again what it shows, JOBS=)
	@$(RUN) book.ext.make --jobs $(JOBS) $(if $(filter 1,$(FULL)),--full)

# ---- labs ----

grade: all $(GRADING) ## score this tree's solution of LAB=, or SUBMISSION=folder-or-archive (TEST=, NONCE=, OUT=, GDB=1)
	@$(RUN) grade.cli.labs grade --lab=$(call quoted,LAB) \
	    --submission=$(call quoted,SUBMISSION) --out=$(call quoted,OUT) \
	    --test=$(call quoted,TEST) --nonce=$(call quoted,NONCE) $(if $(WAITS_FOR_GDB),--gdb)

# A grade (CERTIFICATE=), or a run: an experiment's (E=) or a graded one (RUN=).
replay: all $(GRADING) ## make a run again and stop it at AT=12.345s, read:longest, read:17 or event:48211, in gdb (E=name SIZE= N=run, or RUN= the folder of a graded run; DO='commands of gdb; ...' GDB_OPTIONS= an editor's); or make a grade again from its CERTIFICATE=, and compare (SUBMISSION= what was graded, OUT=)
	@$(if $(value E)$(value RUN_FOLDER),$(if $(value E),$(RUN_WITHOUT_TWIN),$(RUN)) sluice.cli.debug $(call option,run,N) $(call option,size,SIZE) \
	    $(call option,at,AT) $(call option,do,DO) $(call option,gdb-options,GDB_OPTIONS) $(call option,graded,RUN_FOLDER) $(call operand,E),$(RUN) \
	    grade.cli.labs replay --certificate=$(call quoted,CERTIFICATE) \
	    --submission=$(call quoted,SUBMISSION) --out=$(call quoted,OUT))

why: all build/native/drive_parts_tool ## say what a read of an experiment's run waited for, in milliseconds that add up to its response time (E=name SIZE= N=run READ=longest, a number, or a time as 12.345s)
	@$(RUN) sluice.cli.why $(call option,run,N) $(call option,size,SIZE) \
	    $(call option,read,READ) $(call operand,E)

theatre: all build/native/drive_parts_tool build/native/drive_replay_tool ## write a page that shows a run as it went: the head, the queue, the cache and the reads (E=name SIZE= N=run), or beside another run (N2=run)
	@$(RUN) sluice.cli.theatre $(call option,run,N) $(call option,second,N2) \
	    $(call option,size,SIZE) $(call operand,E)

animation: all build/native/drive_parts_tool build/native/drive_replay_tool ## write a short animation of a run, or of two side by side, for a slide: an animated PNG (E=name SIZE= N=run N2=run OUT=file)
	@$(RUN) sluice.cli.animation $(call option,run,N) $(call option,second,N2) \
	    $(call option,size,SIZE) $(call option,out,OUT) $(call operand,E)

live: all build/live/wasm/complete build/native/drive_replay_tool ## write a page with the kernel in it: choose policies, tunables, a drive and a load, and see at once what they do
	@$(RUN) sluice.cli.live

events: ## list the events around EVENT= in the trace of RUN=, the folder of a graded run
	@$(RUN) grade.cli.labs events --run=$(call quoted,RUN_FOLDER) --event='$(EVENT)'

example: all $(GRADING) ## show what this tree's kernel does in the worked example of LAB=, beside the solution (OUT=the lab's folder makes the texts anew)
	@$(RUN) grade.cli.worked_example --lab=$(call quoted,LAB) --out=$(call quoted,OUT)

class: all $(GRADING) ## score all SUBMISSIONS= of LAB=; table and page in OUT= (LATE=late.csv, JOBS=, NONCE=, SCHEDULER=address of a Dask cluster)
	@$(RUN) grade.cli.labs class --lab=$(call quoted,LAB) \
	    --submissions=$(call quoted,SUBMISSIONS) --out=$(call quoted,OUT) \
	    --late=$(call quoted,LATE) --jobs='$(JOBS)' --nonce=$(call quoted,NONCE) \
	    --scheduler=$(call quoted,SCHEDULER)

skeleton: all $(GRADING) ## make in OUT= the folder that a student of LAB= gets (BASE= the student's work in other labs, SOLVED='labs whose solution it may have', STUDENT= the student's name, or STUDENTS= a file with a name on each line: a folder for each)
	@$(RUN) grade.cli.labs skeleton --lab=$(call quoted,LAB) --out=$(call quoted,OUT) \
	    --base=$(call quoted,BASE) --solved=$(call quoted,SOLVED) \
	    --student=$(call quoted,STUDENT) --students=$(call quoted,STUDENTS)

samples: all ## make in OUT= three submissions of LAB= to try `make class` with: good, half-done, cheating
	@$(RUN) grade.cli.labs samples --lab=$(call quoted,LAB) --out=$(call quoted,OUT)

solution: all $(GRADING) ## make in OUT= the folder with the solution of LAB= and the model answers, for students who have handed in (STUDENT= if its answers are numbers)
	@$(RUN) grade.cli.teach solution --lab=$(call quoted,LAB) --out=$(call quoted,OUT) \
	    --student=$(call quoted,STUDENT)

newlab: ## make the lab NAME=, a small one that works and passes its proof, for you to change
	@$(PYTHON) -m grade.cli.teach newlab --name=$(call quoted,NAME)

bundle: ## make in OUT= the .zip from which Gradescope builds an autograder of LAB=
	@$(PYTHON) -m grade.cli.labs bundle --lab=$(call quoted,LAB) --out=$(call quoted,OUT)

fair: all $(if $(filter twin,$(ENGINE)),twin) $(GRADING) ## count the points of each wrong solution of LAB= by group, over 20 nonces (COUNT=nonces, T=solutions, TEST=groups, FULL=1: attacks too, ENGINE=twin: faster, JOBS=)
	@$(RUN) grade.cli.fair --lab=$(call quoted,LAB) --jobs='$(JOBS)' $(call option,nonces,COUNT) \
	    $(call option,only,T) $(call option,test,TEST) $(call option,engine,ENGINE) $(if \
	    $(filter 1,$(FULL)),--attacks)

# ---- the rest ----

PACKAGES := sluice grade book tools tests
FORMAT_C = $(sort $(wildcard kernel/*.[ch] kernel/*/*.[ch] policies/*/*.[ch] drives/*.[ch] drives/*/*.[ch] user/*.[ch] \
    user/*/*.[ch] mkfs/*.[ch] tests/native/*.[ch] \
    tests/native/*/*.[ch] sluice/programs/*.c sluice/twin/*.[ch] sluice/twin/shadow/*/*/*.h \
    sluice/wasm/*.[ch] sluice/wasm/shadow/*/*/*.h tools/bench/guest/*.[ch]))
format: ## format all sources by the checked-in settings
	.venv/bin/clang-format -i $(FORMAT_C)
	.venv/bin/ruff check -q --no-cache --fix $(PACKAGES)
	.venv/bin/ruff format -q --no-cache $(PACKAGES)

# One entry per source: $(1) sources, $(2) command.
json = "$(subst ",\",$(subst \,\\,$(1)))"
entry = {"directory": $(call json,$(CURDIR)), "file": "$(s)", "command": $(call json,$(2) -c $(s))},
entries = $(foreach s,$(1),$(call word_of,$(entry)))
compile_commands.json: FORCE ## write for editors how each file is compiled (every make does it)
	@mkdir -p build; echo '[' > build/$@
	@# A command of a recipe has at most 128 KiB (MAX_ARG_STRLEN of Linux), so there are three.
	@printf '%s\n' $(call entries,$(KSRC),$(KCC) $(KCFLAGS)) >> build/$@
	@printf '%s\n' $(call entries,$(USRC) $(ULIBSRC) $(wildcard sluice/programs/*.c),$(KCC) $(UCFLAGS)) >> build/$@
	@printf '%s\n' $(call entries,$(HOSTSRC),$(HOSTCC) $(HCFLAGS)) | sed '$$s/,$$//' >> build/$@
	@echo ']' >> build/$@
	@cmp -s build/$@ $@ || cp build/$@ $@

setup: ## install what is missing (every command does so by itself)
	sh tools/setup.sh

clean: ## remove what was built; tools and .venv stay
	rm -rf build compile_commands.json

version: ## print the version, which CHANGELOG.md has
	@awk '/^## [0-9]/ { print "Sluice " $$2; exit }' CHANGELOG.md

help: ## list the commands
	@if [ -t 1 ]; then exec 3<&1; columns=$$(stty size <&3 2>/dev/null | cut -d ' ' -f 2); fi; \
	    awk -v columns="$${columns:-0}" -f tools/help.awk Makefile
