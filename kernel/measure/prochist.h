/*
 * Histograms of each process: what hist_add_request is given, by pid. Inside
 * hist.c's; others see hist.h.
 */
#ifndef SLUICE_PROCHIST_H
#define SLUICE_PROCHIST_H

#include "kernel/measure/hist.h"

/* At boot: room for so many histograms a process. */
void prochist_init(u32 histograms);

/* From any context. */
void prochist_add(const struct histogram *, u32 pid, u32 bucket, u64 value);

#endif
