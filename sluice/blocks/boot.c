/* The rooms of the kernel that the replayer has, in the order in which main.c
 * makes them. */
#include "sluice/blocks/request.h"

#include "kernel/cache/bio.h"
#include "kernel/machine/args.h"
#include "kernel/measure/trace.h"
#include "kernel/policy/registry.h"
#include "kernel/vlog/vlog.h"

/* Boot what a replay needs of the kernel, in the kernel's order. */
void volume_boot(const char *arguments)
{
    args_init(arguments);
    registry_check();
    clock_init();
    (void)arg_text("charged_ns");
    clock_hart_init();
    registry_init();
    policy_boot_args();
    trace_init();
    disk_init();
    vlog_init();
    bio_init(BLOCK_BYTES);
    prefetch_init();
    updated_init();
    args_check();
}
