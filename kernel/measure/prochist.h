/* Histograms of each process, for hist.c alone; other files see hist.h. */
#pragma once

#include "kernel/measure/hist.h"

/* At boot: make room for so many histograms of each process. */
void prochist_init(u32 histograms);

/* From any context. */
void prochist_add(const struct histogram *, u32 pid, u32 bucket, u64 value);
