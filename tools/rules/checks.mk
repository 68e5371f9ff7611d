# Checks of what was typed at make, before anything is built. Included by the Makefile.
#
# - Every goal and every variable of the command line is known. A goal takes the variables that its
#   line of help names, a command of bin/sluice those of its table in old_goals.toml, and each the
#   variables of TAKEN_BY_ALL.
# - What a command of bin/sluice is given, the command checks.

TAKEN_BY_ALL := SETUP LOCK V JOBS TOOLPREFIX QEMU HOSTCC GDB CFLAGS_EXTRA WERROR

# Stop if the variable $(1) has more lines than one: gdb and debugfs take their requests line by line.
one_line = $(if $(findstring $(newline),$(value $(1))),$(error $(1): must be one line))
$(foreach v,TMPDIR CURDIR,$(call one_line,$(v)))

ifeq ($(MAKELEVEL),0)
TYPED := $(foreach v,$(filter-out -%,$(.VARIABLES)),$(if $(filter command,$(firstword $(origin $(v)))),$(v)))
$(foreach v,$(TYPED),$(call one_line,$(v)))
UNKNOWN := $(shell TYPED_GOALS=$(call word_of,$(MAKECMDGOALS)) TYPED_NAMES=$(call word_of,$(TYPED)) \
    TYPED_ARGS=$(if $(filter qemu qemu-gdb run,$(MAKECMDGOALS)),$(call quoted,ARGS)) \
    TAKEN_BY_ALL='$(TAKEN_BY_ALL)' POLICIES='$(filter-out policies/lib/%,$(wildcard policies/*/*.c))' \
    awk -f tools/typed.awk Makefile sluice/cli/old_goals.toml drives/*.c book/arguments.toml 2>/dev/null)
$(if $(UNKNOWN),$(error $(UNKNOWN)))
endif

# The words of $(origin) for a variable that was given, with make or in the environment.
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

$(foreach v,DEBUG V FULL WERROR,$(call must_be,$(v),[01]?,1 or nothing))
$(call must_be_one_of,SETUP,yes no)
$(call must_be,JOBS,[1-9][0-9]?[0-9]?,a number from 1 to 999)
$(call must_be,FS_MB,[1-9][0-9]*,a number of MiB from 1)

ifneq ($(filter qemu qemu-gdb,$(MAKECMDGOALS)),)
$(call must_be,CPUS,[1-8],a number of harts from 1 to 8)
$(call must_be,MEM,[1-9][0-9]?[0-9]?[0-9]?[MG],memory from 32M to 8G)
MEM_MIB := $(shell echo $$(($(subst G,*1024,$(subst M,,$(MEM))))))
$(if $(shell test $(MEM_MIB) -ge 32 && test $(MEM_MIB) -le 8192 && echo good),,$(error \
    MEM=$(MEM): must be memory from 32M to 8G))
$(foreach disk,$(value DISKS),$(if $(shell test -f $(call word_of,$(disk)) && \
    echo good),,$(error DISKS: there is no file $(disk) (a blank ends a path))))
$(if $(word 8,$(value DISKS)),$(error DISKS: the machine has room for 7 further disks))
endif

# T= with .py in it is a file of tests, or a test in one.
ifneq ($(filter test,$(MAKECMDGOALS)),)
LABS := $(sort $(patsubst grade/labs/%/lab.toml,%,$(wildcard grade/labs/*/lab.toml)))
$(call must_be_one_of,LAB,$(LABS))
$(if $(findstring .py,$(value T)),$(if $(wildcard tests/*/$(firstword $(subst ::, ,$(value \
    T)))),,$(error T=$(value T): there is no such file of tests; \
    $(call nearest,$(value T),$(notdir $(wildcard tests/*/test_*.py))))))
endif
