# The replayer (sluice/blocks/replayer.c): the kernel's cache, disks, policies and drives, compiled
# for the host with nothing above them. Included by the Makefile after twin.mk, whose
# kernel/machine/riscv.h it shares. And the program `curve` (sluice/blocks/curves/curve.c), which has
# nothing of the kernel.

BLOCKS_CC := $(TWIN_CC) -O2 -flto=2 -fno-fat-lto-objects -fvisibility=hidden \
    -no-pie -fno-pie -include sluice/twin/one_hart.h
BLOCKS_KERNEL := $(addprefix kernel/machine/,args.c clock.c gathered.c print.c text.c) \
    $(addprefix kernel/measure/,hist.c stat.c trace.c) kernel/policy/registry.c \
    kernel/proc/sleeplock.c kernel/proc/wait.c \
    $(wildcard kernel/cache/*.c kernel/disk/*.c kernel/base/*.c kernel/vlog/*.c policies/*/*.c drives/*.c drives/model/*.c)
BLOCKS_SRC := $(BLOCKS_KERNEL) $(wildcard sluice/blocks/*.c) sluice/twin/no_virtio.c
BLOCKS_OBJ := $(patsubst %.c,build/blocks/%.o,$(BLOCKS_SRC)) \
    build/twin/sluice/twin/switch_$(HOST).o
$(eval $(call command_file,build/blocks.command,$(BLOCKS_CC) $(BLOCKS_OBJ)))

twin: build/blocks/replayer
$(filter build/blocks/%,$(BLOCKS_OBJ)): build/blocks.command build/twin/include/kernel/machine/riscv.h
$(eval $(call compile,$(filter build/blocks/%,$(BLOCKS_OBJ)): build/blocks/%.o: %.c,$$(BLOCKS_CC) $$(TWIN_RENAMED)))
build/blocks/replayer: $(BLOCKS_OBJ) build/blocks.command
	$(call run,LD,$(BLOCKS_CC) -o $@ $(BLOCKS_OBJ))
build/blocks/kernel/base/string.o: TWIN_RENAMED := -Dmemcpy=plain_memcpy \
    -Dmemmove=plain_memmove -Dmemset=plain_memset -Dmemcmp=plain_memcmp

CURVE_CC := $(HOSTCC) $(HCFLAGS)
CURVE_OBJ := $(patsubst %.c,build/curves/%.o,sluice/blocks/usage.c $(wildcard sluice/blocks/curves/*.c))
$(eval $(call command_file,build/curves.command,$(CURVE_CC) $(CURVE_OBJ)))

twin: build/blocks/curve
$(CURVE_OBJ): build/curves.command
$(eval $(call compile,$(CURVE_OBJ): build/curves/%.o: %.c,$$(CURVE_CC)))
build/blocks/curve: $(CURVE_OBJ) build/curves.command
	$(call run,LD,$(CURVE_CC) -o $@ $(CURVE_OBJ) -lm)

-include $(wildcard build/curves/*/*/*.d build/curves/*/*/*/*.d) $(wildcard build/blocks/*/*.d build/blocks/*/*/*.d)
