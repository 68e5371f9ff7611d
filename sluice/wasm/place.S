/* The machine's memory, which begins with room for a kernel as the native
 * twin's does; the kernel's stacks; and the C stack pointer of the module. */
#include "sluice/wasm/place.h"

#define KERNEL_BYTES 0x200000
#define STACKS_BYTES 512*0x4000 /* MAX_PROCS * STACK_STRIDE */

    .section .bss.machine_memory,"",@
    .p2align 16
    .globl machine_memory
machine_memory:
    .skip KERNEL_BYTES
    .size machine_memory, KERNEL_BYTES
    .globl kernel_end
kernel_end:
    .skip MEMORY_BYTES - KERNEL_BYTES + TABLE_BYTES
    .size kernel_end, MEMORY_BYTES - KERNEL_BYTES + TABLE_BYTES

    .section .bss.kernel_stacks,"",@
    .p2align 14
    .globl kernel_stacks
kernel_stacks:
    .skip STACKS_BYTES
    .size kernel_stacks, STACKS_BYTES
