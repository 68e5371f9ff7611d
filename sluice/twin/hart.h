/*
 * The twin's hart: what its files share. host.c has the whole picture.
 */
#ifndef SLUICE_TWIN_HART_H
#define SLUICE_TWIN_HART_H

#include "kernel/base/types.h"
#include "kernel/machine/riscv.h"

struct trapframe;

/* trap.c and space.c: the way out of the kernel. */
void user_return(struct trapframe *) __attribute__((noreturn));

/* ---- switch_*.S ---- */

/* Go on in user mode where the program made its call, with the result in a0;
 * or begin at the frame's epc, with sp, a0 and a1 and the gate as the third
 * argument. */
void user_resume(struct trapframe *) __attribute__((noreturn));
void user_begin(struct trapframe *) __attribute__((noreturn));
/* Where programs make system calls; it saves the registers on the program's
 * stack, and enters user_called on the process's kernel stack. */
extern char user_gate[];
extern struct trapframe *user_frame; /* of the process in user mode */
void user_called(struct trapframe *, const u64 *call) __attribute__((noreturn));

#endif
