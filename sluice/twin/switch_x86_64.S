/*
 * Switching stacks, on x86-64: between processes in the kernel, and between a
 * program and the kernel. The psABI's callee-saved registers are rbx, rbp and
 * r12 to r15 (System V ABI, AMD64 supplement, section 3.2.1).
 */
#define CONTEXT_RA 0 /* struct context, kernel/proc/proc.h */
#define CONTEXT_SP 8
#define CONTEXT_S  16

#define FRAME_SP  16 /* struct trapframe, kernel/proc/trapframe.h: x[2] */
#define FRAME_A0  80
#define FRAME_A1  88
#define FRAME_EPC 256

    .text

/* switch_to(from, to). A context goes on at ra with 8 bytes below sp: so a C
 * function that a context begins with finds its stack aligned. */
    .globl switch_to
switch_to:
    lea resumed(%rip), %rax
    mov %rax, CONTEXT_RA(%rdi)
    mov %rsp, CONTEXT_SP(%rdi)
    mov %rbx, CONTEXT_S(%rdi)
    mov %rbp, CONTEXT_S+8(%rdi)
    mov %r12, CONTEXT_S+16(%rdi)
    mov %r13, CONTEXT_S+24(%rdi)
    mov %r14, CONTEXT_S+32(%rdi)
    mov %r15, CONTEXT_S+40(%rdi)
    mov CONTEXT_S(%rsi), %rbx
    mov CONTEXT_S+8(%rsi), %rbp
    mov CONTEXT_S+16(%rsi), %r12
    mov CONTEXT_S+24(%rsi), %r13
    mov CONTEXT_S+32(%rsi), %r14
    mov CONTEXT_S+40(%rsi), %r15
    mov CONTEXT_SP(%rsi), %rsp
    sub $8, %rsp
    jmp *CONTEXT_RA(%rsi)
resumed:
    add $8, %rsp
    ret

/* user_gate(call): a program's system call. */
    .globl user_gate
user_gate:
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rdi, %rsi
    mov user_frame(%rip), %rdi
    mov %rsp, FRAME_SP(%rdi)
    mov %rdi, %rsp
    call user_called

/* user_resume(frame): the program's call returns. */
    .globl user_resume
user_resume:
    mov FRAME_SP(%rdi), %rsp
    mov FRAME_A0(%rdi), %rax
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret

/* user_begin(frame): a program's first function, as if it had been called. */
    .globl user_begin
user_begin:
    mov FRAME_SP(%rdi), %rsp
    sub $8, %rsp
    mov FRAME_EPC(%rdi), %rax
    mov FRAME_A1(%rdi), %rsi
    mov FRAME_A0(%rdi), %rdi
    lea user_gate(%rip), %rdx
    xor %ebp, %ebp
    jmp *%rax

    .section .note.GNU-stack, "", @progbits
