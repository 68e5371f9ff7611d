# The search over all that may come next in a small cache (tools/search/explore.c): the kernel's
# cache, queue and policies with small limits, and the machine under them. Included by the Makefile.

# The processor saves no registers below a stack's top, so that what is there can be cleared.
SEARCH_CC_x86_64 := -mno-red-zone
SEARCH_CC := $(HOSTCC) $(HCFLAGS) -Wno-missing-field-initializers -fno-pie -no-pie \
    -fno-stack-protector -U_FORTIFY_SOURCE -fno-strict-aliasing -DDEBUG \
    -DBUFFERS_HELD=2 -DOWNER_LISTS=4 $(SEARCH_CC_$(HOST))
# Each basic block of what is searched says that it was reached (tools/search/covered.c).
SEARCH_COVER := -fsanitize-coverage=trace-pc
# All kernel code but what is above the cache or speaks to the hardware. No drive is modelled.
SEARCH_SRC := $(sort $(wildcard tools/search/*.c kernel/cache/*.c kernel/disk/*.c kernel/vlog/*.c policies/*/*.c \
    drives/model/*.c) drives/none.c kernel/policy/registry.c kernel/proc/wait.c kernel/proc/sleeplock.c \
    tests/support/native/text.c)
SEARCH_OBJ := $(SEARCH_SRC:%.c=build/search/%.o)
SEARCH_LINK := $(SEARCH_CC) -Wl,-z,now
$(eval $(call command_file,build/search.command,$(SEARCH_CC) $(SEARCH_COVER)))
$(eval $(call command_file,build/search.link.command,$(SEARCH_LINK) $(SEARCH_OBJ)))

$(SEARCH_OBJ): build/search.command
build/search/kernel/cache/%.o build/search/kernel/disk/%.o build/search/policies/%.o: SEARCH_COVERED := $(SEARCH_COVER)
$(eval $(call compile,$(SEARCH_OBJ): build/search/%.o: %.c,$$(SEARCH_CC) $$(SEARCH_COVERED)))
build/search/search: $(SEARCH_OBJ) build/search.link.command
	$(call run,LD,$(SEARCH_LINK) -o $@ $(SEARCH_OBJ))

-include $(wildcard build/search/*/*.d build/search/*/*/*.d build/search/*/*/*/*.d)
