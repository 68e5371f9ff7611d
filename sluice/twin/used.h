/*
 * Which pages of a program's memory were used. All others are zeros, and
 * reading them would make Linux supply pages for them.
 */
#ifndef SLUICE_TWIN_USED_H
#define SLUICE_TWIN_USED_H

#include "kernel/base/types.h"

/* Call fn for pieces of [from, to), in order: all bytes outside of them are 0.
 * No piece crosses a page. */
void each_used(u64 from, u64 to, void (*fn)(u64 from, u64 to, void *arg),
               void *arg);

#endif
