/* The update daemon asks the update policy when to look again, sleeps until
 * then, and has it look. */
#ifndef SLUICE_UPDATED_H
#define SLUICE_UPDATED_H

void updated_init(void); /* owns the update kind, starts the thread */

#endif
