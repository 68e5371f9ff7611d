/* Between the twin and a program in it: call.c is in every program. */
#ifndef SLUICE_TWIN_CALL_H
#define SLUICE_TWIN_CALL_H

#define CALL_ARGUMENTS 6

#endif
