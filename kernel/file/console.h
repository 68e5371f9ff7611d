/* The serial port and the console on it. */
#ifndef SLUICE_CONSOLE_H
#define SLUICE_CONSOLE_H

#include "kernel/base/types.h"

#define CONSOLE_ID 1 /* of its device; its number is CONSOLE_ID << 8 */

void uart_init(void); /* output only; before the device tree is read */
void uart_put(const char *, u64 n); /* polled, from any context */
void uart_drain(void);              /* wait until all of it is on the line */
int uart_get(void);                 /* the next byte received, or -1 */
void uart_listen(bool on);          /* interrupts for bytes received */

void console_init(void); /* input, by interrupt */

#endif
