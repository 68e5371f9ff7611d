/* The console: a terminal on the serial port. */
#pragma once

#define CONSOLE_ID 1 /* of its device; its number is CONSOLE_ID << 8 */

void console_init(void); /* input, by interrupt */
