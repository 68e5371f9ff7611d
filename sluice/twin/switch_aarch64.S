/*
 * Switching stacks, on aarch64: between processes in the kernel, and between a
 * program and the kernel. Callee-saved are x19 to x29, the link register x30,
 * and the lower halves of v8 to v15 (AAPCS64, section 6.1). They are saved on
 * the stack that is left; a context has the stack pointer alone.
 */
#define CONTEXT_RA 0 /* struct context, kernel/proc/proc.h: ra, sp */

#define FRAME_SP  16 /* struct trapframe, kernel/proc/trapframe.h: x[2] */
#define FRAME_A0  80 /* and a1 behind it */
#define FRAME_EPC 256

#define SAVED_BYTES 160

    .macro save
    stp x29, x30, [sp, #-SAVED_BYTES]!
    stp x19, x20, [sp, #16]
    stp x21, x22, [sp, #32]
    stp x23, x24, [sp, #48]
    stp x25, x26, [sp, #64]
    stp x27, x28, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    .endm

    .macro restore
    ldp x19, x20, [sp, #16]
    ldp x21, x22, [sp, #32]
    ldp x23, x24, [sp, #48]
    ldp x25, x26, [sp, #64]
    ldp x27, x28, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    ldp x29, x30, [sp], #SAVED_BYTES
    .endm

    .text

/* switch_to(from, to). A context goes on at ra. */
    .globl switch_to
switch_to:
    save
    adr x9, resumed
    mov x10, sp
    stp x9, x10, [x0, #CONTEXT_RA]
    ldp x9, x10, [x1, #CONTEXT_RA]
    mov sp, x10
    br x9
resumed:
    restore
    ret

/* user_gate(call): a program's system call. */
    .globl user_gate
user_gate:
    save
    mov x1, x0
    adrp x9, user_frame
    ldr x0, [x9, #:lo12:user_frame]
    mov x10, sp
    str x10, [x0, #FRAME_SP]
    mov sp, x0
    bl user_called

/* user_resume(frame): the program's call returns. */
    .globl user_resume
user_resume:
    ldr x10, [x0, #FRAME_SP]
    mov sp, x10
    ldr x0, [x0, #FRAME_A0]
    restore
    ret

/* user_begin(frame): a program's first function, as if it had been called. */
    .globl user_begin
user_begin:
    ldr x10, [x0, #FRAME_SP]
    mov sp, x10
    ldr x9, [x0, #FRAME_EPC]
    ldp x0, x1, [x0, #FRAME_A0]
    adrp x2, user_gate
    add x2, x2, #:lo12:user_gate
    mov x29, #0
    mov x30, #0
    br x9

    .section .note.GNU-stack, "", @progbits
