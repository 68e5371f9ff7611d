/* Calls of machine mode, which entry.S answers: machine_call, declared in
 * machine.h. It changes what a call may change. */
    .text
    .globl machine_call
machine_call:
    ecall
    ret
