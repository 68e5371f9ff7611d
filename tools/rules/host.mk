# Programs of the host: mkfs, and kernel code that runs in tests. Included by the Makefile.

HCFLAGS := -std=gnu11 -O2 -g $(WARNINGS) -I. $(CFLAGS_EXTRA)
PLAIN_CFLAGS := $(HCFLAGS) -Wno-missing-field-initializers
# -g1: a report of a sanitizer needs lines and functions; CFLAGS_EXTRA=-g3 has variables for gdb.
NATIVE_CFLAGS := $(subst -g ,-g1 ,$(PLAIN_CFLAGS)) -O1 -fno-omit-frame-pointer \
    -fsanitize=address,undefined -fno-sanitize-recover=all
MKFS := build/mkfs/mkfs
HOSTSRC := $(sort $(wildcard mkfs/*.c tests/*/*.c tests/*/*/*.c))
MKFS_OBJ := $(patsubst %.c,build/%.o,$(filter mkfs/%,$(HOSTSRC)))

$(eval $(call command_file,build/host.command,$(HOSTCC) $(HCFLAGS)))
$(eval $(call command_file,build/mkfs.command,$(HOSTCC) $(MKFS_OBJ)))
$(eval $(call command_file,build/native.command,$(HOSTCC) $(NATIVE_CFLAGS)))
$(eval $(call command_file,build/plain.command,$(HOSTCC) $(PLAIN_CFLAGS)))

$(MKFS_OBJ): build/host.command
$(eval $(call compile,build/mkfs/%.o: mkfs/%.c,$$(HOSTCC) $$(HCFLAGS)))
$(MKFS): $(MKFS_OBJ) build/mkfs.command
	$(call run,LD,$(HOSTCC) $(HCFLAGS) -o $@ $(MKFS_OBJ))

# Kernel code that runs on the host, in tests under ASan and UBSan. Each program
# NAME_test.c or NAME_tool.c, in any folder of tests, names its other sources in a line "link:".
# Those of them that are in tests may name more. A folder stands for all sources in it that are
# no programs themselves.
NATIVE_MAINS := $(filter %_test.c %_tool.c,$(HOSTSRC))
NATIVE := $(patsubst %.c,build/native/%,$(notdir $(NATIVE_MAINS)))
native_main = $(filter %/$(1).c,$(NATIVE_MAINS))
LINKS := $(shell awk '/^ \* link: /{for (i = 3; i <= NF; i++) print FILENAME ":" $$i}' \
    /dev/null $(filter tests/%,$(HOSTSRC)))
links = $(foreach s,$(patsubst $(1):%,%,$(filter $(1):%,$(LINKS))),$(if \
    $(filter %.c,$(s)),$(s),$(filter-out %_test.c %_tool.c,$(wildcard $(s)/*.c $(s)/*/*.c))))
native_sources = $(sort $(foreach s,$(call links,$(call native_main,$(1))),$(s) \
    $(if $(filter tests/%,$(s)),$(call links,$(s)))))
# Without sanitizers: what commands start, and not tests alone. A sanitizer needs terabytes of
# addresses, which `ulimit -v` refuses.
PLAIN := drive_parts_tool drive_replay_tool $(notdir $(GRADING))
# Built both ways: tests run one, and published speeds are those of the other, in build/plain.
TIMED := replace_hits_tool
# $(1) the program's name, $(2) the folder of its objects, $(3) where its flags are, $(4) its folder
define native_program
build/$(4)/$(1): $(patsubst %.c,build/$(2)/%.o,$(call native_main,$(1)) \
    $(call native_sources,$(1))) $(call native_main,$(1))
	@mkdir -p $$(@D)
	$$(call run,LD,$$(HOSTCC) $$($(3)) -o $$@ $$(filter %.o,$$^))
endef
$(foreach n,$(filter-out $(PLAIN),$(notdir $(NATIVE))),$(eval $(call native_program,$(n),native,NATIVE_CFLAGS,native)))
$(foreach n,$(PLAIN),$(eval $(call native_program,$(n),plain,PLAIN_CFLAGS,native)))
$(foreach n,$(TIMED),$(eval $(call native_program,$(n),plain,PLAIN_CFLAGS,plain)))
native: $(NATIVE) $(TIMED:%=build/plain/%)

$(eval $(call compile,build/native/%.o: %.c build/native.command,$$(HOSTCC) $$(NATIVE_CFLAGS)))
$(eval $(call compile,build/plain/%.o: %.c build/plain.command,$$(HOSTCC) $$(PLAIN_CFLAGS)))

-include $(wildcard build/mkfs/*.d build/native/*/*.d build/native/*/*/*.d build/native/*/*/*/*.d \
    build/plain/*/*.d build/plain/*/*/*.d)
