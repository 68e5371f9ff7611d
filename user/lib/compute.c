/* Computing that takes no host time (compute.h). */
#include "user/lib/compute.h"

#define ROUND 500UL /* instructions; more would not be one block of QEMU's */
#define LOOP  2     /* of them to go round */

void compute(u64 thousands)
{
    for (u64 i = 0; i < thousands * 1000 / ROUND; i++)
        asm volatile(".rept %0; nop; .endr" ::"i"(ROUND - LOOP));
}
