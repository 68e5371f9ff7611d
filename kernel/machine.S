/* Calls of machine mode, which entry.S answers: machine_call, declared in
 * trace.c. It changes what a call may change. */
    .text
    .globl machine_call
machine_call:
    ecall
    ret
