/* Calls of machine mode (entry.S), which may do things that the kernel may not.
 */
#ifndef SLUICE_MACHINE_H
#define SLUICE_MACHINE_H

#include "kernel/base/types.h"

enum machine_call {
    NO_TIMER = -1, /* this hart's machine timer never fires */
    TRACE_BEGIN,   /* from w0 to w1, page-aligned; at most once */
    TRACE_APPEND,  /* the record w0 to w3 */
};

void machine_call(u64 w0, u64 w1, u64 w2, u64 w3, enum machine_call);

#endif
