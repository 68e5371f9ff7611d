# What `make all` builds, and what the other rules share. Included by the second make, which holds the
# lock.

# A file that holds the command for a kind of object, or the list of a program's
# parts. It is written when that changes, so that a removed source is noticed too. Whether warnings
# are errors is no part of it: that changes no object, and CI builds so before it runs the tests.
# $(1) file, $(2) command
define command_file
$(1): FORCE
	@mkdir -p $$(@D)
	@echo $(call word_of,$(filter-out -Werror,$(2))) | cmp -s - $$@ || \
	    echo $(call word_of,$(filter-out -Werror,$(2))) > $$@
endef

# A rule that compiles. $(1) the objects and their sources, as in A/%.o: B/%.c; $(2) the compiler
# and its flags, with $$ where a target's own variable counts
define compile
$(1)
	@mkdir -p $$(@D)
	$$(call run,CC,$(2) -MMD -MP -c -o $$@ $$<)
endef

include tools/rules/kernel.mk tools/rules/host.mk tools/rules/search.mk tools/rules/user.mk
ifneq ($(TWIN),)
include tools/rules/twin.mk
include tools/rules/blocks.mk
endif
ifneq ($(LIVE),)
include tools/rules/live.mk
endif

all: $(KERNEL) $(MKFS) $(UPROG) build/fs.img compile_commands.json $(ASKED:%=build/programs/bin/%)

# For editors: how each file is compiled, an entry for each source. $(1) sources, $(2) command
json = "$(subst ",\",$(subst \,\\,$(1)))"
entry = {"directory": $(call json,$(CURDIR)), "file": "$(s)", "command": $(call json,$(2) -c $(s))},
entries = $(foreach s,$(1),$(call word_of,$(entry)))
compile_commands.json: FORCE
	@mkdir -p build; echo '[' > build/$@
	@# A command of a recipe has at most 128 KiB (MAX_ARG_STRLEN of Linux), so there are three.
	@printf '%s\n' $(call entries,$(KSRC),$(KCC) $(KCFLAGS)) >> build/$@
	@printf '%s\n' $(call entries,$(USRC) $(ULIBSRC) $(wildcard sluice/programs/*.c),$(KCC) $(UCFLAGS)) >> build/$@
	@printf '%s\n' $(call entries,$(wildcard tools/search/*.c),$(SEARCH_CC)) >> build/$@
	@printf '%s\n' $(call entries,$(HOSTSRC),$(HOSTCC) $(HCFLAGS)) | sed '$$s/,$$//' >> build/$@
	@echo ']' >> build/$@
	@cmp -s build/$@ $@ || cp build/$@ $@
