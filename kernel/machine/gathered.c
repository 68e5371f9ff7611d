/* At boot: no two rows of a gathered table have one name. */
#include "kernel/machine/gathered.h"
#include "kernel/machine/args.h"

/* End the boot if two rows have one name. name(i) returns row i's, and NULL
 * after the last. */
void expect_names_differ(const char *what, row_name_fn *name)
{
    const char *row, *file, *earlier;
    for (u32 i = 0; (row = name(i, &file)); i++)
        for (u32 j = 0; j < i; j++)
            if (!strcmp(row, name(j, &earlier)))
                boot_fail("two %s are called %s, in %s and in %s: rename one "
                          "of them",
                          what, row, earlier, file);
}
