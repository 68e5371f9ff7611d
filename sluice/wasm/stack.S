/* The C stack pointer (stack.h). */
    .globaltype __stack_pointer, i64

    .globl stack_get
stack_get:
    .functype stack_get () -> (i64)
    global.get __stack_pointer
    end_function

    .globl stack_set
stack_set:
    .functype stack_set (i64) -> ()
    local.get 0
    global.set __stack_pointer
    end_function
