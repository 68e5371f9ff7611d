/* The update daemon asks the update policy when to look again, sleeps until
 * then, and has it look. */
#pragma once

void updated_init(void); /* owns the update kind, starts the thread */
