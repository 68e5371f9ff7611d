/*
 * Traps: from user mode and from the kernel, exceptions and interrupts.
 * Assembly in trap.S saves a trapframe at the top of the process's kernel
 * stack (from user mode) or on the current one (from the kernel).
 */
#ifndef SLUICE_TRAP_H
#define SLUICE_TRAP_H

#include "kernel/base/types.h"

struct trapframe {
    u64 x[32]; /* registers by number; x[0] is not one, and unused */
    u64 epc;   /* where it happened */
    u64 cpu;   /* tp of the kernel while in user mode: this hart */
};

#define REG_RA 1
#define REG_SP 2
#define REG_A0 10
#define REG_A1 11
#define REG_A7 17

void trap_hart_init(void);

/* Enter user mode with the current process's frame. */
void trap_return(void) __attribute__((noreturn));

/* syscall.c: do the call in the frame's registers, result in a0. */
void syscall(struct trapframe *);

/* Interrupt hart out of its idle wait. */
void ipi_send(u32 hart);

#endif
