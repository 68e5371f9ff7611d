/* Where a program begins: argc in a0, argv in a1, a stack. */
    .section .text.start, "ax"
    .globl _start
_start:
    mv      fp, zero        /* backtraces end here */
    mv      ra, zero
    call    start_main
