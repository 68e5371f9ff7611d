/*
 * The life of processes: table, fork, exit, wait, kill, kernel threads and
 * process 1. proc.h has the states, runqueue.c gives them harts, exec.c loads
 * programs.
 *
 * - A slot of the table keeps its kernel stack from one process to the next.
 * - Pids only grow. The first kernel thread is process 1: it boots, then loads
 *   the first program and goes to user mode.
 * - An exiting process frees its memory, files and directory itself; wait()
 *   frees the slot and the root table, on which the process died. Children of
 *   a dead parent become process 1's.
 * - sched.lock is never held over a call of file, ext2 or vm.
 */
#include "kernel/base/abi.h"
#include "kernel/machine/args.h"
#include "kernel/file/console.h"
#include "kernel/ext2/ext2.h"
#include "kernel/file/file.h"
#include "kernel/machine/power.h"
#include "kernel/machine/print.h"
#include "kernel/proc/runqueue.h"
#include "kernel/measure/stat.h"
#include "kernel/base/string.h"
#include "kernel/measure/trace.h"
#include "kernel/file/trap.h"
#include "kernel/proc/vm.h"

#define STACK_PAGES   (STACK_STRIDE / PAGE_SIZE - 1)
#define STATUS_KILLED 102 /* of the machine, if process 1 is killed */

struct proc procs[MAX_PROCS];

static struct {
    struct list free;   /* sched.lock: slots */
    u32 last_pid;       /* sched.lock */
    struct proc *first; /* process 1 */
    u64 kstack_pages;   /* sched.lock: mapped, never given back */
} table;

static u64 kstack_pages(void)
{
    return table.kstack_pages;
}

GAUGE(kstacks, "mem.kstacks", "pages", "kept as kernel stacks", kstack_pages);

void proc_init(void)
{
    sched_init();
    list_init(&table.free);
    for (u32 i = 0; i < MAX_PROCS; i++) {
        procs[i].kstack = KSTACK_BASE + i * STACK_STRIDE + PAGE_SIZE;
        list_push_back(&table.free, &procs[i].link);
    }
}

/* ---- making ---- */

/* Where every process starts, with sched.lock held by the switch. */
static void begin(void)
{
    struct proc *p = myproc();
    spin_unlock(&sched.lock);
    if (p->thread)
        p->thread(p->thread_arg);
    if (!p->pagetable)
        panic("begin: kernel thread %s has ended", p->name);
    trap_return();
}

/* The slot's stack, kept from its last process or new. */
static bool have_kstack(struct proc *p)
{
    void *page[STACK_PAGES];
    if (p->trapframe)
        return true;
    for (u32 i = 0; i < STACK_PAGES; i++) {
        page[i] = page_alloc();
        if (page[i])
            continue;
        while (i > 0)
            page_free(page[--i]);
        return false;
    }
    for (u32 i = 0; i < STACK_PAGES; i++)
        if (vm_map_kernel(p->kstack + i * PAGE_SIZE, page[i]) < 0)
            panic("have_kstack: vm_init made no table for it");
    u64 top = p->kstack + STACK_PAGES * PAGE_SIZE;
    p->trapframe = (struct trapframe *)top - 1;
    __atomic_fetch_add(&table.kstack_pages, STACK_PAGES, __ATOMIC_RELAXED);
    return true;
}

/* Caller holds sched.lock. */
static void free_slot(struct proc *p)
{
    *p = (struct proc){.kstack = p->kstack, .trapframe = p->trapframe};
    list_push_front(&table.free, &p->link);
}

static void give_up(struct proc *p)
{
    spin_lock(&sched.lock);
    free_slot(p);
    spin_unlock(&sched.lock);
}

void proc_name(struct proc *p, const char *name)
{
    u64 words[sizeof p->name / sizeof(u64)];
    strlcpy(p->name, name, sizeof p->name);
    memcpy(words, p->name, sizeof words);
    trace(TRACE_named, 0, words[0], p->pid, words[1]);
}

static int proc_alloc(const char *name, struct proc **out)
{
    spin_lock(&sched.lock);
    struct list *n = list_pop_front(&table.free);
    struct proc *p = n ? LIST_ITEM(n, struct proc, link) : NULL;
    if (p) {
        p->state = EMBRYO;
        p->pid = p->pgrp = ++table.last_pid;
    }
    spin_unlock(&sched.lock);
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

static void proc_start(struct proc *p)
{
    spin_lock(&sched.lock);
    sched_ready(p);
    spin_unlock(&sched.lock);
}

struct proc *kthread(const char *name, void (*fn)(void *), void *arg)
{
    struct proc *p;
    if (proc_alloc(name, &p) < 0)
        panic("kthread: no room for %s", name);
    p->thread = fn;
    p->thread_arg = arg;
    proc_start(p);
    return p;
}

static void copy_files(struct proc *to, const struct proc *from)
{
    for (u32 fd = 0; fd < MAX_FDS; fd++)
        if (from->fds[fd])
            to->fds[fd] = file_dup(from->fds[fd]);
    to->cwd = idup(from->cwd);
}

static int copy_memory(struct proc *to, const struct proc *from)
{
    to->pagetable = vm_create();
    if (!to->pagetable)
        return -ENOMEM;
    to->heap = from->heap;
    to->brk = from->brk;
    int error =
        vm_fork(from->pagetable, to->pagetable, from->trapframe->x[REG_SP]);
    if (error)
        vm_destroy(to->pagetable);
    return error;
}

i64 proc_fork(void)
{
    struct proc *p = myproc(), *child;
    int error = proc_alloc(p->name, &child);
    if (error)
        return error;
    error = copy_memory(child, p);
    if (error) {
        give_up(child);
        return error;
    }
    copy_files(child, p);
    *child->trapframe = *p->trapframe;
    child->trapframe->x[REG_A0] = 0;

    u32 pid = child->pid;
    spin_lock(&sched.lock);
    child->pgrp = p->pgrp;
    child->parent = p;
    list_push_back(&p->children, &child->sibling);
    sched_ready_next(child);
    spin_unlock(&sched.lock);
    return pid;
}

/* ---- process 1 ---- */

static void cannot_start(const char *what, i64 error)
{
    ext2_shutdown(); /* what the boot has written */
    boot_fail("cannot start process 1: %s: error %ld", what, -error);
}

void proc_start_init(const char *path)
{
    struct proc *p = myproc();
    assert(p->pid == 1);
    table.first = p;
    int error = file_open_device(CONSOLE_ID << 8, O_RDWR, &p->fds[0]);
    if (error)
        cannot_start("the console", error);
    p->fds[1] = file_dup(p->fds[0]);
    p->fds[2] = file_dup(p->fds[0]);
    error = namei("/", 0, &p->cwd);
    if (error)
        cannot_start("/", error);
    i64 argc = exec(path, (char *[]){(char *)path, NULL});
    if (argc < 0)
        cannot_start(path, argc);
    p->trapframe->x[REG_A0] = argc;
}

static void end_machine(int status)
{
    int error = ext2_shutdown();
    if (error)
        kprintf("init: shutdown: error %d\n", -error);
    if (status == WKILLED)
        kprintf("init: killed\n");
    power_off(status == WKILLED ? STATUS_KILLED : status);
}

/* ---- ending ---- */

static void close_files(struct proc *p)
{
    for (u32 fd = 0; fd < MAX_FDS; fd++) {
        struct file *f = p->fds[fd];
        p->fds[fd] = NULL;
        if (f)
            file_close(f);
    }
    if (p->cwd)
        iput(p->cwd);
    p->cwd = NULL;
}

/* Caller holds sched.lock. */
static void adopt(struct proc *child)
{
    assert(table.first);
    child->parent = table.first;
    list_push_back(&table.first->children, &child->sibling);
    if (child->state == ZOMBIE)
        sched_wakeup(table.first);
}

void proc_exit(int status)
{
    struct proc *p = myproc();
    close_files(p);
    if (p == table.first)
        end_machine(status);
    if (p->pagetable)
        vm_empty(p->pagetable);

    spin_lock(&sched.lock);
    struct list *n;
    while ((n = list_pop_front(&p->children)))
        adopt(LIST_ITEM(n, struct proc, sibling));
    p->exit_status = status;
    p->state = ZOMBIE;
    sched_wakeup(p->parent);
    sched_switch();
    panic("proc_exit: a zombie runs");
}

/* Caller holds sched.lock. */
static u32 reap(struct proc *p, struct proc *child, int *status)
{
    u32 pid = child->pid;
    *status = child->exit_status;
    p->child_user_ns += child->user_ns + child->child_user_ns;
    p->child_system_ns += child->system_ns + child->child_system_ns;
    list_remove(&child->sibling);
    if (child->pagetable)
        page_free(child->pagetable);
    free_slot(child);
    return pid;
}

/* A dead child that pid means; *any says if a living one is meant. Caller
 * holds sched.lock. */
static struct proc *find_dead(struct proc *p, i64 pid, bool *any)
{
    *any = false;
    LIST_EACH (n, &p->children) {
        struct proc *child = LIST_ITEM(n, struct proc, sibling);
        if (pid != -1 && child->pid != pid)
            continue;
        if (child->state == ZOMBIE)
            return child;
        *any = true;
    }
    return NULL;
}

/* Caller holds sched.lock. */
static i64 wait_locked(struct proc *p, i64 pid, int *status, u32 flags)
{
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
        sched_sleep(p, true);
    }
}

i64 proc_wait(i64 pid, int *status, u32 flags)
{
    spin_lock(&sched.lock);
    i64 result = wait_locked(myproc(), pid, status, flags);
    spin_unlock(&sched.lock);
    return result;
}

/* ---- kill, groups ---- */

/* Neither kernel threads nor process 1 can be killed. */
static bool is_killable(const struct proc *p)
{
    return p->state != UNUSED && !p->thread;
}

/* Caller holds sched.lock. */
static void kill(struct proc *p)
{
    p->killed = true;
    sched_interrupt(p);
}

static i64 kill_pid(u32 pid)
{
    i64 result = -ESRCH;
    spin_lock(&sched.lock);
    for (u32 i = 0; i < MAX_PROCS && result == -ESRCH; i++) {
        struct proc *p = &procs[i];
        if (p->state == UNUSED || p->pid != pid)
            continue;
        result = is_killable(p) ? 0 : -EPERM;
        if (result == 0)
            kill(p);
    }
    spin_unlock(&sched.lock);
    return result;
}

static u32 kill_group(u32 pgrp)
{
    u32 killed = 0;
    spin_lock(&sched.lock);
    for (u32 i = 0; i < MAX_PROCS; i++) {
        struct proc *p = &procs[i];
        if (p->pgrp != pgrp || !is_killable(p))
            continue;
        kill(p);
        killed++;
    }
    spin_unlock(&sched.lock);
    return killed;
}

i64 proc_kill(i64 pid)
{
    if (pid >= 0)
        return kill_pid(pid);
    return kill_group(-pid) > 0 ? 0 : -ESRCH;
}

void proc_kill_group(u32 pgrp)
{
    kill_group(pgrp);
}

i64 proc_setpgrp(u32 pid, u32 pgrp)
{
    struct proc *p = myproc();
    struct proc *target = pid == 0 || pid == p->pid ? p : NULL;
    spin_lock(&sched.lock);
    LIST_EACH (n, &p->children) {
        struct proc *child = LIST_ITEM(n, struct proc, sibling);
        if (child->pid == pid)
            target = child;
    }
    if (target)
        target->pgrp = pgrp ? pgrp : target->pid;
    spin_unlock(&sched.lock);
    return target ? 0 : -ESRCH;
}

u32 proc_parent(void)
{
    struct proc *p = myproc();
    spin_lock(&sched.lock);
    u32 pid = p->parent ? p->parent->pid : 0;
    spin_unlock(&sched.lock);
    return pid;
}

/* ---- memory, the table as text ---- */

i64 proc_sbrk(i64 increment)
{
    struct proc *p = myproc();
    u64 old = p->brk, change = increment;
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

bool proc_row(u32 i, struct proc_info *info)
{
    if (i >= MAX_PROCS)
        return false;
    struct proc *p = &procs[i];
    spin_lock(&sched.lock);
    *info = (struct proc_info){.state = p->state,
                               .pid = p->pid,
                               .ppid = p->parent ? p->parent->pid : 0,
                               .pgrp = p->pgrp,
                               .user_ns = p->user_ns,
                               .system_ns = p->system_ns};
    if (p->pagetable)
        info->memory_bytes = p->brk - USER_BASE;
    strlcpy(info->name, p->name, sizeof(info->name));
    spin_unlock(&sched.lock);
    return true;
}
