/* The serial port. */
#pragma once

#include "kernel/machine/fdt.h"

/* Physical memory for printed text; the rest goes to the line. */
extern struct region uart_kept;

void uart_init(void); /* output works; before the device tree is read */
void uart_put(const char *, u64 n); /* polled, from any context */
void uart_drain(void);              /* wait until all is on the line */
int uart_get(void);                 /* the next byte received, or -1 */
void uart_listen(bool on);          /* interrupts for bytes received */
