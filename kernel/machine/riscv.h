/*
 * The processor: control and status registers, and their bits. RISC-V
 * Privileged Architecture 1.12, chapters 3 and 4; Sstc 1.0 for stimecmp.
 * Assembly includes this too.
 */
#pragma once

#define SSTATUS_SIE  0x2  /* interrupts on, in supervisor mode */
#define SSTATUS_SPIE 0x20 /* and after the next sret */

/* sie, sip: a bit for each interrupt; scause has its number */
#define INT_SOFTWARE 1
#define INT_TIMER    5
#define INT_EXTERNAL 9

/* scause */
#define CAUSE_INTERRUPT   (1UL << 63)
#define CAUSE_USER_ECALL  8
#define CAUSE_FETCH_FAULT 12
#define CAUSE_LOAD_FAULT  13
#define CAUSE_STORE_FAULT 15

#define SATP_SV39 (8UL << 60)

/* The kernel's half of Sv39's addresses. */
#define DIRECT_MAP  0xffffffc000000000UL /* kernel address of physical 0 */
#define KSTACK_BASE 0xffffffffc0000000UL /* of the processes' kernel stacks */

/* How much of physical memory the kernel sees until vm_init: all that has room
 * below the stacks, because the device tree may lie at the end of memory. */
#define BOOT_MAP_GIB 255

#ifndef __ASSEMBLER__

#include "kernel/base/types.h"

#define csr_read(csr)                                            \
    ({                                                           \
        u64 value_;                                              \
        asm volatile("csrr %0, " #csr : "=r"(value_)::"memory"); \
        value_;                                                  \
    })
#define csr_write(csr, value) \
    asm volatile("csrw " #csr ", %0" ::"r"((u64)(value)) : "memory")
#define csr_set(csr, bits) \
    asm volatile("csrs " #csr ", %0" ::"r"((u64)(bits)) : "memory")
#define csr_clear(csr, bits) \
    asm volatile("csrc " #csr ", %0" ::"r"((u64)(bits)) : "memory")

static inline void irq_on(void)
{
    asm volatile("csrsi sstatus, %0" ::"i"(SSTATUS_SIE) : "memory");
}

/* Switch interrupts off. Return whether they were on. */
static inline bool irq_off(void)
{
    u64 before;
    asm volatile("csrrci %0, sstatus, %1"
                 : "=r"(before)
                 : "i"(SSTATUS_SIE)
                 : "memory");
    return before & SSTATUS_SIE;
}

static inline bool irq_is_on(void)
{
    return csr_read(sstatus) & SSTATUS_SIE;
}

/* Keep the order of memory accesses for this hart's interrupts: they see those
 * before this point of the program as done, and none of those after it. */
static inline void compiler_barrier(void)
{
    asm volatile("" ::: "memory");
}

static inline void wait_for_interrupt(void)
{
    asm volatile("wfi" ::: "memory");
}

/* Forget all translations. */
static inline void sfence(void)
{
    asm volatile("sfence.vma" ::: "memory");
}

#endif
