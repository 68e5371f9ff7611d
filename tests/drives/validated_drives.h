/* Rows of drives that check the model alone (validated_drives.c). */
#ifndef SLUICE_VALIDATED_DRIVES_H
#define SLUICE_VALIDATED_DRIVES_H

#include <string.h>

#include "drives/row.h"

/* The row of that name, or NULL. */
const struct drive_model *validated_drive(const char *name);

#endif
