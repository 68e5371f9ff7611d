/* The console: a terminal on the serial port. */
#ifndef SLUICE_CONSOLE_H
#define SLUICE_CONSOLE_H

#define CONSOLE_ID 1 /* of its device; its number is CONSOLE_ID << 8 */

void console_init(void); /* input, by interrupt */

#endif
