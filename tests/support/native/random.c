/* Random numbers of tests: splitmix64. */
#include "tests/support/native/test.h"

/* Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
 * OOPSLA 2014. */
u64 random_u64(u64 *state)
{
    u64 z = *state += 0x9e3779b97f4a7c15UL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9UL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebUL;
    return z ^ (z >> 31);
}
