/*
 * Access to static variables of a source of this program, for tests that plant
 * an inconsistency in a policy's data.
 */
#ifndef SLUICE_NATIVE_STATICS_H
#define SLUICE_NATIVE_STATICS_H

#include "kernel/base/types.h"

/* Return a pointer to the variable's first word. The test fails if there is no
 * such variable. */
u64 *static_of(const char *file, const char *variable);

#endif
