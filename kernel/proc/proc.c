/*
 * The life of processes: the table, making and ending them, wait, kill and
 * kernel threads. proc.h has the states, runqueue.c gives them harts. What a
 * process has open is copied and closed by syscall/process.c.
 *
 * - A slot of the table keeps its kernel stack from one process to the next;
 *   the pages are allocated when the slot is first used.
 * - Pids only grow. The first kernel thread is process 1: it boots, then loads
 *   the first program and goes to user mode.
 * - An exiting process frees its memory itself; wait() frees the slot and the
 *   root table, on which the process died. Children of a dead parent become
 *   process 1's.
 * - runqueue.lock is never held over a call of vm.
 */
#include "kernel/proc/runqueue.h"
#include "kernel/base/stat.h"
#include "kernel/measure/trace.h"
#include "kernel/proc/trapframe.h"
#include "kernel/proc/vm.h"

#define STACK_PAGES (STACK_STRIDE / PAGE_SIZE - 1)

struct proc procs[MAX_PROCS];

static struct {
    struct list free;   /* runqueue.lock: slots */
    u32 last_pid;       /* runqueue.lock */
    struct proc *first; /* process 1 */
} table;

COUNTER(kstacks, "mem.kstacks", "pages", "kept as kernel stacks");

/* At boot: make the empty table. Each slot has its trapframe at the top of its
 * stack. */
void proc_init(void)
{
    runqueue_init();
    list_init(&table.free);
    for (u32 i = 0; i < MAX_PROCS; i++) {
        u64 top = KSTACK_BASE + (i + 1) * STACK_STRIDE;
        procs[i].trapframe = (struct trapframe *)top - 1;
        list_push_back(&table.free, &procs[i].link);
    }
}

/* ---- making ---- */

/* Run a process's first function: every process starts here. The switch to it
 * holds runqueue.lock. */
static void begin(void)
{
    struct proc *p = myproc();
    spin_unlock(&runqueue.lock);
    p->start(p->start_arg);
    panic("begin: process %u (%s) has returned", p->pid, p->name);
}

/* Complete the slot's stack. False if there is no memory; the pages that it
 * has are kept. */
static bool have_kstack(struct proc *p)
{
    u64 top = (u64)(p->trapframe + 1);
    while (p->stack_pages < STACK_PAGES) {
        void *page = page_alloc();
        if (!page)
            return false;
        vm_map_kernel(top - ++p->stack_pages * PAGE_SIZE, page);
        count(&kstacks, 1);
    }
    return true;
}

/* Empty a row, but for its pages, and free it. Caller holds runqueue.lock. */
static void free_slot(struct proc *p)
{
    *p =
        (struct proc){.trapframe = p->trapframe, .stack_pages = p->stack_pages};
    list_push_front(&table.free, &p->link);
}

/* Free the slot of a process that could not be made. */
static void give_up(struct proc *p)
{
    HOLD(spin, &runqueue.lock);
    free_slot(p);
}

/* Set the name, cut to fit, and record it in the trace as two words. */
void proc_name(struct proc *p, const char *name)
{
    u64 words[sizeof p->name / sizeof(u64)];
    strlcpy(p->name, name, sizeof p->name);
    memcpy(words, p->name, sizeof words);
    trace(TRACE_named, 0, words[0], p->pid, words[1]);
}

/* Make a child of this process, or a kernel thread. A child joins its parent's
 * group and is killed if its parent is: a kill meets both or neither. */
static int proc_alloc(const char *name, bool is_thread, struct proc **out)
{
    spin_lock(&runqueue.lock);
    struct proc *p =
        ITEM_OR_NULL(list_pop_front(&table.free), struct proc, link);
    if (p) {
        p->state = EMBRYO;
        p->pid = ++table.last_pid;
        p->is_thread = is_thread;
        p->pgrp = is_thread ? p->pid : myproc()->pgrp;
        p->killed = !is_thread && myproc()->killed;
    }
    spin_unlock(&runqueue.lock);
    if (!p)
        return -EAGAIN;
    if (!have_kstack(p)) {
        give_up(p);
        return -ENOMEM;
    }
    list_init(&p->children);
    proc_name(p, name);
    p->context.ra = (u64)begin;
    p->context.sp = (u64)p->trapframe;
    *out = p;
    return 0;
}

/* Start a kernel thread that runs fn(arg). Return NULL if no slot or memory is
 * left. */
struct proc *kthread_try(const char *name, void (*fn)(void *), void *arg)
{
    struct proc *p;
    if (proc_alloc(name, true, &p) < 0)
        return NULL;
    p->start = fn;
    p->start_arg = arg;
    if (!table.first)
        table.first = p;
    HOLD(spin, &runqueue.lock);
    run_later(p);
    return p;
}

/* Start a kernel thread that must exist: panic if there is no room. */
struct proc *kthread(const char *name, void (*fn)(void *), void *arg)
{
    struct proc *p = kthread_try(name, fn, arg);
    if (!p)
        panic("kthread: no room for %s", name);
    return p;
}

/* Share the parent's memory with the child, copied on write. Return 0 or
 * -ENOMEM. */
static int copy_memory(struct proc *to, const struct proc *from)
{
    to->pagetable = vm_create();
    if (!to->pagetable)
        return -ENOMEM;
    to->heap = from->heap;
    to->brk = from->brk;
    charge(COST_fork, 1);
    int error =
        vm_fork(from->pagetable, to->pagetable, from->trapframe->x[REG_SP]);
    if (error)
        vm_destroy(to->pagetable);
    return error;
}

/* Make a child that runs `start`, with copies of memory and registers. It does
 * not run yet. Return 0 or an error. */
int proc_copy(void (*start)(void *), struct proc **out)
{
    struct proc *p = myproc(), *child;
    TRY(proc_alloc(p->name, false, &child));
    int error = copy_memory(child, p);
    if (error) {
        give_up(child);
        return error;
    }
    *child->trapframe = *p->trapframe;
    child->start = start;
    *out = child;
    return 0;
}

/* Have the child run, before processes that wait for a hart. Return its pid. */
u32 proc_start_child(struct proc *child)
{
    struct proc *p = myproc();
    u32 pid = child->pid;
    HOLD(spin, &runqueue.lock);
    child->parent = p;
    list_push_back(&p->children, &child->sibling);
    run_next(child);
    return pid;
}

/* ---- ending ---- */

/* Give a child to the first process. Caller holds runqueue.lock. */
static void adopt(struct proc *child)
{
    child->parent = table.first;
    list_push_back(&table.first->children, &child->sibling);
    if (child->state == ZOMBIE)
        run_wakeup(table.first);
}

/* Free the memory, give the children to process 1, and become a zombie. Does
 * not return. */
void proc_end(int status)
{
    struct proc *p = myproc();
    assert(p != table.first);
    if (p->pagetable)
        vm_empty(p->pagetable);

    spin_lock(&runqueue.lock);
    struct list *n;
    while ((n = list_pop_front(&p->children)))
        adopt(LIST_ITEM(n, struct proc, sibling));
    p->exit_status = status;
    p->state = ZOMBIE;
    run_wakeup(p->parent);
    run_other();
    panic("proc_end: a zombie runs");
}

/* Free a dead child, and return its pid. Caller holds runqueue.lock. */
static u32 reap(struct proc *p, struct proc *child, int *status)
{
    u32 pid = child->pid;
    *status = child->exit_status;
    p->child_user_ns += child->user_ns + child->child_user_ns;
    p->child_system_ns += child->system_ns + child->child_system_ns;
    list_remove(&child->sibling);
    page_free(child->pagetable);
    free_slot(child);
    return pid;
}

/* Return a dead child that pid stands for, or NULL; then *any is true if pid
 * stands for a living child. Caller holds runqueue.lock. */
static struct proc *find_dead(struct proc *p, i64 pid, bool *any)
{
    *any = false;
    ITEM_EACH (struct proc, child, &p->children, sibling) {
        if (pid != -1 && child->pid != pid)
            continue;
        if (child->state == ZOMBIE)
            return child;
        *any = true;
    }
    return NULL;
}

/* Wait until the child pid ends, or any child (-1). Return its pid; 0 with
 * WNOHANG if none has ended yet. */
i64 proc_wait(i64 pid, int *status, u32 flags)
{
    struct proc *p = myproc();
    HOLD(spin, &runqueue.lock);
    for (;;) {
        bool any;
        struct proc *child = find_dead(p, pid, &any);
        if (child)
            return reap(p, child, status);
        if (!any)
            return -ECHILD;
        if (flags & WNOHANG)
            return 0;
        if (p->killed)
            return -EINTR;
        run_sleep(p);
    }
}

/* ---- kill, groups ---- */

/* True if pid, as kill() takes it, stands for this process or its group. */
static bool is_meant(const struct proc *p, i64 pid)
{
    return p->state != UNUSED &&
           (pid < 0 ? pid == -(i64)p->pgrp : pid == p->pid);
}

/* Kill the processes that pid means. Neither kernel threads nor process 1 can
 * be killed. */
i64 proc_kill(i64 pid)
{
    i64 result = -ESRCH;
    HOLD(spin, &runqueue.lock);
    for (struct proc *p = procs; p < procs + MAX_PROCS; p++) {
        if (!is_meant(p, pid))
            continue;
        if (p->is_thread) {
            result = MAX(result, -EPERM);
            continue;
        }
        result = 0;
        p->killed = true;
        run_interrupt(p);
    }
    return result;
}

/* Move the process or one of its children to another group; 0: to its own. */
i64 proc_setpgrp(u32 pid, u32 pgrp)
{
    struct proc *p = myproc();
    struct proc *target = pid == 0 || pid == p->pid ? p : NULL;
    HOLD(spin, &runqueue.lock);
    ITEM_EACH (struct proc, child, &p->children, sibling)
        if (child->pid == pid)
            target = child;
    if (target)
        target->pgrp = pgrp ? pgrp : target->pid;
    return target ? 0 : -ESRCH;
}

/* Return the parent's pid, or 0. */
u32 proc_parent(void)
{
    struct proc *p = myproc();
    HOLD(spin, &runqueue.lock);
    return p->parent ? p->parent->pid : 0;
}

/* ---- memory ---- */

/* Move the end of the heap by these bytes. Return the old end. New memory is
 * mapped only when it is touched. */
i64 proc_sbrk(i64 increment)
{
    struct proc *p = myproc();
    u64 old = p->brk;
    u64 change = increment;
    if (increment < 0) {
        if (-change > old - p->heap)
            return -EINVAL;
        p->brk = old + change;
        vm_unmap(p->pagetable, ROUND_UP(p->brk, PAGE_SIZE),
                 ROUND_UP(old, PAGE_SIZE));
        return old;
    }
    u64 most = p->heap + mem_total_pages() * PAGE_SIZE;
    if (change > MIN(most, USER_STACK_LOW) - old)
        return -ENOMEM;
    p->brk = old + change;
    return old;
}
