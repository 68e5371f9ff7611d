/* machine_call of machine.h: entry.S answers it. Like a function of C, it may
 * change the registers that a caller saves. */
    .text
    .globl machine_call
machine_call:
    ecall
    ret
