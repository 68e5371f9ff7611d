# The programs of Sluice: those of its root disk, those that an experiment asks for, and those of the
# Linux guest of `sluice bench`; and the root disk. Included by the Makefile.

# _LIBC_LIMITS_H_: keeps the limits.h of a compiler for Linux from including its libc's.
UCFLAGS := -std=gnu11 -O2 -g -ffunction-sections -fdata-sections $(WARNINGS) $(RISCV_FLAGS) \
    -D_LIBC_LIMITS_H_ -I. $(CFLAGS_EXTRA)
# A program is a file user/bin/NAME.c or user/load/NAME.c, or a folder with all its sources, there or
# in user/. It becomes build/user/NAME; the objects of programs are in build/parts.
UGROUPS := bin load
ULIBSRC := $(sort $(wildcard user/lib/*.c user/lib/*.S))
USINGLE := $(sort $(wildcard $(UGROUPS:%=user/%/*.c)))
UPARTS := $(sort $(filter-out user/lib/% $(USINGLE),$(wildcard user/*/*.c $(UGROUPS:%=user/%/*/*.c))))
UFOLDERS := $(sort $(patsubst %/,%,$(dir $(UPARTS))))
USRC := $(USINGLE) $(UPARTS)
UPROG := $(sort $(addprefix build/user/,$(notdir $(USINGLE:.c=) $(UFOLDERS))))
$(foreach f,$(wildcard user/*.c),$(error $(f) is in no folder of programs: move it to user/bin))
# What the program $(1) is made of: a file or a folder, and its sources
place_of = $(filter %/$(1).c,$(USINGLE)) $(filter %/$(1),$(UFOLDERS))
sources_of = $(filter $(foreach p,$(call place_of,$(1)),$(p) $(p)/%),$(USRC))
$(foreach p,$(notdir $(UPROG)),$(if $(word 2,$(call place_of,$(p))),$(error the program $(p) is \
    several of one name: remove or rename all but one of $(strip $(call place_of,$(p))))))
ULIB := $(patsubst %.S,build/%.S.o,$(ULIBSRC:%.c=build/%.o))
ULINK := $(KCC) $(UCFLAGS) -static -Wl,--build-id=none \
    -Wl,-z,max-page-size=4096 -Wl,--gc-sections -Wl,-e,_start -Wl,-u,_start $(LIBGCC) \
    $(if $(wildcard user/user.ld),-T user/user.ld,-Wl,-Ttext-segment=0x10000)

include $(wildcard user/pages.mk)
# $(1) the program's name: options for its room
room = $(if $(PAGES_$(1)),$(foreach i,1 2 3,-Wl$(comma)--defsym$(comma)$(word $(i),text rodata \
    data)_pages=$(word $(i),$(PAGES_$(1)))))

# The programs of sluice/programs are on no disk but those that ask for them
# (sluice/experiment/run.py): a file each, built as those of user/.
ASKED := $(patsubst sluice/programs/%.c,%,$(wildcard sluice/programs/*.c))

# Programs of the Linux guest (sluice bench --linux): an object file of Sluice's, or one of
# tools/bench/guest, with the library's object files and the system calls of calls.c.
GUEST := $(addprefix build/guest/,init bench pages true cat crashcases crashops)

$(eval $(call command_file,build/user.command,$(KCC) $(UCFLAGS)))
$(eval $(call command_file,build/lib.command,$(ULINK) $(ULIB)))
$(USRC:user/%.c=build/parts/%.o) $(ULIB): build/user.command
$(eval $(call compile,build/user/lib/%.o: user/lib/%.c,$$(KCC) $$(UCFLAGS)))
$(eval $(call compile,build/user/lib/%.S.o: user/lib/%.S,$$(KCC) $$(UCFLAGS)))
$(eval $(call compile,build/parts/%.o: user/%.c,$$(KCC) $$(UCFLAGS)))
build/user/lib.a: $(ULIB) build/lib.command
	@rm -f $@
	$(call run,AR,$(TOOLPREFIX)ar rcs $@ $(ULIB))

# $(1) the folder of the programs, each of which is one file
define file_programs
$(patsubst user/$(1)/%.c,build/user/%,$(filter user/$(1)/%,$(USINGLE))): build/user/%: build/parts/$(1)/%.o build/user/lib.a $(wildcard user/user.ld user/pages.mk)
	$$(call run,LD,$$(ULINK) $$(call room,$$*) -o $$@ $$< build/user/lib.a -lgcc)
endef
$(foreach g,$(UGROUPS),$(eval $(call file_programs,$(g))))

# $(1) the program's name, $(2) its objects
define folder_program
$(call command_file,build/parts/$(1).command,$(2))
build/user/$(1): $(2) build/user/lib.a build/parts/$(1).command $(wildcard user/user.ld user/pages.mk)
	$$(call run,LD,$$(ULINK) $$(call room,$(1)) -o $$@ $(2) build/user/lib.a -lgcc)
endef
$(foreach p,$(notdir $(UFOLDERS)),$(eval $(call folder_program,$(p),$(patsubst \
    user/%.c,build/parts/%.o,$(call sources_of,$(p))))))

$(ASKED:%=build/sluice/programs/%.o): build/user.command
$(eval $(call compile,build/sluice/programs/%.o: sluice/programs/%.c,$$(KCC) $$(UCFLAGS)))
$(ASKED:%=build/programs/bin/%): build/programs/bin/%: build/sluice/programs/%.o build/user/lib.a $(wildcard user/user.ld user/pages.mk)
	@mkdir -p $(@D)
	$(call run,LD,$(ULINK) $(call room,$*) -s -o $@ $< build/user/lib.a -lgcc)

$(eval $(call compile,build/guest/%.o: tools/bench/guest/%.c build/user.command,$$(KCC) $$(UCFLAGS)))
build/guest/init: build/guest/init.o build/guest/start.o
build/guest/bench: build/parts/load/bench.o
build/guest/pages: build/guest/pages.o
build/guest/true: build/parts/bin/true.o
build/guest/cat: build/parts/bin/cat.o
build/guest/crashcases: $(addprefix build/guest/,crashcases.o crash.o start.o)
build/guest/crashops: build/sluice/programs/crashops.o $(addprefix build/guest/,crashcalls.o crash.o)
build/guest/crashops: WRAP := -Wl,--wrap=write -Wl,--wrap=open
$(GUEST): build/guest/calls.o build/user/lib.a $(wildcard user/user.ld user/pages.mk)
	@mkdir -p $(@D)
	$(call run,LD,$(ULINK) $(WRAP) -s -o $@ $(filter %.o,$^) build/user/lib.a -lgcc)

# The root disk of `make qemu`. It is made again, and what was written to it is lost,
# only when a program in it or FS_MB has changed.
$(eval $(call command_file,build/image.command,$(FS_MB) $(UPROG)))
build/fs.img: $(UPROG) $(MKFS) build/image.command
	@rm -rf build/root && mkdir -p build/root/bin
	@for p in $(UPROG); do \
	    $(TOOLPREFIX)strip -o build/root/bin/$$(basename $$p) $$p; done
	$(call run,MKFS,$(MKFS) -s $(FS_MB)M -T $$(date +%s) -d build/root $@)

-include $(wildcard build/user/lib/*.d build/parts/*/*.d build/parts/*/*/*.d build/sluice/programs/*.d \
    build/guest/*.d)
