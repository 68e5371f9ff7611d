/* Tables that the linker gathers from all files: policies, drives, counters,
 * histograms, devices. Whoever looks a row up by its name gets the first, so
 * two rows of one name end the boot. */
#pragma once

#include "kernel/base/types.h"

/* Return the name of the i-th row, or NULL if there is none, and set *file to
 * the source that the row is from. The linker gathers the sources beside the
 * rows. In which order the compiler writes the rows of one source does not
 * matter, for they share it. */
typedef const char *row_name_fn(u32 i, const char **file);

/* Stop the boot if two rows have one name. what: `counters`, for the message.
 */
void expect_names_differ(const char *what, row_name_fn *);
