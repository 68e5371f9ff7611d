/*
 * How a harness begins with its policy, which is included before this file, so
 * that bounds.toml can speak of the policy's names.
 */
#pragma once

#include "tools/prove/harness/harness.h"

/* A policy's memory, which is not cleared. It ends where the region does, so
 * that CBMC sees a policy use more than it asked for. */
enum { WORDS = 512 };
#define REGION u64 region[WORDS]

/* How many values a tunable may have: with FEW the least ones of its range. */
static u64 values_of(const struct tunable *t)
{
#ifdef FEW
    return MIN(FEW, t->max - t->min + 1);
#else
    return t->max - t->min + 1;
#endif
}

/* Set the tunables to any values of their ranges that the policy does not
 * refuse; with DEFAULTS, to those that they begin with. */
static void tune(const struct policy *p)
{
    for (struct tunable *t = p->tunables; t && t->name; t++) {
        t->value = t->def;
#ifndef DEFAULTS
        t->value = t->min + any_below(values_of(t));
#endif
    }
    for (u64 row = 0; p->tunables && p->tunables[row].name; row++)
        TELL("set tunable {} to {}", row, p->tunables[row].value);
    ASSUME(!p->refuses || !p->refuses());
#ifdef ASSUMED
    ASSUME(ASSUMED);
#endif
}

/* Give the policy its memory for this number of buffers, and start it. */
static void begin(const struct policy *p, void *region, u64 bytes, u64 buffers)
{
    tune(p);
    if (p->memory) {
        CLAIM(p->memory->bytes(buffers) <= bytes,
              "harness: the region is large enough");
        p->memory->start = (u8 *)region + bytes - p->memory->bytes(buffers);
        p->memory->buffers = buffers;
    }
    if (p->start)
        p->start();
}
