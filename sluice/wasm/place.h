/*
 * Where the machine's memory and stacks are in a WebAssembly module. Every file
 * of the kernel is compiled with this header before it (-include).
 *
 * - Addresses have 64 bits, as in the machine and in the native twin, so all
 *   structures have one layout. binaryen then makes them addresses of 32 bits,
 *   which every browser has (--memory64-lowering).
 */
#ifndef SLUICE_LIVE_PLACE_H
#define SLUICE_LIVE_PLACE_H

#define MEMORY_BYTES 0x4000000UL /* of the machine: 64 MiB */
#define TABLE_BYTES  0x1000UL    /* behind it: of the RAM disks */

#ifndef __ASSEMBLER__
extern char machine_memory[], kernel_stacks[]; /* place.S */

/* See kernel/machine/riscv.h. */
#define DIRECT_MAP  ((unsigned long)machine_memory - 0x80000000UL)
#define KSTACK_BASE ((unsigned long)kernel_stacks)
#endif

#endif
