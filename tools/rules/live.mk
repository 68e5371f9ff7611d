# The twin in a page: the same sources for WebAssembly (sluice/wasm/place.h). Included by the
# Makefile. A Debian's clang makes modules with addresses of 64 bits; binaryen makes them 32, and
# lets calls be left and entered again (sluice/wasm/stack.h).

LIVE_CC := clang --target=wasm64 -Ibuild/live/include -Ibuild/twin/include -I. -std=gnu11 -O2 \
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
    %.c,$(KSRC))) $(addprefix sluice/twin/,hart.c machine.c memory.c no_virtio.c) \
    $(addprefix sluice/wasm/,host.c no_network.c space.c switch.c place.S stack.S)))
LIVE_LIB := $(patsubst %,build/live/%.o,$(basename $(filter-out user/lib/syscall.c \
    user/lib/compute.c,$(filter %.c,$(ULIBSRC))) $(addprefix sluice/wasm/,call.c stack.S)))
LIVE_PARTS := $(patsubst %.c,build/live/%.o,$(filter-out user/usertests/%,$(USRC)))
LIVE_PROGRAMS := $(patsubst build/twin/bin/%,build/live/wasm/bin/%.wasm,$(TWIN_PROGRAMS))
LIVE_DRIVES := tests/drives/drive_parts_tool.c $(call links,tests/drives/drive_parts_tool.c)
$(eval $(call command_file,build/live/kernel.command,$(LIVE_KERNEL_CC) $(LIVE_KERNEL)))
$(eval $(call command_file,build/live/program.command,$(LIVE_PROGRAM_CC)))
$(eval $(call command_file,build/live/link.command,$(LIVE_LD) $(LIVE_OPT)))

LIVE_HEADERS := build/live/include/kernel/base/types.h build/twin/include/kernel/machine/riscv.h
build/live/include/kernel/base/types.h: sluice/wasm/types.h
	@mkdir -p $(@D) && cp $< $@
$(LIVE_KERNEL) $(LIVE_LIB) $(LIVE_PARTS): $(LIVE_HEADERS)
$(eval $(call compile,$(filter build/live/kernel/% build/live/policies/% build/live/drives/% \
    build/live/sluice/twin/%,$(LIVE_KERNEL)): build/live/%.o: \
    %.c build/live/kernel.command,$$(LIVE_KERNEL_CC)))
$(eval $(call compile,build/live/user/%.o: user/%.c build/live/program.command,$$(LIVE_PROGRAM_CC)))
$(eval $(call compile,build/live/sluice/wasm/%.o: sluice/wasm/%.c \
    build/live/kernel.command,$$(if $$(filter call,$$*),$$(LIVE_PROGRAM_CC),$$(LIVE_KERNEL_CC))))
$(eval $(call compile,build/live/sluice/wasm/%.o: \
    sluice/wasm/%.S build/live/kernel.command,$$(LIVE_CC)))
build/live/wasm/kernel.wasm: $(LIVE_KERNEL) build/live/link.command
	@mkdir -p $(@D)
	$(call run,LD,$(LIVE_LD) --no-gc-sections -o build/live/kernel.wasm $(LIVE_KERNEL) $(LIVE_RT))
	@$(LIVE_OPT) build/live/kernel.wasm -o $@
# $(1) the program's name
define live_program
build/live/wasm/bin/$(1).wasm: $(patsubst %.c,build/live/%.o,$(call sources_of,$(1))) $(LIVE_LIB) build/live/link.command
	@mkdir -p $$(@D)
	$$(call run,LD,$$(LIVE_LD) --stack-first --export=__heap_base -o build/live/$(1).wasm $$(filter %.o,$$^) $$(LIVE_RT))
	@$$(LIVE_OPT) build/live/$(1).wasm -o $$@
endef
$(foreach p,$(notdir $(TWIN_PROGRAMS)),$(eval $(call live_program,$(p))))
# The drives' times, as on the host (sluice/debug/served.py), with Debian's C library.
build/live/wasm/drive_parts.wasm: $(LIVE_DRIVES) $(wildcard drives/*.h drives/*/*.h)
	@mkdir -p $(@D)
	$(call run,LD,clang --target=wasm32-wasi --sysroot=/usr -O2 -Wl$(comma)--no-gc-sections -I. -Wno-missing-field-initializers \
	    -o $@ $(LIVE_DRIVES))
build/live/wasm/complete: build/live/wasm/kernel.wasm $(LIVE_PROGRAMS) build/live/wasm/drive_parts.wasm
	@touch $@

-include $(wildcard build/live/*/*.d build/live/*/*/*.d build/live/*/*/*/*.d)
