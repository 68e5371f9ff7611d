# The twin: the kernel and the programs, compiled for the host (sluice/twin/host.c). Included by the
# Makefile. It has its own kernel/machine/riscv.h, in build/twin/include, where the compiler looks
# first; all other sources are the same, except those that speak to the hardware.

# fork moves the addresses on a stack: so they are not signed. No library has atomics' functions.
TWIN_CC_aarch64 := -mbranch-protection=none -mno-outline-atomics
TWIN_CC := $(HOSTCC) -Ibuild/twin/include $(HCFLAGS) -Wno-missing-field-initializers \
    -funsigned-char -fno-common -ffp-contract=off $(TWIN_CC_$(HOST))
# Hidden: a preloaded library that calls strlen means the C library's.
# Its one hart is known to the compiler, which is a tenth of a trial's time.
TWIN_KERNEL_CC := $(subst -Ibuild/twin/include,-Ibuild/twin/one_hart -Ibuild/twin/include,$(TWIN_CC)) \
    -DONE_HART -include sluice/twin/one_hart.h -no-pie -fno-pie -fno-toplevel-reorder \
    -fvisibility=hidden
# What happens to a disk is seen between the kernel and its driver (sluice/twin/watch.h).
TWIN_WRAPPED := ramdisk_open ramdisk_do uart_put
TWIN_LINK := $(TWIN_KERNEL_CC) -Wl,--defsym=kernel_end=0x80200000 $(TWIN_WRAPPED:%=-Wl,--wrap=%)
TWIN_PROGRAM_CC := $(TWIN_CC) -fPIE -ffreestanding -fno-stack-protector \
    -D_LIBC_LIMITS_H_ -Wl,--build-id=none
TWIN_HARDWARE := $(addprefix kernel/,machine/counter.c machine/cpu.c machine/fdt.c machine/irq.c \
    machine/panic.c machine/power.c machine/uart.c machine/ubsan.c driver/virtio.c \
    driver/virtio_blk.c driver/virtio_net.c proc/vm.c)
TWIN_HOST := $(filter-out sluice/twin/call.c,$(wildcard sluice/twin/*.c)) sluice/twin/switch_$(HOST).S
TWIN_SRC := $(filter-out $(TWIN_HARDWARE),$(filter %.c,$(KSRC))) $(TWIN_HOST)
TWIN_OBJ := $(patsubst %,build/twin/%.o,$(basename $(TWIN_SRC)))
TWIN_LIB := $(patsubst %.c,build/twin/%.o,sluice/twin/call.c $(filter-out user/lib/syscall.c, \
    $(filter %.c,$(ULIBSRC))))
TWIN_PARTS := $(patsubst %.c,build/twin/%.o,$(filter-out user/usertests/%,$(USRC)))
TWIN_ASKED := $(ASKED:%=build/twin/sluice/programs/%.o)
TWIN_PROGRAMS := $(patsubst build/user/%,build/twin/bin/%,$(filter-out %/usertests,$(UPROG)))
$(eval $(call command_file,build/twin/kernel.command,$(TWIN_KERNEL_CC)))
$(eval $(call command_file,build/twin/program.command,$(TWIN_PROGRAM_CC)))
$(eval $(call command_file,build/twin/link.command,$(TWIN_LINK) $(TWIN_OBJ)))

twin: all build/native/drive_replay_tool build/twin/twin build/twin/served.so $(TWIN_PROGRAMS) $(ASKED:%=build/twin/bin/%)

build/twin/include/kernel/machine/riscv.h: sluice/twin/riscv.h
	@mkdir -p $(@D) && cp $< $@
build/twin/one_hart/kernel/machine/cpu.h: sluice/twin/cpu.h
	@mkdir -p $(@D) && cp $< $@
$(TWIN_OBJ): build/twin/kernel.command build/twin/include/kernel/machine/riscv.h \
    build/twin/one_hart/kernel/machine/cpu.h
$(eval $(call compile,$(filter-out build/twin/sluice/twin/switch_%,$(TWIN_OBJ)): build/twin/%.o: \
    %.c,$$(TWIN_KERNEL_CC) $$(TWIN_RENAMED)))
$(eval $(call compile,build/twin/sluice/twin/switch_$(HOST).o: \
    sluice/twin/switch_$(HOST).S,$$(TWIN_KERNEL_CC)))
build/twin/twin: $(TWIN_OBJ) build/twin/link.command
	$(call run,LD,$(TWIN_LINK) -o $@ $(TWIN_OBJ))
# e2fsck is started once for many of its runs (sluice/crash/served.c).
build/twin/served.so: sluice/crash/served.c build/host.command
	@mkdir -p $(@D)
	$(call run,LD,$(HOSTCC) $(HCFLAGS) -U_FORTIFY_SOURCE -fPIC -shared -o $@ $<)
# The host's functions move memory: the kernel's loops are made for QEMU.
build/twin/kernel/base/string.o: TWIN_RENAMED := -Dmemcpy=plain_memcpy \
    -Dmemmove=plain_memmove -Dmemset=plain_memset -Dmemcmp=plain_memcmp

$(TWIN_LIB) $(TWIN_PARTS) $(TWIN_ASKED): build/twin/program.command build/twin/include/kernel/machine/riscv.h
$(eval $(call compile,$(TWIN_LIB) $(TWIN_PARTS) $(TWIN_ASKED): build/twin/%.o: %.c,$$(TWIN_PROGRAM_CC)))
# $(1) the program's name
define twin_program
build/twin/bin/$(1): $(patsubst %.c,build/twin/%.o,$(call sources_of,$(1))) $(TWIN_LIB)
	@mkdir -p $$(@D)
	$$(call run,LD,$$(TWIN_PROGRAM_CC) -nostdlib -static-pie -o $$@ $$^)
endef
$(foreach p,$(notdir $(TWIN_PROGRAMS)),$(eval $(call twin_program,$(p))))
$(ASKED:%=build/twin/bin/%): build/twin/bin/%: build/twin/sluice/programs/%.o $(TWIN_LIB)
	@mkdir -p $(@D)
	$(call run,LD,$(TWIN_PROGRAM_CC) -nostdlib -static-pie -o $@ $^)

-include $(wildcard build/twin/*/*.d build/twin/*/*/*.d build/twin/*/*/*/*.d)
