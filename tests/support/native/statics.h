/*
 * The variables that are static in a source of this program, for tests that
 * plant an inconsistency in what a policy keeps.
 */
#ifndef SLUICE_NATIVE_STATICS_H
#define SLUICE_NATIVE_STATICS_H

#include "kernel/base/types.h"

/* The variable's first word. A test that names none that there is fails. */
u64 *static_of(const char *file, const char *variable);

#endif
