/* At boot: no two rows of a gathered table have one name. */
#include "kernel/machine/gathered.h"
#include "kernel/machine/args.h"

void expect_names_differ(const char *what, row_name_fn *name)
{
    for (u32 i = 0; name(i); i++)
        for (u32 j = 0; j < i; j++)
            if (!strcmp(name(i), name(j)))
                boot_fail("two %s are called %s: rename one of them", what,
                          name(i));
}
