/* Between the twin and a program in it: call.c is in every program. */
#ifndef SLUICE_TWIN_CALL_H
#define SLUICE_TWIN_CALL_H

#define CALL_ARGUMENTS 6
#define CALL_COMPUTE   1000 /* beside the kernel's numbers: execute so much */

#endif
