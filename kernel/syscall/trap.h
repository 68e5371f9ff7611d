/*
 * Traps: from user mode and from the kernel, exceptions and interrupts.
 * Assembly in trap.S saves a trapframe at the top of the process's kernel
 * stack (from user mode) or on the current one (from the kernel).
 */
#pragma once

struct trapframe;

void trap_hart_init(void);

/* Enter user mode with the current process's frame. */
void trap_return(void) __attribute__((noreturn));
