/* The functions that machine.c calls in its program: in host.c, or in a browser
 * of sluice/wasm/host.c. */
#ifndef SLUICE_TWIN_HOST_H
#define SLUICE_TWIN_HOST_H

#include "kernel/base/types.h"

#define MEMORY_PHYS 0x80000000UL /* of QEMU's virt machine */

void host_write(const char *text, u64 n); /* to the console's reader */
void host_end(int status) __attribute__((noreturn));
/* Move bytes of a disk to `memory`, or from there if `write` is set. `disk` is
 * their physical address minus MEMORY_PHYS. 0, or -1 on failure. */
i64 host_move(void *memory, u64 disk, u64 bytes, bool write);

/* True if the host limits the bytes of addresses that a process may have
 * (ulimit -v). Only space.c calls this, so the twin in a page does without. */
bool host_limits_addresses(void);

extern struct trace_ring *trace_ring; /* NULL until the kernel has one */

#endif
