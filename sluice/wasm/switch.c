/*
 * Switching stacks in WebAssembly: what sluice/twin/switch_*.S does on a host.
 *
 * - run() enters every stack of the kernel, and control returns to run() when
 *   a stack is left. run() enters one context after another, until a context
 *   goes to user mode. Then the page runs the program until the program makes
 *   a call.
 * - A context that has been left has ra 0, and its calls are in its room.
 *   A context with another ra is entered at ra. A process in user mode has
 *   nothing on its kernel stack.
 */
#include "sluice/wasm/page.h"
#include "sluice/wasm/stack.h"
#include "sluice/twin/call.h"
#include "sluice/twin/hart.h"
#include "kernel/proc/proc.h"
#include "kernel/proc/trapframe.h"

#define ROOMS (MAX_PROCS + 1) /* the last is that of the idle thread */

void switch_to(struct context *from, struct context *to); /* runqueue.c */
void start(u32 hart, u64 dtb_phys);                       /* main.c */

/* The next action of run(). */
enum entry { BOOT, CONTEXT, CALL, USER };

static struct room rooms[ROOMS];
static struct context *next; /* if CONTEXT */
static enum entry entry;
static bool rewinding;

struct user user;

/* The room of the stack that this address is on. */
static struct room *room_of(u64 sp)
{
    u64 slot = (sp - KSTACK_BASE) / STACK_STRIDE;
    return &rooms[MIN(slot, ROOMS - 1)];
}

static u32 emptied(struct room *r)
{
    r->at = (u64)r->bytes;
    r->end = (u64)(r + 1);
    return (u64)r;
}

/* ---- leaving ---- */

/* These functions have no frame on the C stack. */
__attribute__((noinline)) static void leave(struct context *from,
                                            struct context *to)
{
    if (rewinding) {
        rewinding = false;
        stop_rewind();
        return;
    }
    from->sp = stack_get();
    from->ra = 0;
    next = to;
    entry = CONTEXT;
    start_unwind(emptied(room_of(from->sp)));
}

__attribute__((noinline)) static void leave_to_user(void)
{
    entry = USER;
    start_unwind(emptied(room_of(stack_get())));
}

void switch_to(struct context *from, struct context *to)
{
    leave(from, to);
}

void user_resume(struct trapframe *frame)
{
    user.begins = false;
    user.result = frame->x[REG_A0];
    leave_to_user();
    __builtin_unreachable();
}

void user_begin(struct trapframe *frame)
{
    user.begins = true;
    user.sp = frame->x[REG_SP];
    user.argc = frame->x[REG_A0];
    user.argv = frame->x[REG_A1];
    leave_to_user();
    __builtin_unreachable();
}

/* ---- entering ---- */

/* The first function on every stack. */
__attribute__((noinline)) static void enter(enum entry how)
{
    if (how == BOOT)
        start(0, 0);
    else if (how == CALL)
        user_called(user_frame, user.call);
    else
        ((void (*)(void))next->ra)();
}

static void enter_context(struct context *c)
{
    stack_set(c->sp);
    rewinding = !c->ra;
    if (rewinding)
        start_rewind((u64)room_of(c->sp));
    enter(CONTEXT);
}

static void run(void)
{
    u64 sp = stack_get();
    while (entry != USER) {
        if (entry == CONTEXT) {
            enter_context(next);
        } else {
            if (entry == CALL)
                stack_set((u64)user_frame);
            enter(entry);
        }
        stop_unwind();
    }
    stack_set(sp);
}

/* ---- for the page ---- */

__attribute__((export_name("boot"))) void boot_machine(void)
{
    entry = BOOT;
    run();
}

__attribute__((export_name("called"))) void called(void)
{
    entry = CALL;
    run();
}

__attribute__((export_name("user"))) u32 user_at(void)
{
    return (u64)&user;
}
