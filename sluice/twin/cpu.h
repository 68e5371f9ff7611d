/*
 * The harts of the twin: this header stands in the place of the kernel's own
 * when the twin's kernel is compiled, and adds to it which hart this is. There
 * is one, so a call would take longer than the answer.
 */
#include_next "kernel/machine/cpu.h"
#ifndef SLUICE_TWIN_CPU_H
#define SLUICE_TWIN_CPU_H

extern inline __attribute__((gnu_inline)) struct cpu *mycpu(void)
{
    return cpus;
}

extern inline __attribute__((gnu_inline)) struct proc *myproc(void)
{
    return cpus->proc;
}

#endif
