# The kernel: what it is made of, and how it is linked. Included by the Makefile.
#
# - Adding a file below kernel/, policies/ or drives/ edits no list.
# - The debug kernel (DEBUG=1) has the same rules in build/debug.

KCC := $(TOOLPREFIX)gcc
# Bare RISC-V, for the kernel and for the programs.
RISCV_FLAGS := -march=rv64imac_zicsr_zifencei -mabi=lp64 -mcmodel=medany -mno-relax \
    -ffreestanding -nostdlib -fno-omit-frame-pointer -fno-common -fno-pic -fno-stack-protector
# -ffunction-sections: kernel.ld says which functions lie side by side.
KCFLAGS := -std=gnu11 -O2 -g $(WARNINGS) -Wno-missing-field-initializers $(RISCV_FLAGS) -I. \
    -ffunction-sections $(CFLAGS_EXTRA)
# The debug kernel is too large for calls.s.
KCFLAGS += $(if $(filter 1,$(DEBUG)),-DDEBUG -fsanitize=undefined,-Wa,kernel/machine/calls.s)

# The compiler's own library for this ABI. With -march as above the compiler names the
# library for floating point, which cannot be linked with the rest.
LIBGCC := -L$(dir $(shell $(KCC) -march=rv64imac -mabi=lp64 -print-libgcc-file-name 2>/dev/null))

KSRC := $(sort $(wildcard kernel/*.[cS] kernel/*/*.[cS] policies/*/*.c drives/*.c drives/*/*.c))
KOBJ := $(patsubst %.S,$(K)/%.S.o,$(KSRC:%.c=$(K)/%.o))
KLINK := $(KCC) $(KCFLAGS) -static -Wl,--build-id=none \
    -Wl,--no-warn-rwx-segments -Wl,--orphan-handling=error -fno-use-linker-plugin \
    -T kernel/machine/kernel.ld $(LIBGCC)

$(eval $(call command_file,$(K)/kernel.command,$(KCC) $(KCFLAGS)))
$(eval $(call command_file,$(K)/link.command,$(KLINK) $(KOBJ)))
$(KOBJ): $(K)/kernel.command kernel/machine/calls.s
$(eval $(call compile,$(K)/kernel/%.o: kernel/%.c,$$(KCC) $$(KCFLAGS)))
$(eval $(call compile,$(K)/policies/%.o: policies/%.c,$$(KCC) $$(KCFLAGS)))
$(eval $(call compile,$(K)/drives/%.o: drives/%.c,$$(KCC) $$(KCFLAGS)))
$(eval $(call compile,$(K)/kernel/%.S.o: kernel/%.S,$$(KCC) $$(KCFLAGS)))

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

-include $(wildcard $(K)/kernel/*.d $(K)/kernel/*/*.d $(K)/policies/*/*.d $(K)/drives/*.d $(K)/drives/*/*.d)
