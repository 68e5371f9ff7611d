/*
 * The variables of the twin and its kernel, as they were before the first trial
 * of a worker (resident.h). Each trial of it begins with these values.
 *
 * - A variable that is marked KEPT keeps its value. It says what the process
 *   has from the host: open files, mappings, memory.
 */
#ifndef SLUICE_TWIN_PRISTINE_H
#define SLUICE_TWIN_PRISTINE_H

#define KEPT __attribute__((section("kept")))

/* Copy all variables. */
void pristine_save(void);

/* Copy them back, except those that were never touched. */
void pristine_restore(void);

#endif
