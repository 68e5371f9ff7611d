/* The registers of a program that trap.S saves when it enters the kernel. */
#pragma once

#include "kernel/base/types.h"

struct trapframe {
    u64 x[32]; /* registers by number; x[0] is not one, and unused */
    u64 epc;   /* where it happened */
    u64 cpu;   /* tp of the kernel while in user mode: this hart */
};

#define REG_SP 2
#define REG_A0 10
#define REG_A1 11
#define REG_A7 17
