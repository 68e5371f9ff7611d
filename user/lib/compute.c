/* Computing that takes no host time (compute.h). */
#include "user/lib/compute.h"
#include "user/lib.h"

#define ROUND 500UL /* instructions; more would not be one block of QEMU's */
#define LOOP  2     /* of them to go round */

/* Where time is charged, the kernel advances the clock. Otherwise the
 * instructions are executed, and the kernel is not called again. */
void compute(u64 thousands)
{
    static bool counted;
    if (!counted && charge(thousands * 1000) == 0)
        return;
    counted = true;
    for (u64 i = 0; i < thousands * 1000 / ROUND; i++)
        asm volatile(".rept %c0; nop; .endr" ::"i"(ROUND - LOOP));
}
