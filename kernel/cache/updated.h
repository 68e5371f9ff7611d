/* The update daemon asks the update policy when to look again, sleeps until
 * then, and has it look. */
#pragma once

void updated_init(void);    /* owns the update kind */
void update_daemon(void *); /* the thread's function */
